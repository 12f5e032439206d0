"""Hints for refusals by the engine, if another command of Spinewise helps."""

from __future__ import annotations

import re
from pathlib import Path

from spinewise.errors import SAME, SpecError, nearest
from spinewise.interop.looks import looks_like
from spinewise.reading import printable
from spinewise.runs import formats

_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SHARE = re.compile(r"^a number .*at most ([12])$", re.ASCII)
_OF_OTHER_KIND = re.compile(r'^no such key with transport\.kind = .*; \w+ is a key of kind = "(\w+)"', re.ASCII)
_CELL = re.compile(r"line \d+, column ([^:]*): `([^`]*)`; allowed is ")
OPERATIONS = "a CSV file of operations"
"""What is allowed as the file of traffic of kind `dag`."""
NAMES = ("scheme.name", "scheme.fabric", "transport.kind")
OWN = "a scheme of your own needs --scheme-file FILE.py:CLASS, and goes by its class's `name`; in Python give the class"
LATEST_START_NS = 18_446_744_073_709_551
"""The latest start that a list of flows may have: times are picoseconds in 64 bits."""


def with_way_out(error: SpecError) -> SpecError:
    """The same error with a hint, if there is a way out.

    It may be about a name used elsewhere, a share in percent, a file that a command could convert, or a key of another
    transport.
    """
    hint = of_name(error) if error.key in NAMES else of_share(error) or of_list(error) or of_other_kind(error)
    if hint is None:
        return error
    return SpecError(
        error.key, error.value, error.allowed, hint, file=error.file, line=error.line, unserved=error.unserved
    )


def of_name(error: SpecError) -> str | None:
    """The name of a scheme or a transport here."""
    word = error.value.strip('"').lower()
    if word in SAME and f'"{SAME[word]}"' in error.allowed:
        return nearest(word, SAME.values())
    return OWN if error.key == "scheme.name" and error.hint is None else None


def of_share(error: SpecError) -> str | None:
    """A hint that a share was given in percent."""
    most = _SHARE.search(error.allowed)
    if most is None or not _NUMBER.fullmatch(error.value):
        return None
    value = float(error.value)
    if not int(most[1]) < value <= 100 * int(most[1]):
        return None
    return "; ".join(filter(None, (f"a share: {value:g} % is {value / 100:g}", error.hint)))


def of_other_kind(error: SpecError) -> str | None:
    """A variant with the transport that has the key."""
    kind = _OF_OTHER_KIND.match(error.allowed)
    if kind is None or not error.key.startswith("transport."):
        return None
    variant = f"NAME:transport.kind={kind[1]}:{error.key}={error.value}"
    return f'with transport.kind = "{kind[1]}" it is one; a variant may have it: {variant}'


def of_list(error: SpecError) -> str | None:
    """The `spinewise import` that converts another file to a list of flows or a table of operations."""
    found = _CELL.match(error.hint or "")
    if found is None or not re.fullmatch(r"traffic\[\d+\]\.file", error.key):
        return None
    column, value = found.groups()
    place = error.value.strip('"')
    file = printable(Path(place).name)
    if OPERATIONS in error.allowed:
        # A header with one column too many is still a header; otherwise it may be another tool's file.
        look = looks_like(place, but="flows") if value in ("missing", "unknown") else None
        usual = "`spinewise import goal`, `chakra`, `htsim-cm` and `simai-workload` write such files from traces"
        more = look or (usual if value == "missing" else "")
    elif value == "missing":
        more = f"`spinewise import flows {file} --out FILE` reads columns of other names, units and separators"
    elif column in ("src", "dst") and value and not _NUMBER.fullmatch(value):
        more = f"`spinewise import flows {file} --topology FILE --out FILE` gives names of hosts their numbers"
    elif column == "start_ns" and _NUMBER.fullmatch(value) and float(value) > LATEST_START_NS:
        more = (
            f"a start is at most {LATEST_START_NS} ns: `spinewise import flows {file} --from-first --out FILE` lets the"
            " first flow start at 0"
        )
    else:
        more = ""
    return f"{error.hint}; {more}" if more else None


def of_results(path: str | Path) -> str | None:
    """The command that shows the results in a folder that was given in place of a spec."""
    made_by = next((kind.by for kind in formats.ALL if (Path(path) / kind.record).is_file()), None)
    if made_by is None:
        return None
    return (
        f"these are results of `{made_by}`: `spinewise report {printable(path)} --out FILE.html` shows them,"
        " several side by side; in Python `spinewise.read` reads those of runs and comparisons"
    )
