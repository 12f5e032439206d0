"""The values that advice takes from a run: completion times of flows and rounds, including unfinished ones.

Flows that had not finished count with the time that they had waited (`spinewise.measures.waits`), and so do rounds
and operations: a scheme that leaves some unfinished never looks better for it. What was to follow others and never
began has waited for these, and does not count: a scheme that gets further never looks worse for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from spinewise.measures import stats
from spinewise.measures.classes import ALL, WHOLE, members
from spinewise.measures.collectives import BUS_FACTORS, Round, busbw
from spinewise.measures.entries import UDP, Entry, ended_s, entries_of
from spinewise.measures.tables import numbers
from spinewise.measures.units import PS_PER_SECOND
from spinewise.measures.waits import Waits, waited_until
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """The distribution of a quantity over flows or rounds; NaN if there are none. Percentiles are observed values."""

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float
    worst: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Summarise a set of values."""
        if not values.size:
            return cls(*[math.nan] * 6)
        p50, p95, p99, p999 = stats.percentiles(values, [0.5, 0.95, 0.99, 0.999])
        return cls(stats.mean(values), p50, p95, p99, p999, float(values.max()))


@dataclass(frozen=True)
class Flows:
    """Flows of one size class of one traffic entry; "all" for both is all traffic.

    Attributes:
        entry, size_class: their entry and size class.
        flows: how many there are.
        unfinished: how many had not finished.
        fct_s: completion times in seconds.
        slowdown: completion times over their ideals.
    """

    entry: str
    size_class: str
    flows: int
    unfinished: int
    fct_s: Spread
    slowdown: Spread


@dataclass(frozen=True)
class Rounds:
    """Rounds of one traffic entry: collective operations, requests, incasts, permutations.

    Attributes:
        entry: their traffic entry.
        rounds: how many there are.
        unfinished: how many had not finished.
        time_s: the distribution of their times, in seconds.
        total_s: from the start of the first to the end of the last.
        busbw_gbyte_per_s: bus bandwidth by the mean time, 10⁹ bytes per second; NaN if it is undefined.
    """

    entry: str
    rounds: int
    unfinished: int
    time_s: Spread
    total_s: float
    busbw_gbyte_per_s: float


@dataclass(frozen=True)
class Operations:
    """Operations of a traffic entry of kind "dag".

    Attributes:
        entry: their traffic entry.
        operations: how many there are.
        unfinished: how many had not ended.
        time_s: from the start of the run to the end of the last.
    """

    entry: str
    operations: int
    unfinished: int
    time_s: float


@dataclass(frozen=True)
class Observed:
    """The values that advice keeps of a run.

    Attributes:
        flows: one for each traffic entry and size class.
        rounds: by traffic entry.
        deadlock: links whose queues paused each other indefinitely, in order; empty if none did.
        operations: by traffic entry.
    """

    flows: list[Flows]
    rounds: list[Rounds]
    deadlock: list[str] = field(default_factory=list)
    operations: list[Operations] = field(default_factory=list)


def observe(spec: Spec, result: Result) -> Observed:
    """Extract the values that advice keeps of a run."""
    locked = list(result.report.get("deadlock") or [])
    stop_s = waited_until(spec, result.report)
    flows, rounds = list(flows_of(spec, result, stop_s)), list(rounds_of(result, stop_s))
    return Observed(flows, rounds, locked, list(operations_of(spec, result, stop_s)))


def flows_of(spec: Spec, result: Result, stop_s: float) -> Iterator[Flows]:
    """The flows by traffic entry and size class, all traffic first."""
    table = result.flows
    if not table.num_rows:
        return
    size, ideal = numbers(table, "size_bytes"), numbers(table, "ideal_fct_ps") / PS_PER_SECOND
    waits = Waits.of(table, spec, stop_s)
    fct, done, begun = waits.fct_s, waits.done, waits.begun
    asked = numbers(table, "tcp").astype(bool) & (ideal > 0.0)
    entry = numbers(table, "entry")
    whole = Entry(ALL, "", spec.get("metrics", {}).get("size_classes", []))
    for place, found in enumerate([whole, *entries_of(spec)]):
        mine = asked if place == 0 else asked & (entry == place - 1)
        for one in [*found.size_classes, WHOLE]:
            inside = mine & members(size, one)
            yield Flows(
                found.name,
                str(one["name"]),
                int(inside.sum()),
                int((inside & ~done).sum()),
                Spread.of(fct[inside & begun]),
                Spread.of((fct / ideal)[inside & begun]),
            )


def rounds_of(result: Result, stop_s: float) -> Iterator[Rounds]:
    """The rounds by traffic entry, for entries that have rounds."""
    found = result.rounds.rounds
    for name in dict.fromkeys(one.name for one in found):
        mine = [one for one in found if one.name == name]
        groups = times_by_group(mine, stop_s)
        total = max(one.end_s if one.finished else stop_s for one in mine) - min(one.start_s for one in mine)
        times = np.concatenate([times for _, times in groups])
        yield Rounds(name, len(mine), sum(not one.finished for one in mine), Spread.of(times), total, bus(groups))


def times_by_group(rounds: list[Round], stop_s: float) -> list[tuple[Round, Floats]]:
    """The times of the rounds of each group that began, in seconds, with one of the rounds.

    A round under way counts with the time since it began, but no less than the mean of its group's finished rounds:
    that it began shortly before the end does not make it a short one.
    """
    groups: dict[int, list[Round]] = {}
    for one in rounds:
        groups.setdefault(one.group, []).append(one)
    found = []
    for group in groups.values():
        done = np.array([one.time_s for one in group if one.finished])
        least = float(done.mean()) if done.size else 0.0
        open_ = [max(stop_s - one.start_s, least) for one in group if one.begun and not one.finished]
        found.append((group[0], np.concatenate([done, open_])))
    return found


def operations_of(spec: Spec, result: Result, stop_s: float) -> Iterator[Operations]:
    """The operations by traffic entry of kind "dag"; if some have not ended, they have waited until `stop_s`."""
    ends = ended_s(spec, result.report)
    for told, (entry, end) in zip(result.report.get("operations", []), ends.items(), strict=True):
        left = told["operations"] - told["ended"]
        yield Operations(entry, told["operations"], left, stop_s if left else end)


def bus(groups: list[tuple[Round, Floats]]) -> float:
    """Bus bandwidth by the mean time of a round, mean over groups."""
    return stats.mean(
        [busbw(one.kind, one.ranks, one.message_bytes, float(times.mean())) for one, times in groups if times.size]
    )


def has_bus(kind: str) -> bool:
    """Whether rounds of this kind of traffic have a bus bandwidth."""
    return kind in BUS_FACTORS


def completes(entry: Entry) -> bool:
    """Whether the flows of an entry complete: all but constant-rate UDP."""
    return entry.kind != UDP


OBSERVED = Measure("advice", Observed, observe)
