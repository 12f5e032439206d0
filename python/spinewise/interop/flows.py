"""Flow lists of HPCC and ConWeave.

Line 1 is the number of flows; then a line per flow, ``src dst pg size start`` (ConWeave) or ``src dst pg dport
size start`` (HPCC), the start in seconds. Starts are read as decimals, exactly: no digit is lost to binary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from spinewise.errors import SpecError
from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, exact, ns_text, read_lines, whole_ps
from spinewise.interop.topology import Ids
from spinewise.magnitudes import PS_PER_NS, PS_PER_SECOND

FORM = 'a flow, "src dst pg size start" or "src dst pg dport size start", the start in seconds'
CSV_COLUMNS = ("src", "dst", "size_bytes", "start_ns", "pg", "dport")

# The first line is one number; only this much of it is read.
_LONGEST_LINE = 1_000
_PLAIN_SECONDS = re.compile(r"([0-9]{1,9})(?:\.([0-9]{0,12}))?")


class Flow(NamedTuple):
    """One flow.

    Attributes:
        src: sending host.
        dst: receiving host.
        pg: priority group.
        dport: destination port, if the file has it.
        size_bytes: payload.
        start_ps: start, in picoseconds.
    """

    src: int
    dst: int
    pg: int
    dport: int | None
    size_bytes: int
    start_ps: int


@dataclass(frozen=True)
class FlowList:
    """The flows of a file.

    Attributes:
        file: the file it was read from.
        flows: in the order of the file, which numbers the ports of a host.
        notes: changes made.
        hosts: the host of each name, if the file does not name its hosts by numbers.
    """

    file: str
    flows: list[Flow]
    notes: list[str]
    hosts: Mapping[str, int] = field(default_factory=dict)

    @property
    def groups(self) -> list[int]:
        """The priority groups that occur, ascending."""
        return sorted({flow.pg for flow in self.flows})

    def csv(self) -> str:
        """The list as a ``[[traffic]]`` entry of kind ``flows`` reads it; it ignores pg and dport."""
        has_port = any(flow.dport is not None for flow in self.flows)
        columns = CSV_COLUMNS if has_port else CSV_COLUMNS[:-1]
        rows = [",".join(columns)]
        for flow in self.flows:
            row = f"{flow.src},{flow.dst},{flow.size_bytes},{ns_text(flow.start_ps)},{flow.pg}"
            rows.append(f"{row},{'' if flow.dport is None else flow.dport}" if has_port else row)
        return "\n".join(rows) + "\n"

    def from_first(self) -> FlowList:
        """The same list with the first start at 0."""
        first = min(flow.start_ps for flow in self.flows)
        return replace(self, flows=[flow._replace(start_ps=flow.start_ps - first) for flow in self.flows])

    def earlier(self, ns: int) -> FlowList:
        """The same list with every start `ns` nanoseconds earlier.

        Raises:
            SpecError: a flow would start before 0.
        """
        first = min(flow.start_ps for flow in self.flows)
        if first < ns * PS_PER_NS:
            allowed = f"at most the first start, {ns_text(first - first % PS_PER_NS)} ns"
            raise SpecError("--earlier-ns", ns, allowed, file=self.file)
        moved = [flow._replace(start_ps=flow.start_ps - ns * PS_PER_NS) for flow in self.flows]
        return replace(self, flows=moved)


def is_hpcc(path: str | Path) -> bool:
    """Whether a file looks like a flow list of this format: its first line that is not blank is one number."""
    try:
        with Path(path).open(encoding="utf-8-sig") as stream:
            # A line without an end is not a number.
            first = next(filter(str.strip, iter(lambda: stream.readline(_LONGEST_LINE), "")), "")
    except (OSError, UnicodeDecodeError):
        return False
    return first.strip().isdecimal()


def read(path: str | Path, ids: Ids | None = None) -> FlowList:
    """Read a flow list; with the ids of a topology, hosts get our numbers.

    A size of 0 becomes 1, as in ConWeave's code, and is noted.

    Raises:
        SpecError: with file and line: a count that does not fit, a word that is not a number of its kind, an
            unknown node or one that is a switch, a start before 0 or finer than picoseconds.
    """
    lines = read_lines(path)
    header, body = lines[0], lines[1:]
    if len(header.tokens) != 1:
        allowed = "the number of flows, alone on the first line"
        raise header.error("all", " ".join(header.tokens), allowed, looks_like(path, "flows"))
    count = header.whole(0, "number of flows", least=1)
    check_count(header, body, count)
    width = len(body[0].tokens)
    flows, empty = [], []
    for line in body[:count]:
        line.expect([5, 6], FORM)
        line.expect([width], f"{width} words, as line {body[0].number} has")
        flow = read_flow(line, ids)
        if flow.size_bytes == 0:
            empty.append(line.number)
            flow = flow._replace(size_bytes=1)
        flows.append(flow)
    return FlowList(str(path), flows, notes(str(path), empty))


def check_count(header: Line, body: list[Line], count: int) -> None:
    """Refuse a header that promises more or fewer flows than there are; comments may follow the last one."""
    flows = next((at for at, line in enumerate(body) if not line.tokens[0].isdecimal()), len(body))
    if flows < count:
        odd = body[flows] if flows < len(body) and body[flows].is_numbers else None
        if odd is not None:
            odd.whole(0, "src")
        last = body[flows - 1] if flows else header
        raise header.error(
            "number of flows", count, f"{flows}, as many flows as there are", f"the last is line {last.number}"
        )
    if flows > count:
        surplus = body[count]
        raise surplus.error(
            "all",
            " ".join(surplus.tokens),
            f"no further flow: the header (line {header.number}) promises {count}",
            f"there are {flows}",
        )


def read_flow(line: Line, ids: Ids | None) -> Flow:
    """One flow; a size may be 0 here."""
    src, dst = (read_host(line, index, what, ids) for index, what in ((0, "src"), (1, "dst")))
    if src == dst:
        raise line.error("dst", line.tokens[1], "another host than src")
    ports = len(line.tokens) == 6
    dport = line.whole(3, "dport") if ports else None
    size = line.whole(4 if ports else 3, "size")
    return Flow(src, dst, line.whole(2, "pg"), dport, size, read_start(line))


def read_host(line: Line, index: int, what: str, ids: Ids | None) -> int:
    """A host by its id, as our number where ids are known."""
    id_ = line.whole(index, what)
    return id_ if ids is None else ids.host(line, what, id_)


def read_start(line: Line) -> int:
    """The start, the last word of the line, in picoseconds."""
    token = line.tokens[-1]
    # Nearly every start is plain digits; files have hundreds of thousands.
    if plain := _PLAIN_SECONDS.fullmatch(token):
        return int(plain[1]) * PS_PER_SECOND + int((plain[2] or "").ljust(12, "0"))
    seconds = exact(token)
    if seconds is None or seconds < 0:
        raise line.error("start", token, "seconds, 0 or more")
    ps = whole_ps(seconds)
    if ps is None:
        raise line.error("start", token, "seconds with at most 12 decimals")
    return ps


def notes(file: str, empty: list[int]) -> list[str]:
    """Notes about changes made while reading the file."""
    if not empty:
        return []
    more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
    return [f"{file}: line {empty[0]}{more}: size 0 taken as 1"]
