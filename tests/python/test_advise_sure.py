"""What an advice calls sure of many comparisons: regrets in cases, and effects on other traffic."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from spinewise.advice import compose, regretted, stress
from spinewise.advice.aims import Aim
from spinewise.advice.answer import CaseAnswer
from spinewise.advice.compose import notes
from spinewise.advice.conduct import STRESS_SCHEMES, STRESS_SEEDS, Course
from spinewise.advice.effects import effects
from spinewise.advice.observed import Flows, Observed, Spread
from spinewise.advice.regretted import case_answer, regrets_of, why_doubted, wrong_when
from spinewise.advice.stress import CHANGES, Case, Regret, regrets
from spinewise.advice.trials import PLAIN, Trial
from spinewise.measures import stats
from test_advise_choice import SPEC, course

MANY = (STRESS_SCHEMES - 1) * len(CHANGES)


def trial(cost: float, behind: int = 1) -> Trial:
    """A run with this cost."""
    return Trial(cast(Any, None), (cost,), (cost,), ((behind, 0),), (), 1.0, "t", "o")


def test_equal_schemes_are_seldom_called_worse() -> None:
    """Six equal schemes in nine cases: 48 % of answers were said to be surely worse somewhere."""
    rng, times = np.random.default_rng(1), 300
    alone = shared = 0
    for _ in range(times):
        mine = [
            next(one for one in regrets(costs, comparisons=MANY) if one.scheme == "0")
            for costs in ({str(k): np.exp(0.1 * rng.standard_normal(STRESS_SEEDS)).tolist() for k in range(6)}
                          for _ in CHANGES)
        ]  # fmt: skip
        alone += any(one.low > 0.0 for one in mine)
        shared += any(one.is_sure for one in mine)
    assert alone / times > 0.2
    assert shared / times <= 0.05


def test_the_error_is_shared_among_comparisons() -> None:
    """By hand: 0.1 of a spread of 0.01 over four seeds, with Student's quantile of three degrees of freedom."""
    logs = np.array([0.09, 0.10, 0.10, 0.11])
    costs = {"best": [1.0] * 4, "mine": np.exp(logs).tolist()}
    one = regrets(costs)[1]
    error = float(logs.std(ddof=1)) / 2.0
    assert one.low == pytest.approx(math.expm1(0.1 - stats.t_quantile(0.975, 3) * error))
    most = int(0.05 / (2.0 * (1.0 - float(_p(0.1 / error, 3)))))
    sure = [regrets(costs, comparisons=many)[1].sure for many in (1, most, most + 1)]
    assert sure == [True, True, False]
    assert regrets(costs, comparisons=most + 1)[1].low == one.low, "the interval is for this number alone"
    two = {label: found[:2] for label, found in costs.items()}
    assert [found.sure for found in regrets(two)] == [False, False], "two seeds may be close by luck"
    assert Regret("of an older file", 0.1, 0.05, 0.2, 4).is_sure


def _p(t: float, degrees: int) -> float:
    """Student's distribution function."""
    from scipy.special import stdtr

    return float(stdtr(degrees, t))


def test_a_difference_that_is_one_of_many_may_be_chance() -> None:
    """Its own interval excludes zero, and it was the worst of dozens: no word said that this happens by chance."""
    found = (Regret("drill", 0.0, 0.0, 0.0, 4, sure=False), Regret("rps", 0.12, 0.08, 0.2, 4, sure=False))
    case = CaseAnswer("load +25 %", "a quarter more load", tried=True, because=None, regrets=found)
    with course({"ecmp": 2.0, "rps": 1.0, "drill": 1.0}) as made:
        told = wrong_when(made, "rps", [case, replace(case, name="load -25 %", words="less")])
        (sure,) = wrong_when(made, "rps", [replace(case, regrets=(found[0], replace(found[1], sure=True)))])
    assert told[0].endswith("[+8.0 %, +20.0 %], which may be chance: one of 2 such comparisons")
    assert sure.endswith("worse than drill [+8.0 %, +20.0 %]")
    assert why_doubted(replace(found[1], seeds=2), 5) == "on 2 seeds"


def in_cases(made: Course, costs: dict[str, dict[str, list[float]]]) -> list[Case]:
    """Cases in which these schemes had these costs, on the same seeds."""
    for name, schemes in costs.items():
        for label, column in schemes.items():
            for seed, cost in enumerate(column, 1):
                made.trials.found[name, label, seed] = trial(cost)
        made.tried[name] = list(range(1, 1 + min(map(len, schemes.values()))))
    return [Case(name, name, SPEC) for name in costs]


def test_all_cases_share_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rivals in one case, one in the other, none in the third: three comparisons."""
    asked: list[int] = []

    def noted(*given: Any, comparisons: int, **more: Any) -> list[Regret]:
        asked.append(comparisons)
        return stress.regrets(*given, comparisons=comparisons, **more)

    monkeypatch.setattr(regretted, "regrets", noted)
    with course({}) as made:
        some = {"a": [1.0] * 3, "b": [1.1] * 3}
        regrets_of(made, in_cases(made, {"one": some, "two": some | {"c": [1.2] * 3}, "three": {"a": [1.0] * 3}}))
    assert asked == [3, 3]


def test_a_seed_without_a_flow_of_the_aim_costs_no_case() -> None:
    """The whole case was thrown away, and "fewer than two schemes to compare" was the reason."""
    none = math.nan
    with course({}) as made:
        cases = in_cases(made, {
            "one seed": {"ecmp": [1.0, none, 1.0], "rps": [1.1, none, 1.1]},
            "none": {"ecmp": [none, none], "rps": [none, none]},
            "one scheme": {"ecmp": [1.0, 1.0], "rps": [none, none]},
        })  # fmt: skip
        found = regrets_of(made, cases)
        answers = [case_answer(made, case, found[case.name]) for case in cases]
    assert [(one.scheme, one.seeds) for one in found["one seed"]] == [("ecmp", 2), ("rps", 2)]
    assert [one.tried for one in answers] == [True, False, False]
    reason = "no seed that was run there has a value of mean round time of swap under all schemes tried"
    assert [one.because for one in answers[1:]] == [reason, "fewer than two schemes to compare"]


def test_a_scheme_that_fails_in_a_case_is_told_as_such() -> None:
    """The answer "did not run there", and nothing said why."""
    with course({}) as made:
        (case,) = in_cases(made, {"incast": {"ecmp": [1.0] * 3, "drill": [1.1] * 3}})
        made.trials.failed["incast", "rps", 1] = "SchemeError: rps"
        made.trials.failed["incast", "drill", 4] = "SchemeError: drill"
        found = case_answer(made, case, regrets_of(made, [case])["incast"])
    assert found.left == {"rps": "a run of it failed: SchemeError: rps"}


def test_runs_of_tests_do_not_count_as_those_of_the_spec() -> None:
    """A quarter less load has fewer flows, and the note said that they were those of the spec."""
    with course({"ecmp": 1.0, "rps": 1.0}) as made:
        made.aims = [Aim("p99", "slowdown", "swap")]
        made.trials.found = {(PLAIN, "ecmp", 1): trial(1.0, 1000), ("load -25 %", "ecmp", 1): trial(1.0, 10)}
        assert compose.plain(made) == [made.trials.found[PLAIN, "ecmp", 1]]
        made.race.values.clear()
        assert not [note for note in notes(made) if "one of the slowest few" in note]


def seen(*p99: float, flows: int = 10) -> Observed:
    """Values of all flows, short ones and long ones, of which there may be none."""
    spreads = [Spread(p, p, p, p, p, p) for p in p99]
    sizes = zip(("all", "short", "long"), spreads, strict=True)
    many = {"all": 10, "short": 10, "long": flows}
    return Observed([Flows("web", name, many[name], 0, spread, spread) for name, spread in sizes], [])


def test_effects_share_the_error() -> None:
    """Two effects at three levels: each interval has a sixth of the 5 %."""
    mine = [seen(3.0, 1.0, 2.0), seen(3.0, 1.0, 4.0), seen(3.0, 1.0, 8.0**0.5)]
    today = [seen(9.0, 2.0, 2.0)] * 3
    aim = Aim("p99", "slowdown", "web")
    (_, one), (_, three) = (effects([aim], mine, today, schemes=many) for many in (1, 3))
    logs = [0.0, math.log(2.0), math.log(2.0**0.5)]
    for found, many in ((one, 2), (three, 6)):
        wanted = stats.t_interval(logs, 1.0 - 0.05 / many)
        assert (found.low, found.high) == pytest.approx((math.expm1(wanted.low), math.expm1(wanted.high)))


def test_a_size_class_that_the_first_seed_lacks_is_looked_at() -> None:
    """The first seed alone decided of which flows anything was told."""
    mine = [seen(3.0, 1.0, math.nan, flows=0), *[seen(3.0, 1.0, 2.0)] * 3]
    found = effects([Aim("p99", "slowdown", "web")], mine, mine)
    assert [(one.text, one.seeds) for one in found] == [
        ("p99 slowdown of short flows of web", 4),
        ("p99 slowdown of long flows of web", 3),
    ]
    never = [seen(3.0, 1.0, math.nan, flows=0)] * 3
    assert len(effects([Aim("p99", "slowdown", "web")], never, never)) == 1
