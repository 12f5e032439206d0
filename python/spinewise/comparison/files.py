"""What `compare --out` writes: table, cells, record and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spinewise import core
from spinewise.comparison import figures, kept, tables
from spinewise.comparison.cells import Cell, Comparison
from spinewise.measures.distribution import NAMED
from spinewise.measures.entries import By
from spinewise.measures.plain import plain, without_nan
from spinewise.measures.summary import ALL
from spinewise.runs import formats
from spinewise.runs.folder import new_results
from spinewise.runs.result import write_json
from spinewise.show import style, terminal
from spinewise.specs.spec import spec_hash


def write(comparison: Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Write compare.json, cells.parquet, table.txt and the figures, all or nothing."""
    with new_results(folder, force=force) as target:
        write_files(comparison, target)
    return Path(folder)


def write_files(comparison: Comparison, target: Path, by: By = "auto") -> None:
    """Write the files into an existing folder; the tables tell of the flows of `by`."""
    write_json(target / "compare.json", record(comparison))
    write_cells(comparison, target / "cells.parquet")
    kept.write_curves(comparison, target / kept.CURVES_FILE)
    with (target / "table.txt").open("w", encoding="utf-8") as stream:
        terminal.paper(stream).print(tables.comparison_report(comparison, by))
    for name, figure in figures.figures(comparison, by).items():
        style.save(figure, target, name)


def record(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values for JSON."""
    found = without_nan(
        {
            "format": formats.COMPARE.name,
            "version": core.version(),
            "schemes": comparison.labels,
            "variants": [plain(variant) for variant in comparison.variants],
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
    assert isinstance(found, dict)
    return found


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
