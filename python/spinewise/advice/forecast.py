"""A forecast of what a budget can achieve, made from the pilot before the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spinewise.advice.race import Race, half_width

PILOT = 3
"""The number of seeds run with everything before any decision."""
BANDS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.10, 0.15, 0.20, 0.30)
"""Bands that a forecast chooses from: less than 1 % is never needed, and a band of 30 % settles nothing useful."""
PRIOR_WEIGHT = 4.0
"""The weight of the common spread of all pairs against that of one pair, in degrees of freedom: a pilot is small."""
MOST_SEEDS = 2000
"""A race takes no more seeds: a difference that they do not show is seldom worth the runs."""
MOST_SEARCHED = 1 << 24
"""The most seeds that a forecast considers."""
SURE = 1.645
"""The deviations that a cautious forecast allows for: 95 % on one side."""


@dataclass(frozen=True)
class Forecast:
    """A forecast of what a budget can achieve, from the pilot.

    Attributes:
        band: the smallest band to which the remaining schemes can be resolved in time; the widest asked for if none.
        seeds: the seeds this needs, for schemes that stay to the end.
        runs: the number of further runs this needs.
        seconds: how long they take.
        settles: whether the budget and `MOST_SEEDS` suffice for that band.
    """

    band: float
    seeds: int
    runs: int
    seconds: float
    settles: bool


@dataclass(frozen=True)
class Rival:
    """A scheme compared with the best of those at a level: as cheap to deploy, or dearer.

    Attributes:
        arm: the scheme.
        behind: mean log ratio to that one; zero for the best itself.
        spread: standard deviation of the log ratio.
        cost: seconds that a run takes, with all processors busy.
        new: whether it has no runs yet.
        stays: whether that one is dearer, so that the scheme is in the race to its end, however far it is behind.
    """

    arm: str
    behind: float
    spread: float
    cost: float
    new: bool = False
    stays: bool = False


def forecast(race: Race, aim: int, costs: Mapping[str, float], seconds: float, bands: Sequence[float]) -> Forecast:
    """Forecast what `seconds` of runs can achieve after a pilot.

    Args:
        race: after the pilot.
        aim: which of its numbers.
        costs: seconds that a run of each scheme takes.
        seconds: how long runs may continue.
        bands: to choose from, in rising order.
    """
    return reached(race, rivals(race, aim, costs), seconds, bands)


def cautious(
    race: Race,
    aim: int,
    costs: Mapping[str, float],
    seconds: float,
    bands: Sequence[float],
    *,
    joining: Mapping[str, int],
) -> Forecast:
    """Forecast the same cautiously: with spreads at their widest, leads at their shortest, and tuned variants that tie.

    Args:
        race: after the pilot.
        aim: which of its numbers.
        costs: seconds that a run of each scheme takes.
        seconds: how long runs may continue.
        bands: to choose from, in rising order.
        joining: how many variants of each scheme will be tried.
    """
    there = len(race.seeds(race.alive))
    wider = widest(there - 1 + PRIOR_WEIGHT)
    found = [
        replace(one, spread=wider * one.spread, behind=max(one.behind - one.spread / math.sqrt(there), 0.0))
        for one in rivals(race, aim, costs)
    ]
    common = float(np.median([one.spread for one in found if one.spread > 0.0 and not one.stays] or [0.0]))
    tuned = [
        Rival(f"{arm}, variant {number}", 0.0, common, costs[arm], new=True)
        for arm, many in joining.items()
        for number in range(many)
    ]
    return reached(race, [*found, *tuned], seconds, bands)


def widest(degrees: float) -> float:
    """The factor by which a spread may exceed its estimate (Wilson and Hilferty's approximation of chi-square)."""
    part = 2.0 / (9.0 * degrees)
    return float(max(1.0 - part - SURE * math.sqrt(part), 1e-3) ** -1.5)


def reached(race: Race, found: Sequence[Rival], seconds: float, bands: Sequence[float]) -> Forecast:
    """The forecast of the narrowest band that can be resolved in time and within `MOST_SEEDS`.

    If there is none, that of the widest, marked so.
    """
    there = len(race.seeds(race.alive))
    made = [needed(found, band, there, race.share) for band in bands]
    last = made[-1]
    unreachable = Forecast(last.band, last.seeds, last.runs, last.seconds, settles=False)
    return next((one for one in made if one.seconds <= seconds and one.seeds <= MOST_SEEDS), unreachable)


def rivals(race: Race, aim: int, costs: Mapping[str, float]) -> list[Rival]:
    """All schemes still in, each against the best of every level that it belongs to, its own first.

    Spreads are shrunk towards the median of all.
    """
    arms = race.alive
    seeds = race.seeds(arms)
    logs = {arm: np.log(race.column(arm, aim, seeds)) for arm in arms}
    levels = sorted({race.tiers[arm] for arm in arms})
    best = {
        level: min((by for by in arms if race.tiers[by] <= level), key=lambda by: float(logs[by].mean()))
        for level in levels
    }
    own = [arm for arm in arms if best[race.tiers[arm]] != arm]
    common = float(np.median([(logs[arm] - logs[best[race.tiers[arm]]]).std(ddof=1) for arm in own] or [0.0]))
    degrees = len(seeds) - 1

    def rival(arm: str, by: str) -> Rival:
        apart, stays = logs[arm] - logs[by], race.tiers[by] > race.tiers[arm]
        if arm == by:
            return Rival(arm, 0.0, 0.0, costs[arm])
        squares = degrees * float(apart.std(ddof=1)) ** 2 + PRIOR_WEIGHT * common**2
        spread = math.sqrt(squares / (degrees + PRIOR_WEIGHT))
        return Rival(arm, float(apart.mean()), spread, costs[arm], stays=stays)

    return [
        rival(arm, by)
        for arm in arms
        for by in dict.fromkeys(best[level] for level in levels if level >= race.tiers[arm])
    ]


def needed(found: Sequence[Rival], band: float, there: int, alpha: float) -> Forecast:
    """Count the runs until the remaining schemes are known to within `band`, if the pilot's estimates are exact.

    A scheme that is behind by more than the band leaves when that is certain; the best ones stay until the last
    of the others is resolved. The estimated lag of a scheme is reduced by its standard error: on so few seeds some
    are far behind by chance.
    """
    last = [
        seeds_for(one.spread, max(one.behind - one.spread / math.sqrt(there), math.log1p(band)), alpha) for one in found
    ]
    most = max([there, *last])
    more = [
        (max((seeds or most) - (0 if one.new else there), 0), one.cost)
        for one, seeds in zip(found, last, strict=True)
        if not one.stays
    ]
    return Forecast(band, most, sum(runs for runs, _ in more), sum(runs * cost for runs, cost in more), settles=True)


def seeds_for(sd: float, half: float, alpha: float) -> int:
    """The least number of seeds at which a confidence sequence is as narrow as `half`; 0 without spread."""
    if sd <= 0.0:
        return 0
    low, high = 2, 4
    while half_width(high, sd, alpha) > half and high < MOST_SEARCHED:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width(middle, sd, alpha) <= half else (middle + 1, high)
    return high
