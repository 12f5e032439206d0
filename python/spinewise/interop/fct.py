"""Completion times in the format of HPCC and ConWeave: ``src dst sport dport size start_ns fct_ns standalone_ns``.

One line per finished flow, in the order of finishing. HPCC writes hosts as addresses in hexadecimal, ConWeave
as numbers; both are read, numbers are written.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spinewise import core
from spinewise.errors import SpecError
from spinewise.interop.graph import Graph, Reach
from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, read_lines
from spinewise.interop.topology import Ids
from spinewise.magnitudes import PS_PER_NS
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.specs.carriers import of_entry

if TYPE_CHECKING:
    import pyarrow as pa

FORM = '"src dst sport dport size start_ns fct_ns standalone_fct_ns"'
# ConWeave's code numbers ports like this: upwards from here, per sending and per receiving host.
FIRST_SOURCE_PORT = 10_000
FIRST_DESTINATION_PORT = 100
LAST_PORT = 2**16 - 1
LARGEST_HOST = 2**32 - 1

_ADDRESS = re.compile(r"0b([0-9a-f]{2})([0-9a-f]{2})01")


class Row(NamedTuple):
    """One finished flow; see the table at the head of this file. Times in nanoseconds."""

    src: int
    dst: int
    sport: int
    dport: int
    size_bytes: int
    start_ns: int
    fct_ns: int
    ideal_fct_ns: int


@dataclass(frozen=True)
class FctFile:
    """The flows of a file.

    Attributes:
        file: the file it was read from.
        rows: by start, then source, then source port.
    """

    file: str
    rows: list[Row]

    def table(self) -> pa.Table:
        """The rows as a `pyarrow.Table`, with the slowdown as in ConWeave's scripts: at least 1."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and only writers of Parquet need it

        columns: dict[str, object] = {
            name: pa.array([row[at] for row in self.rows], pa.uint64() if at > 3 else pa.uint32())
            for at, name in enumerate(Row._fields)
        }
        columns["slowdown"] = pa.array([slowdown(row) for row in self.rows], pa.float64())
        return pa.table(columns)

    def csv(self) -> str:
        """The rows as CSV; its columns src, dst, size_bytes and start_ns form a list of flows."""
        rows = [",".join((*Row._fields, "slowdown"))]
        rows += [",".join([*map(str, row), f"{slowdown(row):.9g}"]) for row in self.rows]
        return "\n".join(rows) + "\n"


def slowdown(row: Row) -> float:
    """Completion time over that alone, at least 1."""
    return max(1.0, row.fct_ns / row.ideal_fct_ns)


def read(path: str | Path, ids: Ids | None = None) -> FctFile:
    """Read a file of completion times; with the ids of a topology, hosts get our numbers.

    Raises:
        SpecError: with file and line: not eight words, a word that is not a number of its kind, an unknown host.
    """
    rows = []
    for line in read_lines(path):
        line.expect([8], FORM, looks_like(path, "fct"))
        ends = [read_host(line, index, what, ids) for index, what in ((0, "src"), (1, "dst"))]
        sport, dport = (line.whole(at, what, most=LAST_PORT) for at, what in ((2, "sport"), (3, "dport")))
        size, start, fct = (line.whole(at, what) for at, what in ((4, "size"), (5, "start"), (6, "fct")))
        rows.append(Row(ends[0], ends[1], sport, dport, size, start, fct, line.whole(7, "standalone fct", least=1)))
    rows.sort(key=lambda row: (row.start_ns, row.src, row.sport))
    return FctFile(str(path), rows)


def read_host(line: Line, index: int, what: str, ids: Ids | None) -> int:
    """A host's number or id, given as such or as HPCC's address 0b<high><low>01 in hexadecimal."""
    address = _ADDRESS.fullmatch(line.tokens[index].lower())
    id_ = int(address[1], 16) * 256 + int(address[2], 16) if address else line.whole(index, what, most=LARGEST_HOST)
    return id_ if ids is None else ids.host(line, what, id_)


def rows_of(result: Result) -> list[Row]:
    """The finished flows of a run, in the order of finishing.

    The completion time is the sender's (last byte acknowledged), as in ConWeave's code; times are cut to whole
    nanoseconds. The k-th flow of a source, in the order of starting, has source port 10000 + k, and the k-th to a
    destination has destination port 100 + k, whether it finished or not. UDP sources are not flows.

    Raises:
        SpecError: the run kept no row per flow.
    """
    flows = result.flows
    if flows.num_rows == 0 and result.report.get("flows"):
        raise SpecError("RUN", "a run without a row per flow", "one that kept them", "raise metrics.keep_flows_up_to")
    tcp = numbers(flows, "tcp").astype(bool)
    names = ("entry", "src", "dst", "size_bytes", "start_ps", "sender_fct_ps", "finished")
    columns = [numbers(flows, name)[tcp].tolist() for name in names]
    fabric = core.topology(result.spec)
    graphs = [Graph.of(fabric, of_entry(result.spec, entry)) for entry in result.spec["traffic"]]
    paths: dict[tuple[int, int], dict[int, Reach]] = {}
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    rows, ends = [], []
    for entry, src, dst, size, start_ps, fct_ps, finished in zip(*columns, strict=True):
        sport, dport = FIRST_SOURCE_PORT + sent[src], FIRST_DESTINATION_PORT + received[dst]
        sent[src] += 1
        received[dst] += 1
        if finished and fct_ps:
            graph = graphs[entry]
            if (entry, src) not in paths:
                paths[entry, src] = graph.reach(src)
            ideal = graph.standalone_ns(paths[entry, src][dst], size)
            rows.append(Row(src, dst, sport, dport, size, start_ps // PS_PER_NS, fct_ps // PS_PER_NS, ideal))
            ends.append(start_ps + fct_ps)
    return [rows[at] for at in np.argsort(np.array(ends, dtype=np.int64), kind="stable")]


def text(rows: list[Row], ids: Ids | None = None) -> str:
    """Rows in the format of the file; with ids of hosts, these in place of our numbers."""
    if ids is not None:
        by_host = list(ids.hosts)
        rows = [row._replace(src=by_host[row.src], dst=by_host[row.dst]) for row in rows]
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)
