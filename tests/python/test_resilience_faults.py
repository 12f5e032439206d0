"""`resilience SPEC.toml` with several faults: what each one cost, beside what all of them did."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise
from spinewise.cli import main
from spinewise.measures import stats
from spinewise.resilience import own, own_faults, own_files
from spinewise.resilience.own_faults import Single
from spinewise.specs.faults import without_faults
from spinewise.specs.spec import as_spec
from test_resilience_own import SPEC, recording

LOSS: dict[str, Any] = {
    "kind": "loss", "ends": ["leaf0", "spine0"], "probability": 0.05, "at_us": 10, "until_us": 300,
}  # fmt: skip
DOWN: dict[str, Any] = {"kind": "down", "ends": ["leaf1", "spine1"], "at_us": 400, "until_us": 900}
TWO: dict[str, Any] = {
    **SPEC,
    "traffic": [
        {"kind": "poisson", "cdf": "solar2022", "load": 0.4, "load_of": "leaf_uplinks", "pairs": "inter_rack",
         "duration_us": 1500},
        {"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 20_000},
    ],
    "fault": [LOSS, DOWN],
}  # fmt: skip


def study(spec: dict[str, Any], schemes: list[str] | None = None) -> own.Study:
    plan = own.Plan.of(spec, schemes or ["ecmp"], [1, 2])
    return plan.run(plan.cases(), 1, None)


def test_each_fault_counts_its_own_time_links_and_flows() -> None:
    """By hand: ten intervals of 10 µs, of which the second fault takes half of three."""
    whole = replace(
        recording([100.0] * 20),
        fct_s={"a": np.array([2e-5, 5e-5, 4e-5], np.float32), "b": np.array([1e-5], np.float32)},
        start_s={"a": np.array([0.0, 1e-5, 7e-5]), "b": np.array([1.5e-4])},
    )
    broken = replace(
        recording([100.0] * 2 + [50.0] * 3 + [100.0] * 15),
        fct_s={"a": np.array([2e-5, 1.2e-4, 4e-5], np.float32), "b": np.array([9e-5], np.float32)},
        lost_on={"x": 3, "y": 4, "z": 50},
    )
    found = own_faults.of_pair(broken, whole, Single("loss x", 20.0, 50.0, ("x", "y"), alone=True), 10.0)
    assert [found.goodput_lost, found.gone] == pytest.approx([0.5, 7.0])
    # Only the second flow is under way from 20 to 50 µs: the first ends as the fault begins.
    assert [found.p99_s, found.p99_whole_s, found.doubled] == pytest.approx([1.2e-4, 5e-5, 1.0])
    later = own_faults.of_pair(broken, whole, Single("down z", 100.0, math.inf, (), alone=True), 10.0)
    assert [later.goodput_lost, later.doubled] == pytest.approx([0.0, 0.5])
    assert math.isnan(later.gone)
    none = own_faults.of_pair(broken, whole, Single("down z", 120.0, 140.0, (), alone=True), 10.0)
    assert math.isnan(none.p99_s)
    assert math.isnan(none.doubled)


def test_faults_of_a_run_are_told_apart() -> None:
    """Against the runs themselves: packets by link, and the flows of each time."""
    found = study(TWO)
    faults = own_faults.singles(found.plan)
    assert [one.what for one in faults] == ["loss leaf0->spine0", "down leaf1->spine1"]
    assert [one.alone for one in faults] == [True, True]
    runs = [[spinewise.run(one, seed=seed) for one in (TWO, without_faults(as_spec(TWO)))] for seed in (1, 2)]
    gone = [own_faults.hurt(found, "ecmp", fault) for fault in faults]
    for place, (broken, whole) in enumerate(runs):
        lost = [sum(link["lost"] for link in broken.report["links"] if link["name"] in one.links) for one in faults]
        assert [of_fault[place].gone for of_fault in gone] == lost
        assert sum(lost) == broken.report["counters"]["lost"]["packets"]
        starts, its = (whole.flows.column(name).to_numpy() / 1e6 for name in ("start_ps", "fct_ps"))
        mine = broken.flows.column("fct_ps").to_numpy() / 1e6
        for fault, of_fault in zip(faults, gone, strict=True):
            there = (starts < fault.end_us) & (starts + its > fault.begin_us)
            assert 0 < there.sum() < len(there)
            assert of_fault[place].doubled == pytest.approx((mine[there] > 2 * its[there]).mean())
            assert 1e6 * of_fault[place].p99_s == pytest.approx(stats.percentile(mine[there], 0.99), rel=1e-6)
    assert all(one.gone > 0 for of_fault in gone for one in of_fault)


def test_the_command_prints_a_row_for_each_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "two.json.toml"
    spec.write_text(
        'preset = "datacenter"\n[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 1_000_000\n'
        '[[fault]]\nkind = "loss"\nends = ["leaf0", "spine0"]\nprobability = 0.05\nat_us = 10\nuntil_us = 200\n'
        '[[fault]]\nkind = "down"\nends = ["leaf1", "spine1"]\nat_us = 300\n'
    )
    words = ["resilience", str(spec), "--schemes", "ecmp,rps", "--seeds", "1", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "loss leaf0->spine0, 10 µs to 200 µs ecmp" in out
    assert "down leaf1->spine1, 300 µs to the end ecmp" in out
    assert "What one fault leaves behind" in out
    record = json.loads((tmp_path / "out" / "resilience.json").read_text())
    assert "Each fault: in its own time, on its own links" in [one["title"] for one in record["told"]["tables"]]
    assert main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "page.html")]) == 0
    assert "Each fault: in its own time" in (tmp_path / "page.html").read_text()


def test_faults_that_overlap_or_share_a_link_are_marked() -> None:
    found = study({**TWO, "fault": [LOSS, {**DOWN, "ends": ["leaf0", "spine0"], "at_us": 200}]})
    faults = own_faults.singles(found.plan)
    assert [(one.alone, one.links) for one in faults] == [(False, ()), (False, ())]
    rows = [line.cells for line in own_files.fault_table(found, faults).lines]
    assert [row[0] for row in rows] == [
        "loss leaf0->spine0, 10 µs to 300 µs *", "down leaf0->spine0, 200 µs to 900 µs *",
    ]  # fmt: skip
    assert [row[3] for row in rows] == ["–", "–"]
    notes = " ".join(own_files.notes(found))
    assert "*: another fault is active in that time" in notes
    assert "gone is not told (–) where another fault hits the same link" in notes


def test_tables_of_other_commands_are_no_faults() -> None:
    """With [bounds] in its spec it failed after all runs."""
    beside = {**TWO, "bounds": {"all.unfinished": [0, 0]}, "compare": {"seeds": 3}}
    plan = own.Plan.of(beside, ["ecmp"], [1])
    assert own_faults.singles(plan) == own_faults.singles(own.Plan.of(TWO, ["ecmp"], [1]))
    assert len(own_faults.singles(plan)) == 2
    for table in ("bounds", "compare"):
        with pytest.raises(spinewise.SpecError, match=f"{table} = 3: allowed is a table"):
            own.Plan.of({**TWO, table: 3}, None, [1])


def test_one_fault_has_no_table_of_its_own() -> None:
    found = study({**TWO, "fault": [DOWN]})
    assert own_faults.singles(found.plan) == []
    assert "Each fault" not in " ".join(one.heading for one in own_files.tables(found))
    assert "each fault" not in " ".join(own_files.notes(found))
