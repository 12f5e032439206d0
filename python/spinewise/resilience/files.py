"""The files that ``resilience --out`` writes: record, cells, tables and figure."""

from __future__ import annotations

import csv
from pathlib import Path

from spinewise import core
from spinewise.measures import stats
from spinewise.measures.plain import without_nan
from spinewise.resilience import show
from spinewise.resilience.setting import Fabric, Fault
from spinewise.resilience.stored import Lost, Rows, Stored, subtitle
from spinewise.resilience.study import Study
from spinewise.runs import formats
from spinewise.show import style, terminal
from spinewise.writing import write_json

METRICS = ("goodput_lost", "recovery_ms", "after_repair_ms", "p999_ms", "p999_whole_ms", "lost", "dropped")


def write_files(study: Study, target: Path) -> None:
    """Write resilience.json, cells.csv, table.txt, table.md and the figure into an existing folder."""
    write_json(target / formats.RESILIENCE.record, record(study))
    rows = study.rows()
    with (target / "cells.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    terminal.write(target / "table.txt", show.report(study))
    (target / "table.md").write_text(show.markdown(study), encoding="utf-8")
    style.save(show.figure(study), target, "resilience")


def record(study: Study) -> dict[str, object]:
    """The study as plain values for JSON; a time that never comes is null, and counted."""
    plan = study.plan
    plain = without_nan(
        {
            "format": formats.RESILIENCE.name,
            "version": core.version(),
            "seeds": plan.seeds,
            "timing": vars(plan.timing),
            "paired": study.paired,
            "fabrics": {fabric.name: fabric.about for fabric in plan.fabrics},
            "faults": {fault.name: fault.about for fault in plan.faults},
            "skipped": [
                {"fabric": fabric, "scheme": one.label, "reason": one.reason}
                for fabric, found in plan.skipped.items()
                for one in found
            ],
            "told": stored(study),
            "cells": [
                cell(study, fabric.name, fault.name, label)
                for fabric in plan.fabrics
                for fault in plan.faults
                for label in study.labels(fabric.name)
            ],
            "runs": study.rows(),
        }
    )
    assert isinstance(plain, dict)
    return plain


def stored(study: Study) -> Stored:
    """The printed results, kept for pages."""
    plan = study.plan
    schemes = dict.fromkeys(label for fabric in plan.fabrics for label in study.labels(fabric.name))
    return Stored(
        title="What faults cost",
        subtitle=subtitle(list(schemes), len(plan.seeds)),
        lost=[lost(study, fabric, fault) for fabric in plan.fabrics for fault in plan.faults],
        tables=[Rows.of(show.table(study))],
        notes=show.notes(study),
    )


def lost(study: Study, fabric: Fabric, fault: Fault) -> Lost:
    """The cost of one fault on one fabric."""
    labels = study.labels(fabric.name)
    found = {label: study.interval(fabric.name, fault.name, label, "goodput_lost") for label in labels}
    return Lost.means(f"{fault.title}, {fabric.name}", found)


def cell(study: Study, fabric: str, fault: str, label: str) -> dict[str, object]:
    """One fabric, fault and scheme: means over seeds with the halves of their intervals."""

    def parts(found: stats.Interval) -> dict[str, float]:
        return {"mean": found.mean, "ci95_half": found.half}

    return {
        "fabric": fabric,
        "fault": fault,
        "scheme": label,
        **{metric: parts(study.interval(fabric, fault, label, metric)) for metric in METRICS},
        "p999_vs_none": parts(study.slower(fabric, fault, label)),
        "never_recovered": study.never(fabric, fault, label, "recovery_ms"),
        "never_after_repair": study.never(fabric, fault, label, "after_repair_ms"),
        "unroutable": sum(one.unroutable for one in study.at(fabric, fault, label)),
        "cut_off": sum(one.cut_off for one in study.at(fabric, fault, label)),
        "out_of_time": sum(one.out_of_time for one in study.at(fabric, fault, label)),
    }
