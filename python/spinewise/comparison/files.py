"""The files that `compare --out` writes: table, cells, record and figures."""

from __future__ import annotations

from pathlib import Path

from spinewise import core
from spinewise.comparison import figures, kept, report
from spinewise.comparison.cells import Cell, Comparison, beside_first
from spinewise.comparison.columns import CELLS
from spinewise.comparison.verdict import Verdict, verdicts
from spinewise.measures.distribution import NAMED
from spinewise.measures.entries import By
from spinewise.measures.plain import plain, without_nan
from spinewise.measures.summary import ALL
from spinewise.own import copies
from spinewise.runs import formats
from spinewise.runs.folder import new_results
from spinewise.show import style, terminal
from spinewise.specs.spec import spec_hash
from spinewise.sweeps.columns import schema
from spinewise.writing import write_json

JOB_METRICS = ("total_s", "mean_s", "p50_s", "p99_s", "max_s", "algbw_gbyte_per_s", "busbw_gbyte_per_s", "unfinished")


def write(comparison: Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Write compare.json, cells.parquet, table.txt and the figures, all or nothing."""
    with new_results(folder, force=force) as target:
        write_files(comparison, target)
    return Path(folder)


def write_files(comparison: Comparison, target: Path, by: By = "auto") -> None:
    """Write the files into an existing folder; `by` selects the flows in the tables."""
    for variant in comparison.variants:
        copies.write_of(variant.apply({}), target)
    write_json(target / "compare.json", record(comparison))
    write_cells(comparison, target / "cells.parquet")
    kept.write_curves(comparison, target / kept.CURVES_FILE)
    terminal.write(target / "table.txt", report.comparison_report(comparison, by))
    for name, figure in figures.figures(comparison, by).items():
        style.save(figure, target, name)


def record(comparison: Comparison) -> dict[str, object]:
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
            "jobs": job_rows(comparison),
            "verdicts": [verdict_record(found) for found in verdicts(comparison)],
            "rows": comparison.rows(),
            "cells": [cell_record(cell) for cell in comparison.cells],
            "spec_hash_of_first_cell": spec_hash(comparison.spec),
            "spec_of_first_cell": comparison.spec,
            "given": comparison.given,
        }
    )
    assert isinstance(found, dict)
    return found


def cell_record(cell: Cell) -> dict[str, object]:
    """One run: its identity and its results."""
    return {
        "scheme": cell.label,
        "load": cell.load,
        "seed": cell.seed,
        "outcome_hash": cell.outcome_hash,
        "traffic_hash": cell.traffic_hash,
        "wall_seconds": cell.wall_seconds,
        "packet_hops": cell.packet_hops,
        "min_rto_s": cell.min_rto_s,
        "transport": cell.transport,
        "ended_s": cell.ended_s,
        "jobs": {name: plain(job) for name, job in cell.jobs.items()},
        "folder": cell.folder,
        "summary": cell.summary.as_dict(),
    }


def job_rows(comparison: Comparison) -> list[dict[str, object]]:
    """One record per load, scheme, traffic entry with rounds, and number of them."""
    rows: list[dict[str, object]] = []
    for load in comparison.loads:
        for label in comparison.labels:
            for entry in comparison.with_jobs:
                for metric in JOB_METRICS:
                    own = comparison.job(label, load, entry, metric)
                    against = comparison.job_difference(label, load, entry, metric)
                    rows.append(
                        {
                            "load": load,
                            "scheme": label,
                            "entry": entry,
                            "metric": metric,
                            **beside_first(own, against),
                        }
                    )
    return rows


def verdict_record(found: Verdict) -> dict[str, object]:
    """An answer: which scheme is best at what, how certain that is, and what else differs."""
    return {
        "load": found.load,
        "entry": ALL if found.question.entry is None else found.question.entry,
        "size_class": found.question.size_class,
        "question": found.question.words,
        "best": found.best,
        "mean": found.value.mean,
        "ci95_half": found.value.half,
        "not_told_apart": found.ties,
        "behind_told_apart": found.far,
        "surely_better_than": found.beats,
        "first_on_seeds": found.first_on,
        "seeds_of_all": found.seeds,
        "not_judged": found.aside,
        "all_alike": found.alike,
        "other": found.other,
        "difference": found.against.mean,
        "difference_ci95_half": found.against.half,
        "worst": found.worst[0] if found.worst else None,
        "worst_to_best": found.worst[1].mean if found.worst else None,
        "why": [vars(one) for one in found.why],
        "price": [vars(one) for one in found.price],
    }


def write_cells(comparison: Comparison, path: Path) -> None:
    """Write one row per run, traffic entry and size class, for further analysis, with the facts of the run."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    rows = [row for cell in comparison.cells for row in cell_rows(cell, comparison)]
    with path.open("wb") as stream:
        parquet.write_table(pa.Table.from_pylist(rows, schema(CELLS)), stream, compression="zstd")


def cell_rows(cell: Cell, comparison: Comparison) -> list[dict[str, object]]:
    """The rows of one run; a traffic entry called "all" is all traffic."""
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
            **cell.summary.facts.flat(),
        }
        for entry in comparison.scopes("both")
        for found in (cell.summary.classes if entry is None else cell.summary.entry(entry).classes)
    ]
