from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinewise.measures import stats

finite = st.floats(-1e9, 1e9)


@pytest.mark.parametrize("ahead", [0.0, 0.05])
def test_the_best_is_told_from_the_best_in_no_more_than_one_of_twenty_comparisons(ahead: float) -> None:
    """Twenty schemes on five seeds, of which the one in the middle is the best, or as good as all others."""
    rng = np.random.default_rng(7)
    lost = luck = 0
    for _ in range(200):
        values = np.exp(0.2 * rng.standard_normal((20, 5)) + rng.standard_normal(5))
        values[10] *= 1.0 - ahead
        lost += stats.told_from_best(values.tolist())[10]
        luck += values.mean(axis=1).argmin() != 10
    assert lost <= 10
    assert luck > 100, "mostly another one is first"


def test_what_is_far_behind_is_told_from_the_best() -> None:
    """Of three rows, one with a value less: pairs are those of the repeats that both have."""
    near = [1.01, 2.1, 2.9, 4.2, 4.9]
    rows = [[9.0, 18.1, 27.0, 36.2], [1.0, 2.0, 3.0, 4.0, 5.0], near]
    assert stats.told_from_best(rows) == [True, False, False]
    assert stats.told_from_best([[2.0], [1.0]]) == [False, False], "one repeat tells nothing"
    assert stats.told_from_best([[1.0, 2.0]]) == [False]
    assert stats.told_from_best([]) == []
    assert stats.told_from_best([[math.nan, math.nan], [1.0, 2.0]]) == [False, False]
    assert stats.told_from_best([[0.0, 0.0, 0.0], [9.0, 8.0, 9.0]]) == [False, True], "where there is no ratio"


def test_who_is_less_goes_by_the_values_whose_chance_was_tested() -> None:
    """One zero among the pairs: the chance was that of the differences, and who is less that of the ratios."""
    more = [0.0, *(1e6 + k for k in range(1, 20))]
    less = [0.5, *(1e6 + k - 1 for k in range(1, 20))]
    assert stats.ratio_p(more, less) < 1e-9
    assert stats.surely_less(less, more) < 1e-9
    assert stats.surely_less(more, less) > 1.0 - 1e-9
    assert (stats.is_less(less, more, 0.05), stats.is_less(more, less, 0.05)) == (True, False)
    assert stats.told_from_best([more, less]) == [True, False]
    falls, rises = [1.0, 2.0, 4.0], [2.0, 4.0, 8.0]
    assert stats.surely_less(falls, rises) == stats.ratio_p(falls, rises) / 2.0, "where all are positive, of ratios"
    assert math.isnan(stats.surely_less([1.0], [2.0]))


def test_nearest_rank_is_the_fields_convention() -> None:
    values = list(range(1, 101))
    assert stats.percentile(values, 0.50) == 51
    assert stats.percentile(values, 0.99) == 100
    assert stats.percentile(values, 0.0) == 1
    assert stats.percentile(values, 1.0) == 100
    assert stats.percentile([7.0], 0.999) == 7.0


@pytest.mark.parametrize("p", [0.07, 0.29, 0.57, 0.58, 0.99, 0.999])
@pytest.mark.parametrize("n", [1, 10, 100, 1000, 10_000])
def test_rank_is_exact_where_binary_fractions_are_not(p: float, n: int) -> None:
    assert stats.rank(p, n) == math.floor(Fraction(str(p)) * n)


def test_linear_percentile_interpolates() -> None:
    assert stats.percentile([1.0, 2.0, 3.0, 4.0], 0.5, "linear") == 2.5


@given(st.lists(finite, min_size=1), st.floats(0, 1))
def test_nearest_rank_is_an_observed_value(values: list[float], p: float) -> None:
    assert stats.percentile(values, p) in values


@given(st.lists(finite, min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_percentiles_grow_with_p(values: list[float], p: float, q: float) -> None:
    low, high = stats.percentiles(values, sorted([p, q]))
    assert low <= high


def test_no_values_give_nan() -> None:
    assert math.isnan(stats.percentile([], 0.5))
    assert math.isnan(stats.mean([]))
    assert math.isnan(stats.t_interval([]).mean)
    assert math.isnan(stats.jain([]))


def test_percentiles_outside_0_to_1_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.percentile([1.0], 99)


def test_t_interval_against_a_printed_table() -> None:
    # t(0.975; 4 degrees) = 2.776; mean 12, s = sqrt(2.5).
    interval = stats.t_interval([10.0, 11.0, 12.0, 13.0, 14.0])
    assert interval.mean == 12.0
    assert interval.half == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)
    assert (interval.low, interval.high) == (interval.mean - interval.half, interval.mean + interval.half)


def test_t_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(5.0, 2.0, size=(4000, 4))
    covered = sum(abs(stats.t_interval(row).mean - 5.0) <= stats.t_interval(row).half for row in draws)
    # Binomial with p = 0.95: 4 sigma is 0.0138.
    assert covered / 4000 == pytest.approx(0.95, abs=0.014)


def test_one_repeat_has_no_width() -> None:
    interval = stats.t_interval([3.0])
    assert interval.mean == 3.0
    assert math.isnan(interval.half)
    assert not interval.excludes_zero


def test_unusable_values_do_not_count() -> None:
    interval = stats.t_interval([1.0, math.nan, 3.0])
    assert (interval.mean, interval.n) == (2.0, 2)


def test_pairing_removes_the_shared_spread() -> None:
    traffic = np.array([1.0, 10.0, 100.0, 1000.0])
    paired = stats.paired_difference(traffic + 0.1, traffic)
    assert paired.mean == pytest.approx(0.1)
    assert paired.excludes_zero
    assert not stats.t_interval(traffic + 0.1).excludes_zero


def test_relative_difference_is_against_the_baselines_mean() -> None:
    difference = stats.relative_difference([1.5, 3.0], [1.0, 2.0])
    assert difference.mean == pytest.approx(0.5)
    assert stats.relative_difference([1.5, math.nan, 3.0], [1.0, 9.0, 2.0]).mean == pytest.approx(0.5)
    assert math.isnan(stats.relative_difference([1.0], [0.0]).mean)


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="pairs are needed"):
        stats.paired_difference([1.0, 2.0], [1.0])


def test_jain_index() -> None:
    assert stats.jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert stats.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)


@given(
    st.lists(st.one_of(st.floats(0.0, 1.0), st.integers(0, 10_000).map(lambda k: k / 10_000)), max_size=20),
    st.integers(1, 10**9),
)
def test_ranks_are_those_of_each_share_alone(shares: list[float], n: int) -> None:
    assert stats.ranks(shares, n).tolist() == [stats.rank(p, n) for p in shares]


def test_ranks_of_all_steps_and_small_samples() -> None:
    steps = [k / 1000 for k in range(1001)]
    for n in [*range(1, 130), 999, 1000, 12_345, 10**6]:
        assert stats.ranks(steps, n).tolist() == [stats.rank(p, n) for p in steps]
