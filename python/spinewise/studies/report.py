"""The final report of a study: a table by point of the grid, what failed, what is left; and the same as a record."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict

from rich.console import Group, RenderableType

from spinewise.comparison.tables import NOT_PAIRED, OVERLOADED, difference, overload, versus, warned
from spinewise.measures import units
from spinewise.measures.stats import Interval
from spinewise.show import terminal
from spinewise.studies.axes import LOADS, NAMES, SCHEMES
from spinewise.studies.conduct import Conducted, Estimate
from spinewise.studies.metrics import Metric
from spinewise.studies.study import Study
from spinewise.sweeps.task import Plain

FEW = 10
"""The most failed runs that are named."""


class MetricRecord(TypedDict):
    """A metric of a point of the grid."""

    metric: str
    mean: float
    ci95_half: float
    vs_first: float
    vs_first_ci95_half: float
    n: int
    values: list[float]
    flows: int
    unfinished: int


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
    overloaded: bool
    metrics: list[MetricRecord]
    runs: list[RunRecord]


class StudyRecord(TypedDict):
    """A study in the form of ``--json``."""

    study: str
    axes: list[str]
    cells: list[CellRecord]
    skipped: list[dict[str, str]]
    made: int
    failed: int
    left: int
    outdated: int


def report(done: Conducted, store: str) -> RenderableType:
    """The printed report."""
    study = done.study
    left_open = unfinished_columns(done)
    heads = [*metric_heads(study), "seeds", *(head for head, _ in left_open)]
    title = f"{study.name}: mean over seeds ± half the 95 % interval"
    table = terminal.new_table(title, study.axes or [""], heads, together=1 if study.first_scheme is None else 2)
    for number in range(len(study.cells)):
        ended = sum(one.values is not None for one in done.repeats[number])
        marks = "" if ended == len(done.repeats[number]) else f" of {len(done.repeats[number])}"
        cells = []
        for k, metric in enumerate(study.metrics):
            mark = " *" if k == 0 and done.known(number) is False else ""
            cells += [interval(metric, done.interval(number, k)) + mark, *against(done, number, k)]
        lost = [done.behind(number, k).text for _, k in left_open]
        table.line(*labels(done, number), *cells, f"{ended}{marks}", *lost)
    return Group(table, *lines(done, store))


def metric_heads(study: Study) -> list[str]:
    """The heads of the metrics: each with its difference from the first scheme, if there are two schemes or more."""
    first = study.first_scheme
    beside = [] if first is None else [f"vs {first}"]
    return [head for metric in study.metrics for head in (metric.text, *beside)]


def against(done: Conducted, number: int, metric: int) -> list[str]:
    """The difference of a metric from the first scheme, in the form of `compare`; no cell without two schemes."""
    if done.study.first_scheme is None:
        return []
    if done.study.baseline(number) == number:
        return [""]
    found, own = done.against_first(number, metric), done.interval(number, metric)
    fewer = f", {units.counted(found.n, 'seed')}" if 0 < found.n < own.n else ""
    return [difference(found, max(map(len, done.repeats))) + fewer]


def differences(done: Conducted) -> list[str]:
    """The meaning of the columns of differences, if there are some."""
    first = done.study.first_scheme
    if first is None:
        return []
    seeds = max(sum(one.values is not None for one in ones) for ones in done.repeats)
    return [versus(str(first), seeds=seeds, paired=done.paired), *([] if done.paired else [NOT_PAIRED])]


def unfinished_columns(done: Conducted) -> list[tuple[str, int]]:
    """Columns of flows that had not finished: a head, and the metric that omits them; one for the same flows."""
    found: dict[str, int] = {}
    for k, metric in enumerate(done.study.metrics):
        if metric.of_finished and any(done.behind(number, k).unfinished for number in range(len(done.study.cells))):
            found.setdefault(f"unfinished{metric.of}", k)
    return list(found.items())


def labels(done: Conducted, number: int) -> list[str]:
    """The labels of a point; if it is overloaded, with the mark of `compare`."""
    label = done.study.cells[number].label
    if not done.overloaded(number):
        return [shown(value) for value in label.values()] or [""]
    marked = marked_axis(label)
    return [overload(shown(value)) if name == marked else shown(value) for name, value in label.items()] or ["!"]


def marked_axis(axes: Iterable[str]) -> str | None:
    """The axis whose labels mark overloaded points: loads, else the last, schemes only if alone."""
    names = sorted(axes, key=lambda name: (name == NAMES[LOADS], name != NAMES[SCHEMES]))
    return names[-1] if names else None


def shown(value: Plain) -> str:
    """A label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def interval(metric: Metric, found: Interval) -> str:
    """A mean with half its interval."""
    half = f" ±{metric.shown(found.half, 2)}" if math.isfinite(found.half) else ""
    return metric.shown(found.mean) + half


def lines(done: Conducted, store: str) -> list[str]:
    """The lines below the table."""
    study, found = done.study, differences(done)
    if study.stop is not None and any(done.known(number) is False for number in range(len(study.cells))):
        bound, most = study.stop.bound, study.stop.most
        found.append(f"* not known to ±{100 * bound:g} % yet: at most {most} seeds, or no time for more")
    found += [f"SKIPPED {one.label}: {one.reason}" for one in study.skipped]
    found += besides(done)
    failed = done.failed
    for cell, repeat in failed[:FEW]:
        found.append(f"FAILED {cell.title}, seed {repeat.seed}: {repeat.error}")
    if len(failed) > FEW:
        found.append(f"… and {len(failed) - FEW} more that failed; --json lists all")
    if failed:
        found.append("failed runs are repeated with --retry-failed")
    if done.left:
        found.append(f"{done.left} runs left for lack of time: the same command continues with them")
    runs = sum(len(ones) for ones in done.repeats) - done.left
    found.append(f"{units.counted(runs, 'run')}, {done.made} made now; in {store}")
    if done.outdated:
        places = units.counted(done.outdated, "place")
        found.append(
            f"{places} of {study.name} in {store} from an earlier spec, grid or engine: `where not outdated`"
            " leaves them out of queries of `studies`"
        )
    return found


def besides(done: Conducted) -> list[str]:
    """Facts that the metrics do not show, in the words of `compare`."""
    found = [OVERLOADED] if any(done.overloaded(number) for number in range(len(done.study.cells))) else []
    every = done.every_flow()
    if every.unfinished:
        found.append(f"{every.text} flows did not finish, over all seeds; they are in no mean or percentile above.")
    return found + warnings(done)


def warnings(done: Conducted) -> list[str]:
    """Deadlocks, and warnings about settings that may be unintended."""
    cells = range(len(done.study.cells))
    locked = [done.study.cells[number].title for number in cells if any(one.deadlock for one in done.beside(number))]
    found = [f"DEADLOCK: pauses waited for each other under {title}." for title in locked[:FEW]]
    if len(locked) > FEW:
        found.append(f"… and {len(locked) - FEW} more points with a deadlock")
    scheme = NAMES[SCHEMES]
    runs = [
        (shown(done.study.cells[number].label.get(scheme, "")), one.warnings)
        for number in cells
        for one in done.beside(number)
    ]
    return found + warned(runs)


def record(done: Conducted) -> StudyRecord:
    """The same as plain values."""
    study = done.study
    cells: list[CellRecord] = []
    for number, cell in enumerate(study.cells):
        metrics: list[MetricRecord] = []
        for k, metric in enumerate(study.metrics):
            of, beside = done.interval(number, k), done.against_first(number, k)
            ended = [one.values[k] for one in done.repeats[number] if one.values is not None]
            behind = done.behind(number, k)
            metrics.append(
                {"metric": metric.text, "mean": of.mean, "ci95_half": of.half, "vs_first": beside.mean,
                 "vs_first_ci95_half": beside.half, "n": of.n, "values": ended,
                 "flows": behind.flows, "unfinished": behind.unfinished}
            )  # fmt: skip
        runs: list[RunRecord] = [
            {"seed": one.seed, "key": one.key, "status": "left" if one.left else "failed" if one.error else "done",
             "error": one.error}
            for one in done.repeats[number]
        ]  # fmt: skip
        cells.append(
            {"label": cell.label, "known": done.known(number), "overloaded": done.overloaded(number),
             "metrics": metrics, "runs": runs}
        )  # fmt: skip
    skipped = [{"label": one.label, "reason": one.reason} for one in study.skipped]
    return {
        "study": study.name,
        "axes": study.axes,
        "cells": cells,
        "skipped": skipped,
        "made": done.made,
        "failed": len(done.failed),
        "left": done.left,
        "outdated": done.outdated,
    }


def announced(found: Estimate, jobs: int, clock: str | None) -> str:
    """The size of a study, in a line; `clock` is None if unknown."""
    new = found.runs - found.stored
    stored = f", {found.stored} of them stored" if found.stored else ""
    takes = (
        (f"; about {clock} for {new}, {jobs} at a time" if clock else f"; {new} to run") if new else "; nothing to run"
    )
    return f"{found.points} points, {found.runs} runs{stored}{takes}"
