"""Tables of rounds: collective operations, requests, incasts."""

from __future__ import annotations

import math

from spinewise.comparison.cells import Comparison
from spinewise.comparison.tables import difference, load_name, plus_minus
from spinewise.measures import units
from spinewise.measures.stats import Interval
from spinewise.show.terminal import Grid, new_table


def rounds_table(comparison: Comparison, entry: str) -> Grid:
    """A row per load and scheme: times of rounds and bandwidth, each with its difference to the first scheme."""
    first = comparison.labels[0]
    columns = shown(comparison, entry)
    scale = [unit(comparison, entry, metric) for _, metric in columns]
    heads = [f"{head} [{name}]" for (head, _), (name, _) in zip(columns, scale, strict=True)]
    job = comparison.cells[0].jobs[entry]
    what = f"{job.rounds} round{'s' * (job.rounds != 1)} of {job.kind}, {job.ranks} hosts"
    size = f", {units.count(job.message_bytes)}B each" if job.message_bytes else ""
    table = new_table(
        f"{entry}: {what}{size}",
        ["load", "scheme"],
        [*(text for head in heads for text in (head, f"vs {first}")), "unfinished"],
        together=2,
    )
    for load in comparison.loads:
        for label in comparison.labels:
            cells = []
            for (_, metric), (_, unit_size) in zip(columns, scale, strict=True):
                cells.append(plus_minus(comparison.job(label, load, entry, metric), unit_size))
                against = comparison.job_difference(label, load, entry, metric)
                cells.append("" if label == first else difference(against))
            table.line(
                load_name(comparison, load) if label == first else "",
                label,
                *cells,
                str(sum(cell.jobs[entry].unfinished for cell in comparison.at(label, load))),
                end_section=label == comparison.labels[-1],
            )
    return table


def shown(comparison: Comparison, entry: str) -> list[tuple[str, str]]:
    """Headers and numbers: of one round the time, of several the whole too; bandwidth where it is defined."""
    jobs = [cell.jobs[entry] for cell in comparison.cells]
    several = any(job.rounds > 1 for job in jobs)
    times = [("all", "total_s"), ("mean", "mean_s"), ("max", "max_s")] if several else [("time", "mean_s")]
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
