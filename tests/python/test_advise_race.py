"""The statistics of `advise`, on numbers that are drawn: who is dropped, who is tied, how often that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinewise.advice.forecast import BANDS, Rival, cautious, forecast, needed, rivals, seeds_for, widest
from spinewise.advice.race import ALPHA, Contrast, Race, contrast, half_width

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def race_of(tiers: dict[str, int], band: float = 0.01, most: int | None = None) -> Race:
    """A race on one aim."""
    return Race(dict(tiers), 1, (band,), most or len(tiers))


def told(race: Race, values: dict[str, Floats]) -> Race:
    """The race with these values of seeds 1, 2, …"""
    for arm, column in values.items():
        for seed, value in enumerate(column, start=1):
            race.tell(arm, seed, (float(value),))
    return race


def test_the_half_width_solves_the_mixture() -> None:
    """At the edge of the interval the mixture ratio is 1 / alpha."""
    n, sd, alpha = 12, 0.3, 0.01
    half = half_width(n, sd, alpha)
    t = half / (sd / math.sqrt(n))
    widened = 1.0 + 9.0 * n
    ratio = widened**-0.5 * ((1 + t**2 / (n - 1)) / (1 + t**2 / ((n - 1) * widened))) ** (n / 2)
    assert ratio == pytest.approx(1.0 / alpha, rel=1e-9)


def test_the_mixture_ratio_is_the_density_ratio() -> None:
    """The closed form is the integral of noncentral t densities over effects from N(0, 9), over the central one."""
    from scipy import integrate
    from scipy import stats as scipy_stats

    n, t = 7, 3.1

    def weighted(effect: float) -> float:
        density = scipy_stats.nct.pdf(t, n - 1, effect * math.sqrt(n))
        return float(density * scipy_stats.norm.pdf(effect, scale=3.0))

    mixed, _ = integrate.quad(weighted, -12.0, 12.0, limit=200)
    widened = 1.0 + 9.0 * n
    closed = widened**-0.5 * ((1 + t**2 / (n - 1)) / (1 + t**2 / ((n - 1) * widened))) ** (n / 2)
    assert mixed / scipy_stats.t.pdf(t, n - 1) == pytest.approx(closed, rel=1e-3)


def test_intervals_shrink_and_few_seeds_tell_nothing() -> None:
    """With the error divided over 25 rivals, three seeds tell nothing, and the width falls about as the root."""
    assert half_width(3, 0.1, 0.002) == math.inf
    widths = [half_width(n, 0.1, 0.002) for n in range(8, 400)]
    assert all(a > b for a, b in pairwise(widths))
    assert half_width(400, 0.1, 0.002) / half_width(100, 0.1, 0.002) == pytest.approx(0.5, abs=0.05)


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Log ratios of standard deviation one."""
    return rng.standard_normal(shape)


def with_tails(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """One seed in sixteen three times as far out as usual: a timeout under one scheme or the other."""
    outlying = rng.random(shape) < 1 / 16
    return np.where(outlying, 3.0, 1.0) * rng.standard_normal(shape)


def one_sided(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """One seed in sixteen worse by three deviations, under one of the two alone."""
    outlying = rng.random(shape) < 1 / 16
    return rng.standard_normal(shape) + 3.0 * outlying - 3.0 / 16


@pytest.mark.parametrize("draw", [gaussian, with_tails, one_sided])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_coverage_at_all_looks_together(draw: Draw, alpha: float) -> None:
    """The true mean is outside at any of 300 looks in at most a share alpha of 4,000 sequences."""
    rng = np.random.default_rng(7)
    x = draw(rng, (4000, 300))
    n = np.arange(1, 301)
    mean = np.cumsum(x, axis=1) / n
    var = np.maximum(np.cumsum(x**2, axis=1) - n * mean**2, 0.0) / np.maximum(n - 1, 1)
    unit = np.array([half_width(int(k), 1.0, alpha) for k in n])
    with np.errstate(invalid="ignore"):
        outside = np.abs(mean) > np.where(np.isfinite(unit), unit, np.inf) * np.sqrt(var)
    outside[:, :1] = False
    missed = float(outside.any(axis=1).mean())
    margin = 3.0 * math.sqrt(alpha * (1 - alpha) / 4000)
    assert missed <= alpha + margin
    # A fixed interval, looked at as often, would miss many times as often; this one is not empty words either.
    assert missed > 0.0 or alpha < 0.01


def test_a_fixed_interval_would_not_hold_under_looks() -> None:
    """Why all this: Student's interval at 95 %, looked at 300 times, excludes the truth in a third of sequences."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1000, 300))
    n = np.arange(1, 301)
    mean = np.cumsum(x, axis=1) / n
    var = (np.cumsum(x**2, axis=1) - n * mean**2) / np.maximum(n - 1, 1)
    outside = np.abs(mean) > 2.0 * np.sqrt(np.maximum(var, 0.0) / n)
    assert outside[:, 4:].any(axis=1).mean() > 0.25


def synthetic(seed: int, effects: dict[str, float], common: float, own: float, most: int) -> Race:
    """A race to its end: log values are an effect, a spread that all share on a seed, and one of their own."""
    rng = np.random.default_rng(seed)
    race = race_of(dict.fromkeys(effects, 0), band=0.02)
    for number in range(1, most + 1):
        shared = common * rng.standard_normal()
        for arm in race.alive:
            race.tell(arm, number, (math.exp(effects[arm] + shared + own * rng.standard_normal()),))
        if number >= 6:
            race.look()
            if race.settled(race.alive):
                break
    return race


def test_the_best_wins_a_thousand_races() -> None:
    """The best of six by construction is dropped in at most 5 % of 1,000 races that look after every seed."""
    effects = {"best": 0.0, "near": 0.01, "five": 0.05, "ten": 0.10, "twenty": 0.20, "fifty": 0.50}
    races = [synthetic(seed, effects, common=0.3, own=0.04, most=30) for seed in range(1000)]
    lost = sum("best" not in race.alive for race in races)
    assert lost / 1000 <= ALPHA
    # And it is no empty promise: those far behind are gone, nearly always.
    assert sum("twenty" in race.alive for race in races) < 20
    assert sum("fifty" in race.alive for race in races) == 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.1, 1e4), min_size=2, max_size=30),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_one_scheme_under_two_names_ties_at_every_seed_count(values: list[float], tier: int, other: int) -> None:
    """Equal values are never told apart, whatever the tiers, and their difference is known to be nothing."""
    race = race_of({"a": tier, "b": other, "c": 3})
    for seed, value in enumerate(values, start=1):
        race.tell("a", seed, (value,))
        race.tell("b", seed, (value,))
        race.tell("c", seed, (value * 1.5,))
        race.look()
        assert {"a", "b"} <= set(race.alive)
        assert race.against("a", "b").mean == 0.0
    if len(values) >= 8:
        assert race.contenders(["a", "b", "c"]) == ["a", "b"]
        assert race.settled(["a", "b"])


def test_a_race_that_ended_within_a_seed_has_its_best_first() -> None:
    """The best was looked for without the last seed, as one scheme had not got it: another was 4 % better than it."""
    race = race_of({"steady": 0, "better": 0, "late": 0})
    for seed, better in enumerate([1.03, 1.0, 1.0, 0.82], start=1):
        race.tell("steady", seed, (1.0,))
        race.tell("better", seed, (better,))
        if seed < 4:
            race.tell("late", seed, (1.3,))
    found = race.contenders(["late", "steady", "better"])
    assert found == ["better", "steady", "late"]
    assert all(race.against(label, found[0]).mean >= 0.0 for label in found)


def test_a_scheme_with_few_seeds_takes_nothing_from_what_is_known_of_others() -> None:
    """One seed of a late scheme made all pairs be compared on that seed alone: nothing was told apart any more."""
    race = race_of({"conga": 0, "ecmp": 0, "wcmp": 0})
    for seed in range(50):
        race.tell("conga", seed, (1.0 + 0.001 * (seed % 3),))
        race.tell("ecmp", seed, (1.5,))
    assert race.contenders(["conga", "ecmp"]) == ["conga"]
    race.tell("wcmp", 0, (1.2,))
    assert race.contenders(["conga", "ecmp", "wcmp"]) == ["conga", "wcmp"]
    assert not race.settled(["conga", "ecmp", "wcmp"])


def test_only_what_is_as_cheap_drops_a_scheme() -> None:
    """A dearer scheme that is better leaves a cheaper one in the race: it may be the best of the cheap ones."""
    good, bad = np.full(20, 1.0), np.full(20, 2.0) * np.exp(0.01 * np.arange(20))
    race = told(race_of({"cheap": 0, "dear": 2}), {"cheap": bad, "dear": good})
    assert race.look() == []
    assert race.contenders(["cheap"]) == ["cheap"]
    assert race.contenders(["cheap", "dear"]) == ["dear"]
    race = told(race_of({"cheap": 0, "dear": 2}), {"cheap": good, "dear": bad})
    assert [(drop.arm, drop.by) for drop in race.look()] == [("dear", "cheap")]


def test_a_sure_difference_below_the_band_drops_nobody() -> None:
    """Half a percent, ever so sure, is no reason to pay for another scheme."""
    rng = np.random.default_rng(3)
    one = np.exp(0.0005 * rng.standard_normal(30))
    race = told(
        race_of({"a": 0, "b": 0}, band=0.01), {"a": one, "b": 1.005 * one * np.exp(0.0005 * rng.standard_normal(30))}
    )
    assert race.against("b", "a").low > 0.0
    assert race.look() == []
    assert race.settled(["a", "b"])


def test_two_aims_make_a_front() -> None:
    """A scheme leaves only if another is better on both; the front has those that trade one for the other."""
    rng = np.random.default_rng(5)
    race = Race({"fast": 0, "fair": 0, "bad": 0, "middling": 0}, 2, (0.01, 0.01), 4)
    centre = {"fast": (1.0, 2.0), "fair": (2.0, 1.0), "bad": (3.0, 3.0), "middling": (1.0, 2.5)}
    for seed in range(1, 21):
        for arm, (one, two) in centre.items():
            race.tell(
                arm, seed, (one * math.exp(0.01 * rng.standard_normal()), two * math.exp(0.01 * rng.standard_normal()))
            )
    assert {drop.arm for drop in race.look()} == {"bad"}
    assert race.front() == ["fast", "fair"]


def test_what_runs_today_stays_in_the_front_if_it_is_better_on_any_aim() -> None:
    """It went, though 5 % better on the second aim: that is within the band, and to leave it costs all the same."""
    rng = np.random.default_rng(5)
    race = Race({"today": 0, "new": 2, "old": 0}, 2, (0.01, 0.1), 3)
    centre = {"today": (1.1, 1.0), "new": (1.0, 1.05), "old": (1.1, 1.0001)}
    for seed in range(1, 21):
        for arm, values in centre.items():
            race.tell(arm, seed, [value * math.exp(0.01 * rng.standard_normal()) for value in values])
    assert race.front() == ["new"]
    assert race.front("today") == ["today", "new"]
    for seed in race.values["today"]:
        race.tell("today", seed, (1.1, 1.2))
    assert race.front("today") == ["new"]


def test_an_outlying_seed_moves_the_mean_and_not_the_median() -> None:
    """The two locations stand beside each other."""
    others = np.ones(16)
    values = np.full(16, 0.9)
    values[5] = 9.0
    found = contrast(values, others, 0.01)
    assert math.expm1(found.median) == pytest.approx(-0.1)
    assert found.mean > math.log(0.9) + 0.1
    assert found.seeds == 16


def test_numbers_that_are_none_are_refused() -> None:
    """Zero, infinity and NaN have no ratio."""
    race = race_of({"a": 0})
    for number in (0.0, math.inf, math.nan, -1.0):
        with pytest.raises(ValueError, match="positive numbers are needed"):
            race.tell("a", 1, (number,))
    with pytest.raises(ValueError, match="1 schemes have the error budget"):
        race.enter("b", 0)


def test_a_forecast_comes_true() -> None:
    """As many seeds as it says suffice, of races whose spreads are those of its pilot."""
    known = [Rival("a", 0.0, 0.0, 1.0), Rival("b", 0.0, 0.05, 1.0), Rival("c", 0.3, 0.05, 2.0)]
    found = needed(known, 0.02, there=3, alpha=0.025)
    assert found.seeds == seeds_for(0.05, math.log1p(0.02), 0.025)
    assert half_width(found.seeds, 0.05, 0.025) <= math.log1p(0.02) < half_width(found.seeds - 1, 0.05, 0.025)
    # The third leaves early, so that it costs less than the others though its runs take twice as long.
    early = seeds_for(0.05, 0.3 - 0.05 / math.sqrt(3), 0.025)
    assert found.runs == 2 * (found.seeds - 3) + max(early - 3, 0)
    assert found.seconds == 2 * (found.seeds - 3) + 2.0 * max(early - 3, 0)


def test_a_forecast_knows_that_what_is_cheap_stays_beside_what_is_better() -> None:
    """Only what is as cheap drives a scheme out: the pair of a cheap one and a dear one was counted by nobody."""
    columns = {"today": np.array([1.0, 5.0, 1.2, 0.9, 0.8, 1.1]), "dear": np.array([1.0, 1.01, 1.0, 0.99, 1.0, 1.0])}
    race = told(race_of({"today": 0, "dear": 1}, band=0.05), columns)
    assert not race.settled(["today", "dear"])
    pairs = [(one.arm, one.stays) for one in rivals(race, 0, {"today": 1.0, "dear": 2.0})]
    assert pairs == [("today", False), ("today", True), ("dear", False)]
    found = forecast(race, 0, {"today": 1.0, "dear": 2.0}, math.inf, (0.05,))
    assert found.seeds > 100
    assert found.runs == 2 * (found.seeds - 6)
    assert found.seconds == 3.0 * (found.seeds - 6)


def test_a_forecast_takes_the_band_that_the_budget_reaches() -> None:
    """A longer budget gives a narrower band; without time none is reached."""
    rng = np.random.default_rng(11)
    race = race_of({"a": 0, "b": 0, "c": 0})
    told(race, {arm: np.exp(0.05 * rng.standard_normal(3)) for arm in "abc"})
    costs = dict.fromkeys("abc", 1.0)
    bands = [forecast(race, 0, costs, seconds, BANDS).band for seconds in (30.0, 300.0, 30_000.0)]
    assert bands == sorted(bands, reverse=True)
    assert bands[0] > bands[-1]
    nothing = forecast(race, 0, costs, 0.0, BANDS)
    assert not nothing.settles
    assert nothing.band == BANDS[-1]


def test_how_wide_a_spread_may_be() -> None:
    """The 5 % quantile of chi-square with 6 degrees of freedom is 1.635, with 100 it is 77.93 (any table)."""
    assert widest(6.0) == pytest.approx(math.sqrt(6.0 / 1.635), rel=0.01)
    assert widest(100.0) == pytest.approx(math.sqrt(100.0 / 77.93), rel=0.001)


def test_a_cautious_forecast_is_seldom_exceeded() -> None:
    """It has room for the seeds that the true spread takes in at least nine of ten pilots; the plain one need not."""
    rng = np.random.default_rng(4)
    whole = seeds_for(0.05 * math.sqrt(2.0), math.log1p(0.05), race_of(dict.fromkeys("abc", 0)).share)
    enough = {"plain": 0, "cautious": 0}
    costs = dict.fromkeys("abc", 1.0)
    for _ in range(100):
        race = race_of(dict.fromkeys("abc", 0))
        told(race, {arm: np.exp(0.05 * rng.standard_normal(3)) for arm in "abc"})
        enough["plain"] += forecast(race, 0, costs, math.inf, (0.05,)).seeds >= whole
        enough["cautious"] += cautious(race, 0, costs, math.inf, (0.05,), joining={}).seeds >= whole
    assert enough["plain"] < 70
    assert enough["cautious"] >= 90


def test_what_will_be_tuned_counts_in_a_cautious_forecast() -> None:
    """Variants that are tried later tie with the best, and make all of the pilot's runs anew."""
    rng = np.random.default_rng(11)
    race = race_of({"a": 0, "b": 0, "c": 0})
    told(race, {arm: np.exp(0.05 * rng.standard_normal(3)) for arm in "abc"})
    costs = dict.fromkeys("abc", 1.0)
    alone, more = (cautious(race, 0, costs, math.inf, (0.05,), joining=one) for one in ({}, {"b": 2}))
    assert more.seeds < more.runs - alone.runs <= 2 * more.seeds
    assert alone.runs > forecast(race, 0, costs, math.inf, (0.05,)).runs


def test_a_contrast_of_nothing() -> None:
    """Without common seeds nothing is known."""
    found = contrast(np.array([]), np.array([]), 0.05)
    assert found == Contrast(found.mean, math.inf, found.median, 0)
    assert math.isnan(found.mean)
