"""The ``spinewise`` command.

Exit codes: 0 done, 1 a defect of Spinewise, a claim check that could not run or a comparison that failed, 2 bad
input, 3 a budget ended before all runs, 130 Ctrl-C, 143 terminated.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

from spinewise.cli import completions, exits, streams
from spinewise.cli.arguments import normal, refuse_unfit
from spinewise.cli.parser import build_parser
from spinewise.errors import SchemeError, SpecError
from spinewise.interop.text import InteropWarning
from spinewise.reading import printable
from spinewise.specs.lines import located
from spinewise.specs.variants import parse_list
from spinewise.writing import json_text

# The allocators of pyarrow keep 20 MB for themselves. It reads this variable when it is imported, which is later.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; never shows a traceback for bad input."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = argparse.Namespace(json=asks_for_json(words))
    try:
        streams.prepare()
        parser = build_parser()
        completions.answer(parser)
        args = parser.parse(words)
        signal.signal(signal.SIGTERM, terminate)
        # A terminal that is closed; under nohup it is ignored, and stays so.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, terminate)
        refuse_unfit(args)
        with notes_on_stderr():
            code: int = args.command(args)
        sys.stdout.flush()
    except SpecError as error:
        code = refuse(blame(error, args), as_json=args.json)
    except SchemeError as error:
        code = scheme_failed(error, as_json=args.json, unkept=getattr(args, "store", "") is None)
    except PermissionError as error:
        code = refuse(forbidden(error), as_json=args.json)
    except SystemExit as left:
        code = leave(left, args)
    except KeyboardInterrupt:
        streams.complain(f"spinewise: interrupted; {written()}")
        code = exits.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`. That is not an error.
        streams.silence()
        code = 0
    except OSError as error:
        if error.errno not in NAMELESS or error.filename is None:
            raise
        code = refuse(nameless(error), as_json=args.json)
    return code


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether these words request refusals as JSON."""
    return any(word == "--json" or word.startswith("--json=") for word in words)


def leave(left: SystemExit, args: argparse.Namespace) -> int:
    """The exit code of a command that exited early: after --help, or terminated."""
    code = left.code if isinstance(left.code, int) else exits.BAD_INPUT if left.code else 0
    if left.code and not isinstance(left.code, int):
        # As Python does: a user's scheme may exit with a message.
        streams.complain(f"spinewise: exited with: {left.code}")
    if code == exits.TERMINATED:
        streams.complain(f"spinewise: terminated; {written()}")
    try:
        sys.stdout.flush()
    except SpecError as error:
        return refuse(error, as_json=args.json)
    except BrokenPipeError:
        streams.silence()
    return code


def written() -> str:
    """The output that a stopped command has left."""
    folder = sys.modules.get("spinewise.runs.folder")
    places = [] if folder is None else [printable(place) for place in folder.published]
    store = sys.modules.get("spinewise.sweeps.store")
    used = [] if store is None else [printable(place) for place in store.used]
    kept = f"; finished runs are kept in {', '.join(dict.fromkeys(used))}" if used else ""
    return (f"written: {', '.join(places)}" if places else "nothing was written") + kept


@contextmanager
def notes_on_stderr() -> Iterator[None]:
    """Show the changes made by importers on lines of their own, once each."""
    usual = warnings.showwarning

    def show(  # noqa: PLR0917 - as the standard library calls it
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, InteropWarning):
            streams.complain(f"spinewise: note: {message}")
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("default", InteropWarning)
        warnings.showwarning = show
        yield


def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Leave on SIGTERM or SIGHUP through the clean-up of every open block."""
    raise SystemExit(exits.TERMINATED)


def blame(error: SpecError, args: argparse.Namespace) -> SpecError:
    """Add the origin of the value: an option of this command, or its spec file."""
    if error.file or error.key.startswith("--"):
        return error
    key = normal(error.key)
    for override in getattr(args, "set", None) or ():
        given = normal(override.partition("=")[0])
        if key == given or key.startswith(f"{given}."):
            return SpecError(f"--set {error.key}", error.value, error.allowed, error.hint)
    option = of_option(error, args)
    if option is not None:
        return option
    return located(error, getattr(args, "spec", None))


OPTIONS = {"capture": "metrics.capture.at", "trace": "trace", "threads": "threads", "seed": "seed"}
"""Options that set a key of the spec or an argument of `spinewise.run`, by that key."""


def of_option(error: SpecError, args: argparse.Namespace) -> SpecError | None:
    """The error about the option that set the wrong key; None if the value comes from elsewhere."""
    for option, key in OPTIONS.items():
        given = getattr(args, option, None)
        if given is not None and (error.key == key or error.key.startswith(f"{key}[")):
            value = error.value if option != "trace" else ",".join(map(str, given))
            return SpecError(f"--{option}", value, error.allowed, error.hint)
    schemes = getattr(args, "schemes", None)
    for variant in parse_list(schemes) if isinstance(schemes, str) else ():
        setting = variant.setting_of(error.key)
        if setting is not None and f"in scheme {variant.label}" in (error.hint or ""):
            return SpecError(f"--schemes {setting}".strip(), error.value, error.allowed, error.hint)
    return None


def forbidden(error: PermissionError) -> SpecError:
    """The error about a file or folder that this user is not permitted to read."""
    name = "(a file)" if error.filename is None else printable(error.filename)
    return SpecError("(permission)", name, "a file or folder that you may read", error.strerror or str(error))


NAMELESS = (errno.ENAMETOOLONG, errno.ELOOP)
"""What the system says of a name that no file can have, or of links that lead nowhere, wherever it is looked up."""


def nameless(error: OSError) -> SpecError:
    """The error about a name that no file or folder has."""
    return SpecError(
        "(name)", printable(error.filename), "the name of a file or folder, of 1 to 255 bytes", error.strerror
    )


def scheme_failed(error: SchemeError, *, as_json: bool, unkept: bool) -> int:
    """Print what a scheme written in Python raised: its own traceback, then when and where.

    Args:
        error: the error.
        as_json: whether to print it as JSON, too.
        unkept: whether other runs are lost with it that a store would have kept.
    """
    if as_json:
        told = {"scheme": str(error), "hook": error.hook, "now_ps": error.now_ps, "flow": error.flow}
        print(json_text({"error": told}))
    if error.__cause__ is not None:
        traceback.print_exception(error.__cause__)
    print(f"spinewise: {error}", file=sys.stderr)
    if unkept:
        print("  hint     --store DIR keeps the runs that end before, so that they are not made again", file=sys.stderr)
    return exits.BAD_INPUT


def refuse(error: SpecError, *, as_json: bool) -> int:
    """Print bad input on one screen."""
    if as_json:
        with suppress(OSError, SpecError):
            print(json_text({"error": error.as_dict()}), flush=True)
    lines = [f"spinewise: bad input in {error.place}" if error.file else "spinewise: bad input"]
    lines += [f"  key      {error.key}", f"  value    {error.value}", f"  allowed  {error.allowed}"]
    if error.hint:
        lines.append(f"  hint     {error.hint}")
    streams.complain("\n".join(lines))
    return exits.BAD_INPUT
