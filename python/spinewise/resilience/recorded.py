"""The study's record of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from spinewise.measures.waits import Waits, waited_until
from spinewise.resilience.measures import Floats, goodput
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure


@dataclass(frozen=True)
class Recording:
    """The record of a run.

    Attributes:
        goodput: bytes that hosts received in each interval until the traffic's end.
        p999_s: 99.9th percentile of completion times. Flows that did not finish count with the time that they had
            waited.
        at_least: whether that is a lower bound; see `spinewise.measures.waits`.
        flows: all flows.
        lost: packets lost on links, and in switches that died.
        dropped: packets dropped at full queues and where no route was left.
        unroutable: packets without a port to leave by.
        cut_off: unfinished flows whose hosts had no path.
        out_of_time: other unfinished flows.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
    """

    goodput: Floats
    p999_s: float
    at_least: bool
    flows: int
    lost: int
    dropped: int
    unroutable: int
    cut_off: int
    out_of_time: int
    outcome_hash: str
    traffic_hash: str


def record(interval_us: int, end_us: int, spec: Spec, result: Result) -> Recording:
    """Record a run whose traffic ends at `end_us`."""
    summary, report = result.summary(), result.report
    everything = summary.of("all")
    # It has only flows of a list, few enough for a row each.
    waits = Waits.of(result.flows, spec, waited_until(spec, report))
    tail = waits.tail(np.ones(len(waits.done), dtype=bool), 0.999)
    return Recording(
        goodput=goodput(result, interval_us, end_us // interval_us),
        p999_s=tail.fct_s,
        at_least=tail.at_least,
        flows=everything.flows,
        lost=summary.faults.get("lost", 0),
        dropped=int(report["counters"]["dropped"]["packets"]),
        unroutable=summary.faults.get("unroutable", 0),
        cut_off=summary.faults.get("cut_off", 0),
        out_of_time=summary.faults.get("out_of_time", everything.unfinished),
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
    )


def recorded(interval_us: int, end_us: int) -> Measure[Recording]:
    """The study's measure of its runs, with goodput in intervals of `interval_us` until `end_us`."""
    return Measure("resilience", Recording, partial(record, interval_us, end_us))
