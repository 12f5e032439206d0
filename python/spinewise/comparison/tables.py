"""Tables of a comparison."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.comparison.cells import Comparison
from spinewise.measures import units
from spinewise.measures.stats import Interval
from spinewise.show.terminal import Grid, new_table


def comparison_report(comparison: Comparison) -> RenderableType:
    """Everything `spinewise compare` prints."""
    return Group(
        comparison_table(comparison, "fct_s.mean", "Mean FCT"),
        comparison_table(comparison, "fct_s.p99", "99th percentile of FCT"),
        Text("\n".join(notes(comparison))),
    )


def comparison_table(comparison: Comparison, metric: str, title: str) -> Grid:
    """One metric: a row per load and scheme, two columns per size class."""
    classes = comparison.size_classes
    scale = {name: class_unit(comparison, name, metric) for name in classes}
    first = comparison.labels[0]
    columns = [column for name in classes for column in (f"{name} [{scale[name][0]}]", f"vs {first}")]
    table = new_table(title, ["load", "scheme"], [*columns, "unfinished"])
    for load in comparison.loads:
        for label in comparison.labels:
            cells = []
            for name in classes:
                own = comparison.interval(label, load, name, metric)
                cells.append(plus_minus(own, scale[name][1]))
                against = comparison.difference(label, load, name, metric)
                cells.append("" if label == first else difference(against))
            table.line(
                load_name(comparison, load) if label == first else "",
                label,
                *cells,
                str(comparison.unfinished(label, load)),
                end_section=label == comparison.labels[-1],
            )
    return table


def class_unit(comparison: Comparison, size_class: str, metric: str) -> tuple[str, float]:
    """The unit in which to print one column."""
    return units.time_unit(
        comparison.interval(label, load, size_class, metric).mean
        for label in comparison.labels
        for load in comparison.loads
    )


def plus_minus(interval: Interval, size: float) -> str:
    """Mean ± half width, in units of `size`, both to the same decimal."""
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = units.digits(interval.mean / size)
    if not math.isfinite(interval.half):
        return text
    decimals = len(text.partition(".")[2])
    return f"{text} ±{interval.half / size:,.{decimals}f}"


def difference(interval: Interval) -> str:
    """A paired difference in percent; in brackets when its interval includes zero."""
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = f"{100 * interval.mean:+.1f}%"
    return text if interval.excludes_zero else f"({text})"


def load_name(comparison: Comparison, load: float | None) -> str:
    """A load as the tables print it, with a mark when it is an overload."""
    name = "as given" if load is None else f"{load:g}"
    return f"{name} !" if comparison.overloaded(load) else name


def notes(comparison: Comparison) -> list[str]:
    """How to read the tables."""
    seeds = len(comparison.seeds)
    flows = ", ".join(
        f"{comparison.flows(load, name):,} {name}" for load in comparison.loads[-1:] for name in comparison.size_classes
    )
    lines = [
        f"{seeds} seed{'s' * (seeds != 1)}, the same traffic for every scheme; ± is half a 95 %"
        " Student-t interval over seeds.",
        f"'vs {comparison.labels[0]}' is the mean paired difference; in (brackets) when its 95 %"
        " interval includes zero.",
        f"flows per scheme at the last load, all seeds: {flows}.",
    ]
    lines += [f"SKIPPED {one.label}, which cannot serve this fabric: {one.reason}." for one in comparison.skipped]
    if not comparison.paired:
        lines.append("NOT PAIRED: some schemes saw different traffic; differences mean little.")
    if any(comparison.overloaded(load) for load in comparison.loads):
        lines.append("! overloaded: the results depend on how long the run lasts.")
    locked = {(cell.label, cell.load) for cell in comparison.cells if cell.summary.deadlock}
    for label, load in sorted(locked, key=str):
        lines.append(f"DEADLOCK: pauses waited for each other under {label} at load {load_name(comparison, load)}.")
    lost = sum(comparison.unfinished(s, x) for s in comparison.labels for x in comparison.loads)
    if lost:
        lines.append(f"{lost} flows did not finish; they are in no mean or percentile above.")
    return lines
