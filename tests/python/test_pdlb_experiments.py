"""PDLB's experiments: what they run, what they read off a run, the model of Fig. 6, how they judge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from samples import single
from spinewise.papers.pdlb import fig03, fig07_variations, fig11, fig12, large, model
from spinewise.papers.pdlb.measure import large as measure_large
from spinewise.papers.pdlb.transports import THREE
from spinewise.reproduction import claims, readings, reproduce, shapes
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Status, Verdict
from spinewise.reproduction.files import cells, points_curve, seeds_of
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse


def measured(points: dict[float, list[float]], *, overloaded: bool = False, unfinished: int = 0) -> Measured:
    """Measurements of "y" on curve "a" by x, one per seed."""
    return Measured(
        [
            Measurement(Run("a", x, seed, {}), {"y": value, "z": 2 * value}, "00", unfinished, overloaded, 7 + seed)
            for x, values in points.items()
            for seed, value in enumerate(values)
        ]
    )


# ---- claims on a line


@pytest.mark.parametrize(
    ("last", "expected"),
    [([5.0, 5.5, 5.2], Status.HOLDS), ([1.0, 2.2, 1.4], Status.OPEN), ([0.2, 0.3, 0.1], Status.FAILS)],
)
def test_a_trend_is_decided_by_its_ends(last: list[float], expected: Status) -> None:
    table = measured({1.0: [1.0, 1.5, 1.2], 2.0: [1.1, 1.4, 1.3], 3.0: last})
    assert claims.trend(table, "a", "y", rising=1.0).status is expected


def test_a_step_against_the_trend_leaves_it_in_part() -> None:
    table = measured({1.0: [1.0, 1.5, 1.2], 2.0: [0.5, 0.9, 0.7], 3.0: [5.0, 5.5, 5.2]})
    verdict = claims.trend(table, "a", "y", rising=1.0)
    assert verdict.status is Status.PARTLY
    assert "against it, y of a from 1 to 2" in verdict.evidence[0]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([5.0, 5.5, 5.2], Status.HOLDS),
        ([0.4, 1.0, 0.9], Status.OPEN),
        ([0.1, 0.2, 0.1], Status.FAILS),
        # Below what is inside by a hair: its interval includes both.
        ([0.4, 0.8, 0.7], Status.OPEN),
    ],
)
def test_a_valley_lies_below_both_ends(last: list[float], expected: Status) -> None:
    points = {1.0: [1.0, 1.5, 1.2], 2.0: [0.5, 0.9, 0.7], 3.0: last}
    assert claims.bend(measured(points), "a", "y", valley=1.0).status is expected
    upside_down = {x: [-value for value in values] for x, values in points.items()}
    assert claims.bend(measured(upside_down), "a", "y", valley=-1.0).status is expected


def test_lines_too_short_to_judge_are_not_testable() -> None:
    table = measured({1.0: [1.0, 2.0]})
    assert claims.trend(table, "a", "y", rising=1.0).status is Status.UNTESTED
    assert claims.bend(table, "a", "y", valley=1.0).status is Status.UNTESTED
    assert claims.within("absent", lambda part: claims.zero(part, "a", "y"))(table).status is Status.UNTESTED


def test_cells_say_what_is_wrong_with_them() -> None:
    table = measured({1.0: [1.0, 2.0]}, overloaded=True, unfinished=3)
    assert table.mark(1.0) == ", overloaded, flows unfinished"
    assert claims.comparison(table, "a", "a", "y", 1.0).endswith(table.mark(1.0))
    assert cells(table)[-1] == "|  | 1 | 2 | 7 to 8 | 6 | 2 |"
    assert measured({1.0: [1.0]}).mark(1.0) == ""


def test_a_caption_says_how_many_seeds_the_points_have() -> None:
    """It told the largest number, which two of three loads had not."""
    assert seeds_of(measured({1.0: [1.0, 2.0], 2.0: [1.0, 2.0]})) == "2 seeds"
    assert seeds_of(measured({1.0: [1.0, 2.0], 2.0: [1.0, 2.0, 3.0]})) == "2 to 3 seeds"


def test_a_panel_can_draw_further_metrics_of_the_same_runs() -> None:
    from spinewise.reproduction.files import drawn

    panel = replace(shapes.mean_fct("6", "x"), metric="y", scale=1.0, also=(("model", "z"),))
    table = measured({1.0: [1.0, 3.0], 2.0: [2.0, 4.0]})
    made = drawn(panel, table)
    assert [curve.label for curve in made.curves] == ["a", "model"]
    assert [point.mean for point in made.curves[1].y] == [4.0, 6.0]
    assert [point.mean for point in points_curve(panel, table, "a").y] == [2.0, 3.0]


# ---- the model of Fig. 6


def paths(bad: int, ratio: float) -> model.Paths:
    return model.Paths(8, bad, 100e-6, ratio * 100e-6, 1e9 / 12_000)


@pytest.mark.parametrize(
    ("p_bad", "expected"),
    [(1 / 8, (0.109, 0.316, 0.599, 0.997)), (1 / 4, (0.188, 0.527, 0.850, 1.0)), (1 / 2, (0.250, 0.688, 0.965, 1.0))],
)
def test_equation_2_against_its_closed_form(p_bad: float, expected: tuple[float, ...]) -> None:
    found = [model.reordering(p_bad, n) for n in (2, 4, 8, 44)]
    assert found == pytest.approx(expected, abs=6e-4)
    assert model.reordering(p_bad, 1) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("whole", "max_window", "sizes"),
    [(math.ceil, 44, {44}), (math.ceil, 258, {44}), (math.ceil, 9, {11, 12}), (math.floor, 9, {6, 8})],
)
def test_the_printed_optimum_does_not_know_the_delay(
    whole: Callable[[float], int], max_window: int, sizes: set[int]
) -> None:
    constants = model.Constants(max_window=max_window, whole=whole)
    best = {
        bad: {model.best(model.printed, paths(bad, ratio), constants) for ratio in (1.5, 3.0, 6.0)} for bad in (1, 2, 4)
    }
    assert all(len(found) == 1 for found in best.values())
    assert set.union(*best.values()) == sizes
    assert model.best(model.printed, paths(0, 1.0), constants) == 1


@pytest.mark.parametrize(("equation", "key"), [(model.printed, "paper"), (model.repaired, "repaired")])
@pytest.mark.parametrize(("whole", "word"), [(math.ceil, "ceil"), (math.floor, "floor")])
def test_the_engine_solves_the_same_model(
    equation: model.Equation, key: str, whole: Callable[[float], int], word: str
) -> None:
    """PDLB's granularity on a fabric whose delays are known is the optimum of the model here."""
    spec = fig03.spec(2, 300, 1, {})
    spec["traffic"] = [{"kind": "flows", "list": [{"src": 0, "dst": 10, "size_bytes": 1_000_000}]}]
    # Fast links: a probe has no queue and no time on the line, so that a path's delay is that of its cables.
    spec["topology"] |= {"host_rate_gbps": 10_000, "fabric_rate_gbps": 10_000}
    scheme = f"pdlb:record=ticks:model={key}:cells={word}:max_window_packets=9"
    _, found = sw.run(parse(scheme).apply(spec), seed=1).series_of("pdlb.granularity")
    at_speed = replace(paths(2, 3.0), rate=1e13 / 12_000)
    expected = model.best(equation, at_speed, model.Constants(max_window=9.0, whole=whole))
    assert found[-1] == expected


# ---- what is run


def experiment(name: str) -> Experiment:
    return reproduce.load_experiment(reproduce.find(reproduce.OWN_PAPERS, name))


def test_figures_3_and_4_are_what_the_paper_says() -> None:
    runs = experiment("pdlb-3").runs(Effort.FULL)
    assert len({run.seed for run in runs}) == 5
    assert {run.x for run in runs} >= {1.0, 44.0}
    for run in runs[:: len(runs) // 20]:
        spec = resolve(run.spec)
        assert (spec["topology"]["leaves"], spec["topology"]["spines"]) == (2, 8)
        assert {spec["topology"][key] for key in ("host_rate_gbps", "fabric_rate_gbps")} == {1}
        assert spec["switch"]["buffer_bytes"] == 250 * 1460
        (traffic,) = spec["traffic"]
        assert [flow["size_bytes"] for flow in traffic["list"]] == [10_000 * 1460] * 10
        assert spec["scheme"]["params"]["packets"] == run.x


@pytest.mark.parametrize(("curve", "slow", "rtt_us"), [("2 at 300 µs", 2, 300.0), ("4 at 600 µs", 4, 600.0)])
def test_a_slow_path_has_the_round_trip_time_of_its_curve(curve: str, slow: int, rtt_us: float) -> None:
    run = next(run for run in fig03.runs(Effort.QUICK) if run.curve == curve)
    topology = run.spec["topology"]
    round_trip_ns = [4 * topology["host_delay_ns"] + 4 * one["delay_ns"] for one in topology["override"]]
    assert round_trip_ns == [rtt_us * 1e3] * slow


@pytest.mark.parametrize(("number", "cdf"), [("11", "web_search"), ("12", "data_mining")])
def test_figures_11_and_12_are_what_the_paper_says(number: str, cdf: str) -> None:
    made = experiment(f"pdlb-{number}")
    runs = [run for run in made.runs(Effort.WHOLE) if not run.variant.startswith("web search")]
    assert {run.x for run in runs} == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
    assert {run.curve for run in runs} >= {"RPS", "ECMP", "LetFlow", "Presto", "QDAPS", "PDLB"}
    for run in runs[:: len(runs) // 20]:
        spec = resolve(run.spec)
        topology = spec["topology"]
        assert (topology["leaves"], topology["spines"], topology["hosts_per_leaf"]) == (8, 8, 32)
        assert {topology[key] for key in ("host_rate_gbps", "fabric_rate_gbps")} == {10}
        assert spec["switch"]["buffer_bytes"] == 250_000
        assert spec["traffic"][0]["cdf"] == cdf
        (slow,) = topology["override"]
        assert 4 * topology["host_delay_ns"] + 4 * slow["delay_ns"] == 300_000
        assert 8 * topology["host_delay_ns"] == 100_000
        if run.curve == "LetFlow":
            assert spec["scheme"]["params"]["flowlet_gap_us"] == 500
    assert len({str(run.spec["topology"]["override"]) for run in runs}) > 1, "seeds draw the path"


def test_figure_12_is_compared_with_figure_11_at_the_same_points() -> None:
    search = {(r.curve, r.x, r.seed): r.spec for r in experiment("pdlb-11").runs(Effort.FULL)}
    beside = [r for r in experiment("pdlb-12").runs(Effort.FULL) if r.variant.startswith("web search")]
    assert beside
    assert {r.curve for r in beside} == {"ECMP", "PDLB"}
    every = [(r.spec["transport"], r) for r in beside if r.variant.endswith("three duplicate ACKs")]
    assert all(search[r.curve, r.x, r.seed]["traffic"] == r.spec["traffic"] for _, r in every)


@pytest.mark.parametrize("number", ["3", "6", "8", "11", "12"])
def test_every_cell_is_run_with_rack_tlp_too(number: str) -> None:
    places: dict[str, set[tuple[str, str, float, int]]] = {"RACK-TLP": set(), "three duplicate ACKs": set()}
    for run in experiment(f"pdlb-{number}").runs(Effort.FULL):
        assert ("RACK-TLP" in run.variant) == (run.spec["transport"].get("recovery") == "rack")
        for name, found in places.items():
            if name in run.variant:
                found.add((run.variant.replace(name, ""), run.curve, run.x, run.seed))
    assert places["RACK-TLP"] == places["three duplicate ACKs"] != set()


# ---- what is measured


def small(scheme: str) -> Any:
    """A run of T0-E on a small fabric."""
    spec = large.spec("web_search", 0.6, 1, 3000.0, {})
    spec["topology"] |= {"leaves": 3, "hosts_per_leaf": 4, "spines": 4, "override": [{"spine": 0, "delay_ns": 62_500}]}
    return sw.run(parse(scheme).apply(spec), seed=5)


def test_completion_and_resending_add_up() -> None:
    result = small("rps")
    values = single(measure_large.measure(Run("RPS", 0.6, 5, {}), result))
    assert values["short_flows"] + values["long_flows"] == values["flows"] == result.flows.num_rows
    every = values["short_flows"] * values["short_mean_fct_s"] + values["long_flows"] * values["long_mean_fct_s"]
    assert every / values["flows"] == pytest.approx(values["mean_fct_s"])
    packets = result.summary().packets
    assert packets.retransmits > 0
    assert readings.resent(result, np.ones(result.flows.num_rows, bool)) == pytest.approx(
        packets.retransmits / packets.sent
    )
    assert values["out_of_order"] == packets.out_of_order_ratio > 0
    assert measure_large.measure(Run("ECMP", 0.6, 5, {}), small("ecmp"))["out_of_order"] == 0


def test_throughput_is_size_over_time_of_what_is_done() -> None:
    result = small("ecmp")
    rows = result.flows.to_pylist()
    mask = np.array([row["size_bytes"] >= 100_000 for row in rows])
    expected = sum(8e3 * row["size_bytes"] / row["fct_ps"] for row in rows if row["size_bytes"] >= 100_000)
    assert readings.throughput_gbps(result, mask) == pytest.approx(expected)
    assert math.isnan(readings.resent(result, np.zeros(len(rows), bool)))


def test_a_closed_test_has_no_load() -> None:
    spec = fig03.spec(0, 100, 44, {})
    for flow in spec["traffic"][0]["list"]:
        flow["size_bytes"] = 200_000
    result = sw.run(spec, seed=1)
    assert not result.summary().overloaded
    values = single(fig03.EXPERIMENT.measure(Run("symmetric", 44.0, 1, {}), result))
    assert 0 < values["payload"] < values["utilisation"] < 1


# ---- how it is judged


def large_table(pdlb: float) -> Measured:
    """p99 of short flows: all others at 10, a little apart by seed; PDLB at `pdlb`."""
    means = {"RPS": 12.0, "ECMP": 11.0, "LetFlow": 10.0, "Presto": 10.0, "PDLB": pdlb}
    return Measured(
        [
            Measurement(Run(curve, x, seed, {}), {"short_p99_fct_s": mean * (1 + 0.01 * seed)}, "00", 0, False)
            for curve, mean in means.items()
            for x in (0.2, 0.8)
            for seed in range(3)
        ]
    )


@pytest.mark.parametrize(
    ("pdlb", "least", "most"),
    [(4.0, Status.HOLDS, Status.HOLDS), (9.8, Status.PARTLY, Status.PARTLY), (13.0, Status.FAILS, Status.FAILS)],
)
def test_ranges_are_judged_at_both_ends(pdlb: float, least: Status, most: Status) -> None:
    table = large_table(pdlb)
    assert large.least_gain("short_p99_fct_s", 0.08, table).status is least
    assert large.best_gain("short_p99_fct_s", 0.59, table).status is most
    assert large.worst_are("short_p99_fct_s", table).status is (Status.FAILS if pdlb > 12 else Status.HOLDS)


def test_each_reading_of_qdaps_is_judged_without_the_other() -> None:
    values = {"PDLB": 10.0, "QDAPS": 10.1, large.RELEASED: 20.0, "ECMP": 30.0}
    table = Measured(
        [
            Measurement(Run(curve, 0.2, seed, {}), {"mean_fct_s": value + seed / 100}, "", 0, False)
            for curve, value in values.items()
            for seed in (1, 2, 3)
        ]
    )
    own, released = (large.with_qdaps(curve, large.qdaps_is_close)(table) for curve in (large.QDAPS, large.RELEASED))
    assert (own.status, released.status) == (Status.HOLDS, Status.FAILS)
    seen: list[list[str]] = []

    def look(measured: Measured) -> Verdict:
        seen.append(measured.curves)
        return claims.combined([])

    for curve in (large.QDAPS, large.RELEASED):
        large.with_qdaps(curve, look)(table)
    assert seen == [["PDLB", "QDAPS", "ECMP"]] * 2


@pytest.mark.parametrize("figure", [fig11, fig12], ids=["11", "12"])
def test_the_large_figures_have_the_papers_loads_and_both_readings_of_qdaps(figure: ModuleType) -> None:
    found = figure.EXPERIMENT
    for effort in Effort:
        rules = {run.curve: run.spec["scheme"].get("params", {}) for run in found.runs(effort)}
        assert rules[large.RELEASED] == {"rules": "released"}
        assert rules[large.QDAPS] == {}
    full = [run for run in found.runs(Effort.FULL) if run.variant == THREE]
    assert {run.x for run in full} == {0.2, 0.4, 0.6, 0.8}
    assert {run.x for run in found.runs(Effort.WHOLE)} == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
    beside = [claim for claim in found.claims if claim.reading.startswith(large.RELEASED)]
    assert {claim.id for claim in beside} - {"C0-24b"} == {"C0-22", "C0-27c", "C0-28"}
    alone = [claim for claim in found.claims if claim.reading.startswith("without QDAPS")]
    tail = {"11": "C0-23b", "12": "C0-24b"}[found.id[-2:]]
    assert {claim.id for claim in alone} == {"C0-21", "C0-22", tail, "C0-26b", "C0-27a", "C0-31a", "C0-31b"}
    assert not any(claim.headline for claim in alone)
    assert not any(claim.headline for claim in beside)
    assert len({claim.key for claim in found.claims}) == len(found.claims)
    heads = {claim.id for claim in found.claims if claim.headline}
    assert {"C0-21", "C0-22", "C0-27c", "C0-28"} <= heads


def test_fewer_variations_of_fig_7_are_run_quickly_and_each_is_one_of_all() -> None:
    names = [one.name for one in fig07_variations.VARIATIONS]
    assert set(fig07_variations.MAIN) < set(names)
    quick, full = (fig07_variations.EXPERIMENT.runs(effort) for effort in (Effort.QUICK, Effort.FULL))
    assert list(dict.fromkeys(run.variant for run in full)) == names
    assert {run.variant for run in quick} == set(fig07_variations.MAIN)
    assert {run.seed for run in full} == set(range(1, 11))


def test_up_to_takes_the_largest_gain_anywhere() -> None:
    found = claims.up_to(large_table(4.0), "PDLB", "short_p99_fct_s", claimed=0.59)
    best, typical = found.evidence
    assert "PDLB 4.04 s against RPS 12.1 s" in best
    assert f"best of {found.comparisons} cells; their median is " in typical
    narrowed = claims.up_to(large_table(4.0), "PDLB", "short_p99_fct_s", claimed=0.59, others=["ECMP"])
    assert "against ECMP" in narrowed.evidence[0]


def test_a_gain_on_qdaps_alone_does_not_count_without_it() -> None:
    fast = [m for m in large_table(9.9).measurements if m.run.curve != "QDAPS"]
    slow = [replace(m, run=replace(m.run, curve="QDAPS"), values={"short_p99_fct_s": 40.0}) for m in fast[:6]]
    table = Measured([*fast, *slow])
    assert large.best_gain("short_p99_fct_s", 0.43, table).status is Status.HOLDS
    alone = large.without_qdaps(large.with_qdaps(large.QDAPS, partial(large.best_gain, "short_p99_fct_s", 0.43)))
    assert alone(table).status is not Status.HOLDS
