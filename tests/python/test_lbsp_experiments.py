"""LBSP's experiments: what they run, what they read off a run, how they judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spinewise as sw
from spinewise.measures.tables import numbers
from spinewise.papers.lbsp import fabric, fig06a, fig06b, fig07a, fig07c, groups, routes, section5
from spinewise.papers.lbsp.measure import flows
from spinewise.papers.lbsp.measure.section5 import gaps
from spinewise.papers.lbsp.tree import DEGRADED, LARGE, LINK, SMALL, SWITCH, WHOLE
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Status
from spinewise.specs.spec import resolve, set_path

EXPERIMENTS = [one.EXPERIMENT for one in (fig06a, fig06b, fig07a, fig07c, routes, section5, groups)]


def measured(points: dict[tuple[str, float], list[float]], metric: str = "y") -> Measured:
    """Measurements by curve and x, one per seed."""
    return Measured(
        [
            Measurement(Run(curve, x, seed, {}), {metric: value}, "00", 0, False)
            for (curve, x), values in points.items()
            for seed, value in enumerate(values)
        ]
    )


def run_all(runs: list[Run], experiment: Experiment) -> Measured:
    """What an experiment measures of these runs."""
    return Measured(
        [Measurement(run, experiment.measure(run, sw.run(run.spec, seed=run.seed)), "00", 0, False) for run in runs]
    )


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_run_resolves_and_is_paired(experiment: Experiment) -> None:
    for effort in (Effort.QUICK, Effort.FULL):
        runs = experiment.runs(effort)
        assert len(runs) == len({(run.curve, run.x, run.seed, run.variant) for run in runs})
        kinds = {(run.curve, run.variant): run for run in runs}
        for run in kinds.values():
            spec = resolve(run.spec)
            assert spec["transport"]["min_rto_us"] == 20_000
            assert spec["topology"]["fabric_delay_ns"] == 50_000
        # Curves at one place have the same traffic, and the same tree.
        traffic: dict[Any, Any] = {}
        for run in runs:
            same = (run.spec["traffic"], run.spec["topology"], run.spec["transport"])
            assert traffic.setdefault((run.variant, run.x, run.seed), same) == same


def test_a_change_along_a_curve_is_judged_both_ways() -> None:
    table = measured({("a", 0.0): [1.0, 1.1, 1.2], ("a", 1.0): [1.01, 1.11, 1.2], ("a", 2.0): [12.0, 13.0, 14.6]})
    assert fabric.unchanged(table, "a", "y", 0.0, 1.0, within=0.05).status is Status.HOLDS
    assert fabric.unchanged(table, "a", "y", 0.0, 2.0, within=0.05).status is Status.FAILS
    assert fabric.grows(table, "a", "y", 0.0, 2.0, factor=11.0).status is Status.HOLDS
    assert fabric.grows(table, "a", "y", 0.0, 1.0, factor=11.0).status is Status.FAILS
    assert fabric.grows(table, "a", "y", 0.0, 2.0, factor=12.0).status is Status.OPEN
    one = measured({("a", 0.0): [1.0], ("a", 1.0): [1.0]})
    assert fabric.unchanged(one, "a", "y", 0.0, 1.0, within=0.05).status is Status.UNTESTED


def test_the_pairs_of_fig_3_have_the_routes_of_its_text() -> None:
    runs = [run for run in routes.EXPERIMENT.runs(Effort.QUICK) if run.seed == 1]
    table = run_all(runs, routes.EXPERIMENT)
    verdicts = {claim.key: claim.check(table).status for claim in routes.EXPERIMENT.claims}
    assert verdicts == {
        **dict.fromkeys(("C1-01", "C1-02", "C1-03", "C1-04"), Status.HOLDS),
        "C1-16, 8-ary": Status.PARTLY,
        "C1-16, 16-ary": Status.UNTESTED,
    }
    # 4 hosts under the leaf and 124 elsewhere: half of the pairs are of the group that is lost.
    assert routes.moved("8-ary", table) == pytest.approx(100 * 2 * 4 * 124 / (128 * 127) / 2)


def test_other_routes_than_the_papers_do_not_pass() -> None:
    def without_messages(run: Run) -> Run:
        spec = resolve(run.spec)
        set_path(spec, "scheme", {"name": "packet_scatter"})
        return Run(run.curve, run.x, run.seed, spec, run.variant)

    runs = [run for run in routes.EXPERIMENT.runs(Effort.QUICK) if run.seed == 1 and run.variant != "8-ary"]
    table = run_all([without_messages(run) for run in runs], routes.EXPERIMENT)
    claims = {claim.id: claim for claim in routes.EXPERIMENT.claims}
    for name in ("C1-01", "C1-02", "C1-03", "C1-04"):
        assert claims[name].check(table).status is Status.FAILS


def test_long_flows_are_those_of_fig_3_and_go_again_and_again() -> None:
    spec = fig06b.spec(WHOLE, fabric.RENO, 2, 1)
    for entry in spec["traffic"]:
        for flow in entry["list"]:
            flow["size_bytes"] = 50_000
    (scheme,) = fabric.schemes(fabric.LBSP)
    result = sw.run(scheme.apply(spec), seed=1)
    pairs = flows.flows_of(result)
    assert {name: int(inside.sum()) for name, inside in pairs.items()} == {"S1": 4, "S2": 4, "S3": 4}
    assert int(sum(inside.sum() for inside in pairs.values())) == result.flows.num_rows
    src, dst = (numbers(result.flows, name) for name in ("src", "dst"))
    assert {(int(a), int(b)) for a, b in zip(src, dst, strict=True)} == {(40, 20), (44, 21), (64, 23)}
    other = fig06b.spec(WHOLE, fabric.RENO, 2, 2)
    assert other["traffic"] != fig06b.spec(WHOLE, fabric.RENO, 2, 1)["traffic"]


def test_what_fails_is_at_s2s_leaf() -> None:
    for tree, leaf, aggregation in ((SMALL, 11, 11), (LARGE, 23, 23)):
        assert (tree.leaf, tree.aggregation) == (leaf, aggregation)
        pair = {"leaf": leaf, "aggregation": aggregation}
        assert tree.overrides(WHOLE) == []
        assert tree.overrides(LINK) == [pair | {"up": False}]
        assert tree.overrides(SWITCH) == [{"aggregation": aggregation, "up": False}]
        assert tree.overrides(DEGRADED) == [pair | {"rate_gbps": 0.1}]
    listed = [flow for entry in fabric.long_flows(LARGE, 1, 1) for flow in entry["list"]]
    pods = [flow["src"] // 64 for flow in listed]
    assert sorted(pods) == [2, 2, 2, 2, 8], "four from the pod of the failure, one from another"
    assert {flow["dst"] % 4 for flow in listed} == {0, 1, 2, 3}, "one in each path group"


def test_differences_between_groups_are_those_that_the_scheme_records() -> None:
    # Three hosts of T0 send at 0.9 Gbps each to one group: two links up carry 2.7 Gbps.
    spec = section5.spec(section5.ANY, 0.3, fabric.RENO, 1000.0, 1)
    spec["scheme"] = {"name": "lbsp", "params": {"record_gap": True, "sample_interval_us": section5.SAMPLE_US}}
    spec["traffic"] = [
        {
            "kind": "udp",
            "src": src,
            "dst": dst,
            "packet_bytes": 1040,
            "size_bytes": 2_000_000,
            "schedule": [{"rate_gbps": 0.9}],
        }
        for src, dst in ((0, 125), (1, 121), (2, 117))
    ]
    result = sw.run(spec, seed=1)
    times, found = gaps(result)
    assert len(found) == 64
    recorded_at, recorded = result.series_of("lbsp.group_gap", "leaf0")
    own = dict(zip(np.round(recorded_at * 1e6).astype(int).tolist(), recorded.tolist(), strict=True))
    ours = dict(zip(np.round(times * 1e6).astype(int).tolist(), found["leaf", 0].tolist(), strict=True))
    shared = own.keys() & ours.keys()
    assert len(shared) > 50
    assert max(own.values()) > 100
    assert all(own[at] == pytest.approx(ours[at]) for at in shared)
    assert max(found["leaf", 5]) == 0


def test_few_receivers_have_their_lowest_bits_in_common() -> None:
    few = section5.arrivals(section5.FEW, 0.8, 20_000.0, 1)
    anybody = section5.arrivals(section5.ANY, 0.8, 20_000.0, 1)
    assert {flow["dst"] % 4 for flow in few} == {0}
    assert {flow["dst"] % 4 for flow in anybody} == {0, 1, 2, 3}
    for flow in [*few, *anybody]:
        assert flow["src"] // 4 != flow["dst"] // 4
    offered = sum(flow["size_bytes"] * 8 for flow in anybody) / 20e-3 / 128e9
    assert offered == pytest.approx(0.8, rel=0.25)


def test_a_switch_down_takes_more_than_a_link_to_count_as_a_larger_gap() -> None:
    def table(link: float, switch: float) -> Measured:
        points = {
            ("LBSP", 0.0): [1.0, 1.0, 1.0],
            ("LBSP", 1.0): [1.0, 1.0, 1.0],
            ("LBSP", 2.0): [1.0, 1.0, 1.0],
            ("scatter", 1.0): [link, link + 0.01, link],
            ("scatter", 2.0): [switch, switch + 0.01, switch],
        }
        return measured(points, "p999_s")

    larger_gap = fig06b.larger_gap
    assert larger_gap("scatter", table(1.1, 1.4)).status is Status.HOLDS
    assert larger_gap("scatter", table(1.1, 1.1001)).status is Status.FAILS
    assert larger_gap("scatter", table(1.4, 1.1)).status is Status.FAILS


@pytest.mark.parametrize("experiment", EXPERIMENTS[:4], ids=lambda one: one.id)
def test_the_scatter_of_ns_2_heads_the_verdicts_and_others_stand_beside(experiment: Experiment) -> None:
    runs = experiment.runs(Effort.QUICK)
    schemes = {run.curve: run.spec["scheme"] for run in runs}
    assert schemes[fabric.NS2] == {"name": "packet_scatter", "params": {"pointer": "destination"}}
    assert not schemes[fabric.SCATTER].get("params")
    assert schemes[fabric.RANDOM]["name"] == "rps"
    by_key: dict[str, set[str]] = {}
    for claim in experiment.claims:
        of = next((one for one in fabric.BASELINES if claim.reading.split(", ")[0] == one), "")
        by_key.setdefault(claim.id, set()).add(of)
        assert not (claim.headline and of in (fabric.SCATTER, fabric.RANDOM))
    assert {"C1-12", "C1-15"} >= {name for name, found in by_key.items() if not set(fabric.BASELINES) <= found}
    heads = {claim.id for claim in experiment.claims if claim.headline}
    assert heads == set(by_key)


def test_a_slow_link_makes_scatter_slow_and_not_lbsp() -> None:
    runs = [run for run in fig07c.EXPERIMENT.runs(Effort.QUICK) if run.variant == "8-ary, Reno" and run.seed == 1]
    for run in runs:
        for entry in run.spec["traffic"]:
            for flow in entry["list"]:
                flow["size_bytes"] = 5_000_000
    table = run_all(runs, fig07c.EXPERIMENT)
    own = {(m.run.curve, m.run.x): m.values["S2_mean_s"] for m in table.measurements}
    assert own["LBSP", 3.0] == pytest.approx(own["LBSP", 0.0], rel=0.01)
    for scatter in (fabric.SCATTER, fabric.NS2):
        assert float(own[scatter, 3.0]) > 5 * float(own[scatter, 0.0])  # type: ignore[arg-type]
    assert all(m.values["drops"] == 0 for m in table.measurements)
