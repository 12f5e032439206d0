"""MEET's experiments: what they run, what they read off a run, how they judge."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import spinewise as sw
from spinewise.papers.meet import evaluation, fabric, fig07, fig08, fig11
from spinewise.papers.meet.measure import figures
from spinewise.reproduction import claims, reproduce
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Status
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse, parse_list
from spinewise.sweeps import task

NUMBERS = ("6", "7", "8", "9", "10", "11")
WORKLOADS = {"6": "web_search", "7": "data_mining_vl2", "8": "enterprise_meet"}
WORKLOADS |= {str(int(number) + 3): cdf for number, cdf in WORKLOADS.items()}
SCHEMES = {"MEET", "Hermes", "CLOVE", "LetFlow", "DRILL", "CONGA"}


def experiment(number: str) -> Experiment:
    return reproduce.load_experiment(reproduce.find(reproduce.OWN_PAPERS, f"meet-{number}"))


def spec(topology: str = "symmetric", form: str = "run to completion", **changed: Any) -> Spec:
    given: dict[str, Any] = {
        "cdf": "web_search",
        "load": 0.5,
        "duration_us": 200_000.0,
        "seed": 1,
        "name": "test",
    } | changed
    return fabric.spec(topology, form=form, **given)


def resolved(made: Spec) -> Spec:
    return resolve(parse("ecmp").apply(made))


# ---- what is run ----


def test_a_seed_slows_20_to_30_percent_of_the_links() -> None:
    drawn = [fabric.slow_links(seed) for seed in range(200)]
    for links in drawn:
        assert len(set(links)) == len(links)
        assert 0.20 * 64 <= len(links) <= 0.30 * 64
        assert all(0 <= leaf < 8 and 0 <= spine < 8 for leaf, spine in links)
    assert {len(links) for links in drawn} == set(range(13, 20))
    # Every link is slow in about a quarter of the draws.
    times = [sum((leaf, spine) in links for links in drawn) for leaf in range(8) for spine in range(8)]
    assert min(times) > 20
    assert max(times) < 80
    assert fabric.slow_links(3) == drawn[3] != drawn[4]


def test_slow_links_are_slow_in_both_directions() -> None:
    topology = resolved(spec("asymmetric"))["topology"]
    assert {(one["leaf"], one["spine"]) for one in topology["override"]} == set(fabric.slow_links(1))
    assert {(one["rate_gbps"], one.get("direction", "both")) for one in topology["override"]} == {(1, "both")}
    assert not resolved(spec())["topology"].get("override")


def test_the_fabric_and_the_transport_are_those_of_the_evaluation() -> None:
    found = resolved(spec())
    topology, transport, switch = found["topology"], found["transport"], found["switch"]
    assert (topology["leaves"], topology["spines"], topology["hosts_per_leaf"]) == (8, 8, 16)
    assert (topology["host_rate_gbps"], topology["fabric_rate_gbps"]) == (10, 10)
    # 40 µs one way, over four links.
    assert 2 * topology["host_delay_ns"] + 2 * topology["fabric_delay_ns"] == 40_000
    assert (transport["kind"], transport["mss_bytes"], transport["dupack_threshold"]) == ("dctcp", 1400, 3)
    assert (transport["initial_window_segments"], transport["min_rto_us"]) == (10, 5000)
    assert (switch["buffer_bytes"], switch["ecn_threshold_bytes"]) == (840_000, 91_000)


@pytest.mark.parametrize("form", ["hermes-code", "hermes-code without its stop"])
def test_hosts_queue_as_in_the_code_of_hermes_only_in_its_forms(form: str) -> None:
    ours, theirs = resolved(spec()), resolved(spec(form=form))
    assert (ours["switch"]["nics"], ours["switch"]["device_queue_packets"]) == ("pull", 0)
    assert (theirs["switch"]["nics"], theirs["switch"]["device_queue_packets"]) == ("queue", 10)
    assert (ours["transport"]["max_burst_segments"], theirs["transport"]["max_burst_segments"]) == (0, 2)
    assert (ours["transport"]["fin"], theirs["transport"]["fin"]) == (False, True)
    assert ours["transport"]["handshake"]
    assert theirs["transport"]["handshake"]


def test_the_forms_of_a_run() -> None:
    def times(form: str, **changed: Any) -> tuple[float, float]:
        found = resolved(spec(form=form, **changed))
        return found["traffic"][0]["duration_us"], found["run"]["until_us"]

    assert times("run to completion") == (200_000, 100_000_000)
    assert times("hermes-code") == (100_000, 250_000)
    assert times("hermes-code", duration_us=20_000.0) == (20_000, 250_000)
    assert times("hermes-code without its stop") == (100_000, 100_000_000)
    assert resolved(spec(form="RACK-TLP"))["transport"]["recovery"] == "rack"
    assert times("RACK-TLP") == times("run to completion")


@pytest.mark.parametrize("number", NUMBERS)
def test_every_figure_compares_the_papers_six_schemes(number: str) -> None:
    found = experiment(number)
    runs = found.runs(Effort.FULL)
    main = [run for run in runs if run.variant == fabric.EVERY_HOST]
    assert {run.curve for run in main} == SCHEMES | {"ECMP"}
    assert len({run.seed for run in main}) == (3 if number in ("8", "11") else 5)
    assert {run.spec["traffic"][0]["cdf"] for run in runs} == {WORKLOADS[number]}
    slow = {bool(run.spec["topology"]["override"]) for run in runs}
    assert slow == {int(number) >= 9}
    tiny = {"8": {0.2, 0.4}, "11": {0.1, 0.2}}
    assert {run.x for run in main} == tiny.get(number, set(evaluation.PAPER_LOADS))
    whole = [run for run in found.runs(Effort.WHOLE) if run.variant == fabric.EVERY_HOST]
    assert {(run.x, run.seed) for run in whole} == {(x, seed) for x in evaluation.PAPER_LOADS for seed in range(1, 11)}
    # The four panels, in each form that is run.
    forms = {run.variant for run in runs}
    assert [panel.figure for panel in found.panels if panel.variant == fabric.EVERY_HOST] == list(found.figures)
    assert {panel.variant for panel in found.panels} == forms
    assert {claim.reading for claim in found.claims} <= forms
    assert {claim.reading for claim in found.claims if claim.headline} == {fabric.EVERY_HOST}


@pytest.mark.parametrize("number", NUMBERS)
def test_both_ways_of_probing_are_judged_on_the_same_traffic(number: str) -> None:
    found = experiment(number)
    for effort in Effort:
        runs = found.runs(effort)
        for form in {run.variant for run in runs if fabric.PROXY not in run.variant}:
            other = fabric.PROXY if form == fabric.EVERY_HOST else f"{form}, {fabric.PROXY}"
            own, its = ([run for run in runs if run.variant == name] for name in (form, other))
            assert its
            places = {(run.curve, run.x, run.seed): run.spec for run in own}
            for run in its:
                # All but MEET is the same run, and so is run once.
                same = task.run_key(places[run.curve, run.x, run.seed]) == task.run_key(run.spec)
                assert same == (run.curve != "MEET")
            schemes = [next(run.spec["scheme"] for run in part if run.curve == "MEET") for part in (own, its)]
            assert [one["name"] for one in schemes] == ["meet", "meet"]
            assert schemes[0]["params"] == {"probe": "host", "route": "best_probe"}
            assert not schemes[1].get("params")
    readings: dict[str, set[str]] = {}
    for claim in found.claims:
        readings.setdefault(claim.key.split(", ")[0], set()).add(claim.reading)
    for own_readings in readings.values():
        assert {fabric.EVERY_HOST, fabric.PROXY} <= own_readings or fabric.RACK in own_readings


def test_every_load_has_the_same_seeds_and_the_proxy_fewer_loads() -> None:
    seeds: dict[tuple[str, float], set[int]] = {}
    for run in experiment("7").runs(Effort.FULL):
        seeds.setdefault((run.variant, run.x), set()).add(run.seed)
    assert {frozenset(found) for found in seeds.values()} == {frozenset({1, 2, 3, 4, 5})}
    assert {x for name, x in seeds if name == fabric.PROXY} == {0.3, 0.5, 0.9}


@pytest.mark.parametrize("number", NUMBERS)
def test_quick_runs_are_few_and_all_specs_resolve(number: str) -> None:
    found = experiment(number)
    quick, full = reproduce.cases(found, Effort.QUICK), found.runs(Effort.FULL)
    assert len(quick) < len(full)
    for form in {run.variant for run in full}:
        shortest = [case.spec["traffic"][0]["duration_us"] for case in quick if case.key.variant == form]
        assert max(shortest) <= 50_000


def test_every_claim_of_the_figures_is_judged() -> None:
    judged = {claim.id[:5] for number in NUMBERS for claim in experiment(number).claims}
    assert judged == {f"C2-{number:02}" for number in (*range(1, 34), 35, 36, 37, 38, 42, 43, 44)}


def judged_at(loads: dict[float, tuple[list[float], list[float]]]) -> dict[str, Status]:
    """Fig. 7's checks of small flows of MEET and CONGA, by load."""
    table = Measured(
        [
            Measurement(Run(curve, load, seed, {}, fabric.EVERY_HOST), {fig07.SMALL: value}, "", 0, False)
            for load, pair in loads.items()
            for curve, values in zip(("MEET", "CONGA"), pair, strict=True)
            for seed, value in enumerate(values)
        ]
    )
    return {"C2-15": fig07.slightly_worse(table).status, "C2-16": fig07.better_elsewhere(table).status}


def test_slightly_worse_at_90_percent_is_judged_there_and_nowhere_else() -> None:
    ahead, behind = ([1.0, 1.1, 1.2], [1.05, 1.15, 1.26]), ([1.05, 1.15, 1.26], [1.0, 1.1, 1.2])
    assert judged_at({0.5: ahead, 0.9: behind}) == {"C2-15": Status.HOLDS, "C2-16": Status.HOLDS}
    clearly = ([1.1, 1.21, 1.32], [1.0, 1.1, 1.2])
    assert judged_at({0.5: clearly, 0.9: behind})["C2-15"] is Status.PARTLY, "at 90 % only, it says"
    assert judged_at({0.5: behind, 0.9: ahead}) == {"C2-15": Status.FAILS, "C2-16": Status.FAILS}
    assert judged_at({0.5: ahead})["C2-15"] is Status.UNTESTED
    far = ([2.0, 2.1, 2.2], [1.0, 1.1, 1.2])
    assert judged_at({0.9: far})["C2-15"] is Status.FAILS
    assert fig07.HIGHEST in {run.x for run in fig07.EXPERIMENT.runs(Effort.FULL)}
    assert fig07.HIGHEST in {run.x for run in fig07.EXPERIMENT.runs(Effort.WHOLE)}


def test_schemes_of_a_point_see_the_same_traffic() -> None:
    made = spec("asymmetric", duration_us=200.0)
    schemes = [
        one
        for one in parse_list(fabric.schemes(fabric.TO_COMPLETION, fabric.EVERY_HOST))
        if one.label in ("ECMP", "MEET", "Hermes", "CLOVE")
    ]
    hashes = {sw.run(variant.apply(made), seed=2).report["traffic_hash"] for variant in schemes}
    assert len(hashes) == 1


# ---- what is read off a run ----


def small(form: str, **changed: Any) -> Any:
    made = spec("asymmetric", form, **({"duration_us": 10_000.0} | changed))
    return sw.run(parse("ecmp").apply(made), seed=1)


def test_classes_of_flows_are_those_of_the_paper() -> None:
    values = figures.read_off(small("run to completion"))
    result = small("run to completion").flows.to_pylist()
    assert values["flows"] == len(result)
    assert values["small_flows"] == sum(flow["size_bytes"] < 100_000 for flow in result)
    assert values["large_flows"] == sum(flow["size_bytes"] > 10_000_000 for flow in result)
    assert values["unfinished"] == 0
    mean = sum(flow["fct_ps"] for flow in result) / len(result) / 1e12
    assert values["mean_fct_s"] == pytest.approx(mean)
    assert values["small_mean_fct_s"] < values["mean_fct_s"] < values["large_mean_fct_s"]
    assert values["wire_of_available"] > values["wire_of_nominal"] > 0


def test_the_stop_of_the_hermes_code_leaves_slow_flows_out() -> None:
    def cut(until_us: int) -> Any:
        made = spec("asymmetric", "hermes-code", duration_us=10_000.0)
        made["run"]["until_us"] = until_us
        return figures.read_off(sw.run(parse("ecmp").apply(made), seed=1))

    whole, stopped = cut(100_000_000), cut(12_000)
    assert whole["unfinished"] == 0 < stopped["unfinished"]
    assert stopped["flows"] == whole["flows"]
    assert stopped["large_mean_fct_s"] != stopped["large_mean_fct_s"] or (
        stopped["large_mean_fct_s"] < whole["large_mean_fct_s"]
    )
    assert stopped["mean_fct_s"] < whole["mean_fct_s"]


def test_tiny_flows_are_cumulative_classes() -> None:
    values = figures.read_off(small("run to completion", cdf="enterprise_meet", duration_us=100.0, load=0.2))
    counts = [values[f"{name}_flows"] for name in figures.TINY]
    assert 0 < counts[0] < counts[1] < counts[2] < counts[3] <= values["flows"]
    for size, share in ((75, 0.5), (350, 0.9), (10_000, 0.99)):
        assert values[f"share_below_{size}"] == pytest.approx(share, abs=0.02)


def test_the_enterprise_figures_leave_out_the_first_half() -> None:
    made = spec(cdf="enterprise_meet", duration_us=400.0, load=0.2)
    result = sw.run(parse("ecmp").apply(made), seed=1)
    run = Run("ECMP", 0.2, 1, made)
    every, late = figures.measure(run, result), figures.measure_steady(run, result)
    flows = result.flows.to_pylist()
    half = [flow for flow in flows if flow["start_ps"] >= 200e6]
    assert len(half) < len(flows)
    assert (late["flows"], every["flows"]) == (len(half), len(flows))
    assert late["mean_fct_s"] == pytest.approx(sum(flow["fct_ps"] for flow in half) / len(half) / 1e12)
    assert late["mean_fct_s"] == every[figures.LATE] != every["mean_fct_s"]
    bounds = (200e6, 200e6 + 200e6 / 3, 200e6 + 400e6 / 3, 400e6)
    for name, low, high in zip(figures.THIRDS, bounds, bounds[1:], strict=False):
        part = [flow["fct_ps"] for flow in half if low <= flow["start_ps"] < high]
        assert late[name] == pytest.approx(sum(part) / len(part) / 1e12)
    assert late["drops"] == every["drops"]
    assert [one.EXPERIMENT.measure for one in (fig08, fig11)] == [figures.measure_steady] * 2


# ---- how it is judged ----


def tiny(
    thirds: tuple[float, float, float], mean: float, loads: tuple[float, ...] = evaluation.PAPER_LOADS
) -> Measured:
    """MEET's tiny flows: the thirds of its run, and the mean of each class."""
    values = dict(zip(figures.THIRDS, thirds, strict=True)) | dict.fromkeys(evaluation.TINY_FCT, mean)
    runs = [Run("MEET", load, seed, {}) for load in loads for seed in (1, 2, 3)]
    return Measured(
        [Measurement(run, {k: v * (1 + run.seed / 1e3) for k, v in values.items()}, "", 0, False) for run in runs]
    )


def test_below_300_us_needs_a_steady_run() -> None:
    flat, growing = (150e-6, 148e-6, 151e-6), (150e-6, 200e-6, 240e-6)
    assert evaluation.below_300_us(tiny(flat, 150e-6)).status is Status.HOLDS
    assert evaluation.below_300_us(tiny(growing, 200e-6)).status is Status.OPEN
    assert evaluation.below_300_us(tiny(growing, 400e-6)).status is Status.FAILS
    # Other checks keep their verdict, and tell.
    check = evaluation.with_thirds(lambda _: claims.line(Status.FAILS, "no"))
    verdict = check(tiny(growing, 200e-6))
    assert verdict.status is Status.FAILS
    thirds = verdict.evidence[1:]
    assert all("thirds of the run 150, 200, 240 µs (+60 %)" in line for line in thirds)
    # What is told beside a check is none of its comparisons.
    assert thirds
    assert not any(line.startswith(("yes: ", "open: ")) for line in thirds)


def test_below_300_us_is_in_part_where_not_every_load_is_run() -> None:
    flat = (150e-6, 148e-6, 151e-6)
    found = evaluation.below_300_us(tiny(flat, 150e-6, (0.2, 0.4)))
    assert found.status is Status.PARTLY
    alone, *levels = found.evidence
    assert alone == "untested: run at 0.2, 0.4 alone; the paper draws 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, too"
    for load in ("0.2", "0.4"):
        assert sum(f"at {load}: MEET 150 µs" in line and "limit 300" in line for line in levels) == 4
    assert evaluation.below_300_us(tiny(flat, 400e-6, (0.2, 0.4))).status is Status.FAILS


def test_what_a_distribution_was_chosen_for_is_no_test_of_it() -> None:
    for share in (0.1, 0.99):
        values = {f"share_below_{size}": share for size in (75, 350, 10_000)}
        found = evaluation.percentiles(Measured([Measurement(Run("MEET", 0.2, 1, {}), values, "", 0, False)]))
        assert (found.status, found.comparisons) == (Status.UNTESTED, 0)
        assert "chosen because it has 50 % there" in found.evidence[0]


def measured(points: dict[tuple[str, float], list[float]], form: str = "every host probes") -> Measured:
    """Measurements of the mean by (curve, load), one per seed."""
    counts = {"flows": 100.0, "small_flows": 60.0, "large_flows": 5.0, "wire_of_available": 1.2}
    return Measured(
        [
            Measurement(Run(curve, x, seed, {}, form), {"mean_fct_s": value} | counts, "00", 0, x > 0.5)
            for (curve, x), values in points.items()
            for seed, value in enumerate(values)
        ]
    )


TWO = measured(
    {
        ("MEET", 0.3): [8.0, 8.9, 9.9],
        ("Hermes", 0.3): [10.0, 11.0, 12.0],
        ("MEET", 0.6): [20.1, 20.9, 22.0],
        ("Hermes", 0.6): [20.0, 21.0, 22.0],
        ("CONGA", 0.6): [30.0, 31.0, 32.0],
    }
)


def test_a_reduction_is_graded_over_loads() -> None:
    verdict = evaluation.below("MEET", ["Hermes"], ["mean_fct_s"], 0.20, TWO)
    assert verdict.status is Status.PARTLY
    assert len(verdict.evidence) == 2
    high = evaluation.below("MEET", ["Hermes"], ["mean_fct_s"], 0.20, TWO, xs=[0.6])
    assert high.status is Status.FAILS


def test_up_to_is_judged_where_the_lead_is_largest() -> None:
    verdict = evaluation.up_to("Hermes", "mean_fct_s", 0.20)(TWO)
    assert verdict.status is Status.HOLDS
    assert " at 0.3: " in verdict.evidence[0]


def test_a_scheme_that_was_not_run_decides_nothing() -> None:
    assert evaluation.below("MEET", ["CLOVE"], ["mean_fct_s"], 0.20, TWO).status is Status.UNTESTED
    assert evaluation.up_to("CLOVE", "mean_fct_s", 0.20)(TWO).status is Status.UNTESTED
    # CONGA has no runs at 0.3: only 0.6 counts.
    assert evaluation.ahead("MEET", ["CONGA"], ["mean_fct_s"], TWO).status is Status.HOLDS


def test_alike_is_within_five_percent() -> None:
    like = evaluation.like
    assert like("MEET", "Hermes", ["mean_fct_s"], TWO, xs=[0.6]).status is Status.HOLDS
    assert like("MEET", "Hermes", ["mean_fct_s"], TWO, xs=[0.3]).status is Status.FAILS
    assert like("MEET", "Hermes", ["mean_fct_s"], TWO, xs=[0.3], within=0.3).status is Status.HOLDS


def test_evidence_says_how_many_flows_and_what_is_overloaded() -> None:
    check = partial(evaluation.ahead, "MEET", ["Hermes"], ["mean_fct_s"])
    evidence = evaluation.counted(check, TWO).evidence
    counts = "at 0.3: 3 seeds, 100 flows each, 60 small, 5 large; worst leaf asked for up to 1.20 of what it has"
    assert counts in evidence
    assert [text for text in evidence if "3 of 3 overloaded" in text and "at 0.6" in text]
