from __future__ import annotations

import time
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.core import Progress, watcher
from spinewise.show import progress


def state(**changes: int) -> Progress:
    start = {
        "simulated_ps": 10**9,
        "horizon_ps": 10**12,
        "packet_hops": 12_345,
        "flows_open": 75,
        "flows_total": 100,
    }
    return Progress(**(start | changes))


def test_the_fraction_is_by_flows_or_by_time_whichever_is_more() -> None:
    assert state().fraction == pytest.approx(0.25)
    assert state(simulated_ps=9 * 10**11).fraction == pytest.approx(0.9)
    assert state(flows_total=0, flows_open=0, horizon_ps=0).fraction == 0.0
    assert state(simulated_ps=2 * 10**12).fraction == 1.0


def test_the_engines_call_becomes_a_state_with_total_and_horizon() -> None:
    seen: list[Progress] = []
    watch = watcher({"run": {"until_us": 2.5}}, seen.append)
    assert watch is not None
    watch(100, 5, 40, 41)
    watch(200, 9, 10, 41)
    assert seen[-1] == Progress(200, 2_500_000, 9, 10, 41)
    assert watcher({}, None) is None


def test_a_run_tells_time_flows_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    shown = progress.RunProgress(None, "tiny")
    shown(state())
    line = capsys.readouterr().err
    for word in ("tiny", "simulated 1.00 ms", "25/100 flows", "hops/s", "ETA"):
        assert word in line


def test_a_batch_counts_its_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    batch = progress.BatchProgress(None, 4, "compare")
    batch.started(0)
    batch.advanced(0, state())
    batch.finished(0, 1_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert "0/4 runs" in lines[0]
    assert "1/4 runs" in lines[-1]


def test_a_batch_says_what_is_stored_and_when_it_will_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    batch = progress.BatchProgress(None, 4, "study")
    batch.planned(2, 3)
    batch.expected(125.2)
    batch.finished(0, 10)
    batch.finished(1, 10)
    # A second round.
    batch.planned(5, 0)
    batch.finished(0, 10)
    lines = capsys.readouterr().err.splitlines()
    assert "1/2 runs (3 more stored)" in lines[0]
    assert "ETA 2min6s" in lines[0]
    assert "3/7 runs ·" in lines[-1]
    assert "ETA 0s" not in lines[-1], "the end of the first round is not that of the second"


def test_the_time_of_setting_up_is_not_that_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A minute of setting up, then three quarters of the flows in 30 s: 10 s are left, not 30."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = progress.RunProgress(None, "slow")
    now[0] += 60.0
    shown(state(simulated_ps=0, packet_hops=0, flows_open=0, flows_total=0))
    now[0] += 30.0
    shown(state(flows_open=25))
    assert "ETA 10s" in capsys.readouterr().err


def test_a_batch_with_a_budget_tells_what_is_left_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many runs there will be is not known, and the end of a round is no end."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    batch = progress.BatchProgress(None, 0, "advise", 300.0)
    batch.planned(2, 0)
    batch.expected(1.0)
    now[0] += 60.0
    batch.finished(0, 10)
    assert "advise: 1 run · 10 packet-hops · at most 4min left" in capsys.readouterr().err


def test_progress_never_goes_back() -> None:
    """The engine has nothing to report while it closes the account of a run."""
    seen: list[Progress] = []
    watch = watcher({"run": {"until_us": 10.0}}, seen.append)
    assert watch is not None
    for told in ((0, 0, 0, 0), (5_000, 7, 1, 2), (0, 0, 0, 0)):
        watch(*told)
    assert [one.simulated_ps for one in seen] == [0, 5_000, 5_000]
    assert seen[-1] == Progress(5_000, 10_000_000, 7, 1, 2)


def test_progress_comes_from_real_runs(tiny: Path) -> None:
    seen: list[Progress] = []
    spec = sw.load(tiny, ["traffic[0].duration_us=1000000"])
    flows = sw.run(spec, progress=seen.append).report["flows"]
    assert seen
    times = [one.simulated_ps for one in seen]
    assert times == sorted(times)
    assert all(one.flows_open <= one.flows_total for one in seen)
    assert {one.flows_total for one in seen} <= {0, flows}
