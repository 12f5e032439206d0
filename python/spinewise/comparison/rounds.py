"""Tables of rounds: collective operations, requests, incasts."""

from __future__ import annotations

import math

from spinewise.comparison.cells import Comparison, job_value
from spinewise.comparison.tables import Column, by_scheme
from spinewise.comparison.verdict import Question
from spinewise.measures import units
from spinewise.measures.stats import Interval
from spinewise.show.terminal import Grid


def rounds_table(comparison: Comparison, entry: str) -> Grid:
    """A row per load and scheme: times of rounds and bandwidth, each with its difference from the first scheme."""
    columns = [
        Column(head, unit(comparison, entry, metric), Question(entry, head, job_value(entry, metric), rounds=entry))
        for head, metric in shown(comparison, entry)
    ]

    def unfinished(label: str, load: float | None) -> int:
        return sum(cell.jobs[entry].unfinished for cell in comparison.at(label, load))

    return by_scheme(comparison, f"{entry}: {comparison.cells[0].jobs[entry].title}", columns, unfinished)


def shown(comparison: Comparison, entry: str) -> list[tuple[str, str]]:
    """Headers and numbers: of one round the time, of several also the total; bandwidth if it is defined."""
    jobs = [cell.jobs[entry] for cell in comparison.cells]
    several = any(job.rounds > 1 for job in jobs)
    times = [("whole job", "total_s"), ("mean", "mean_s"), ("max", "max_s")] if several else [("time", "mean_s")]
    known = any(math.isfinite(job.busbw_gbyte_per_s) for job in jobs)
    return [*times, *([("busbw", "busbw_gbyte_per_s")] if known else [])]


def unit(comparison: Comparison, entry: str, metric: str) -> tuple[str, float]:
    """The unit in which to print one column."""
    if not metric.endswith("_s") or metric.endswith("per_s"):
        return "GB/s", 1.0
    found: list[Interval] = [
        comparison.job(label, load, entry, metric) for label in comparison.labels for load in comparison.loads
    ]
    return units.time_unit(one.mean for one in found)
