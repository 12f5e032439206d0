"""What measurements are called in sentences."""

from __future__ import annotations

import pytest

from spinewise.reproduction.words import named


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("mean_fct_s", "mean FCT"),
        ("short_p99_fct_s", "99th percentile of FCT, short flows"),
        ("below_200_mean_fct_s", "mean FCT, flows below 200 B"),
        ("S2_p999_fct_s", "99.9th percentile of FCT, S2"),
        ("mean_slowdown", "mean slowdown"),
        ("out_of_order", "share out of order"),
        ("sensed_s", "sensed"),
        ("goodput_share", "goodput, as a share of the paths"),
    ],
)
def test_a_measurement_has_words(metric: str, words: str) -> None:
    assert named(metric) == words
