"""The record of a run of a user's own spec with faults."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.measures.classes import ClassSummary
from spinewise.measures.entries import Mask, entries_of
from spinewise.measures.summary import ALL
from spinewise.measures.tables import numbers
from spinewise.measures.waits import Tail, Waits, waited_until
from spinewise.resilience.compared import received
from spinewise.resilience.measures import Floats
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure

Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Recording:
    """The record of a run.

    Attributes:
        goodput: bytes that hosts received in each interval until the run's end.
        p99_s: 99th percentile of the completion times of each traffic entry, in seconds; "all" is all traffic. Flows
            that did not finish count with the time that they had waited; NaN if that is unknown.
        fct_s: completion times of the flows of each entry in seconds, in their order, likewise; "all" has none of its
            own. Empty if rows of flows were not kept.
        at_least: whether `p99_s` is a lower bound, by entry; see `spinewise.measures.waits`.
        unfinished: flows of each entry that did not finish.
        lost: packets lost on links, and in switches that died.
        dropped: packets dropped at full queues and where no route was left.
        unroutable: packets without a port to leave by.
        timeouts: retransmission timeouts.
        round_mean_s: mean time of the rounds of each entry that has some (collectives, incasts, requests), in seconds;
            NaN if none finished.
        round_max_s: the longest of those.
        rounds_unfinished: rounds of each such entry that did not finish; they are in neither time.
        over_us: when the run was over.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
        start_s: starts of the flows of `fct_s`, in seconds.
        lost_on: packets lost on each link that lost some.
    """

    goodput: Floats
    p99_s: dict[str, float]
    fct_s: dict[str, Singles]
    at_least: dict[str, bool]
    unfinished: dict[str, int]
    lost: int
    dropped: int
    unroutable: int
    timeouts: int
    round_mean_s: dict[str, float]
    round_max_s: dict[str, float]
    rounds_unfinished: dict[str, int]
    over_us: float
    outcome_hash: str
    traffic_hash: str
    start_s: dict[str, Doubles] = field(default_factory=dict)
    lost_on: dict[str, int] = field(default_factory=dict)


def record(interval_us: float, spec: Spec, result: Result) -> Recording:
    """Record a run."""
    summary, report = result.summary(), result.report
    of_entry = {entry.name: entry.of(ALL) for entry in summary.asked} | {ALL: summary.of(ALL)}
    waits = Waits.of(result.flows, spec, waited_until(spec, report)) if result.flows.num_rows else None
    masks = members(spec, result, of_entry)
    found = {name: tail(of_entry[name], waits, mask) for name, mask in masks.items()}
    jobs, starts_s = result.rounds.jobs, numbers(result.flows, "start_ps") / PS_PER_SECOND
    return Recording(
        goodput=received(result, interval_us),
        p99_s={name: one.fct_s for name, one in found.items()},
        fct_s={name: waits.fct_s[mask].astype(np.float32) for name, mask in masks.items() if waits and name != ALL},
        at_least={name: one.at_least for name, one in found.items()},
        unfinished={name: one.unfinished for name, one in of_entry.items()},
        lost=summary.faults.get("lost", 0),
        dropped=int(report["counters"]["dropped"]["packets"]),
        unroutable=summary.faults.get("unroutable", 0),
        timeouts=summary.packets.timeouts,
        round_mean_s={job.name: job.mean_s for job in jobs},
        round_max_s={job.name: job.max_s for job in jobs},
        rounds_unfinished={job.name: job.unfinished for job in jobs},
        over_us=int(report["stop_ps"]) / PS_PER_US,
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
        start_s={name: starts_s[mask] for name, mask in masks.items() if waits and name != ALL},
        lost_on={link["name"]: link["lost"] for link in report["links"] if link["lost"]},
    )


def members(spec: Spec, result: Result, names: Iterable[str]) -> dict[str, Mask]:
    """Masks of the rows of each traffic entry's flows; "all" are those of every entry but UDP's."""
    entry, asked = numbers(result.flows, "entry"), numbers(result.flows, "tcp").astype(bool)
    place = {one.name: place for place, one in enumerate(entries_of(spec))}
    return {name: asked if name == ALL else asked & (entry == place[name]) for name in names}


def tail(of_entry: ClassSummary, waits: Waits | None, mask: Mask) -> Tail:
    """The 99th percentile of completion times; without rows the waits of unfinished flows are unknown."""
    if waits is None:
        return Tail(math.nan if of_entry.unfinished else of_entry.fct_s.p99, False)
    return waits.tail(mask, 0.99)


def recorded(interval_us: float) -> Measure[Recording]:
    """The measure of a run, with goodput in intervals of `interval_us`."""
    return Measure("resilience of a spec", Recording, partial(record, interval_us))
