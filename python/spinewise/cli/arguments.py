"""Arguments are refused like anything else: option, value, what is allowed, and the nearest right word."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from spinewise.errors import SpecError, nearest
from spinewise.measures import units
from spinewise.reading import printable

NOTHING = "(nothing)"
OF_SPEC = {
    "--scheme": "scheme.name=NAME", "--transport": "transport.kind=KIND", "--preset": "preset=NAME",
    "--load": "traffic[0].load=0.5", "--leaves": "topology.leaves=N", "--spines": "topology.spines=N",
    "--engine": "run.engine=NAME",
}  # fmt: skip
"""Equivalents with `--set` for options that only some commands have."""


class UnfitError(argparse.ArgumentTypeError):
    """A word that an option does not accept."""

    def __init__(self, value: str, allowed: str) -> None:
        super().__init__(f"{value!r}: allowed is {allowed}")
        self.value = value
        self.allowed = allowed


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are `SpecError`, and whose options are given once unless declared to accumulate."""

    def __init__(
        self,
        prog: str | None = None,
        description: str | None = None,
        epilog: str | None = None,
        *,
        allow_abbrev: bool = True,
    ) -> None:
        super().__init__(prog=prog, description=description, epilog=epilog, allow_abbrev=allow_abbrev)
        for name in (None, "store"):
            self.register("action", name, Once)

    def error(self, message: str) -> NoReturn:
        """Refuse what argparse does not accept; it calls this while handling its own error."""
        caught = sys.exc_info()[1]
        if isinstance(caught, argparse.ArgumentError):
            raise self.refused(caught) from None
        raise self.missing(message)

    def refused(self, error: argparse.ArgumentError) -> SpecError:
        """The error about one argument."""
        name = error.argument_name or "(arguments)"
        unfit = error.__context__
        if isinstance(unfit, UnfitError):
            return SpecError(name, unfit.value or '""', unfit.allowed, self.way_out())
        action = self.action_of(name)
        words = list(action.choices) if action is not None and action.choices is not None else []
        message = error.message
        if words and message.startswith("invalid choice: "):
            given = message.removeprefix("invalid choice: ").partition(" (")[0].strip("'\"")
            return SpecError(name, given, ", ".join(map(str, words)), nearest(given, map(str, words)))
        if message.startswith("ignored explicit argument "):
            value = message.removeprefix("ignored explicit argument ").strip("'\"")
            return SpecError(name, value, "no value: the option takes none", self.way_out())
        if message.startswith("not allowed with argument "):
            other = message.removeprefix("not allowed with argument ")
            return SpecError(name, f"together with {other}", f"one of the two: {name} or {other}", self.way_out())
        if message.startswith("expected "):
            return SpecError(name, NOTHING, self.meant(action), self.way_out())
        return SpecError(name, message, self.meant(action), self.way_out())

    def missing(self, message: str) -> SpecError:
        """The error about arguments that must be there."""
        start = "the following arguments are required: "
        if not message.startswith(start):
            return SpecError("(arguments)", message, "what --help lists", self.way_out())
        names = message.removeprefix(start).split(", ")
        action = self.action_of(names[0])
        if action is not None and action.choices is not None:
            return SpecError(names[0], NOTHING, ", ".join(map(str, action.choices)), self.way_out())
        return SpecError(", ".join(names), NOTHING, self.meant(action), self.way_out())

    def unknown(self, words: Sequence[str]) -> SpecError:
        """The error about words that no argument accepts."""
        word = words[0]
        if not word.startswith("-"):
            known = [self.shown(action) for action in self._actions if not action.option_strings]
            allowed = f"{', '.join(known)}, and no further arguments" if known else "options only"
            shows = "`spinewise report FOLDER… --out FILE.html` shows results side by side"
            return SpecError("(arguments)", word, allowed, shows if Path(word).is_dir() else self.way_out())
        options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        option = word.partition("=")[0]
        meant = nearest(option, options)
        if option in OF_SPEC and "--set" in options and f"{option}s" not in options:
            meant = f"--set {OF_SPEC[option]} sets that key of the spec"
        return SpecError(option, "not an option of this command", ", ".join(options), meant)

    def action_of(self, name: str) -> argparse.Action | None:
        """The argument with the name `name` in errors."""
        for action in self._actions:
            if name in (self.shown(action), *action.option_strings, "/".join(action.option_strings), action.dest):
                return action
        return None

    def shown(self, action: argparse.Action) -> str:
        """The name of an argument in messages."""
        return "/".join(action.option_strings) or str(action.metavar or action.dest)

    def meant(self, action: argparse.Action | None) -> str:
        """The purpose of an argument, in the words of --help."""
        if action is None:
            return "what --help lists"
        value = str(action.metavar or action.dest)
        return f"{value}: {action.help}" if action.help else value

    def way_out(self) -> str:
        """A pointer to the help."""
        return f"see `{self.prog} --help`"


class Once(argparse.Action):
    """Keep the value of an argument. An option given twice is refused, because the first value would be lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Keep `values`."""
        if option_string is not None:
            several = "," in str(self.metavar)
            refuse_again(namespace, self.dest, option_string, values, "all in one, with commas" if several else None)
        setattr(namespace, self.dest, values)


class Override(argparse.Action):
    """Add one KEY=VALUE to those before it; a key given twice is refused."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002 - as argparse calls it
    ) -> None:
        """Add it."""
        text = str(values)
        key, _, value = text.partition("=")
        refuse_again(namespace, f"--set {normal(key)}", f"--set {key.strip()}", value.strip())
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), text])


def refuse_again(
    namespace: argparse.Namespace, what: str, option: str, values: object, hint: str | None = None
) -> None:
    """Refuse a second value of `what`.

    Raises:
        SpecError: naming both values.
    """
    value = ",".join(map(str, values)) if isinstance(values, list) else str(values)
    before = vars(namespace).setdefault("given", {}).setdefault(what, [])
    before.append(value)
    if len(before) > 1:
        raise SpecError(option, " and then ".join(before), "one value: give this once", hint)


def normal(path: str) -> str:
    """A key path with indices in brackets written as in dotted form."""
    return path.strip().replace("[", ".").replace("]", "")


def whole(least: int, most: int) -> Callable[[str], int]:
    """A converter to whole numbers in a range."""

    def convert(text: str) -> int:
        # At most as many digits as the maximum has: longer numbers cost time, or are refused by Python itself.
        if text.isascii() and text.isdecimal() and len(text) <= 20 and least <= int(text) <= most:
            return int(text)
        raise UnfitError(text, f"a whole number, {least} to {most}")

    return convert


def positive(most: float) -> Callable[[str], float]:
    """A converter to numbers above zero."""

    def convert(text: str) -> float:
        value = number(text)
        if 0.0 < value <= most:
            return value
        raise UnfitError(text, f"a number above 0, at most {most:g}")

    return convert


def percentile(text: str) -> float:
    """A percentile, such as 99 or 99.9."""
    value = number(text)
    if 0.0 < value < 100.0:
        return value
    raise UnfitError(text, "a number above 0 and below 100, such as 99")


def moment(text: str) -> float:
    """A time from zero on, in microseconds."""
    value = number(text)
    if 0.0 <= value <= LATEST_US:
        return value
    raise UnfitError(text, f"a number of microseconds, 0 to {LATEST_US:g}")


# Simulated time ends long before.
LATEST_US = 1e12


def span(text: str) -> float:
    """A time in seconds, from numbers with their units, the longest unit first."""
    found = SPAN.fullmatch(text.strip())
    parts = found.groups() if found else ()
    seconds = sum(float(part) * size for part, size in zip(parts, units.SPANS.values(), strict=False) if part)
    if 0.0 < seconds <= LONGEST_S:
        return seconds
    raise UnfitError(text, "a time with its unit, such as 90s, 60min, 2h or 1min30s, at most 11574d")


SPAN = re.compile("".join(rf"(?:(\d*\.?\d+(?:e[+-]?\d+)?)\s*{unit}\s*)?" for unit in units.SPANS))
LONGEST_S = 1e9


def share(text: str) -> float:
    """A share above 0 and at most 1, as a number or in percent."""
    percent = text.strip().endswith("%")
    value = number(text.strip().removesuffix("%")) / (100.0 if percent else 1.0)
    if 0.0 < value <= 1.0:
        return value
    raise UnfitError(text, "a share such as 2%, above 0 and at most 100%")


def number(text: str) -> float:
    """Convert to a number; minus infinity if the text is not one."""
    try:
        return float(text)
    except ValueError:
        return float("-inf")


def place(text: str) -> str:
    """The name of a file or folder."""
    if not text.strip():
        raise UnfitError(text, "a name of 1 to 255 characters")
    return text


def refuse_unfit(args: argparse.Namespace) -> None:
    """Refuse options of a command that contradict each other, or do nothing.

    Raises:
        SpecError: naming the option.
    """
    out = getattr(args, "out", None)
    if getattr(args, "force_of_out", False) and args.force and out is None:
        raise SpecError("--force", "(given)", "together with --out", "nothing is written without it")
    refuse_within(out, getattr(args, "store", None))


def refuse_within(out: str | None, store: str | None) -> None:
    """Refuse a store inside the folder of new results, which could then not be put in place once all runs are made.

    Raises:
        SpecError: naming the store.
    """
    if out is not None and store is not None and Path(store).resolve().is_relative_to(Path(out).resolve()):
        allowed = f"a folder outside {printable(out)}, which new results are written to"
        raise SpecError("--store", printable(store), allowed)


def names(text: str) -> list[str]:
    """Names, separated by commas."""
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise UnfitError(text, "names separated by commas")
    return found


def flow_numbers(text: str) -> list[int]:
    """Numbers of flows, separated by commas."""
    convert = whole(0, 2**32 - 1)
    return [convert(part.strip()) for part in text.split(",")]


def numbers(text: str) -> list[float]:
    """Loads, separated by commas."""
    convert = positive(2.0)
    return [convert(part.strip()) for part in text.split(",")]


SIZES: dict[str, Callable[[str], int | float]] = {
    "leaves": whole(1, 4096),
    "spines": whole(1, 4096),
    "k": whole(2, 64),
    "hosts_per_leaf": whole(1, 4096),
    "host_gbps": positive(100_000),
    "link_gbps": positive(100_000),
    "load": positive(2),
    "size": whole(1, 2**53 - 1),
    "incast": whole(0, 4096),
}
"""Numbers that `spinewise new` accepts: options and answers alike."""
