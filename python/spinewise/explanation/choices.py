"""The choices of one flow from a trace, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spinewise.magnitudes import PS_PER_US
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa

DEAD_END = "into a dead end"
"""The name of a path that leads nowhere."""
NO_WAY_ON = "(no onward route)"
"""The suffix of the name of a path that ends at a switch without an onward route."""


@dataclass(frozen=True)
class Candidate:
    """A path that a packet could have taken.

    Attributes:
        name: the switches on it.
        links: its links, from the device to the destination; the best ones where a choice remains; if a
            switch had no onward route, only up to it.
        queue_bytes: queued at the port of each link.
        state: the state of each link: up, paused or down.
        queueing_us: how long the packet would have waited there, if nothing else came.
        travel_us: transmission and propagation.
        worse_us: how much longer than on the best candidate.
        open: whether all its links worked, and every switch had an onward route.
        offered: whether it was a candidate; the previous packet's path may no longer be one.
        saw: the quantities that the scheme saw of it.
    """

    name: str
    links: list[str]
    queue_bytes: list[int]
    state: list[str]
    queueing_us: float
    travel_us: float
    worse_us: float
    open: bool = True
    offered: bool = True
    saw: dict[str, float] = field(default_factory=dict)


class Choices:
    """The choices of a flow's data packets, in order of time: arrays by choice, candidates by row."""

    def __init__(
        self, trace: pa.Table, flow: int, *, subflows: bool = False, values: bool = False, nodes: Nodes = NUMBERED
    ) -> None:
        """Read the rows of a flow.

        Args:
            trace: see docs/results.md.
            flow: its number.
            subflows: whether its packets belong to subflows.
            values: whether the tags of hosts are values that switches hash, and do not name paths.
            nodes: the names of the nodes of the fabric.
        """
        import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

        self.flow = flow
        self.subflows = subflows
        self.values = values
        self.nodes = nodes
        self.acks = int(pc.sum(pc.and_(mine(trace, flow, "ack"), trace.column("chosen"))).as_py() or 0)
        self.rows = trace.filter(mine(trace, flow, "data"))
        self.saw = [name for name in self.rows.column_names if "." in name]
        self.of_flow = {name for name in self.saw if is_of_flow(self.rows.schema.field(name))}
        number = self.numbers("choice")
        self.starts = np.flatnonzero(np.diff(number, prepend=-1)).astype(int)
        self.ends = np.append(self.starts[1:], len(number))
        self.chosen = np.flatnonzero(self.numbers("chosen"))
        previous = np.flatnonzero(self.numbers("previous"))
        self.previous = np.full(len(self.starts), -1)
        self.previous[np.searchsorted(self.starts, previous, side="right") - 1] = previous
        self.time = self.numbers("time_ps")[self.starts] / PS_PER_US
        self.subflow = subflows_of(self.rows)[self.starts]
        self.seq = self.numbers("seq")[self.starts]
        self.again = self.numbers("retransmit")[self.starts]
        self.worse = self.numbers("worse_ps") / PS_PER_US
        self.queueing = self.numbers("queueing_ps") / PS_PER_US
        self.travel = self.numbers("travel_ps") / PS_PER_US
        self.whole = self.queueing + self.travel
        self.open, self.offered = self.flags("open"), self.flags("offered")
        self.is_best = (self.worse == 0.0) & self.open & self.offered
        self.device = self.words("device")
        self.acts = self.words("acts")
        self.rules = self.words("rule")
        self.way = self.numbers("way")
        self.stands_for = self.numbers("paths")
        self.links: list[list[str]] = self.rows.column("links").to_pylist()
        links, paths = self.links, self.stands_for
        self.names = [way_name(links[row], int(paths[row])) for row in range(len(number))]
        self.hashed = "hashes" in self.acts
        # One path by its links; if a row represents several, no two are the same.
        self.paths = [(tuple(links[row]), row if paths[row] > 1 else 0) for row in range(len(number))]

    def __len__(self) -> int:
        return len(self.starts)

    def numbers(self, name: str) -> Array:
        """A column of numbers, by row."""
        return numbers(self.rows, name)

    def flags(self, name: str) -> Array:
        """A column of truth values, by row; true if an older version had none."""
        return self.numbers(name) if name in self.rows.column_names else np.ones(self.rows.num_rows, dtype=bool)

    def words(self, name: str) -> list[str | None]:
        """A column of words, by choice."""
        column = self.rows.column(name).combine_chunks()
        values: list[str | None] = column.dictionary_decode().to_pylist()
        return [values[start] for start in self.starts]

    def moves(self) -> Array:
        """The choices at which the flow moved: another value that is hashed to the same path moves nothing."""
        changed = np.flatnonzero((self.previous >= 0) & (self.previous != self.chosen))
        return np.array([at for at in changed if self.left(int(at)) != self.paths[self.chosen[at]]], dtype=int)

    def left(self, at: int) -> tuple[tuple[str, ...], int]:
        """The path of the previous packet."""
        then = self.stale(at)
        return self.paths[int(self.previous[at] if then is None else self.chosen[then])]

    def at_host(self, at: int) -> bool:
        """Whether a host chose."""
        return self.nodes.is_host(str(self.device[at]))

    def before(self, at: int) -> int | None:
        """The previous choice at the same device, for a packet of the same subflow."""
        mine = self.device[at], self.subflow[at]
        return next((k for k in range(at - 1, -1, -1) if (self.device[k], self.subflow[k]) == mine), None)

    def offers(self, at: int) -> list[str]:
        """The first links of the candidates of a choice; empty if they are values, which change all the time."""
        if self.values and self.at_host(at):
            return []
        rows = range(self.starts[at], self.ends[at])
        return list(dict.fromkeys(self.links[row][0] for row in rows if self.offered[row] and self.links[row]))

    def stale(self, at: int) -> int | None:
        """The previous choice at the same host, if its path has changed since; None if it has not.

        Paths of which only the first links are known do not count.
        """
        before = self.before(at) if self.at_host(at) else None
        # Subflows share the number of their flow, and each has a header of its own.
        if before is None or self.previous[at] < 0 or self.subflows:
            return None
        then, now = int(self.chosen[before]), int(self.previous[at])
        known = max(self.stands_for[then], self.stands_for[now]) <= 1
        return before if known and self.way[then] == self.way[now] and self.paths[then] != self.paths[now] else None

    def carried(self) -> list[tuple[int, int]]:
        """The choices of hosts that moved nothing, but whose packet took another path because routes had changed.

        Each is paired with the previous choice.
        """
        moved = set(self.moves().tolist())
        stale = ((at, self.stale(at)) for at in range(len(self)) if at not in moved)
        return [(at, then) for at, then in stale if then is not None and self.left(at) != self.paths[self.chosen[at]]]

    def decisions(self) -> Array:
        """The choices at which something was decided, as far as the scheme reports it."""
        return np.array([at for at, acts in enumerate(self.acts) if acts in {None, "chooses"}], dtype=int)

    def decided_at(self, at: int) -> int:
        """The choice at which what happened at `at` was decided."""
        here = at
        while here > 0 and self.acts[here] == "follows":
            here = self.before(here) or 0
        return here if self.acts[here] == "chooses" else at

    def best(self, at: int) -> int:
        """The row of the best candidate; the chosen one if it is equally good, or if none leads anywhere."""

        def badness(row: int) -> tuple[bool, float, bool]:
            return not (self.open[row] and self.offered[row]), float(self.worse[row]), row != self.chosen[at]

        found = min(range(self.starts[at], self.ends[at]), key=badness)
        return int(found) if self.is_best[found] else int(self.chosen[at])

    def candidate(self, row: int, seen: int | None = None) -> Candidate:
        """A candidate by its row; what the scheme saw of it from row `seen`."""
        one = self.rows.slice(row, 1).to_pylist()[0]
        saw = one if seen is None else self.rows.slice(seen, 1).to_pylist()[0]
        return Candidate(
            name=self.names[row],
            links=one["links"],
            queue_bytes=one["queue_bytes"],
            state=one["state"],
            queueing_us=float(self.queueing[row]),
            travel_us=float(self.travel[row]),
            worse_us=float(self.worse[row]),
            open=bool(self.open[row]),
            offered=bool(self.offered[row]),
            saw={name: saw[name] for name in self.saw if saw[name] is not None},
        )


def way_name(links: list[str], paths: int) -> str:
    """The switches between the ends of a path, by its links; of several paths the first switch.

    Behind a fault a candidate may lead to no path at all: then its links end at the switch without an onward route.
    """
    hops = [link.partition("->")[2] for link in links]
    if paths == 0:
        return f"via {', '.join(hops)} {NO_WAY_ON}" if hops else DEAD_END
    hops.pop()
    if paths > 1:
        return f"via {hops[0]} and on"
    last, parallel, number = hops[-1].partition("#")
    between = [*hops[:-1], *([f"link {number} on"] if parallel else [])]
    return f"via {', '.join(between)}" if between else f"straight to {last}"


def mine(trace: pa.Table, flow: int, kind: str) -> pa.Array | pa.ChunkedArray:
    """A mask of the rows of this flow and kind of packet."""
    import pyarrow.compute as pc  # noqa: PLC0415

    return pc.and_(pc.equal(trace.column("flow"), flow), pc.equal(trace.column("kind").cast("string"), kind))


def subflows_of(rows: pa.Table) -> Array:
    """The subflow of each row of a trace, or of its losses; 0 if an older version did not record it."""
    return numbers(rows, "subflow") if "subflow" in rows.column_names else np.zeros(rows.num_rows, dtype=np.uint16)


def is_of_flow(quantity: pa.Field) -> bool:
    """Whether a quantity that a scheme saw is about the flow, and not about a path."""
    return (quantity.metadata or {}).get(b"of") == b"flow"
