"""What schemes hold of paths beside what those are, goodput through a black hole, false alarms: without privilege."""

from __future__ import annotations

import io
import json
import math
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spinewise as sw
from lab_cases import planned
from spinewise.errors import SpecError
from spinewise.lab import cost, figures, holes, measure, plan, sensed, show, sight, steer, study
from spinewise.lab.sensed import Sight
from spinewise.runs import api
from spinewise.scenarios import spec_path
from spinewise.shapes import Spec
from spinewise.specs.spec import load, resolve
from spinewise.specs.variants import parse_list

METRICS = {"series_interval_us": 20_000, "series_links": "all"}
TRAFFIC = [{"kind": "poisson", "cdf": "web_search", "load": 0.4, "load_of": "leaf_uplinks", "duration_us": 600_000}]


def of(scheme: str) -> plan.Plan:
    """A lab of two leaves, four spines and a slow uplink, under a scheme, for a while."""
    params = {"period_us": 5000} if scheme == "pdlb" else {}
    given = load(spec_path("lab_slow_uplink"))
    given.pop("compare", None)
    given.update(  # type: ignore[call-arg]
        traffic=TRAFFIC, metrics=METRICS, run={"until_us": 1_500_000}, scheme={"name": scheme, "params": params}
    )
    return plan.plan_of(resolve(given), "sight", None, "always")


def test_rank_correlations_by_hand() -> None:
    assert sight.ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2.5, 0.0, 2.5, 1.0]
    one, other = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 40.0, 20.0, 90.0])
    # 1 - 6 Σd² / (n (n² - 1)) with d = 0, 1, 1, 0.
    assert sight.ranks_agree(one, other) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert sight.ranks_agree(one, -one) == pytest.approx(-1)
    assert math.isnan(sight.ranks_agree(one, np.ones(4)))


def told(made: plan.Plan, result: sw.Result, sign: int) -> list[Sight]:
    """What an agent would write down that knew the truth, or its opposite."""
    moments = sight.STEP_S * np.arange(1, 60, dtype=np.float64)
    queue, _, _ = sight.truth(made, result, ("leaf1", "leaf0"), list(made.spines), moments)
    return [
        Sight(int((moment - 0.001) * 1e9), "host2", "host0", spine, {"excess": 100 + sign * float(queue[row, column])})
        for row, moment in enumerate(moments)
        for column, spine in enumerate(made.spines)
    ]


def test_who_knows_the_truth_agrees_with_it() -> None:
    made = of("meet")
    result = sw.run(made.spec)
    knows, errs = (sight.agreement(made, sight.of_linux(made, result, told(made, result, sign))) for sign in (1, -1))
    assert knows.values == 59 * 4
    assert knows.rho == pytest.approx(1)
    assert knows.rho_moment == pytest.approx(1)
    assert errs.rho == pytest.approx(-1)
    assert knows.best == 1.0
    assert errs.best < errs.best_drawn < 1.0
    with pytest.raises(SpecError, match="hold something"):
        sight.quantity_of(of("letflow"))


@pytest.mark.parametrize("scheme", sorted(sight.QUANTITIES))
def test_what_a_scheme_holds_in_the_simulator_stands_beside_the_links(scheme: str, tmp_path: Path) -> None:
    made = of(scheme)
    flows = sw.run(made.spec).report["flows"]
    found = sight.of_simulated(made, sw.run(made.spec, trace=range(flows)))
    assert {(one.host[:4], one.target[:4]) for one in found} == {("host", "host")}
    assert all(made.leaf_of[one.host] != made.leaf_of[one.target] for one in found)
    one = max(found, key=lambda one: int(np.isfinite(one.held).sum()))
    assert one.held.shape == one.queue_ms.shape == (len(one.at_s), len(one.spines))
    rates = dict(zip(one.spines, one.rate_mbps, strict=True))
    assert rates["spine1"] == 12.5
    assert set(rates.values()) <= {12.5, 50.0}
    quantity = sight.quantity_of(made)
    held = one.held[np.isfinite(one.held)]
    assert len(held) > 20
    # B_i is in megabits, delays are in microseconds: the rate of a host's link, and up to full queues.
    assert held.max() <= (100.0 if scheme == "elab" else 100_000.0)
    agreed = sight.agreement(made, found)
    assert agreed.values >= len(held)
    assert (agreed.classes is not None) == (quantity.classes is not None)
    sides = {"Linux": found, "simulated": found}
    drawn = figures.sight(quantity, sides, "a note")
    assert len(drawn.axes) == 2 * (4 if quantity.classes else 3)
    record = sight.record(sides)
    assert json.loads(json.dumps(record, allow_nan=True)).keys() == sides.keys()


def test_the_flows_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run told how many flows there are, and another one traced them."""
    made, runs = of("meet"), 0
    usual = api.run

    def counted(spec: Spec, *, trace: Iterable[int] | None = None) -> sw.Result:
        nonlocal runs
        runs += 1
        return usual(spec, trace=trace)

    monkeypatch.setattr(api, "run", counted)
    monkeypatch.setattr(measure, "run", lambda _, simulated, __: measure.Pair(simulated, simulated))
    monkeypatch.setattr(sight, "of_linux", lambda *_: [])
    assert sight.both_sides(made, print)["simulated"]
    assert runs == 1


def test_agents_write_down_what_is_read_as_sights_and_their_words_when_they_end(tmp_path: Path) -> None:
    made = replace(planned(scheme={"name": "elab"}), sight_ms=20)
    assert steer.config(made, "host1", tmp_path)["record_sight_ms"] == 20
    script = tmp_path / "agent"
    script.write_text("#!/bin/sh\necho 'panicked: out of range' >&2\nexit 101\n")
    script.chmod(0o755)
    steering = steer.Steering(str(script), tmp_path, {})
    with (tmp_path / "host1.log").open("w") as log:
        steering.running["host1"] = subprocess.Popen([str(script)], stderr=log, text=True)
    steering.running["host1"].wait()
    spine = next(cable.upper for cable in made.core if cable.upper.node == "spine1")
    ways = [{"via": spine.ip, "ceiling": 40.5, "rate": None}, {"via": None, "ceiling": 3.0}]
    line = {"t_ns": 3_000_000, "peer": 4, "sight": ways}
    steering.record("host1").write_text(json.dumps(line) + "\n")
    found = sensed.read(made, steering, 1_000_000)
    assert found.sights == [Sight(2_000_000, "host1", "host4", "spine1", {"ceiling": 40.5})]
    assert found.agents["host1"]["ended"] == {"exit": 101, "said": "panicked: out of range"}
    assert "ended" not in found.agents["host0"]


def hole_study() -> study.Study:
    """The black hole under two schemes, the simulator standing for Linux as well."""
    given = load(spec_path("lab_black_hole"))
    given.pop("compare", None)
    runs, fabrics = {}, {}
    for name in ("presto", "letflow"):
        given["scheme"] = {"name": name}
        made = plan.plan_of(resolve(given), "hole", None, "watched")
        result = sw.run(made.spec)
        for where in (study.LINUX, study.SIMULATED):
            fabrics[f"{name} ({where})"] = [study.Fabric.of(made, result)]
            runs[name, where] = study.cell((f"{name} ({where})", None, 1), result, None)
    variants = parse_list("presto,letflow", [])
    sides = [
        study.compared(made.spec, variants, [1], [runs[name, where] for name in ("presto", "letflow")], where)
        for where in (study.LINUX, study.SIMULATED)
    ]
    return study.Study(sides[0], sides[1], fabrics)


def test_goodput_through_a_black_hole_is_what_hosts_got() -> None:
    found = hole_study()
    one = found.fabrics["presto (simulated)"][0].goodput
    assert isinstance(one, holes.Goodput)
    assert (one.begin_s, one.end_s) == (4.0, 8.0)
    at, mbps = np.array(one.at_s), np.array(one.mbps)
    before, during = mbps[(at > 2) & (at <= 4)].mean(), mbps[(at > 4) & (at <= 8)].mean()
    hole = found.fabrics["presto (simulated)"][0].hole
    assert hole is not None
    assert during / before == pytest.approx(hole.kept, rel=1e-3)
    assert before < 400
    drawn = figures.goodput(found)
    assert drawn is not None
    assert [axes.get_title() for axes in drawn.axes if axes.get_visible()] == ["presto", "letflow"]
    assert show.goodput_record(found)["letflow (Linux)"]


def test_paths_are_counted_as_watched_until_the_first_fault() -> None:
    given = load(spec_path("lab_black_hole"))
    given.pop("compare", None)
    made = plan.plan_of(resolve(given), "hole", None, "watched")
    # Four hosts with two peers each in the other rack, and four ways.
    assert study.watched_paths(made) == 4 * 2 * 4
    assert study.watched_paths(replace(made, silent_ms=0)) == 0
    assert study.calm_s(made, sw.run(made.spec)) == 4.0
    given["scheme"] = {"name": "elab"}
    assert study.watched_paths(plan.plan_of(resolve(given), "hole", None, "watched")) == 0


def test_costs_are_shown_with_their_spread() -> None:
    case = cost.Case(False, cost.AGENTS, [1.0, 3.0, 2.0], [0.5, 0.7, 0.6], [0.04], {"egress": 480.0, "ingress": 350.0})
    shown = str_of(show.cost(cost.Costs([case], 3, 4, 0.01, 2)))
    assert "2 (1 to 3)" in shown
    assert "0.6 (0.5 to 0.7)" in shown
    assert "480 ns" in shown
    assert "4.0% of a core" in shown


def str_of(drawn: object) -> str:
    """What a terminal would show."""
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(drawn)
    return console.export_text()
