"""Numbers of advice in words: values, differences, names of a list."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from spinewise.advice.answer import AimAnswer, Entrant, Share
from spinewise.advice.choice import interval, percent
from spinewise.advice.extremes import how_bad
from spinewise.measures import units

FEW = 6
"""The number of names shown of a list; the rest is counted."""
ALIKE = 0.01
"""The share within which schemes are considered alike."""


def against(share: Share) -> str:
    """The comparison of a value, with its interval."""
    if share.low is None or share.high is None:
        return f"{percent(share.mean)} on {units.counted(share.seeds, 'seed')}, too few for an interval"
    return f"{percent(share.mean)} {interval(share.low, share.high)}"


def value(entrant: Entrant, place: int, seeds: Set[int] | None = None) -> float:
    """The geometric mean of an aim over the seeds of a scheme, or over those of `seeds` that it has."""
    samples = [one for one in entrant.samples if seeds is None or one.seed in seeds]
    logs = [math.log(one.values[place]) for one in samples if one.values[place] > 0.0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def tell(aim: AimAnswer, number: float) -> str:
    """A value of an aim with its unit."""
    if aim.unit == "s":
        return units.duration(number, 3)
    return f"{units.digits(number, 3)}{' ' + aim.unit if aim.unit else ''}"


def tell_mean(aim: AimAnswer, entrant: Entrant, place: int) -> str:
    """The geometric mean of an aim over the seeds of a scheme, with its worst seed where that is far off."""
    values = [one.values[place] for one in entrant.samples]
    found = how_bad(values, aim.more_is_better)
    worst = "" if found is None else f" (worst seed {tell(aim, values[found[0]])})"
    return f"{tell(aim, value(entrant, place))}{worst}"


def common(entrants: Sequence[Entrant]) -> set[int]:
    """The seeds that all of these have."""
    return set.intersection(*({sample.seed for sample in one.samples} for one in entrants))


def is_surely_better(aim: AimAnswer, share: Share) -> bool:
    """Whether the whole interval of a value against another's is on the better side."""
    return (share.low or 0.0) > 0.0 if aim.more_is_better else (share.high or 0.0) < 0.0


def is_surely_worse(aim: AimAnswer, share: Share) -> bool:
    """Whether the whole interval is on the worse side."""
    return (share.high or 0.0) < 0.0 if aim.more_is_better else (share.low or 0.0) > 0.0


def few(names: Sequence[str], most: int = FEW) -> str:
    """Some names, and the number of the others; all names where that is not longer."""
    rest = len(names) - most
    counted, whole = f"{', '.join(names[:most])} and {rest} more", ", ".join(names)
    return whole if rest <= 0 or len(whole) <= len(counted) else counted
