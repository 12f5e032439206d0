"""`resilience SPEC.toml`: what the faults of a user's own spec cost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.resilience import own
from spinewise.resilience.own_recorded import Recording

SPEC: dict[str, Any] = {
    "name": "mine",
    "preset": "datacenter",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [
        {"kind": "permutation", "size_bytes": 400_000},
        {"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 20_000},
    ],
    "fault": [{"kind": "rate", "ends": ["leaf0", "spine0"], "rate_gbps": 1, "at_us": 100, "until_us": 900}],
}


def recording(goodput: list[float]) -> Recording:
    return Recording(np.array(goodput), {"all": 1e-3}, {"all": 0}, 0, 0, 0, 0, "", "")


def plan(last_us: float = math.inf) -> own.Plan:
    return own.Plan({"metrics": {"series_interval_us": 10.0}}, [], [], [1], 20.0, last_us)


def test_what_was_lost_counts_from_the_first_fault_to_the_last_repair() -> None:
    whole = recording([100.0] * 20)
    broken = recording([100.0] * 2 + [50.0] * 4 + [100.0] * 14)
    assert own.outcome(broken, whole, plan(60.0)).goodput_lost == pytest.approx(0.5)
    assert own.outcome(broken, whole, plan(100.0)).goodput_lost == pytest.approx(0.25)
    assert own.outcome(broken, whole, plan()).goodput_lost == pytest.approx(2 / 18)


def test_a_run_that_ends_earlier_received_nothing_afterwards() -> None:
    late = recording([100.0] * 2 + [0.0] * 4 + [100.0] * 4)
    found = own.outcome(late, recording([100.0] * 6), plan(60.0))
    assert found.goodput_lost == 1.0
    assert found.recovery_ms < 0.05


def test_a_fault_after_the_traffic_is_told_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """No bytes arrive meanwhile without the faults either: that is no loss, and no goodput that never comes back."""
    found = own.outcome(recording([100.0, 100.0]), recording([100.0, 100.0]), plan(60.0))
    assert math.isnan(found.goodput_lost)
    assert math.isnan(found.recovery_ms)
    file = tmp_path / "late.toml"
    file.write_text(
        "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 10_000\n'
        '[[fault]]\nkind = "down"\nends = ["leaf0", "spine0"]\nat_us = 800_000\nuntil_us = 900_000\n'
    )
    assert main(["resilience", str(file), "--schemes", "ecmp", "--seeds", "2"]) == 0
    told = capsys.readouterr().out
    row = next(line.split() for line in told.splitlines() if "ecmp" in line)
    assert row[:5] == ["ecmp", "no", "traffic", "no", "traffic"]
    assert "no byte would arrive from 800 ms to 900 ms" in told
    assert "nan" not in told
    assert "never" not in told


def test_each_entry_is_told_of_with_and_without_the_faults() -> None:
    made = own.Plan.of(SPEC, "ecmp,rps", 2)
    study = made.run(made.cases(), 1, None)
    assert study.entries == ["permutation", "incast", "all"]
    assert (made.first_us, made.last_us) == (100.0, 900.0)
    assert study.interval("ecmp", "goodput_lost").mean > 0.05
    assert study.slower("ecmp", "permutation").mean > 0.1
    hashes = {one.traffic_hash for key, one in study.recordings.items() if key[1] == made.seeds[0]}
    assert len(hashes) == 1


def test_a_spec_without_faults_is_refused() -> None:
    with pytest.raises(SpecError) as error:
        own.Plan.of({key: value for key, value in SPEC.items() if key != "fault"}, None, None)
    assert error.value.key == "fault"


def test_the_command_prints_tables_and_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "mine.toml"
    spec.write_text(
        'preset = "datacenter"\n[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 200_000\n'
        '[[fault]]\nkind = "down"\nswitch = "spine0"\nat_us = 50\n'
    )
    assert main(["resilience", str(spec), "--seeds", "1", "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "one seed: no interval" in told
    assert "the end (no repair)" in told
    record = json.loads((tmp_path / "out" / "resilience.json").read_text())
    assert record["last_repair_us"] is None
    assert [run["scheme"] for run in record["runs"]] == ["ecmp"]
    assert main(["resilience", str(spec), "--faults", "link"]) == 2
    assert "--faults" in capsys.readouterr().err
