"""Ways out of refusals of the engine, where another command of Spinewise is one."""

from __future__ import annotations

import re
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.reading import printable

_CELL = re.compile(r"line \d+, column (\w+): `([^`]*)`; allowed is ")
LATEST_START_NS = 18_446_744_073_709_551
"""The latest start that a list of flows may have: times are picoseconds in 64 bits."""


def with_way_out(error: SpecError) -> SpecError:
    """The same error; one about a CSV file of flows says which `spinewise import` would make it one."""
    found = _CELL.match(error.hint or "")
    if found is None or not re.fullmatch(r"traffic\[\d+\]\.file", error.key):
        return error
    column, value = found.groups()
    file = printable(Path(error.value.strip('"')).name)
    if value == "missing":
        options = "--columns size=NAME,start=NAME --start-unit s --out FILE"
        more = f"`spinewise import flows {file} {options}` reads columns of other names and units"
    elif column == "start_ns" and value.partition(".")[0].isdecimal() and float(value) > LATEST_START_NS:
        more = (
            f"a start is at most {LATEST_START_NS} ns: `spinewise import flows {file} --from-first --out FILE` lets the"
            " first flow start at 0"
        )
    else:
        return error
    hint = f"{error.hint}; {more}"
    return SpecError(error.key, error.value, error.allowed, hint, file=error.file, line=error.line)
