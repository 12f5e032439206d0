"""The statistics of the comparison against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spinewise.agreement import scores
from spinewise.agreement.scores import Score
from spinewise.agreement.verdict import problems


def test_z_carries_the_uncertainty_of_our_mean() -> None:
    score = Score.of(13.0, np.array([8.0, 10.0, 12.0]))
    # Mean 10, variance (4 + 0 + 4) / 2 = 4; √(1 + 1/3) = 1.1547.
    assert score.ours == 10.0
    assert score.ours_sd == 2.0
    assert score.z == pytest.approx(3.0 / (2.0 * math.sqrt(4.0 / 3.0)))
    assert score.relative == pytest.approx(-3.0 / 13.0)


def test_without_any_spread_only_equality_is_near() -> None:
    same = np.full(3, 0.1)
    assert Score.of(0.1, same).z == 0.0
    assert Score.of(0.2, same).z == math.inf
    assert Score.of(0.05, same).z == -math.inf
    assert math.isnan(Score.of(math.nan, same).z)
    assert math.isnan(Score.of(1.0, np.array([math.nan, 1.0])).z)


def test_a_slowdown_is_one_at_least_and_none_without_an_end() -> None:
    found = scores.slowdowns(np.array([50, 100, 250, 0]), np.array([100, 100, 100, 100]))
    assert found[:3].tolist() == [1.0, 1.0, 2.5]
    assert math.isnan(found[3])


def test_percentiles_are_interpolated_by_size_class() -> None:
    size = np.array([103_999] * 100 + [104_000] * 2 + [5])
    slowdown = np.concatenate([np.arange(1.0, 101.0), [7.0, 9.0], [math.nan]])
    table = scores.statistics(size, slowdown)
    # Short: 1 … 100 at the ranks 49.5, 94.05, 98.01 from 0; the flow without an end counts nowhere.
    assert table[1].tolist() == pytest.approx([50.5, 50.5, 95.05, 99.01])
    assert table[2].tolist() == pytest.approx([8.0, 8.0, 8.9, 8.98])
    # All 102, sorted: 1 … 7, 7, 8, 9, 9, 10 …; the ranks 50.5, 95.95, 99.99 lie two behind.
    assert table[0].tolist() == pytest.approx([(5050 + 16) / 102, 49.5, 94.95, 98.99])
    assert np.isnan(scores.statistics(size[:100], slowdown[:100])[2]).all()


def test_the_greatest_distance_of_two_distributions() -> None:
    # Up to 2: all of a, half of b.
    assert scores.ks(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == 0.5
    assert scores.ks(np.array([1.0, 1.0, 1.0, 5.0]), np.array([1.0, 5.0])) == 0.25
    assert scores.ks(np.array([1.0, 2.0, math.nan]), np.array([2.0, 1.0])) == 0.0
    assert scores.ks(np.array([1.0]), np.array([9.0])) == 1.0
    assert math.isnan(scores.ks(np.array([]), np.array([9.0])))


def test_effects_are_paired_salt_by_salt() -> None:
    def table(mean: float, p99: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return np.array([[mean, 1.0, 1.0, p99], [9.0] * 4, [9.0] * 4])

    ours = np.stack([table(1.8, 6.0), table(3.6, 4.0)])
    baseline = np.stack([table(2.0, 8.0), table(4.0, 8.0)])
    found = scores.effect(table(0.9, 2.0), table(1.0, 4.0), ours, baseline)
    # 10 % less at either salt though the means differ by two; p99 -25 % and -50 %, sd 17.7 %.
    assert found["mean"].ours == pytest.approx(-0.1)
    assert found["mean"].theirs == pytest.approx(-0.1)
    assert found["mean"].ours_sd == pytest.approx(0.0, abs=1e-12)
    assert found["p99"].ours == pytest.approx(-0.375)
    assert found["p99"].ours_sd == pytest.approx(0.125 * math.sqrt(2.0))
    assert found["p99"].theirs == -0.5
    assert found["p99"].z == pytest.approx(-0.125 / (0.125 * math.sqrt(2.0) * math.sqrt(1.5)))


def perfect() -> dict[str, dict[str, Score]]:
    return {name: {stat: Score(2.0, 2.0, 0.1, 0.0) for stat in scores.STATISTICS} for name in scores.CLASSES}


GOOD = {"mean": Score(-0.1, -0.12, 0.01, 1.0), "p99": Score(-0.4, -0.3, 0.05, -2.9)}


def test_perfect_agreement_has_no_problem() -> None:
    assert problems(10, 10, perfect(), GOOD) == []
    assert problems(10, 10, perfect(), None) == []


def test_every_bound_is_looked_at() -> None:
    assert problems(10, 9, perfect(), None) == ["1 of 10 flows did not finish"]
    bounds = {
        ("all", "p50"): 2.041,
        ("all", "mean"): 1.89,
        ("all", "p95"): 2.21,
        ("all", "p99"): 1.79,
        ("long", "mean"): 2.21,
    }
    for (name, stat), ours in bounds.items():
        table = perfect()
        table[name][stat] = Score(2.0, ours, 1.0, 0.0)
        assert [problem.split(" ")[:2] for problem in problems(10, 10, table, None)] == [[name, stat]]
        inside = 2.0 + (ours - 2.0) * 0.9
        table[name][stat] = Score(2.0, inside, 1.0, 0.0)
        assert problems(10, 10, table, None) == []


def test_no_statistic_is_more_than_three_deviations_away_and_most_within_two() -> None:
    table = perfect()
    table["short"]["p95"] = Score(2.0, 2.0, 0.1, -3.01)
    assert problems(10, 10, table, None) == ["short p95: z = -3.0 (at most ±3)"]
    table = perfect()
    # Ten of twelve are 83 %, nine are 75 %.
    for stat in ("p50", "p95"):
        table["short"][stat] = Score(2.0, 2.0, 0.1, 2.5)
    assert problems(10, 10, table, None) == []
    table["short"]["p99"] = Score(2.0, 2.0, 0.1, -2.5)
    assert problems(10, 10, table, None) == ["|z| ≤ 2 in 9 of 12 only (at least 80 %)"]


def test_what_cannot_be_computed_does_not_pass() -> None:
    table = perfect()
    table["short"]["mean"] = Score(2.0, math.nan, math.nan, math.nan)
    assert problems(10, 10, table, None) == ["short mean: z = +nan (at most ±3)"]


def test_a_class_without_flows_does_not_count() -> None:
    table = perfect()
    table["long"] = dict.fromkeys(scores.STATISTICS, Score(math.nan, math.nan, math.nan, math.nan))
    assert problems(10, 10, table, None) == []


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (Score(-0.1, 0.01, 0.02, -5.5), "wrong sign"),
        (Score(-0.1, 0.0, 0.0, -math.inf), "wrong sign"),
        (Score(-0.4, -0.1, 0.05, -5.9), "z = -5.9"),
    ],
)
def test_an_effect_needs_its_sign_and_size(score: Score, said: str) -> None:
    (problem,) = problems(10, 10, perfect(), {**GOOD, "p99": score})
    assert said in problem
    assert "effect on p99" in problem


def test_an_effect_that_chance_gives_has_no_sign_to_compare() -> None:
    """Their one run shows −10 %, ours vary by 20 %."""
    effect = {**GOOD, "p99": Score(-0.1, 0.01, 0.2, -0.5)}
    assert problems(10, 10, perfect(), effect) == []
