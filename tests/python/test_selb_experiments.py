"""SELB's experiments: what they run, what they read off a run, how they judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from samples import lines, single
from spinewise.measures.tables import numbers
from spinewise.papers.selb import buffer, evaluation, fabric, fig05, sensitivity, variations
from spinewise.papers.selb.measure import figures
from spinewise.reproduction import claims, reproduce
from spinewise.reproduction.experiment import Effort, Measured, Measurement, Run, Status, Timeline
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse, parse_list

RUN = Run("", 0.8, 1, {})


def measured(points: dict[str, list[float]]) -> Measured:
    """Measurements of "y" at x = 0.8 by curve, one per seed."""
    return Measured(
        [
            Measurement(Run(curve, 0.8, seed, {}), {"y": value}, "00", 0, False)
            for curve, values in points.items()
            for seed, value in enumerate(values)
        ]
    )


def reduction(own: list[float], claimed: float) -> Status:
    table = measured({"own": own, "its": [10.0, 11.0, 12.0]})
    return claims.reduction(table, "own", "its", "y", 0.8, claimed=claimed).status


def test_a_reduction_holds_from_half_of_what_is_claimed() -> None:
    assert reduction([8.0, 8.9, 9.9], 0.30) is Status.HOLDS
    assert reduction([8.0, 8.9, 9.9], 0.60) is Status.PARTLY
    assert reduction([12.0, 13.1, 14.1], 0.30) is Status.FAILS


def test_what_is_alike_fails_only_if_half_the_claim_is_excluded() -> None:
    assert reduction([10.1, 10.9, 12.0], 0.30) is Status.FAILS
    assert reduction([7.0, 13.0, 11.0], 0.30) is Status.OPEN
    table = measured({"own": [10.1, 10.9, 12.0], "its": [10.0, 11.0, 12.0]})
    (text,) = claims.reduction(table, "own", "its", "y", 0.8, claimed=0.3).evidence
    assert "paper -30 %, not distinguishable" in text


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([Status.HOLDS, Status.HOLDS], Status.HOLDS),
        ([Status.HOLDS, Status.FAILS], Status.PARTLY),
        ([Status.HOLDS, Status.OPEN], Status.PARTLY),
        ([Status.PARTLY, Status.PARTLY], Status.PARTLY),
        ([Status.FAILS, Status.OPEN], Status.FAILS),
        ([Status.OPEN, Status.OPEN], Status.OPEN),
        ([], Status.UNTESTED),
        ([Status.OPEN, Status.UNTESTED], Status.OPEN),
        ([Status.FAILS, Status.UNTESTED], Status.FAILS),
        ([Status.HOLDS, Status.UNTESTED], Status.PARTLY),
    ],
)
def test_several_numbers_are_graded(statuses: list[Status], expected: Status) -> None:
    found = claims.graded(claims.line(status, "x") for status in statuses)
    assert found.status is expected
    assert len(found.evidence) == max(1, len(statuses))


def test_alike_needs_an_interval_inside_the_bound() -> None:
    def status(own: list[float], within: float) -> Status:
        table = measured({"own": own, "its": [10.0, 11.0, 12.0]})
        return claims.alike(table, "own", "its", "y", 0.8, within=within).status

    assert status([10.1, 11.0, 12.1], 0.05) is Status.HOLDS
    assert status([13.0, 14.1, 15.1], 0.05) is Status.FAILS
    assert status([9.0, 12.0, 12.0], 0.05) is Status.OPEN


def test_port_seconds_follow_from_what_changes() -> None:
    # Three ports: one takes two queues, another one; then all drain. After 10 s nothing counts.
    found = [(1.0, 0, 1), (2.0, 1, 2), (4.0, 0, 1), (5.0, 2, 1), (7.0, 1, 0), (7.0, 1, 0), (11.0, 0, 1)]
    spent = figures.port_seconds(found, 3, 10.0)
    assert spent[1] == pytest.approx((2 - 1) + (5 - 4) + 2 * (7 - 5))
    assert spent[2] == pytest.approx(5 - 2)
    assert sum(spent.values()) == pytest.approx(30.0)


def small(mode: str, scheme: str) -> Any:
    """A run on a small fabric, busy enough to reorder."""
    spec = fabric.spec(4, mode, "ali_storage", 0.8, 200.0)
    spec["topology"] |= {"leaves": 3, "spines": 2, "fabric_rate_gbps": 25}
    return sw.run(parse(scheme).apply(spec), seed=3)


@pytest.mark.parametrize("mode", ["lossless", "IRN"])
@pytest.mark.parametrize("scheme", ["conweave", "selb"])
def test_reordering_is_read_off_a_run(mode: str, scheme: str) -> None:
    result = small(mode, f"{scheme}:reorder_queues=1")
    measured_values = figures.measure(RUN, result)
    values = single(measured_values)
    assert values["unfinished"] == 0
    assert values["reroutes"] > 0
    assert values["tails"] >= values["reroutes"]
    assert values["most_in_use"] == 1
    # Every queue taken is held once; the shares are those of one queue.
    assert values["held"] == len(result.series_of(f"{scheme}.reorder_queues")[1])
    assert values["mean_in_use"] == pytest.approx(values["at_limit"])
    at_least = lines(measured_values)["at_least_in_use"].value
    assert 0 < at_least[0] < 1
    assert not at_least[1:].any()
    # Held for at least as long as the mean share says, for a queue drains after its release.
    window_us = 200.0 * 12
    started_us = float(np.sum(result.series_of(f"{scheme}.held_us")[1]))
    assert values["mean_in_use"] * window_us <= started_us + values["held"] * 5.0


def test_other_schemes_reorder_nothing() -> None:
    values = single(figures.measure(RUN, small("lossless", "ecmp")))
    assert math.isnan(values["reroutes"])
    assert set(values) == set(single(figures.measure(RUN, small("lossless", "selb"))))
    assert values["short_mean_fct_s"] < values["mean_fct_s"] < values["long_mean_fct_s"]
    assert (values["drops"], values["out_of_order"]) == (0, 0)


@pytest.mark.parametrize("number", ["5", "6"])
def test_figures_5_and_6_are_what_the_paper_says(number: str) -> None:
    experiment = reproduce.load_experiment(reproduce.find(reproduce.OWN_PAPERS, f"selb-{number}"))
    runs = experiment.runs(Effort.FULL)
    assert {run.x for run in runs} == {0.4, 0.6, 0.8}
    assert {run.curve for run in runs} == {"ECMP", "LetFlow", "CONGA", "DRILL", "ConWeave", "SELB"}
    seeds = {load: {run.seed for run in runs if run.x == load} for load in (0.4, 0.6, 0.8)}
    assert [len(found) for found in seeds.values()] == [5, 5, 10]
    arrivals = {(run.x, resolve(run.spec)["traffic"][0]["duration_us"]) for run in runs if run.seed == 1}
    assert arrivals == {(0.4, 3000.0), (0.6, 3000.0), (0.8, 10_000.0)}
    for run in runs[:12]:
        spec = resolve(run.spec)
        topology, params = spec["topology"], spec["scheme"].get("params", {})
        # 4:1 at 100 Gbps and 1 µs.
        assert (topology["leaves"], topology["spines"], topology["hosts_per_leaf"]) == (8, 8, 32)
        assert {topology[key] for key in ("host_rate_gbps", "fabric_rate_gbps")} == {100}
        assert spec["switch"]["pfc"] == (spec["transport"]["recovery"] == "go_back_n")
        if run.curve in ("ConWeave", "SELB"):
            assert params["reorder_queues"] == 8
        if run.curve in ("LetFlow", "CONGA"):
            assert params["flowlet_gap_us"] == 10
        if run.curve == "ConWeave":
            assert [params[f"theta_{key}_us"] for key in ("reply", "path_busy", "inactive")] == [8, 8, 300]


def test_the_larger_buffers_are_all_that_differs_from_fig_5() -> None:
    """Same length, same seeds, same schemes; ten and a hundred times the 9 MiB that the preset has."""
    fig5 = {
        (run.curve, run.seed): resolve(run.spec)
        for run in fig05.EXPERIMENT.runs(Effort.FULL)
        if (run.variant, run.x) == ("lossless", 0.8)
    }
    runs = buffer.EXPERIMENT.runs(Effort.FULL)
    assert len(runs) == 5 * (6 + 3)
    for run in runs:
        spec, usual = resolve(run.spec), fig5[run.curve, run.seed]
        times = {"lossless": 10, "lossless, a hundred times the buffer": 100}[run.variant]
        assert spec["switch"]["buffer_bytes"] == times * usual["switch"]["buffer_bytes"] == times * 9 * 2**20
        buffers = {"buffer_bytes": usual["switch"]["buffer_bytes"]}
        assert spec | {"switch": spec["switch"] | buffers, "name": usual["name"]} == usual


@pytest.mark.parametrize("study", [variations, sensitivity])
def test_assumptions_are_varied_over_runs_in_which_pauses_have_begun(study: Any) -> None:
    """Next to nothing is paused in half a millisecond; above the uplinks' capacity links are paused from the start."""
    found = {
        (run.variant, resolve(run.spec)["traffic"][0]["duration_us"]) for run in study.EXPERIMENT.runs(Effort.FULL)
    }
    shorter = {variant for variant, duration in found if duration != 3000.0}
    assert shorter == (
        {"load of the hosts' links, lossless", "load of the hosts' links, IRN"} & {one for one, _ in found}
    )


def test_whatever_two_of_the_older_ones_are_must_be_alike() -> None:
    """LetFlow 4 % above ECMP and CONGA 4 % below it: each is like ECMP, and they are not like each other."""
    values = {"ECMP": 1.0, "LetFlow": 1.04, "CONGA": 0.96}
    table = Measured(
        [
            Measurement(Run(curve, 0.4, seed, {}, "IRN"), {"mean_fct_s": value + seed / 1e6}, "", 0, False)
            for curve, value in values.items()
            for seed in (1, 2, 3)
        ]
    )  # fmt: skip
    found = evaluation.similar("IRN", table)
    assert found.status is Status.FAILS
    assert [line.partition(":")[0] for line in found.evidence] == ["yes", "yes", "NO"]
    assert "CONGA" in found.evidence[2]
    assert "LetFlow" in found.evidence[2]


@pytest.mark.parametrize("number", ["5", "6"])
def test_the_99th_percentile_of_all_and_of_short_flows_both_head(number: str) -> None:
    """§IV-B says "of short flows", then gives numbers without these words; no panel says of which."""
    experiment = reproduce.load_experiment(reproduce.find(reproduce.OWN_PAPERS, f"selb-{number}"))
    p99 = {"5": ("C3-04", "C3-06"), "6": ("C3-09b", "C3-10b")}[number]
    heads = {(claim.id, claim.reading) for claim in experiment.claims if claim.id in p99 and claim.headline}
    assert heads == {(key, f"{of} flows") for key in p99 for of in ("all", "short")}
    assert "as drawn" not in experiment.headline


def test_schemes_of_a_point_see_the_same_traffic() -> None:
    spec = fabric.spec(2, "lossless", "hadoop", 0.4, 50.0)
    hashes = {sw.run(variant.apply(spec), seed=2).report["traffic_hash"] for variant in parse_list(fabric.SCHEMES)}
    assert len(hashes) == 1


def test_a_timeline_of_another_x_can_be_drawn() -> None:
    from spinewise.reproduction.experiment import Panel
    from spinewise.reproduction.files import timeline_curve

    table = Measured(
        [
            Measurement(Run("a", x, 1, {}), {"y": Timeline(np.array([1.0, 2.0]), np.array([x, 2 * x]))}, "00", 0, False)
            for x in (0.4, 0.8)
        ]
    )
    panel = Panel("2a", "y", "", "", "", timeline=True, at=0.8, x_scale=1.0)
    curve = timeline_curve(panel, table, "a")
    assert list(curve.x) == [1.0, 2.0]
    assert [point.mean for point in curve.y] == [0.8, 1.6]


def test_flows_of_the_warm_up_run_and_do_not_count() -> None:
    result = small("IRN", "ecmp")
    start = numbers(result.flows, "start_ps")
    counted = start >= figures.WARM_UP * result.spec["traffic"][0]["duration_us"] * 1e6
    fct = numbers(result.flows, "sender_fct_ps")
    values = single(figures.measure(RUN, result))
    assert 0 < counted.sum() < len(start) == values["flows"]
    assert values["mean_fct_s"] == pytest.approx(fct[counted].mean() / 1e12)
