"""``spinewise completions``, and the completions for a shell: names of the registry besides options and files.

The script that a shell reads calls `spinewise` itself for each TAB (argcomplete), so that it is never out of date.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator

from spinewise.replies import Kind

CALLED = "_ARGCOMPLETE"
"""The variable that the shell's script sets when it asks for completions."""

Completer = Callable[..., Iterable[str]]


def command(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only here and at a TAB

    sys.stdout.write(shellcode(["spinewise"], shell=args.shell))
    return 0


def answer(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end the process."""
    if CALLED not in os.environ:
        return
    import argcomplete  # noqa: PLC0415

    for action in actions(parser):
        if (completer := completer_of(action)) is not None:
            action.completer = completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of those below it; a registry command's name knows its kind."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from actions(below)
        else:
            if action.dest == "name" and (kind := parser.get_default("kind")):
                action.completer = registry(kind)  # type: ignore[attr-defined]
            yield action


def completer_of(action: argparse.Action) -> Completer | None:
    """The completer of an argument, besides its choices; None for the files that a shell offers."""
    if (given := getattr(action, "completer", None)) is not None:
        return given  # type: ignore[no-any-return]
    return COMPLETERS.get("/".join(action.option_strings) or str(action.metavar))


def registry(kind: Kind) -> Completer:
    """Names of one kind of things."""

    def complete(**_: object) -> list[str]:
        return names(kind)

    return complete


def names(kind: Kind) -> list[str]:
    """Names in the registry."""
    from spinewise import core  # noqa: PLC0415

    return [str(entry["name"]) for entry in core.listed(kind)]


def several(known: Callable[[], list[str]]) -> Completer:
    """Names separated by commas: the last one is completed, those before it are kept."""

    def complete(prefix: str, **_: object) -> list[str]:
        before, comma, _last = prefix.rpartition(",")
        return [f"{before}{comma}{name}" for name in known()]

    return complete


def workloads(**_: object) -> list[str]:
    """Workloads of `new`."""
    from spinewise.starting.wishes import workloads as known  # noqa: PLC0415

    return known()


def spec_files(prefix: str, **more: object) -> list[str]:
    """Spec files in this folder, and scenarios."""
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415

    from spinewise.scenarios import scenarios  # noqa: PLC0415

    return [one.name for one in scenarios()] + list(FilesCompleter(("toml",))(prefix, **more))


def keys(**_: object) -> list[str]:
    """Keys of a spec, as in ``--set``."""
    from spinewise.schemas.spec import entries  # noqa: PLC0415

    found = ["preset=", "seed=", "name="]
    for header, entry in entries("spec").items():
        if header.startswith("[") and not header.startswith("[["):
            table = header[1:].partition("]")[0]
            found += [f"{table}.{param['name']}=" for param in entry["params"]]
    return list(dict.fromkeys(found))


COMPLETERS: dict[str, Completer] = {
    "--schemes": several(lambda: names("schemes")),
    "--workload": workloads,
    "SPEC.toml": spec_files,
    "--set": keys,
}
