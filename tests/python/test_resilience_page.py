"""docs/resilience.md against the runs that are kept beside it."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from pathlib import Path

import pytest

from spinewise.resilience.setting import FAULTS
from spinewise.resilience.study import study

DOCS = Path(__file__).parents[2] / "docs"
Row = dict[str, str]


@pytest.fixture(scope="module")
def kept() -> list[Row]:
    """A line a run with a fault."""
    with (DOCS / "resilience" / "cells.csv").open() as file:
        return list(csv.DictReader(file))


def tables(text: str) -> dict[tuple[str, str, str], str]:
    """The cells of the goodput tables: by fabric, fault and scheme."""
    found: dict[tuple[str, str, str], str] = {}
    fabric = ""
    for line in text.splitlines():
        if head := re.match(r"\*\*([\w-]+)\*\* \(.*\): (goodput lost)?", line):
            fabric = head[1] if head[2] else ""
        elif fabric and (row := re.match(r"\| `(\w+)` \| (.*) \|$", line)):
            cells = zip(FAULTS, row[2].split(" | "), strict=True)
            found |= {(fabric, fault, row[1]): cell for fault, cell in cells}
    return found


def test_each_cell_of_the_page_is_the_mean_of_the_kept_runs(kept: list[Row]) -> None:
    runs = defaultdict(list)
    for row in kept:
        runs[row["fabric"], row["fault"], row["scheme"]].append(row)
    shown = tables((DOCS / "resilience.md").read_text())
    assert shown.keys() == runs.keys()
    for place, rows in runs.items():
        lost = sum(float(row["goodput_lost"]) for row in rows) / len(rows)
        back = [float(row["recovery_ms"] or math.inf) for row in rows]
        never = sum(map(math.isinf, back))
        time = f"{sum(back) / len(back):.1f}" if not never else "∞" if never == len(back) else "∞?"
        assert shown[place] == f"{100 * lost:.1f} · {time}", place


@pytest.mark.parametrize(("scheme", "fault"), [("txrehash", "link-unseen"), ("hula", "rate")])
def test_a_kept_run_comes_out_the_same_again(kept: list[Row], scheme: str, fault: str) -> None:
    (made,) = study(scheme, faults=fault, fabrics="leaf-spine", seeds=1).rows()
    (row,) = (
        row for row in kept
        if (row["fabric"], row["fault"], row["scheme"], row["seed"]) == ("leaf-spine", fault, scheme, "1")
    )  # fmt: skip
    assert made["outcome_hash"] == row["outcome_hash"]
