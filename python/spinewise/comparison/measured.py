"""The values that a comparison takes from a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spinewise.measures.afterwards import timeouts_of
from spinewise.measures.collectives import Job
from spinewise.measures.curves import Curves
from spinewise.measures.entries import ended_s, entries_of
from spinewise.measures.summary import ALL, Summary
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.specs.carriers import kinds, transports
from spinewise.sweeps.measures import Measure


@dataclass(frozen=True)
class Measured:
    """The values that a comparison keeps of each of its runs; see `spinewise.comparison.cells.Cell`."""

    summary: Summary
    curves: dict[str, Curves]
    jobs: dict[str, Job]
    min_rto_s: float | None
    ended_s: dict[str, float] = field(default_factory=dict)
    transport: str = ""


def measure(spec: Spec, result: Result) -> Measured:
    """Extract the values that a comparison keeps of a run."""
    ended = ended_s(spec, result.report)
    return Measured(result.summary(), curves_of(result), jobs_of(result), min_rto_s(spec), ended, kinds(spec))


MEASURE = Measure("comparison", Measured, measure)


def jobs_of(result: Result) -> dict[str, Job]:
    """The results of the rounds of each traffic entry, without the steps of single ones."""
    return {
        job.name: replace(job, slowest=job.slowest and replace(job.slowest, steps=())) for job in result.rounds.jobs
    }


def curves_of(result: Result) -> dict[str, Curves]:
    """The distributions of the completion times of each traffic entry, and of all traffic."""
    entries = [entry.name for entry in entries_of(result.spec)]
    return {ALL: Curves.of(result.flows)} | {name: Curves.of(result.flows, n) for n, name in enumerate(entries)}


def min_rto_s(spec: Spec) -> float | None:
    """The minimum retransmission timeout of a resolved spec; None if it has none."""
    every = (seconds for one in transports(spec) for _, seconds, _ in timeouts_of(one))
    return min((seconds for seconds in every if seconds > 0.0), default=None)
