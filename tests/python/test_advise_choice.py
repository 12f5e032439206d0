"""From a race to the choice, on numbers that are given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pytest

import spinewise as sw
from spinewise.advice import choice
from spinewise.advice.aims import Aim
from spinewise.advice.answer import CaseAnswer
from spinewise.advice.candidates import find, may_list
from spinewise.advice.cases import is_bounded
from spinewise.advice.choice import choose, outlier, to_test, worst_regret
from spinewise.advice.conduct import Course
from spinewise.advice.regretted import wrong_when
from spinewise.advice.stress import Regret, regrets
from spinewise.advice.trials import PLAIN, Trial, Trials
from spinewise.measures import units
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import in_memory

SPEC: Spec = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"name": "swap", "kind": "permutation", "size_bytes": 1000}],
}
SCHEMES = "ecmp,packet_scatter,rps,hermes,flowbender,letflow,drill"
SEEDS = 24


@contextmanager
def course(
    values: dict[str, float], band: float = 0.05, spread: float = 0.01, quantity: str = "round time"
) -> Iterator[Course]:
    """A course whose race has been run: each scheme costs this much, with a little spread, on all seeds."""
    aim = Aim("mean", quantity, "swap")
    rng = np.random.default_rng(1)
    with in_memory() as ledger:
        who = find(SPEC, may_list(None), SCHEMES)
        made = Course(
            spec=SPEC, resolved=sw.resolve(SPEC), aims=[aim], who=who,
            trials=Trials("", {PLAIN: SPEC}, [aim], ledger, Local(1)), budget_s=1.0, first_seed=1,
        )  # fmt: skip
        made.race.bands = (band,)
        for candidate in who.candidates:
            if candidate.label in values:
                made.race.enter(candidate.label, candidate.tier)
        for seed in range(1, SEEDS + 1):
            for label, value in values.items():
                made.race.tell(label, seed, (value * float(np.exp(spread * rng.standard_normal())),))
        made.race.look()
        yield made


def test_the_cheapest_of_what_is_tied_wins() -> None:
    """Spraying is as good as DRILL and needs no new switch; ECMP is the answer of those who change nothing."""
    with course({"ecmp": 2.0, "rps": 1.0, "drill": 1.0, "hermes": 1.4}) as made:
        found = choose(made)
        assert found.advised == "rps"
        assert set(found.tied) == {"rps", "drill"}
        assert {one.level: one.advised for one in found.levels} == {
            "as it is": "ecmp", "configuration": "rps", "hosts": "rps", "switches": "rps",
        }  # fmt: skip
        assert found.levels[-1].than_today[0].mean == pytest.approx(-0.5, abs=0.02)
        assert found.levels[0].than_today == ()
        assert all(one.settled for one in found.levels)


def test_what_is_said_of_a_bandwidth_is_of_its_values_and_not_of_their_inverse() -> None:
    """Half the time is twice the bandwidth: +100 %, and surely better; it was told as -50 %."""
    with course({"ecmp": 2.0, "rps": 1.0}, quantity="bus bandwidth") as made:
        found = choose(made)
        assert found.advised == "rps"
        (share,) = found.levels[-1].than_today
        assert (share.mean, share.median) == pytest.approx((1.0, 1.0), abs=0.02)
        low, high = share.low or 0.0, share.high or 0.0
        assert 0.9 < low < share.mean < high < 1.1
        assert choice.than_best(made, "ecmp", ["rps"])[0].mean == pytest.approx(-0.5, abs=0.01)
    asked = regrets({"rps": [1.0, 1.0], "ecmp": [2.0, 2.0]}, more_is_better=True)
    assert [(one.scheme, one.mean) for one in asked] == [("rps", 0.0), ("ecmp", 0.5)]


def test_what_is_better_by_more_than_the_band_is_worth_its_price() -> None:
    """DRILL beats spraying by a fifth: those who may change switches are told so, the others are not."""
    with course({"ecmp": 2.0, "rps": 1.2, "drill": 1.0}) as made:
        found = choose(made)
        assert found.advised == "drill"
        assert found.tied == ("drill",)
        assert {one.level: one.advised for one in found.levels}["configuration"] == "rps"


def test_a_sure_difference_below_the_band_costs_nothing() -> None:
    """Three percent, ever so sure, within a band of five: the cheaper one."""
    with course({"ecmp": 1.03, "drill": 1.0}, spread=0.001) as made:
        assert choose(made).advised == "ecmp"


def test_what_runs_today_stays_where_nothing_is_shown_to_be_better() -> None:
    """Hermes seems better by a fifth, and may be so by chance: it is what to look at, and no answer."""
    with course({"ecmp": 1.0, "hermes": 0.8, "drill": 0.82}, spread=0.6) as made:
        found = choose(made)
        assert found.advised == "ecmp"
        last = found.levels[-1]
        assert (last.stands, last.than_today) == ("undecided", ())
        assert last.look_at == found.look_at
        assert last.look_at in ("hermes", "drill")
        assert set(found.tied) == {"ecmp", "hermes", "drill"}
        assert "ecmp" not in last.near
        assert last.look_at_than_today[0].mean < 0.0 < (last.look_at_than_today[0].high or 0.0)
        assert to_test(made, found)[:3] == ["ecmp", found.look_at, *(set(last.near) - {found.look_at})]


def test_what_is_most_promising_is_the_best_where_seeds_have_widened_the_band() -> None:
    """What was 25 % behind the best was the most promising within a band of 30 %, as it cost less."""
    with course({"ecmp": 1.0, "drill": 0.6, "rps": 0.75}, band=0.3, spread=1.2) as made:
        found = choose(made).levels[-1]
        assert found.stands == "undecided"
        assert (found.look_at, set(found.near)) == ("drill", {"drill", "rps"})


def test_how_an_answer_stands_to_what_runs_today() -> None:
    """Surely better; or what runs today, which is as good; or shown to stop the fabric."""
    with course({"ecmp": 2.0, "rps": 1.0}) as made:
        assert choose(made).levels[-1].stands == "better"
        made.locked.add("ecmp")
        made.race.take_out("ecmp")
        found = choose(made)
        assert [one.level for one in found.levels] == ["configuration"]
        assert (found.advised, found.levels[-1].stands) == ("rps", "better")
    with course({"ecmp": 1.01, "rps": 1.0}) as made:
        assert (choose(made).advised, choose(made).levels[-1].stands) == ("ecmp", "good enough")


def test_what_was_driven_out_by_a_scheme_that_then_deadlocks_makes_up_its_seeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RPS is half as slow as Hermes until, on the twelfth seed, the fabric stands still under it."""
    costs = {"ecmp": 4.0, "rps": 1.0, "hermes": 2.0}

    def run(self: Trials, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        del deadline
        for one in variants:
            for seed in seeds:
                cost = (costs[one.label] * (1.0 + 0.01 * (seed % 3)),)
                locked = ("a->b", "b->a") if (one.label, seed) == ("rps", 12) else ()
                self.found[case, one.label, seed] = Trial(cast(Any, None), cost, cost, ((1, 0),), locked, 1.0, "t", "o")
        return True

    monkeypatch.setattr(Trials, "run", run)
    with course({}, band=0.01) as made:
        made.tuned = True
        made.candidates = {label: made.candidates[label] for label in costs}
        made.enter(list(made.candidates.values()))
        monkeypatch.setattr(Course, "settled", lambda self: self.made >= 16)
        made.run_race(math.inf)
        assert made.locked == {"rps"}
        assert choose(made).advised == "hermes"
        assert made.race.seeds(["ecmp", "hermes"]) == list(range(1, made.made + 1))
        assert [(drop.arm, drop.by) for drop in made.race.drops] == []


def test_what_can_be_bought_comes_first_among_equals() -> None:
    """Random spraying is a mode of switches that are sold, round robin is not known to be."""
    with course({"ecmp": 2.0, "packet_scatter": 1.0, "rps": 1.0}) as made:
        assert choose(made).advised == "rps"


def test_what_breaks_less_comes_first_among_equals() -> None:
    """Two schemes of hosts, neither sold: the one with the smaller greatest regret."""
    with course({"ecmp": 2.0, "hermes": 1.0, "flowbender": 1.0}) as made:
        for fragile, hardy in (("hermes", "flowbender"), ("flowbender", "hermes")):
            worst = worst_regret({
                "link down": [Regret(hardy, 0.0, 0.0, 0.0, 3), Regret(fragile, 0.6, 0.5, 0.7, 3)],
                "half buffers": [Regret(fragile, 0.0, 0.0, 0.0, 3), Regret(hardy, 0.1, 0.0, 0.2, 3)],
            })  # fmt: skip
            assert worst == {hardy: 0.1, fragile: 0.6}
            assert choose(made, worst).advised == hardy


def test_what_is_tested_has_the_answer_and_todays_scheme() -> None:
    """No more than six, the answer first."""
    with course({"ecmp": 2.0, "rps": 1.0, "drill": 1.0, "letflow": 1.01, "hermes": 1.5}) as made:
        labels = to_test(made, choose(made))
        assert labels[:2] == ["rps", "ecmp"]
        assert {"drill", "letflow"} <= set(labels)
        assert len(labels) <= 6


def test_a_widened_band_does_not_excuse_what_is_surely_behind() -> None:
    """Seeds differ so much that 30 % is what the budget can tell; one scheme is surely a fifth better all the same."""
    with course({"ecmp": 2.0, "rps": 1.6, "drill": 1.6}, band=0.3) as made:
        assert choose(made).advised == "rps"
        made.bands = (0.3,)
        assert choose(made).advised == "ecmp", "the band that was asked for"


def test_two_seeds_do_not_bound_a_case() -> None:
    """They were alike by chance, and the answer was called still right."""
    for seeds, bounded in ((2, False), (3, True)):
        best, mine = Regret("drill", 0.0, 0.0, 0.0, seeds), Regret("rps", 0.01, 0.0, 0.02, seeds)
        case = CaseAnswer("load +25 %", "a quarter more load", tried=True, because=None, regrets=(best, mine))
        assert is_bounded(case, "rps", 0.05) == bounded


def test_an_outlying_seed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed of 24 is half as bad again; the others are as usual."""
    monkeypatch.setattr(choice, "cause", lambda *_: "timeouts: 3, usually 0")
    with course({"ecmp": 2.0, "rps": 1.0, "drill": 1.0}) as made:
        made.race.values["rps"][7] = (1.5,)
        found = outlier(made, "rps", ["drill"])
        assert found is not None
        assert (found.good, found.seeds, found.seed) == (SEEDS - 1, SEEDS, 7)
        assert found.share == pytest.approx(0.5, abs=0.05)
        assert found.cause == "timeouts: 3, usually 0"
        assert outlier(made, "rps", []) is None


def test_what_is_worse_in_a_case_is_said_of_whom() -> None:
    """It said "12.0 % worse than drill", of nobody."""
    best, mine = Regret("drill", 0.0, 0.0, 0.0, 4), Regret("rps", 0.12, 0.08, 0.2, 4)
    case = CaseAnswer("load +25 %", "a quarter more load", tried=True, because=None, regrets=(best, mine))
    with course({"ecmp": 2.0, "rps": 1.0, "drill": 1.0}) as made:
        (told,) = wrong_when(made, "rps", [case])
    assert told == "with a quarter more load: rps is 12.0 % worse than drill [+8.0 %, +20.0 %]"


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (-0.5, 0.3, "[-50.0 %, +30.0 %]"),
        (-0.9, 10.0, "[-90.0 %, +1000.0 %]"),
        (-1.0, 1393.922, "[too few seeds to bound it]"),
        (11.0, 25.0, "[+1100.0 %, +2500.0 %]"),
        (-0.2, None, f"[-20.0 %, {units.NOTHING}]"),
        (math.nan, math.nan, "on one seed"),
    ],
)
def test_far_ends_of_intervals_that_tell_nothing_are_not_told_to_the_digit(
    low: float, high: float | None, told: str
) -> None:
    assert choice.interval(low, high) == told
