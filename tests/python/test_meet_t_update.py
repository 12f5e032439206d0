"""The study of MEET's T_update: what it runs, what it reads off a run, how it judges."""

from __future__ import annotations

import pytest

import spinewise as sw
from samples import single
from spinewise.papers.meet import t_update
from spinewise.papers.meet.measure.t_update import message_bytes
from spinewise.papers.meet.t_update import EXPERIMENT
from spinewise.reproduction.experiment import Effort, Measured, Measurement, Run, Status


def measured(metric: str, values: dict[float, list[float]]) -> Measured:
    """MEET's `metric` over T_update and seeds."""
    made = [
        Measurement(Run("MEET", x, seed, {}), {metric: value}, "", 0, False)
        for x, row in values.items()
        for seed, value in enumerate(row)
    ]
    return Measured(made)


def test_one_thing_differs_and_both_intervals_are_one() -> None:
    runs = EXPERIMENT.runs(Effort.FULL)
    meet = [run for run in runs if run.curve == "MEET"]
    assert {run.x for run in meet} == {50, 100, 200, 500, 1000, 2000, 5000}
    for run in meet:
        params = run.spec["scheme"]["params"]
        assert params == {"t_update_us": run.x, "t_probe_us": run.x}
    assert {bool(run.spec["topology"]["override"]) for run in meet} == {True, False}
    assert {run.seed for run in runs if run.curve == "ECMP"} == {run.seed for run in meet}
    assert len(EXPERIMENT.runs(Effort.QUICK)) < len(runs) / 3


def test_what_messages_cost_is_what_a_run_sends() -> None:
    (run,) = [run for run in EXPERIMENT.runs(Effort.QUICK) if (run.x, run.seed, run.variant) == (100, 1, "symmetric")]
    spec = {**run.spec, "traffic": [{**run.spec["traffic"][0], "duration_us": 300.0}]}
    result = sw.run(spec, seed=1)
    packets = result.report["counters"]["messages"]["packets"]
    size = result.report["counters"]["messages"]["bytes"] / packets
    # As many reports as packets of broadcasts, but for the last period.
    report, broadcast = message_bytes(t_update.PATHS)
    assert size == pytest.approx((report + broadcast) / 2, rel=0.02)
    values = single(EXPERIMENT.measure(run, result))
    by_hand = report * 8 / 100
    assert values["report_mbps"] == pytest.approx(by_hand, rel=0.1)
    assert values["t_delay_s"] == pytest.approx(100e-6 + values["t_latency_s"])
    assert 40e-6 < values["t_latency_s"] < 300e-6


@pytest.mark.parametrize(
    ("rates", "status"),
    [([40.5, 40.5, 40.6], Status.HOLDS), ([36.5, 36.6, 36.5], Status.HOLDS), ([45.0, 45.1, 45.0], Status.FAILS)],
)
def test_around_40_mbps(rates: list[float], status: Status) -> None:
    assert t_update.around_40_mbps(measured("report_mbps", {100.0: rates})).status is status


def test_without_that_point_the_example_is_not_judged() -> None:
    assert t_update.around_40_mbps(measured("report_mbps", {500.0: [40.0]})).status is Status.UNTESTED


@pytest.mark.parametrize(
    ("others", "status"),
    [
        ({50.0: [0.99, 1.09, 1.19], 5000.0: [1.5, 1.6, 1.7]}, Status.HOLDS),
        ({50.0: [0.90, 0.99, 1.08], 5000.0: [1.5, 1.6, 1.7]}, Status.FAILS),
        ({50.0: [0.60, 1.30, 1.10], 5000.0: [1.5, 1.6, 1.7]}, Status.OPEN),
    ],
)
def test_another_t_update_may_be_better_by_5_percent(others: dict[float, list[float]], status: Status) -> None:
    verdict = t_update.none_much_better(measured("mean_fct_s", {500.0: [1.0, 1.1, 1.2]} | others))
    assert verdict.status is status
    assert len(verdict.evidence) == 2


def test_a_latency_of_half_a_period_is_not_insignificant() -> None:
    check = t_update.latency_is_insignificant
    assert check(measured("latency_share", {500.0: [0.50, 0.51, 0.52]})).status is Status.FAILS
    assert check(measured("latency_share", {500.0: [0.05, 0.06, 0.05]})).status is Status.HOLDS
