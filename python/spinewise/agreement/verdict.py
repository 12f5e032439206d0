"""The criteria by which two simulators agree: bounds that were set before any run, the same for every case."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spinewise.agreement.scores import Score

# Every |z| is at most the first, and this share of them at most the second.
MOST_Z, USUAL_Z, USUAL_SHARE = 3.0, 2.0, 0.8
# The sign of an effect is compared from this many standard deviations on.
SIGN_FROM = 2.0
# Largest relative difference of our mean from their run, by class and statistic.
RELATIVE = {
    ("all", "p50"): 0.02,
    ("all", "mean"): 0.05,
    ("all", "p95"): 0.10,
    ("all", "p99"): 0.10,
    ("long", "mean"): 0.10,
}

Scores = Mapping[str, Mapping[str, Score]]


def problems(
    flows: int,
    finished: int,
    scores: Scores,
    effect: Mapping[str, Score] | None,
    relative: Mapping[tuple[str, str], float] = RELATIVE,
) -> list[str]:
    """The reasons why a case does not agree; empty if it does. Classes without flows do not count."""
    found = [] if finished == flows else [f"{flows - finished} of {flows} flows did not finish"]
    found += far(scores)
    for (name, stat), bound in relative.items():
        score = scores[name][stat]
        if not math.isnan(score.theirs) and not abs(score.relative) <= bound:
            found.append(f"{name} {stat} {100 * score.relative:+.1f} % off (at most {100 * bound:g} %)")
    for stat, score in (effect or {}).items():
        found += wrong_effect(stat, score)
    return found


def far(scores: Scores) -> list[str]:
    """Statistics too many standard deviations away."""
    zs = {
        f"{name} {stat}": score.z
        for name, row in scores.items()
        for stat, score in row.items()
        if not math.isnan(score.theirs)
    }
    found = [f"{name}: z = {z:+.1f} (at most ±{MOST_Z:g})" for name, z in zs.items() if not abs(z) <= MOST_Z]
    near = sum(abs(z) <= USUAL_Z for z in zs.values())
    if near < USUAL_SHARE * len(zs):
        found.append(f"|z| ≤ {USUAL_Z:g} in {near} of {len(zs)} only (at least {100 * USUAL_SHARE:g} %)")
    return found


def wrong_effect(stat: str, score: Score) -> list[str]:
    """The disagreement about a scheme's effect on one statistic; empty if there is none.

    Their effect is that of a single run. If it is smaller than the effect of chance on such a run, twice the
    standard deviation of ours, its sign means nothing and is not compared.
    """
    words = f"effect on {stat}: {100 * score.ours:+.1f} %, theirs {100 * score.theirs:+.1f} %"
    tells = abs(score.theirs) > SIGN_FROM * score.ours_sd
    if tells and score.theirs * score.ours <= 0.0:
        return [f"{words}: wrong sign"]
    return [] if abs(score.z) <= MOST_Z else [f"{words}: z = {score.z:+.1f} (at most ±{MOST_Z:g})"]
