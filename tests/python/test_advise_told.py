"""What an advice says of what was simulated, of single seeds, and of what was left out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import spinewise as sw
from spinewise.advice import compose, show
from spinewise.advice.answer import Advice, AimAnswer, Entrant, Sample, Share
from spinewise.advice.candidates import sheets
from spinewise.advice.effects import Effect
from spinewise.advice.extremes import how_bad
from spinewise.advice.forecast import PILOT, Forecast
from spinewise.advice.trials import Trial, Trials
from spinewise.advice.wording import tell_mean, value
from spinewise.measures import units
from spinewise.page import charts, of_advice
from spinewise.page.model import Words
from spinewise.shapes import Spec, Topology, Traffic
from spinewise.show.simulated import fault, simulated
from spinewise.sweeps.sweep import Swept
from spinewise.sweeps.task import Task

FABRIC: Topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "fabric_rate_gbps": 20}
SPEC: Spec = {
    "name": "told",
    "topology": FABRIC,
    "traffic": [{"name": "swap", "kind": "permutation", "size_bytes": 20_000}],
}


@pytest.fixture(scope="module")
def advice() -> Advice:
    """Of three schemes; what it says of them is changed below."""
    return sw.advise(SPEC, schemes="ecmp,rps,drill", budget_s=3, jobs=1, band=0.3)


WEB: Traffic = {"name": "web", "kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 1000}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"kind": "loss", "ends": ["leaf0", "spine1"], "probability": 0.001, "at_us": 0},
            "loss: leaf0-spine1, 0.1 % of packets, from 0 µs on",
        ),
        (
            {
                "kind": "down",
                "ends": ["leaf0", "spine1"],
                "link": 1,
                "direction": "backward",
                "at_us": 5,
                "until_us": 9,
            },
            "down: leaf0-spine1 (parallel link 1), only spine1 to leaf0, from 5 to 9 µs",
        ),
        (
            {"kind": "black_hole", "switch": "spine1", "fraction": 0.25, "at_us": 0},
            "black hole: spine1, 25 % of pairs of hosts, from 0 µs on",
        ),
        (
            {"kind": "flap", "switch": "spine1", "at_us": 0, "period_us": 50, "down_us": 10},
            "flap: spine1, 10 µs of every 50 µs, from 0 µs on",
        ),
        (
            {"kind": "rate", "ends": ["leaf0", "spine1"], "rate_gbps": 2.5, "at_us": 1},
            "rate: leaf0-spine1, at 2.5 Gbit/s, from 1 µs on",
        ),
        (
            {"kind": "black_hole", "ends": ["leaf0", "spine1"], "pairs": [[0, 1]], "at_us": 1},
            "black hole: leaf0-spine1, 1 pair of hosts, from 1 µs on",
        ),
        (
            {"kind": "delay", "ends": ["leaf0", "spine1"], "added_us": 3, "at_us": 1},
            "delay: leaf0-spine1, 3 µs longer, from 1 µs on",
        ),
    ],
)
def test_a_fault_is_told_with_its_place_and_its_size(given: Any, told: str) -> None:
    """It said "faults: loss", and nobody could see which link was grey."""
    assert fault(given) == told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "web (poisson at load 0.6 of uplinks, sizes of web_search, for 1.00 ms)"),
        (
            {"load_of": "host_links", "pairs": "inter_rack"},
            "web (poisson at load 0.6 of hosts' links (0.3 of uplinks), sizes of web_search, for 1.00 ms)",
        ),
        (
            {"load_of": "host_links", "pairs": "any"},
            "web (poisson at load 0.6 of hosts' links, sizes of web_search, for 1.00 ms)",
        ),
    ],
)
def test_a_load_is_told_with_its_base(more: Traffic, told: str) -> None:
    """A load of 0.6 was half of that where `compare` counts it."""
    _, _, traffic, *faults = simulated(sw.resolve(SPEC | {"traffic": [WEB | more]}))
    assert traffic == f"traffic: {told}"
    assert faults == []


def test_runs_of_unlike_packets_have_one_ideal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec of the answer said so, and no run had it: slowdowns were relative to different times."""
    task = Trials.task
    made: list[Task] = []

    def seen(self: Trials, *place: Any) -> Task:
        made.append(task(self, *place))
        return made[-1]

    monkeypatch.setattr(Trials, "task", seen)
    found = sw.advise(SPEC, schemes="ecmp,rps,reps:transport.kind=uet@UET", budget_s=3, jobs=1, band=0.3)
    frames = [[1460, 40], [4086, 64]]
    assert {one.label["scheme"] for one in made} == {"ecmp", "rps", "UET"}
    assert all(one.spec["metrics"]["ideal_frames"] == frames for one in made)
    (note,) = [one for one in found.notes if one.startswith("Full packets carry ")]
    assert note.endswith("relative to the same times, the least with any of these packets (metrics.ideal_frames)")


def test_schemes_that_nobody_named_are_counted(advice: Advice) -> None:
    """The page said "Every scheme was", of three of more than forty."""
    others = len(sheets()) - 3
    assert (advice.named, advice.unnamed) == (3, others)
    told = f"only the 3 schemes named were considered; {others} others were not"
    assert dict(show.sections(advice))["Not tried"] == [told]
    assert show.unnamed(replace(advice, named=1, unnamed=1)) == [
        "only the 1 scheme named was considered; 1 other was not"
    ]
    older = replace(advice, named=0, unnamed=0)
    assert "Not tried" not in dict(show.sections(older))
    (section,) = [one for one in of_advice.part(older, "x").sections if one.title == "What was not tried"]
    assert section.items == (Words((of_advice.ALL_TRIED,), listed=True),)


def test_runs_that_were_there_already_are_reused(advice: Advice) -> None:
    """It said "already stored" where there was no store: two variants had the same runs."""
    assert " runs and 6 reused in " in show.effort(replace(advice, effort=replace(advice.effort, stored=6)))


def test_what_parts_on_the_worst_seed_races_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two schemes may be the same until a packet is lost, which the pilot need not see."""
    trial, bad = Trials.trial, PILOT + 2

    def alike_at_first(self: Trials, task: Task, swept: Swept) -> Trial:
        found, label, seed = trial(self, task, swept), task.label["scheme"], task.spec["seed"]
        if label == "drill":
            return replace(found, costs=(2.0 + 0.001 * seed,))
        cost = 3.0 if seed == bad and label == "ecmp" else 1.0 + 0.001 * seed
        outcome = found.outcome if seed == bad else f"alike on {seed}"
        return replace(found, costs=(cost,), outcome=outcome)

    monkeypatch.setattr(Trials, "trial", alike_at_first)
    found = sw.advise(SPEC, schemes="ecmp,rps,drill", budget_s=12, jobs=1, band=0.3)
    ecmp, rps = found.entrant("ecmp"), found.entrant("rps")
    assert rps.status != "same"
    assert {one.seed for one in rps.samples} == {one.seed for one in ecmp.samples}


def test_what_had_the_same_outcome_is_tried_in_cases_too() -> None:
    """WCMP is ECMP while all links are alike, and not when one is slow."""
    found = sw.advise(SPEC, schemes="ecmp,wcmp,rps,drill", budget_s=4, jobs=1, band=0.3)
    wcmp = found.entrant("wcmp")
    assert (wcmp.status, wcmp.like) == ("same", "ecmp")
    assert "configuration" in {one.level for one in found.levels}
    slow = next(one for one in found.cases if one.name == "slow link")
    assert "wcmp" in {one.scheme for one in slow.regrets}
    (row,) = [one for one in of_advice.entrants(found).rows if one[0].text == "wcmp"]
    assert row[1].text == "same outcome as ecmp"
    assert {one.text for one in row[4:6]} == {""}
    (chart,) = of_advice.values(found, charts.looked([one.label for one in found.entrants]))
    assert not [one for one in chart.y.words if one.startswith("wcmp")]


def unsettled(aim: AimAnswer, **more: Any) -> AimAnswer:
    """An aim that was not settled."""
    return replace(aim, settled=False, **more)


def test_what_is_left_to_know_is_that_of_all_aims(advice: Advice) -> None:
    """It was 13 runs, for the first aim; the second one took 76."""
    (aim,) = advice.aims
    first = unsettled(aim, text="p99 slowdown of web", band=0.02, more_runs=13, more_s=8.0, reachable=True)
    second = unsettled(aim, text="mean round time of reduce", band=0.3, more_runs=76, more_s=44.2, reachable=False)
    bands = "2.00 % of p99 slowdown of web, 30.0 % of mean round time of reduce"
    assert show.left_to_know([first, second]) == [
        f"if these seeds are typical, about 76 more runs (45s) settle all of it to within {bands}, most of them for"
        " mean round time of reduce: a longer --budget allows them",
        "the pilot said that this budget cannot tell differences of 30.0 % of mean round time of reduce",
    ]
    known = replace(first, settled=True, more_runs=0)
    assert "all of it to within 2.00 % of p99" in show.left_to_know([known, second])[0]
    assert ", for mean round time of reduce: " in show.left_to_know([known, second])[0]
    assert show.left_to_know([known]) == []
    assert "cannot" not in show.left_to_know([first])[0]


def test_what_is_not_settled_takes_a_run_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forecast of spreads drawn towards each other said 0 runs of an aim that was not settled."""
    monkeypatch.setattr(compose, "forecast", lambda *_: Forecast(0.01, 3, 0, 0.0, settles=True))
    spec = SPEC | {"traffic": [WEB | {"duration_us": 4000}]}
    found = sw.advise(spec, schemes="ecmp,rps,drill", budget_s=1.5, jobs=1, band=0.001)
    (aim,) = found.aims
    assert not aim.settled
    assert aim.more_runs >= 2
    assert aim.more_s > 0.0


def test_what_gets_worse_at_a_level_is_told_there(advice: Advice) -> None:
    """The table of levels had the gains of the first aim alone: a reader chose a level that hurts the others."""
    (aim,) = advice.aims
    last = advice.levels[-1]
    better, worse = Share("ecmp", -0.1, -0.2, -0.05, -0.1, 9), Share("ecmp", 0.4, 0.2, 0.6, 0.4, 9)
    effect = Effect("p99 slowdown of short flows of web", "", 2.0, 1.0, 1.0, 0.5, 1.5, 9)
    other = replace(aim, text="mean round time of reduce")
    found = replace(last, advised="rps", look_at=None, than_today=(better, worse), look_at_than_today=(),
                    harms=(effect,))  # fmt: skip
    harmed = replace(advice, aims=(aim, other), levels=(found,))
    (*_, head), (*_, told) = show.level_rows(harmed)
    assert head == "surely worse than today at"
    assert told == (
        "mean round time of reduce +40.0 % [+20.0 %, +60.0 %];"
        " p99 slowdown of short flows of web +100.0 % [+50.0 %, +150.0 %] (95 %)"
    )
    looked = replace(found, look_at="drill", look_at_than_today=(worse, better), harms=())
    assert show.level_harm(harmed, looked) == []
    assert [len(row) for row in show.level_rows(replace(harmed, levels=(looked,)))] == [3, 3]


def test_harm_is_what_is_surely_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each level's scheme, what may be chance is no harm."""
    sure, chance = (Effect(name, "", 2.0, 1.0, 1.0, low, 1.5, 9) for name, low in (("sure", 0.5), ("chance", -0.5)))
    monkeypatch.setattr(compose, "for_whom", lambda *_: [sure, chance])
    found = sw.advise(SPEC, schemes="ecmp,rps", budget_s=2, jobs=1, band=0.3)
    assert {one.harms for one in found.levels} == {(sure,)}


def test_the_worst_of_some_seeds() -> None:
    """By hand: five seeds at 1 and one at 32 have a geometric mean of 2^(5/6)."""
    place, times = how_bad([1.0] * 5 + [32.0], more_is_better=False) or (0, 0.0)
    assert place == 5
    assert times == pytest.approx(2 ** (5 - 5 / 6))
    place, times = how_bad([1.0, 1.0, 1.0, 0.25], more_is_better=True) or (0, 0.0)
    assert place == 3
    assert times == pytest.approx(2**1.5)
    assert how_bad([1.0, 1.0, 1.0, 0.25], more_is_better=False) is None
    assert how_bad([math.nan], more_is_better=False) is None


GREY = SPEC | {
    "topology": FABRIC | {"hosts_per_leaf": 4},
    "transport": {"kind": "rdma"},
    "switch": {"pause_us": 5},
    "traffic": [
        *SPEC["traffic"],
        {"name": "reduce", "kind": "all_reduce", "size_bytes": 80_000, "hosts": [0, 4, 1, 5]},
    ],
    "fault": [{"kind": "loss", "ends": ["leaf0", "spine1"], "probability": 0.003, "at_us": 0}],
}
"""One lost packet costs a timeout of 4 ms, where a round takes a tenth of that."""


def test_a_seed_that_is_far_off_is_told_of_every_aim() -> None:
    """1.62 ms stood there, of 5.17, 1.37, 1.48 ... ms, and "as good as usual on 10 of 10 seeds"."""
    aims = ["mean round time of swap", "mean round time of reduce"]
    found = sw.advise(GREY, schemes="ecmp,drill", aims=aims, budget_s=3, jobs=1, band=0.3)
    ecmp = found.entrant("ecmp")
    worst = max(ecmp.samples, key=lambda one: one.values[1])
    mean = value(ecmp, 1)
    assert worst.values[1] > 2.0 * mean
    (told,) = (one for one in found.extremes if (one.scheme, one.aim) == ("ecmp", aims[1]))
    assert (told.seed, told.value, told.seeds) == (worst.seed, worst.values[1], len(ecmp.samples))
    assert told.times == pytest.approx(worst.values[1] / mean)
    assert (told.timeouts or 0) >= 1
    line = show.far_off(replace(found, advised="ecmp"), replace(told, value=0.00517, seed=1, times=3.19, timeouts=1.0))
    assert line == "mean round time of reduce: 5.17 ms on seed 1, 3.2 times the mean; 1 timeout"
    told = replace(told, timeouts=None, usual_timeouts=None)
    assert show.far_off(replace(found, advised="drill"), told).startswith("mean round time of reduce under ecmp: ")
    assert "timeout" not in show.far_off(found, told)
    assert [one for one in show.surely(found) if " times the mean" in one]
    assert show.MEANS in dict(show.sections(found))["By how much"]
    beside = f" (worst seed {units.duration(worst.values[1], 3)})"
    assert tell_mean(found.aims[1], ecmp, 1).endswith(beside)
    (row,) = [one for one in of_advice.entrants(found).rows if one[0].text == "ecmp"]
    assert row[6].text.endswith(beside)
    assert "geometric means" in of_advice.entrants(found).note


def test_bars_are_in_the_order_of_paired_differences(advice: Advice) -> None:
    """A scheme that left after two easy seeds had a shorter bar than the one that was surely better."""

    def entrant(label: str, *values: float) -> Entrant:
        samples = tuple(Sample(seed, "", (one,), (0,)) for seed, one in enumerate(values))
        return replace(advice.entrant("ecmp"), label=label, samples=samples)

    entrants = (entrant("ecmp", 3.0, 6.0, 9.0), entrant("drill", 2.0, 4.0), entrant("rps", 1.0, 2.0, 40.0, 40.0))
    of = replace(advice, entrants=entrants, tied=("rps",))
    looks = charts.looked([one.label for one in entrants])
    (chart,) = of_advice.values(of, looks)
    assert chart.y.words == ("rps (4)", "ecmp (3)", "drill (2)")
    assert [one.label for one in chart.curves] == ["rps", "ecmp", "drill"]
    faster = replace(advice.aims[0], more_is_better=True)
    (chart,) = of_advice.values(replace(of, aims=(faster,)), looks)
    assert chart.y.words == ("drill (2)", "ecmp (3)", "rps (4)")
    apart = replace(entrants[1], samples=(Sample(9, "", (1.0,), (0,)),))
    assert of_advice.behind(of, apart, 0) == math.inf
