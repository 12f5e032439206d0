"""Tables in Markdown from the output of ``reproduce``, for the pages of ``docs/``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from spinewise.measures import stats
from spinewise.reproduction.experiment import Measured, Measurement, Run
from spinewise.reproduction.records import MeasurementRecord, ReproduceRecord
from spinewise.runs import formats

# Head of a column, metric, scale.
Column = tuple[str, str, float]


def read(folder: Path) -> tuple[str, Measured]:
    """Name and measurements of an experiment, timelines left out."""
    record = read_record(folder)
    return record["id"], Measured([measurement(one) for one in record["measurements"]])


def read_record(folder: Path) -> ReproduceRecord:
    """Read what ``reproduce`` wrote, in a known format."""
    file = folder / formats.REPRODUCE.record
    return cast(ReproduceRecord, formats.read(file, formats.REPRODUCE, "folder", "results of `reproduce`"))


def measurement(one: MeasurementRecord) -> Measurement:
    """One run's numbers; null is not a number."""
    values = {
        name: math.nan if value is None else float(value)
        for name, value in one["values"].items()
        if not isinstance(value, dict)
    }
    run = Run(one["curve"], one["x"], one["seed"], {}, one["variant"])
    return Measurement(run, values, one["outcome_hash"], one["unfinished"], one["overloaded"], one.get("flows", 0))


def verdicts(folder: Path) -> str:
    """The claims of an experiment with their verdicts."""
    record = read_record(folder)
    found = [[one["id"], one["figure"], one["statement"], one["reading"], one["verdict"]] for one in record["claims"]]
    return table(["claim", "figure", "the paper states", "reading", "verdict"], found)


def print_tables(folders: Sequence[str], of: Callable[[str, Measured], str]) -> None:
    """Print the tables of these folders, which `of` makes of an experiment's name and numbers, and the verdicts."""
    for folder in map(Path, folders):
        name, measured = read(folder)
        seeds = len({m.run.seed for m in measured.measurements})
        print(f"### {name}, {seeds} seeds (* a run is overloaded)\n\n{of(name, measured)}\n{verdicts(folder)}")


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join([row(heads), row("---" for _ in heads), *map(row, rows)]) + "\n"


def plain(measured: Measured, curve: str, x: float, metric: str, scale: float) -> str:
    """A mean with its 95 % interval."""
    values = [value for value in measured.values(curve, x, metric) if not math.isnan(value)]
    if not values:
        return "–"
    if len(values) == 1:
        return f"{scale * values[0]:.1f}"
    one = stats.t_interval(values)
    digits = 0 if scale * one.mean >= 100.0 else 1
    return f"{scale * one.mean:.{digits}f} ±{scale * one.half:.{digits}f}"


def against(measured: Measured, curve: str, base: str, x: float, metric: str) -> str:
    """The paired difference from another curve, in percent of the latter."""
    change, its = measured.difference(curve, base, x, metric), measured.interval(curve=base, x=x, metric=metric)
    return f"{100 * change.mean / its.mean:+.1f} ±{100 * change.half / its.mean:.1f}"


def names(measured: Measured) -> list[str]:
    """The variants, in order."""
    return list(dict.fromkeys(m.run.variant for m in measured.measurements))


def place(part: Measured, x: float) -> str:
    """An x, with a star if any run offered more than the worst cut carries."""
    return f"{x:g}" + "*" * any(m.overloaded for m in part.measurements if m.run.x == x)


def rows(measured: Measured, metrics: Sequence[Column], curves: Sequence[str] = ()) -> str:
    """One row per variant, x and curve, one column per metric."""
    found = [
        [name, place(part, x), curve, *(plain(part, curve, x, metric, scale) for _, metric, scale in metrics)]
        for name in names(measured)
        for part in [measured.within(name)]
        for x in part.xs
        for curve in part.curves
        if not curves or curve in curves
    ]
    return table(["", "x", "scheme", *(head for head, _, _ in metrics)], found)


def rows_against(measured: Measured, base: str, metrics: Sequence[str]) -> str:
    """Paired differences from another scheme, in percent of it."""
    found = [
        [name, place(part, x), curve, *(against(part, curve, base, x, metric) for metric in metrics)]
        for name in names(measured)
        for part in [measured.within(name)]
        for x in part.xs
        for curve in part.curves
        if curve != base and part.at(base, x)
    ]
    return table(["", "x", f"against {base}, %", *metrics], found)
