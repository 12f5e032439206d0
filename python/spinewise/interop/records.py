"""Flow records of any origin: a row a flow, in CSV or Parquet, with named columns.

By default the columns are ``src``, ``dst``, ``size_bytes`` and a start whose name ends in its unit, such
as ``start_ns``. Other names must be given, and so must the unit of a start whose name lacks it. If a name is
not a number, such as an address, `placing` gives its host.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from io import StringIO
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.interop.flows import Flow, FlowList
from spinewise.interop.looks import looks_like
from spinewise.interop.placing import Placing
from spinewise.interop.text import LARGEST_BYTES, TIME_UNITS, exact
from spinewise.magnitudes import PS_PER_NS, PS_PER_SECOND, PS_PER_US
from spinewise.reading import TABLE_BYTES, ordinary, printable, read_text

_DECIMALS = re.compile(r"(?<=:[0-9]{2})[.,]([0-9]{1,30})")
FIELDS = ("src", "dst", "size", "start")
PARQUET = b"PAR1"
SIZE_UNITS = {
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30,
}  # fmt: skip
"""Units that the name of a column of sizes may end in, in bytes."""


@dataclass(frozen=True)
class Columns:
    """The columns, and their units.

    Attributes:
        names: the column of src, dst, size and start, for those that are given.
        start_unit: the unit of starts, if it is given.
        unit_bytes: bytes per unit of size.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    start_unit: str | None = None
    unit_bytes: int = 1

    def locate(self, header: list[str], file: str, look: str | None) -> tuple[dict[str, int], Fraction | None]:
        """The place of each column, and the unit of starts in seconds, None if nothing says it.

        `look` is the hint at another reader.

        Raises:
            SpecError: a column is missing or there are several; the unit is unknown, or another than the column says.
        """
        wanted = {"src": "src", "dst": "dst", "size": "size_bytes", **self.names}
        if "start" not in wanted:
            wanted["start"] = next((name for name in header if unit_in(name) and name.startswith("start")), "start_ns")
        for what, name in wanted.items():
            if name not in header:
                allowed = f"a column of this file: {', '.join(header)}"
                hint = f"--columns {what}=NAME says which it is"
                near = nearest(name, header)
                told = look or (f"{near}; {hint}" if near else hint)
                raise SpecError(f"column of {what}", name, allowed, told, file=file)
        for what, name in wanted.items():
            if header.count(name) > 1:
                allowed = f"one column of this name: {', '.join(header)}"
                raise SpecError(f"column of {what}", name, allowed, file=file)
        starts = [name for name in header if name.startswith("start") and unit_in(name)]
        if "start" not in self.names and len(starts) > 1:
            allowed = "one column of starts, or --columns start=NAME"
            raise SpecError("column of start", ", ".join(starts), allowed, file=file)
        named, given = unit_in(wanted["start"]), self.start_unit
        in_bytes = SIZE_UNITS.get(wanted["size"].lower().rpartition("_")[2])
        if in_bytes not in (None, self.unit_bytes):
            allowed = f"{in_bytes}, as the column {wanted['size']} says"
            raise SpecError("--unit-bytes", self.unit_bytes, allowed, file=file)
        if named is not None and given not in (None, named):
            raise SpecError("--start-unit", str(given), f"{named}, as the column {wanted['start']} says", file=file)
        unit = named or given
        return {what: header.index(name) for what, name in wanted.items()}, TIME_UNITS[unit] if unit else None


def unit_in(name: str) -> str | None:
    """The unit at the end of the name of a column."""
    last = name.lower().rpartition("_")[2]
    return last if last in TIME_UNITS and "_" in name else None


def is_parquet(path: str | Path) -> bool:
    """Whether a file begins like Parquet."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def read(path: str | Path, columns: Columns, placing: Placing | None = None) -> FlowList:
    """Read flow records; `placing` maps their names to hosts.

    Raises:
        SpecError: with file and row: a column or a unit that is missing, a field that is not a number of its kind, a
            file without a flow between two hosts.
    """
    file = printable(path)
    header, rows = parquet_rows(path, file) if is_parquet(path) else csv_rows(path, file)
    places, unit = columns.locate(header, file, looks_like(path, "flows"))
    found: list[tuple[str, str, int, int]] = []
    first: dict[str, str] = {}
    empty: list[str] = []
    local: list[str] = []
    blank: list[str] = []
    told: set[Fraction | None] = set()
    for where, row in rows:
        if not any(row):
            blank.append(where)
            continue
        if len(row) != len(header):
            raise SpecError(f"{where}, all", f"{len(row)} fields", f"{len(header)}, as the header has", file=file)
        src, dst, size, start = (row[places[what]] for what in FIELDS)
        for what, end in (("src", src), ("dst", dst)):
            if not end:
                raise SpecError(f"{where}, {what}", "(nothing)", "a host", file=file)
        if src == dst:
            local.append(where)
            continue
        first.setdefault(src, where)
        first.setdefault(dst, where)
        bytes_ = whole(size, "size", where, file) * columns.unit_bytes
        if bytes_ > LARGEST_BYTES:
            raise SpecError(f"{where}, size", size, f"at most {LARGEST_BYTES} bytes", file=file)
        if bytes_ == 0:
            empty.append(where)
        if len(told) < 2:
            told.add(exact(start))
        found.append((src, dst, max(bytes_, 1), time_ps(start, unit, where, file)))
    if not found:
        only = "only flows from a host to itself" if local else "only a header"
        raise SpecError("(whole file)", only, "at least one flow", file=file)
    hosts, named, notes = (placing or Placing()).of(first, file)
    notes += [
        f"{file}: {places[0]}" + (f" and {len(places) - 1:,} more" if len(places) > 1 else "") + f": {what}"
        for places, what in (
            (empty, "size 0 taken as 1"),
            (local, "left out, a flow from a host to itself"),
            (blank, "an empty row"),
        )
        if places
    ]
    notes += not_read(header, places.values(), file)
    starts = [start for *_, start in found]
    if len(told) > 1 and max(starts) - min(starts) < PS_PER_NS:
        notes.append(f"{file}: all {len(found):,} flows start within a nanosecond: is the unit of starts right?")
    flows = [Flow(hosts[src], hosts[dst], 0, None, size, start) for src, dst, size, start in found]
    return FlowList(file, flows, notes, hosts if named else {})


def not_read(header: list[str], places: Iterable[int], file: str) -> list[str]:
    """A note that names the columns other than those at these places; empty if there are none."""
    used = set(places)
    unread = [name for place, name in enumerate(header) if place not in used]
    return [f"{file}: columns that are not read: {', '.join(unread)}"] if unread else []


def csv_rows(path: str | Path, file: str) -> tuple[list[str], Iterator[tuple[str, list[str]]]]:
    """The header and the rows of a CSV file, with the line of each; ``#`` begins a comment."""
    text = read_text(path, "FILE", most=TABLE_BYTES)
    reader = csv.reader(StringIO(text), skipinitialspace=True, delimiter=separator(text))
    lines = ((f"line {reader.line_num}", row) for row in reader if row and not row[0].startswith("#"))
    _, header = next(lines, ("", []))
    if len(header) < len(FIELDS):
        raise SpecError("line 1", ",".join(header), "a header with names of columns, separated by commas",
                        looks_like(path, "flows"), file=file)  # fmt: skip
    return [name.strip() for name in header], ((where, [word.strip() for word in row]) for where, row in lines)


def separator(text: str) -> str:
    """What parts the columns of a text: a semicolon or a tab where the header has more of them than commas."""
    header = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return max(",;\t", key=header.count)


def parquet_rows(path: str | Path, file: str) -> tuple[list[str], Iterator[tuple[str, list[str]]]]:
    """The names of the columns and the rows of a Parquet file, as text."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and only this format needs it
    from pyarrow import parquet  # noqa: PLC0415

    ordinary(path, "FILE", "a Parquet file")
    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise SpecError("(whole file)", str(error), "a whole Parquet file", file=file) from None
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            raise SpecError(
                "start", str(column.type), "a column of numbers: cast times to whole numbers first", file=file
            )
        columns.append(column.to_pylist())
    rows = zip(*columns, strict=True)
    return table.column_names, ((f"row {n}", [as_text(x) for x in row]) for n, row in enumerate(rows, start=1))


def as_text(value: object) -> str:
    """A value of a table as text, empty for None."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    # What pandas makes of whole numbers where one is missing.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def whole(text: str, what: str, where: str, file: str) -> int:
    """A whole number, 0 or more; 12.0 is one too."""
    number = exact(text)
    if number is None or number < 0 or number.denominator != 1:
        raise SpecError(f"{where}, {what}", text, "a whole number, 0 or more", file=file)
    return int(number)


def time_ps(text: str, unit: Fraction | None, where: str, file: str) -> int:
    """A time in picoseconds, rounded to whole ones: a number in `unit`, or a date with a time (ISO 8601, else UTC)."""
    number = exact(text)
    if number is None and (since := since_1970(text)) is not None:
        return since
    if unit is None:
        allowed = f"{', '.join(TIME_UNITS)}: the column of starts does not say"
        raise SpecError("--start-unit", "(nothing)", allowed, file=file)
    if number is None or number < 0:
        raise SpecError(f"{where}, start", text, "a number, 0 or more, or 2026-05-01T12:00:00.25Z", file=file)
    return round(number * unit * PS_PER_SECOND)


def since_1970(text: str) -> int | None:
    """A date with a time in picoseconds since 1970; None for other texts and earlier times."""
    decimals = _DECIMALS.search(text)
    # A date of Python has no more than microseconds.
    seconds = text if decimals is None else text[: decimals.start()] + text[decimals.end() :]
    try:
        then = datetime.fromisoformat(seconds)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    micros = (then - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    part = Fraction(f"0.{decimals[1]}") if decimals else Fraction(0)
    return micros * PS_PER_US + round(part * PS_PER_SECOND) if micros >= 0 else None
