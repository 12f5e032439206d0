"""Collective operations and requests: the time of each round, its use of the links, and the reasons for delays.

A round is one collective operation of a group of hosts, one request with its answers, or one round of an incast or a
permutation. Time, algorithm bandwidth and bus bandwidth are those of NVIDIA's nccl-tests (doc/PERFORMANCE.md there):
with the message S of a host and the time t, ``algbw = S / t``, and ``busbw`` is that times a factor of the operation,
so that it can be compared with the rate of a host's link whatever the number of hosts.

| kind | operation there | S | factor for n hosts |
|---|---|---|---|
| all_reduce | AllReduce | data of a host | 2 (n - 1) / n |
| all_to_all | AlltoAll | n blocks, that for itself counted | (n - 1) / n |
| incast, rpc | gather | n answers, that of the receiver counted | (n - 1) / n |
| permutation | sendrecv | a flow | 1 |

Flows given one by one have no such operation: their rounds have only a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import stats
from spinewise.measures.entries import Entry
from spinewise.measures.least import Ways, least_s
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.measures.stragglers import NEEDED, Columns, Straggler, straggler
from spinewise.measures.tables import numbers
from spinewise.measures.units import counted, size
from spinewise.shapes import Traffic

if TYPE_CHECKING:
    import pyarrow as pa

# Ratio of bus bandwidth to algorithm bandwidth, for n hosts: nccl-tests, doc/PERFORMANCE.md; of gather and sendrecv,
# src/gather.cu and src/sendrecv.cu there.
BUS_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "incast": lambda n: (n - 1) / n,
    "rpc": lambda n: (n - 1) / n,
    "permutation": lambda _: 1.0,
}


GATHERS = ("incast", "rpc")
"""Kinds in whose rounds all hosts but one send to that one."""

WITH_ROUNDS = tuple(BUS_FACTORS)
"""Kinds of traffic whose flows always come in rounds."""
MOST_ROUNDS = 64
"""The approximate number of rounds of an entry that are compared with their ideals."""


def has_rounds(entry: Traffic) -> bool:
    """Whether the flows of a resolved traffic entry come in rounds: a list of flows may say so."""
    return entry.get("kind") in WITH_ROUNDS or bool(entry.get("rounds"))


# Columns of flows that give their round.
KEYS = ("entry", "batch", "group")


@dataclass(frozen=True)
class Step:
    """One step of a round.

    Attributes:
        step: its number, from 1.
        flows: the number of its flows.
        start_s: when the first of them started, from the start of the run.
        end_s: when the last of them arrived; NaN if one has not.
        last_flow: the flow that arrived last; of unfinished ones, the first that has started.
        begun: whether one of its flows has started: a step that waits for others may not have.
    """

    step: int
    flows: int
    start_s: float
    end_s: float
    last_flow: int
    begun: bool = True

    @property
    def time_s(self) -> float:
        """The time from the start of the first flow to the arrival of the last."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Round:
    """A collective operation of a group, a request with its answers, or a round of other traffic.

    Attributes:
        entry: number of the traffic entry.
        name: name of the entry.
        kind: its kind: "all_reduce", "rpc", …
        group: the number of its group of hosts, from 0.
        round: its number, from 1.
        flows: the number of its flows.
        ranks: the number of hosts that take part.
        bytes: payload of all its flows.
        message_bytes: message of a host, S above; 0 if nccl-tests have no such operation.
        start_s: when its first flow started, from the start of the run.
        end_s: when its last flow arrived; NaN if one has not.
        last_flow: the straggler: the flow that arrived last; of unfinished ones, the first that has started.
        steps: its steps; empty if it has a single one.
        begun: whether one of its flows has started: a round that waits for others may not have.
    """

    entry: int
    name: str
    kind: str
    group: int
    round: int
    flows: int
    ranks: int
    bytes: int
    message_bytes: int
    start_s: float
    end_s: float
    last_flow: int
    steps: tuple[Step, ...] = ()
    begun: bool = True

    @property
    def finished(self) -> bool:
        """Whether all its flows arrived."""
        return not math.isnan(self.end_s)

    @property
    def time_s(self) -> float:
        """The time from the start of the first flow to the arrival of the last; NaN if unfinished."""
        return self.end_s - self.start_s

    @property
    def algbw_gbyte_per_s(self) -> float:
        """Algorithm bandwidth in 10⁹ bytes per second; NaN if unfinished or not defined."""
        return algbw(self.message_bytes, self.time_s)

    @property
    def busbw_gbyte_per_s(self) -> float:
        """Bus bandwidth in 10⁹ bytes per second; NaN if unfinished or not defined."""
        return busbw(self.kind, self.ranks, self.message_bytes, self.time_s)


@dataclass(frozen=True)
class Job:
    """All rounds of a traffic entry.

    Attributes:
        name: name of the entry.
        kind: its kind.
        groups: groups of hosts, each with rounds of its own.
        ranks: hosts of a group, of the largest if they differ.
        message_bytes: message of a host; of the largest group if they differ.
        rounds: rounds of all groups.
        unfinished: those that had not finished when the run stopped; times and bandwidths exclude them.
        mean_s: mean time of a round, which nccl-tests report.
        p50_s: its median.
        p99_s: its 99th percentile.
        max_s: the longest.
        total_s: from the start of the first round to the end of the last; NaN if one is unfinished.
        algbw_gbyte_per_s: by the mean time, as nccl-tests do, 10⁹ bytes per second; mean over groups.
        busbw_gbyte_per_s: likewise.
        slowest: the round to look at: an unfinished one, else the longest; None without rounds.
        fewest_ranks: hosts of the smallest group; 0 in results without it.
        ideal_s: a time that no scheme can beat of `slowest`, see `measures.least`; NaN if it has not finished, of kinds
            of traffic without a bus bandwidth, and if rows of flows were not kept.
    """

    name: str
    kind: str
    groups: int
    ranks: int
    message_bytes: int
    rounds: int
    unfinished: int
    mean_s: float
    p50_s: float
    p99_s: float
    max_s: float
    total_s: float
    algbw_gbyte_per_s: float
    busbw_gbyte_per_s: float
    slowest: Round | None
    fewest_ranks: int = 0
    ideal_s: float = math.nan

    @property
    def alike(self) -> bool:
        """Whether all groups have the same number of hosts."""
        return self.fewest_ranks in (0, self.ranks)

    @property
    def hosts(self) -> str:
        """Hosts of a group: "8", or "2 to 3" if groups differ."""
        return f"{self.ranks}" if self.alike else f"{self.fewest_ranks} to {self.ranks}"

    @property
    def who(self) -> str:
        """The participants of a round, in words: "8 hosts", "6 senders" of an incast, "2 groups of 2 to 3 hosts"."""
        if self.kind in GATHERS:
            return counted(self.ranks - 1, "sender")
        hosts = f"{self.hosts} host{'s' * (self.ranks != 1)}"
        return f"{self.groups} groups of {hosts}" if self.groups > 1 else hosts

    @property
    def size(self) -> str:
        """Bytes from each sender of an incast, or from each host to each other in an all-to-all; else `message_bytes`.

        Empty if that is unknown, or differs from group to group.
        """
        if not self.message_bytes or not (self.alike or self.kind == "all_reduce"):
            return ""
        blocks = self.ranks if self.kind in (*GATHERS, "all_to_all") else 1
        return size(self.message_bytes / blocks)

    @property
    def title(self) -> str:
        """Rounds, hosts and size, in words: "1 round of all_reduce in each of 4 groups of 8 hosts, 400 kB each"."""
        size = f", {self.size} {'to each other' if self.kind == 'all_to_all' else 'each'}" if self.size else ""
        each, rest = divmod(self.rounds, max(self.groups, 1))
        if self.groups > 1 and each and not rest and self.kind not in GATHERS:
            return f"{counted(each, 'round')} of {self.kind} in each of {self.who}{size}"
        return f"{counted(self.rounds, 'round')} of {self.kind}, {self.who}{size}"


class Collectives:
    """The rounds of a run.

    Args:
        table: the table `collectives` of a run (see docs/results.md); None if a run has none.
        flows: its table `flows`; without rows reasons are unknown.
        entries: the traffic entries of its spec.
        ways: a function that makes the fabric for bounds; it returns None if there are none.
        nodes: the names of hosts.
    """

    def __init__(
        self,
        table: pa.Table | None,
        flows: pa.Table,
        entries: Sequence[Entry],
        ways: Callable[[], Ways | None] = lambda: None,
        nodes: Nodes = NUMBERED,
    ) -> None:
        self._table = table
        self._flows = flows
        self._entries = entries
        self._make_ways = ways
        self._nodes = nodes

    @cached_property
    def _ways(self) -> Ways | None:
        return self._make_ways()

    @cached_property
    def rounds(self) -> list[Round]:
        """All rounds, by entry, round and group."""
        if self._table is None:
            return []
        names = [name for name in self._table.column_names if name != "finished"]
        columns = [numbers(self._table, name).tolist() for name in names]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        starts = [at for at, row in enumerate(rows) if row["step"] == 0]
        first_ps: dict[int, int] = {}
        for at in starts:
            entry, start_ps = rows[at]["entry"], rows[at]["start_ps"]
            first_ps[entry] = min(first_ps.get(entry, start_ps), start_ps)
        starts.append(len(rows))
        return [self._round(rows[at], rows[at + 1 : end], first_ps) for at, end in pairwise(starts)]

    def _round(self, row: Mapping[str, int], steps: Sequence[Mapping[str, int]], first_ps: Mapping[int, int]) -> Round:
        entry = self._entries[row["entry"]]
        first = first_ps[row["entry"]]
        return Round(
            entry=row["entry"],
            name=entry.name,
            kind=entry.kind,
            group=row["group"],
            round=row["round"],
            flows=row["flows"],
            ranks=row["ranks"],
            bytes=row["bytes"],
            message_bytes=row["message_bytes"],
            start_s=row["start_ps"] / PS_PER_SECOND,
            end_s=ended(row),
            last_flow=row["last_flow"],
            steps=tuple(
                Step(
                    step=one["step"],
                    flows=one["flows"],
                    start_s=one["start_ps"] / PS_PER_SECOND,
                    end_s=ended(one),
                    last_flow=one["last_flow"],
                    begun=has_begun(one, first, entry.waits and (one["step"] > 1 or row["round"] > 1)),
                )
                for one in steps
            ),
            begun=has_begun(row, first, entry.waits and row["round"] > 1),
        )

    def of(self, name: str) -> list[Round]:
        """The rounds of the entry of this name."""
        return [one for one in self.rounds if one.name == name]

    @cached_property
    def jobs(self) -> list[Job]:
        """One for each entry that has rounds, in the order of the spec."""
        names = dict.fromkeys(one.name for one in self.rounds)
        found = [job(self.of(name)) for name in names]
        return [replace(one, ideal_s=self.ideal_s(one.slowest)) if one.slowest else one for one in found]

    @cached_property
    def above_ideal(self) -> dict[str, float]:
        """The share by which the rounds of each entry, or the slowest, are above their ideals; NaN if unknown."""
        return {job.name: self._above_ideal(job) for job in self.jobs}

    def _above_ideal(self, of: Job) -> float:
        if of.unfinished or of.slowest is None:
            return math.nan
        rounds = self.of(of.name)
        some = rounds[:: math.ceil(len(rounds) / MOST_ROUNDS)]
        together = sum(one.time_s for one in some) / sum(map(self.ideal_s, some))
        return float(np.maximum(together, of.slowest.time_s / of.ideal_s)) - 1.0

    def straggler(self, of: Round) -> Straggler | None:
        """The reason why this round ended when it did; None if rows of flows were not kept."""
        flows = self._flows_of(of)
        return straggler(flows, of.last_flow, of.start_s, self._nodes) if flows else None

    def ideal_s(self, of: Round) -> float:
        """A time that no scheme can beat for this round, in seconds; NaN if no tight one is known."""
        if of.kind not in BUS_FACTORS or not of.finished:
            return math.nan
        flows = self._flows_of(of)
        if not flows or self._ways is None:
            return math.nan
        return least_s(flows, straggler(flows, of.last_flow, of.start_s), self._ways.of_entry(of.entry))

    def _flows_of(self, of: Round) -> Columns:
        """The flows of a round in the order of its steps; empty if rows were not kept."""
        first, last = self._places.get((of.entry, of.group, of.round), (0, 0))
        if first == last:
            return {}
        return {name: column[self._order[first:last]] for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> Columns:
        """The columns needed of all flows; empty if there are no rows, or none with rounds."""
        if self._flows.num_rows == 0 or "batch" not in self._flows.column_names:
            return {}
        return {name: numbers(self._flows, name) for name in (*NEEDED, *KEYS, "size_bytes")}

    @cached_property
    def _order(self) -> npt.NDArray[np.intp]:
        """Positions of flows, grouped by round, in the order of its steps."""
        entry, batch, group = (self._columns[name] for name in KEYS)
        order = np.lexsort((self._columns["step"], group, batch, entry))
        found: npt.NDArray[np.intp] = order[batch[order] > 0]
        return found

    @cached_property
    def _places(self) -> dict[tuple[int, int, int], tuple[int, int]]:
        """The range in `_order` of the flows of each round (entry, group, round)."""
        if not self._columns or self._order.size == 0:
            return {}
        entry, batch, group = keys = np.stack([self._columns[name][self._order] for name in KEYS])
        starts = [0, *(np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1).tolist()]
        ends = [*starts[1:], len(self._order)]
        heads = zip(entry[starts].tolist(), group[starts].tolist(), batch[starts].tolist(), strict=True)
        return dict(zip(heads, zip(starts, ends, strict=True), strict=True))


def has_begun(row: Mapping[str, int], first_ps: int, waits: bool) -> bool:
    """Whether a round or step has begun: one that `waits` and never started has the start of its entry, `first_ps`."""
    return row["end_ps"] > 0 or not (waits and row["start_ps"] == first_ps)


def ended(row: Mapping[str, int]) -> float:
    """The end of a round or step in seconds, NaN if it has none."""
    return row["end_ps"] / PS_PER_SECOND if row["end_ps"] else math.nan


def algbw(message_bytes: int, time_s: float) -> float:
    """Algorithm bandwidth, 10⁹ bytes per second: message over time."""
    return message_bytes / time_s / 1e9 if message_bytes and time_s > 0.0 else math.nan


def busbw(kind: str, ranks: int, message_bytes: int, time_s: float) -> float:
    """Bus bandwidth, 10⁹ bytes per second, comparable with the rate of a host's link."""
    factor = BUS_FACTORS.get(kind)
    return algbw(message_bytes, time_s) * factor(ranks) if factor else math.nan


def job(rounds: Sequence[Round]) -> Job:
    """The rounds of one entry, at least one, as one job."""
    done = [one for one in rounds if one.finished]
    times = np.array([one.time_s for one in done], dtype=np.float64)
    p50, p99 = stats.percentiles(times, [0.5, 0.99])
    largest = max(rounds, key=lambda one: one.ranks)
    of_group: dict[int, list[Round]] = {}
    for one in done:
        of_group.setdefault(one.group, []).append(one)
    means = [(stats.mean([one.time_s for one in group]), group[0]) for group in of_group.values()]
    open_ = [one for one in rounds if not one.finished]
    under_way = [one for one in open_ if one.begun]
    return Job(
        name=largest.name,
        kind=largest.kind,
        groups=len({one.group for one in rounds}),
        ranks=largest.ranks,
        message_bytes=largest.message_bytes,
        rounds=len(rounds),
        unfinished=len(open_),
        mean_s=stats.mean(times),
        p50_s=p50,
        p99_s=p99,
        max_s=float(times.max()) if len(times) else math.nan,
        total_s=max(one.end_s for one in rounds) - min(one.start_s for one in rounds) if not open_ else math.nan,
        algbw_gbyte_per_s=stats.mean([algbw(one.message_bytes, mean) for mean, one in means]),
        busbw_gbyte_per_s=stats.mean([busbw(one.kind, one.ranks, one.message_bytes, mean) for mean, one in means]),
        slowest=min(under_way or open_, key=lambda one: one.start_s)
        if open_
        else max(done, key=lambda one: one.time_s),
        fewest_ranks=min(one.ranks for one in rounds),
    )
