"""What is kept of a run of a user's own spec with faults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from spinewise.measures.summary import ALL
from spinewise.resilience.compared import received
from spinewise.resilience.measures import Floats
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure


@dataclass(frozen=True)
class Recording:
    """What is kept of a run.

    Attributes:
        goodput: bytes that hosts received in each interval until the run's end.
        p99_s: 99th percentile of the completion times of each traffic entry, in seconds; "all" is all traffic.
        unfinished: flows of each entry that did not finish.
        lost: packets lost on links, and in switches that died.
        dropped: packets dropped at full queues and where no way was left.
        unroutable: packets no port was left for.
        timeouts: retransmission timeouts.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
    """

    goodput: Floats
    p99_s: dict[str, float]
    unfinished: dict[str, int]
    lost: int
    dropped: int
    unroutable: int
    timeouts: int
    outcome_hash: str
    traffic_hash: str


def record(interval_us: float, _spec: Spec, result: Result) -> Recording:
    """What the study keeps of a run."""
    summary, report = result.summary(), result.report
    of_entry = {entry.name: entry.of(ALL) for entry in summary.asked} | {ALL: summary.of(ALL)}
    return Recording(
        goodput=received(result, interval_us),
        p99_s={name: found.fct_s.p99 for name, found in of_entry.items()},
        unfinished={name: found.unfinished for name, found in of_entry.items()},
        lost=summary.faults.get("lost", 0),
        dropped=int(report["counters"]["dropped"]["packets"]),
        unroutable=summary.faults.get("unroutable", 0),
        timeouts=summary.packets.timeouts,
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
    )


def recorded(interval_us: float) -> Measure[Recording]:
    """What is read off a run: goodput in intervals of `interval_us`."""
    return Measure("resilience of a spec", Recording, partial(record, interval_us))
