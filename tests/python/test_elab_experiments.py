"""ELAB's experiments: what they run, what they read off a run, how they judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from samples import lines, single
from spinewise.measures.summary import offered_on_the_wire
from spinewise.papers.elab import change, fabric, fig02, fig09, fig12, fig13, large, length
from spinewise.papers.elab.labels import MAIN, ORACLE
from spinewise.papers.elab.measure.change import first_beyond, settled
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Status, Timeline
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse


def measured(points: dict[str, list[float]]) -> Measured:
    """Measurements of "y" at x = 3 by curve, one per seed."""
    return Measured(
        [
            Measurement(Run(curve, 3.0, seed, {}), {"y": value}, "00", 0, False)
            for curve, values in points.items()
            for seed, value in enumerate(values)
        ]
    )


def test_near_needs_the_whole_interval_inside() -> None:
    def status(values: list[float]) -> Status:
        return claims.near(measured({"own": values}), "own", "y", 3.0, 0.87, within=0.05).status

    assert status([0.86, 0.87, 0.88]) is Status.HOLDS
    assert status([0.70, 0.71, 0.72]) is Status.FAILS
    assert status([0.80, 0.87, 0.94]) is Status.OPEN
    assert status([0.87]) is Status.UNTESTED


def test_limits_from_both_sides() -> None:
    table = measured({"own": [1.0, 1.1, 1.2]})
    assert claims.above_limit(table, "own", "y", 0.5, 3.0).status is Status.HOLDS
    assert claims.above_limit(table, "own", "y", 2.0, 3.0).status is Status.FAILS
    assert claims.below_limit(table, "own", "y", 2.0, 3.0).status is Status.HOLDS
    assert claims.above_limit(table, "own", "y", 1.1, 3.0).status is Status.OPEN


def test_an_increase_is_judged_as_a_reduction_is() -> None:
    def status(own: list[float], claimed: float) -> Status:
        table = measured({"own": own, "its": [10.0, 11.0, 12.0]})
        return claims.increase(table, "own", "its", "y", 3.0, claimed=claimed).status

    assert status([12.0, 13.1, 14.1], 0.30) is Status.HOLDS
    assert status([12.0, 13.1, 14.1], 0.60) is Status.PARTLY
    assert status([8.0, 8.9, 9.9], 0.30) is Status.FAILS
    assert status([7.0, 13.0, 14.0], 0.30) is Status.OPEN


@pytest.mark.parametrize(
    "experiment", [one.EXPERIMENT for one in (fig02, fig09, fig12, fig13, length, change)], ids=lambda one: one.id
)
def test_every_run_resolves(experiment: Experiment) -> None:
    for effort in (Effort.QUICK, Effort.FULL):
        runs = experiment.runs(effort)
        kinds = {(run.curve, run.variant): run for run in runs}
        for run in kinds.values():
            spec = resolve(run.spec)
            assert (spec["scheme"].get("path_tag") == "outer") == (spec["scheme"]["name"] == "elab")
        curves = {run.curve for run in runs}
        assert len(runs) == len({(r.curve, r.x, r.seed, r.variant) for r in runs})
        assert all(sum(r.curve == curve for r in runs) == len(runs) / len(curves) for curve in curves)


def test_the_splits_are_what_the_leaf_gives_to_its_uplinks() -> None:
    spec = fabric.under(parse("proportional@x"), fig02.spec(3.0, MAIN, 400_000_000))
    run = Run(ORACLE, 3.0, 1, spec)
    values = fig02.EXPERIMENT.measure(run, sw.run(spec, seed=1))
    found, splits = single(values), lines(values)
    assert found["first"] == pytest.approx(1 / 3, abs=0.001)
    assert found["first_p05"] > 0.32
    assert found["first_p95"] < 0.35
    assert found["utilisation"] == pytest.approx(1.0, abs=0.02)
    assert found["carried"] == pytest.approx(found["utilisation"], rel=0.01)
    assert splits["split_7"].value == pytest.approx(0.5, abs=0.05)
    assert len(splits["split_3"].value) == 0


def test_placements_name_the_spine_of_each_flow() -> None:
    spec = fig09.spec(MAIN)
    for flow in spec["traffic"][0]["list"]:
        flow["size_bytes"] = 3_000_000
    seen = set()
    for seed in range(1, 30):
        result = sw.run(spec, seed=seed)
        found = single(fig09.EXPERIMENT.measure(Run("ECMP", 0.0, seed, spec), result))
        assert {found["F1_first"], found["F2_first"]} <= {0.0, 1.0}
        spine = {True: 1, False: 2}
        assert found["placement"] == 10 * spine[found["F1_first"] == 1.0] + spine[found["F2_first"] == 1.0]
        # Over spine 1 leaf 2 has 2 Gbps, so the flow takes four times as long at the least.
        assert (found["F2_fct_s"] > 4 * found["F1_fct_s"]) or found["placement"] != 21
        seen.add(found["placement"])
    assert seen == {11, 12, 21, 22}


def test_the_slow_leaf_is_overloaded_above_five_eighths() -> None:
    def offered(load: float, override: Any) -> tuple[float, bool]:
        spec = large.spec(load, MAIN, 20_000.0, override)
        result = sw.run(spec, seed=1)
        return offered_on_the_wire(result.report), result.summary().overloaded

    whole, _ = offered(0.5, ())
    slow, over = offered(0.5, fig13.OVERRIDE)
    # The leaf that is offered most need not be the slow one.
    assert whole < slow <= whole / large.CAPACITY * 1.001
    assert not over
    assert offered(0.8, fig13.OVERRIDE)[1]


def test_a_change_is_sensed_when_the_ceiling_passes_the_mark() -> None:
    line = Timeline(np.array([0.1, 0.5, 0.6, 0.9]), np.array([6e6, 5e6, 4e6, 3e6]))
    assert first_beyond(line, 0.4, 1.0, -1.0) == pytest.approx(0.2)
    assert math.isnan(first_beyond(line, 0.4, 0.55, -1.0))
    assert first_beyond(line, 0.05, 1.0, 1.0) == pytest.approx(0.05)
    time = np.arange(1, 1001) / 1e4
    share = Timeline(time, np.where(time < 0.06, 0.333, 0.5))
    assert settled(share, 0.05, 0.1, 0.5) == pytest.approx(0.01, abs=0.001)
    assert math.isnan(settled(share, 0.0, 0.05, 0.5))
