"""What a study says in the end: a table by point of the grid, what failed, what is left; and the same as a record."""

from __future__ import annotations

import math
from typing import TypedDict

from rich.console import Group, RenderableType

from spinewise.measures.stats import Interval
from spinewise.show import terminal
from spinewise.studies.conduct import Conducted, Estimate
from spinewise.studies.metrics import Metric
from spinewise.sweeps.task import Plain

FEW = 10
"""At most this many failed runs are named."""


class MetricRecord(TypedDict):
    """A metric of a point of the grid."""

    metric: str
    mean: float
    ci95_half: float
    n: int
    values: list[float]


class RunRecord(TypedDict):
    """A run of a point of the grid."""

    seed: int
    key: str
    status: str
    error: str | None


class CellRecord(TypedDict):
    """A point of the grid."""

    label: dict[str, Plain]
    known: bool | None
    metrics: list[MetricRecord]
    runs: list[RunRecord]


class StudyRecord(TypedDict):
    """A study, as ``--json`` prints it."""

    study: str
    axes: list[str]
    cells: list[CellRecord]
    skipped: list[dict[str, str]]
    made: int
    failed: int
    left: int


def report(done: Conducted, store: str) -> RenderableType:
    """All that is printed."""
    study = done.study
    heads = ["seeds", *(metric.text for metric in study.metrics)]
    table = terminal.new_table(f"{study.name}: mean over seeds ± half the 95 % interval", study.axes or [""], heads)
    for number, cell in enumerate(study.cells):
        ended = sum(one.values is not None for one in done.repeats[number])
        marks = "" if ended == len(done.repeats[number]) else f" of {len(done.repeats[number])}"
        cells = [interval(metric, done.interval(number, k)) for k, metric in enumerate(study.metrics)]
        if done.known(number) is False:
            cells[0] += " *"
        table.line(*(shown(value) for value in cell.label.values() or [""]), f"{ended}{marks}", *cells)
    return Group(table, *lines(done, store))


def shown(value: Plain) -> str:
    """A label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def interval(metric: Metric, found: Interval) -> str:
    """A mean with half its interval."""
    half = f" ±{metric.shown(found.half, 2)}" if math.isfinite(found.half) else ""
    return metric.shown(found.mean) + half


def lines(done: Conducted, store: str) -> list[str]:
    """What stands below the table."""
    study, found = done.study, []
    if study.stop is not None and any(done.known(number) is False for number in range(len(study.cells))):
        bound, most = study.stop.bound, study.stop.most
        found.append(f"* not known to ±{100 * bound:g} % yet: at most {most} seeds, or no time for more")
    found += [f"SKIPPED {one.label}: {one.reason}" for one in study.skipped]
    failed = done.failed
    for cell, repeat in failed[:FEW]:
        found.append(f"FAILED {cell.title}, seed {repeat.seed}: {repeat.error}")
    if len(failed) > FEW:
        found.append(f"… and {len(failed) - FEW} more that failed; --json lists all")
    if failed:
        found.append("runs that failed are made again with --retry-failed")
    if done.left:
        found.append(f"{done.left} runs left, for which there was no time: the same command goes on with them")
    runs = sum(len(ones) for ones in done.repeats)
    found.append(f"{runs} runs, {done.made} made now; all of them in {store}")
    return found


def record(done: Conducted) -> StudyRecord:
    """The same as plain values."""
    study = done.study
    cells: list[CellRecord] = []
    for number, cell in enumerate(study.cells):
        metrics: list[MetricRecord] = []
        for k, metric in enumerate(study.metrics):
            of = done.interval(number, k)
            ended = [one.values[k] for one in done.repeats[number] if one.values is not None]
            metrics.append({"metric": metric.text, "mean": of.mean, "ci95_half": of.half, "n": of.n, "values": ended})
        runs: list[RunRecord] = [
            {"seed": one.seed, "key": one.key, "status": "left" if one.left else "failed" if one.error else "done",
             "error": one.error}
            for one in done.repeats[number]
        ]  # fmt: skip
        cells.append({"label": cell.label, "known": done.known(number), "metrics": metrics, "runs": runs})
    skipped = [{"label": one.label, "reason": one.reason} for one in study.skipped]
    return {
        "study": study.name,
        "axes": study.axes,
        "cells": cells,
        "skipped": skipped,
        "made": done.made,
        "failed": len(done.failed),
        "left": done.left,
    }


def announced(found: Estimate, jobs: int, clock: str) -> str:
    """What a study will come to, in a line."""
    new = found.runs - found.stored
    stored = f", {found.stored} of them stored" if found.stored else ""
    takes = f"; about {clock} for {new}, {jobs} at a time" if new else "; nothing to run"
    return f"{found.points} points, {found.runs} runs{stored}{takes}"
