"""What `compare --out` writes: table, cells, record and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from spinewise import core
from spinewise.comparison import tables
from spinewise.comparison.cells import METRICS, Cell, Comparison
from spinewise.measures import units
from spinewise.measures.distribution import NAMED
from spinewise.measures.entries import By
from spinewise.measures.stats import Interval
from spinewise.measures.summary import ALL, without_nan
from spinewise.runs import formats
from spinewise.runs.folder import new_results
from spinewise.runs.result import write_json
from spinewise.show import plot, style, terminal
from spinewise.specs.spec import spec_hash

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = {"fct": ("fct_s.mean", "fct_s.p99"), "slowdown": ("slowdown.mean", "slowdown.p99")}
TITLES = {path: name for name, path in METRICS.items()}


def write(comparison: Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Write compare.json, cells.parquet, table.txt and the figures, all or nothing."""
    with new_results(folder, force=force) as target:
        write_files(comparison, target)
    return Path(folder)


def write_files(comparison: Comparison, target: Path, by: By = "auto") -> None:
    """Write the files into an existing folder; the tables tell of the flows of `by`."""
    write_json(target / "compare.json", record(comparison))
    write_cells(comparison, target / "cells.parquet")
    with (target / "table.txt").open("w") as stream:
        Console(file=stream, width=terminal.PLAIN_WIDTH).print(tables.comparison_report(comparison, by))
    for name, metrics in FIGURES.items():
        style.save(fct_figure(comparison, metrics), target, name)


def record(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values for JSON."""
    plain = without_nan(
        {
            "format": formats.COMPARE.name,
            "version": core.version(),
            "schemes": comparison.labels,
            "skipped": [{"scheme": one.label, "reason": one.reason} for one in comparison.skipped],
            "entries": comparison.entries,
            "loads": comparison.loads,
            "seeds": comparison.seeds,
            "paired": comparison.paired,
            "rows": comparison.rows(),
            "cells": [cell_record(cell) for cell in comparison.cells],
            "spec_hash_of_first_cell": spec_hash(comparison.spec),
            "spec_of_first_cell": comparison.spec,
        }
    )
    assert isinstance(plain, dict)
    return plain


def cell_record(cell: Cell) -> dict[str, Any]:
    """One run: what identifies it and what it came to."""
    return {
        "scheme": cell.label,
        "load": cell.load,
        "seed": cell.seed,
        "outcome_hash": cell.outcome_hash,
        "traffic_hash": cell.traffic_hash,
        "wall_seconds": cell.wall_seconds,
        "packet_hops": cell.packet_hops,
        "summary": cell.summary.as_dict(),
    }


def write_cells(comparison: Comparison, path: Path) -> None:
    """One row per run, traffic entry and size class, for further analysis."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    rows = [row for cell in comparison.cells for row in cell_rows(cell, comparison)]
    parquet.write_table(pa.Table.from_pylist(rows), path, compression="zstd")


def cell_rows(cell: Cell, comparison: Comparison) -> list[dict[str, Any]]:
    """The rows of one run: a traffic entry called "all" is all traffic."""
    return [
        {
            "scheme": cell.label,
            "load": cell.load,
            "seed": cell.seed,
            "entry": ALL if entry is None else entry,
            "size_class": found.name,
            "flows": found.flows,
            "unfinished": found.unfinished,
            **{f"fct_{name}_s": found.fct_s.get(name) for name in ("mean", *NAMED)},
            **{f"slowdown_{name}": found.slowdown.get(name) for name in ("mean", *NAMED)},
        }
        for entry in comparison.scopes("both" if comparison.mixed else "entry")
        for found in (cell.summary.classes if entry is None else cell.summary.entry(entry).classes)
    ]


def fct_figure(comparison: Comparison, metrics: tuple[str, ...]) -> Figure:
    """One row of panels per metric, one column per size class."""
    classes = comparison.size_classes
    panels = [panel(comparison, metric, name) for metric in metrics for name in classes]
    return plot.figure(panels, columns=len(classes), caption=caption(comparison))


def panel(comparison: Comparison, metric: str, size_class: str) -> plot.Panel:
    """One metric of one size class against load."""
    is_time = metric.startswith("fct")
    unit, size = tables.class_unit(comparison, size_class, metric) if is_time else ("", 1.0)
    loads = comparison.loads
    curves = [
        plot.Curve(
            label=label,
            x=[load or 0.0 for load in loads],
            y=[scaled(comparison.interval(label, load, size_class, metric), size) for load in loads],
            hollow=[comparison.unfinished(label, load, size_class) > 0 for load in loads],
        )
        for label in comparison.labels
    ]
    return plot.Panel(
        title=f"{size_class}: {TITLES[metric]}",
        x_label="offered load" if loads != [None] else "load as given in the spec",
        y_label=f"{TITLES[metric]} [{unit}]" if is_time else TITLES[metric],
        curves=curves,
        shaded=[load for load in loads if load is not None and comparison.overloaded(load)],
    )


def scaled(found: Interval, size: float) -> Interval:
    """An interval in units of `size`."""
    return Interval(found.mean / size, found.half / size, found.n)


def caption(comparison: Comparison) -> str:
    """What a reader must know about the figure."""
    classes = ", ".join(
        f"{name} {units.count(comparison.flows(comparison.loads[-1], name))}" for name in comparison.size_classes
    )
    lost = sum(comparison.unfinished(s, x) for s in comparison.labels for x in comparison.loads)
    text = (
        f"{comparison.spec.get('name', 'run')}: {len(comparison.seeds)} seeds, the same traffic for"
        f" every scheme; bars: 95 % Student-t intervals over seeds. Flows per scheme at the last"
        f" load: {classes}."
    )
    if lost:
        text += f" {lost} flows did not finish and are left out (hollow markers)."
    if any(comparison.overloaded(load) for load in comparison.loads):
        text += " Shaded: overloaded, depends on run length."
    return text
