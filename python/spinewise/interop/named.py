"""Topologies as lists of links between named nodes: CSV with a header and a row for each link.

The ends are the columns ``a`` and ``b``, ``node_a`` and ``node_b``, ``src`` and ``dst``, or ``from`` and ``to``. Rate
and delay are the columns that begin so, or as `RATES` and `DELAYS` say; what follows is the unit, else values have one.
A node with one link is a host, every other is a switch, unless a pattern says which are hosts.
"""

from __future__ import annotations

import csv
import json
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple, NoReturn

from spinewise.errors import SpecError, nearest
from spinewise.interop.looks import looks_like
from spinewise.interop.placing import Placing
from spinewise.interop.records import not_read, separator
from spinewise.interop.text import TIME_UNITS, exact, ns_text, whole_ps
from spinewise.interop.topology import RATE_UNITS, Link, Topology, gbps
from spinewise.magnitudes import BITS_PER_GIGABIT, PS_PER_NS
from spinewise.reading import SPEC_BYTES, TABLE_BYTES, is_ordinary, printable, read_text

FIELDS = ("a", "b", "rate_gbps", "delay_ns")
ENDS = (("a", "b"), ("node_a", "node_b"), ("src", "dst"), ("from", "to"))
RATES, DELAYS = ("rate", "capacity", "bandwidth", "speed"), ("delay", "latency")
USUAL_DELAY_NS = 1000
LONGEST_NAME = 60
LONGEST_LINE = 100_000
"""The most characters of a line that are read to recognise a file."""
PER_LINE = 8
"""Names on a line of the table that is written."""
NAME = f"a name of 1 to {LONGEST_NAME} printable characters, without # and ->"

_RATES = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": BITS_PER_GIGABIT, "tbps": 10**12}
_WITH_UNIT = re.compile(r"([0-9.eE+-]*[0-9.])\s*([A-Za-z/]+)")


@dataclass(frozen=True)
class Columns:
    """The columns that options name.

    Attributes:
        names: the column of a, b, rate_gbps and delay_ns, for those that are given.
        hosts: a shell pattern of the names of hosts; None: a node with one link is a host.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    hosts: str | None = None


class Amount(NamedTuple):
    """A column of rates or delays: its place, its name, and its unit; None if each value has its own."""

    place: int
    name: str
    unit: Fraction | None


class Places(NamedTuple):
    """The places of the parts of a link in a row; no delay if the file has none."""

    a: int
    b: int
    rate: Amount
    delay: Amount | None


class Source(NamedTuple):
    """A file: its name, its header, and the places of its columns."""

    file: str
    header: list[str]
    places: Places

    def error(self, line: int, place: int, given: str, allowed: str, hint: str | None = None) -> SpecError:
        """An error about a field."""
        return SpecError(f"line {line}, {self.header[place]}", given or "(nothing)", allowed, hint, file=self.file)


class Row(NamedTuple):
    """A link of the file."""

    line: int
    a: str
    b: str
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Named:
    """A fabric whose nodes have names, and the assumptions made about it.

    Attributes:
        topology: with hosts before switches, each in the order of the file.
        names: of its nodes.
        notes: for people.
    """

    topology: Topology
    names: list[str]
    notes: list[str]

    def toml(self) -> str:
        """The ``[topology]`` table of a spec."""
        found, names = self.topology, [json.dumps(name, ensure_ascii=False) for name in self.names]
        rows = [f"  {', '.join(names[at : at + PER_LINE])}," for at in range(0, len(names), PER_LINE)]
        lines = ["[topology]", 'kind = "links"', f"hosts = {found.hosts}", f"switches = {found.switches}"]
        lines += [
            "# hosts, then switches",
            "names = [",
            *rows,
            "]",
            "# node, node, rate in Gbps, delay in ns",
            "links = [",
        ]
        lines += [f"  [{names[x.a]}, {names[x.b]}, {gbps(x.rate_bps)}, {ns_text(x.delay_ps)}]," for x in found.links]
        return "\n".join([*lines, "]", ""])


def read(path: str | Path, columns: Columns | None = None) -> Named:
    """Read a list of links.

    Raises:
        SpecError: with file, line and column: a missing column, an invalid name, a rate or a delay that is not a number
            or has no unit, a link of two hosts or of a node to itself, a host with several links.
    """
    file, told = printable(path), columns or Columns()
    text = read_text(path, "FILE", most=TABLE_BYTES)
    reader = csv.reader(StringIO(text), skipinitialspace=True, delimiter=separator(text))
    lines = ((reader.line_num, row) for row in reader if any(map(str.strip, row)) and not row[0].startswith("#"))
    first, header = next(lines, (1, []))
    header = [name.strip() for name in header]
    source = Source(file, header, locate(header, told, first, file, looks_like(path, "topology")))
    rows = [read_row(line, [word.strip() for word in row], source) for line, row in lines]
    if not rows:
        raise SpecError("(whole file)", "only a header", "at least one link", file=file)
    fabric, names = arranged(rows, told.hosts, source)
    further = [] if told.hosts else with_several_links(names, fabric.hosts, file)
    return Named(fabric, names, notes(rows, source) + further)


def notes(rows: list[Row], source: Source) -> list[str]:
    """What was assumed about the file, and what in it was not read."""
    file, places, found = source.file, source.places, []
    if places.delay is None:
        found.append(f"{file}: no column of delays: every link takes {USUAL_DELAY_NS} ns")
    amounts = [places.rate, *([places.delay] if places.delay else [])]
    found += not_read(source.header, [places.a, places.b, *(one.place for one in amounts)], file)
    first: dict[frozenset[str], Row] = {}
    both: list[tuple[int, int]] = []
    for row in rows:
        one = first.setdefault(frozenset((row.a, row.b)), row)
        if one.a != row.a:
            both.append((row.line, one.line))
    if both:
        line, before = both[0]
        more = f", and {len(both) - 1:,} more" if len(both) > 1 else ""
        found.append(
            f"{file}: line {line} has the ends of line {before} the other way round{more}: each line is a link of its"
            " own, so a list of links from both ends has twice as many as the fabric"
        )
    return found


def with_several_links(names: list[str], hosts: int, file: str) -> list[str]:
    """A note if switches are called like hosts, and others are not: they may be servers with several links."""
    kinds = {name.rstrip(string.digits) for name in names[:hosts]}
    alike = [name for name in names[hosts:] if name.rstrip(string.digits) in kinds]
    if not alike or len(alike) == len(names) - hosts:
        return []
    more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
    return [
        f"{file}: taken for switches, as each has several links, though hosts are called alike: {alike[0]}{more};"
        " a server with several NICs is as many hosts"
    ]


def locate(header: list[str], told: Columns, line: int, file: str, hint: str | None) -> Places:
    """The columns of a file, by options and by their names."""
    where = f"line {line}"
    if len(header) < 2:
        allowed = "a header with names of columns, separated by commas, such as a,b,rate_gbps,delay_ns"
        raise SpecError(where, ",".join(header), allowed, hint, file=file)
    for what, name in told.names.items():
        if name not in header:
            allowed = f"a column of this file: {', '.join(header)}"
            raise SpecError(f"{where}, column of {what}", name, allowed, nearest(name, header), file=file)
    usual = next((pair for pair in ENDS if set(pair) <= {*header}), ENDS[0])
    ends = [told.names.get(what, name) for what, name in zip(FIELDS[:2], usual, strict=True)]
    for what, name in zip(FIELDS[:2], ends, strict=True):
        if name not in header:
            usual_ends = " or ".join(map(" and ".join, ENDS))
            raise without(header, (where, what), f"with {usual_ends}", file, hint)
    rate = amount(header, told.names.get("rate_gbps"), RATES, "gbps", rates())
    if rate is None:
        raise without(header, (where, "rate_gbps"), "with rate_gbps", file, hint)
    delay = amount(header, told.names.get("delay_ns"), DELAYS, "ns", TIME_UNITS)
    return Places(header.index(ends[0]), header.index(ends[1]), rate, delay)


def without(header: list[str], at: tuple[str, str], allowed: str, file: str, hint: str | None) -> SpecError:
    """An error about a header that lacks a column; `hint` is about another format."""
    where, what = at
    told = hint or f"--columns {what}=NAME says which it is"
    return SpecError(f"{where}, column of {what}", ", ".join(header), allowed, told, file=file)


def rates() -> dict[str, Fraction]:
    """The units of rates that names of columns may end in, in bits per second."""
    return {unit: Fraction(size) for unit, size in _RATES.items()}


def amount(
    header: list[str], told: str | None, words: Iterable[str], usual: str, units: Mapping[str, Fraction]
) -> Amount | None:
    """The column of rates or delays: the given one, or the first whose name begins so.

    A given one has the unit that its name ends in, else the usual one.
    """
    if told is not None:
        unit = told.lower().rpartition("_")[2] if "_" in told else usual
        return Amount(header.index(told), told, units.get(unit, units[usual]))
    for place, name in enumerate(header):
        word, _, unit = name.lower().partition("_")
        if word in words and (not unit or unit in units):
            return Amount(place, name, units[unit] if unit else None)
    return None


def read_row(line: int, row: list[str], source: Source) -> Row:
    """A link."""
    places = source.places
    if len(row) != len(source.header):
        allowed = f"{len(source.header)} fields, as the header has"
        raise SpecError(f"line {line}, all", ",".join(row), allowed, file=source.file)
    for place in (places.a, places.b):
        if not is_name(row[place]):
            raise source.error(line, place, row[place], NAME)
    if row[places.a] == row[places.b]:
        raise source.error(line, places.b, row[places.b], f"another node than in {source.header[places.a]}")
    rate = value(line, row, places.rate, source, in_bps())
    if rate.denominator != 1 or rate <= 0:
        raise source.error(line, places.rate.place, row[places.rate.place], "a whole number of bits/s, above 0")
    if places.delay is None:
        return Row(line, row[places.a], row[places.b], int(rate), USUAL_DELAY_NS * PS_PER_NS)
    delay = whole_ps(value(line, row, places.delay, source, TIME_UNITS))
    if delay is None or delay < 0:
        allowed = "a whole number of picoseconds, 0 or more"
        raise source.error(line, places.delay.place, row[places.delay.place], allowed)
    return Row(line, row[places.a], row[places.b], int(rate), delay)


@cache
def in_bps() -> dict[str, Fraction]:
    """Units of rates as values have them, in bits per second."""
    return {unit: Fraction(size) for unit, size in RATE_UNITS.items()}


def is_name(name: str) -> bool:
    """Whether a node can be called so: reports print it, and names of links hold it."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and "#" not in name and "->" not in name


def value(line: int, row: list[str], at: Amount, source: Source, units: Mapping[str, Fraction]) -> Fraction:
    """A number with the unit of its column, or with its own."""
    text = row[at.place]
    if at.unit is not None:
        number = exact(text)
        if number is None:
            raise source.error(line, at.place, text, "a number")
        return number * at.unit
    match = _WITH_UNIT.fullmatch(text)
    number = exact(match[1]) if match else None
    if match is None or number is None or match[2] not in units:
        what, unit = ("rate_gbps", "Gbps") if "Gbps" in units else ("delay_ns", "ns")
        hint = f"--columns {what}={at.name} says that the whole column is in {unit}"
        raise source.error(line, at.place, text, f"a number with one of the units {', '.join(units)}", hint)
    return number * units[match[2]]


def arranged(rows: list[Row], pattern: str | None, source: Source) -> tuple[Topology, list[str]]:
    """Hosts before switches, each in the order of the file; with the names."""
    links = Counter(end for row in rows for end in (row.a, row.b))
    is_host = {name: fnmatchcase(name, pattern) if pattern else many == 1 for name, many in links.items()}
    hosts = [name for name in links if is_host[name]]
    if not hosts:
        refuse_without_hosts(pattern, len(links), source.file)
    check_hosts(rows, set(hosts), source)
    names = [*hosts, *(name for name in links if not is_host[name])]
    number = {name: node for node, name in enumerate(names)}
    made = [Link(number[row.a], number[row.b], row.rate_bps, row.delay_ps) for row in rows]
    return Topology(source.file, len(hosts), len(names) - len(hosts), made, list(range(len(names)))), names


def refuse_without_hosts(pattern: str | None, nodes: int, file: str) -> NoReturn:
    """Refuse a list in which no node is a host."""
    if pattern:
        raise SpecError("--hosts", pattern, "a pattern that the name of a node fits", file=file)
    hint = "a link is listed once, and goes both ways; --hosts PATTERN says which nodes are hosts"
    given = f"{nodes} nodes with several links each"
    raise SpecError("(whole file)", given, "a node with one link, which is a host", hint, file=file)


def check_hosts(rows: list[Row], hosts: set[str], source: Source) -> None:
    """Refuse a host with several links, and one whose link leads to another host."""
    seen: dict[str, int] = {}
    for row in rows:
        if {row.a, row.b} <= hosts:
            allowed = f"a switch: {row.a} is a host, and hosts are linked to switches"
            raise source.error(row.line, source.places.b, row.b, allowed, "--hosts PATTERN says which nodes are hosts")
        for place, end in ((source.places.a, row.a), (source.places.b, row.b)):
            if end in hosts and end in seen:
                allowed = f"a host with one link; line {seen[end]} already has its link"
                raise source.error(row.line, place, end, allowed, "a server with several NICs is as many hosts")
            seen.setdefault(end, row.line)


def looks_named(path: str | Path) -> bool:
    """Whether a file can tell names of nodes: the first line of a CSV file has names, and a spec ends in .toml."""
    if str(path).endswith(".toml"):
        return True
    if not is_ordinary(path):
        return False
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as stream:
            lines = iter(lambda: stream.readline(LONGEST_LINE), "")
            first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    except OSError:
        return False
    by = separator(first)
    return by in first and not first.split(by)[0].strip().isdecimal()


def placing(path: str | Path) -> Placing:
    """Which host each name is, by a list of links or by a spec whose topology has names.

    Raises:
        SpecError: it is neither, or the spec's topology has no names.
    """
    if not str(path).endswith(".toml"):
        found = read(path)
        return told(found.names, found.topology.hosts, found.topology.file)
    file = printable(path)
    try:
        spec = tomllib.loads(read_text(path, "--topology", most=SPEC_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise SpecError("--topology", str(error), "a spec", file=file) from None
    table = spec.get("topology")
    table = table if isinstance(table, dict) else {}
    names, hosts = table.get("names"), table.get("hosts")
    if not isinstance(names, list) or not isinstance(hosts, int) or not all(isinstance(one, str) for one in names):
        hint = "`spinewise import topology` writes them for a list of links"
        raise SpecError("topology.names", "(nothing)", "the names of nodes, and topology.hosts", hint, file=file)
    return told(names, hosts, file)


def told(names: list[str], hosts: int, file: str) -> Placing:
    """The host of each name."""
    return Placing({name: number for number, name in enumerate(names[:hosts])}, file, option="--topology")
