"""The effect of an answer on each traffic entry and size class, compared with what runs today."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spinewise.advice.aims import ONE_A_RUN, Aim
from spinewise.advice.observed import Observed
from spinewise.measures import stats
from spinewise.measures.classes import ALL


@dataclass(frozen=True)
class Effect:
    """The effect of an answer on some flows or rounds.

    Attributes:
        text: the quantity and its flows: "p99 slowdown of short flows of web".
        unit: the unit of the values: "s", or "" for a ratio.
        mine, today: geometric means over seeds, under the answer and under what runs today.
        mean: mean ratio, less 1; above zero is worse.
        low, high: Student-t interval over seeds; those of all effects at all levels hold together with 95 %.
        seeds: the number of seeds.
    """

    text: str
    unit: str
    mine: float
    today: float
    mean: float
    low: float
    high: float
    seeds: int


def effects(
    asked: Sequence[Aim], mine: Sequence[Observed], today: Sequence[Observed], *, schemes: int = 1
) -> list[Effect]:
    """The effects on all traffic except that of the aims, seed by seed.

    The error of 5 % is divided by the number of intervals (Bonferroni).

    Args:
        asked: the aims.
        mine: the values from the runs of the answer.
        today: the values from the runs of today's scheme, on the same seeds.
        schemes: the number of schemes of which effects are told, the answers at all levels.
    """
    others = [aim for aim in everybody(mine) if aim not in asked]
    confidence = 1.0 - stats.error_each(len(others) * schemes)
    made = (effect(aim, mine, today, confidence) for aim in others)
    return [one for one in made if one is not None]


def everybody(observed: Sequence[Observed]) -> Iterator[Aim]:
    """One number of each traffic entry and of each of its size classes that have flows on any seed."""
    with_rounds = dict.fromkeys(one.entry for seen in observed for one in seen.rounds)
    yield from (Aim("mean", "round time", name) for name in with_rounds)
    flows: dict[tuple[str, str], int] = {}
    for one in (one for seen in observed for one in seen.flows):
        place = (one.entry, one.size_class)
        flows[place] = flows.get(place, 0) + one.flows
    for (entry, size_class), many in flows.items():
        if entry != ALL and entry not in with_rounds and many:
            yield Aim("p99", "slowdown", entry, size_class)


def effect(aim: Aim, mine: Sequence[Observed], today: Sequence[Observed], confidence: float) -> Effect | None:
    """The effect of an answer on one number; None if fewer than `stats.FEWEST_PAIRS` seeds have it under both."""
    assert aim.quantity not in ONE_A_RUN
    pairs = [(aim.value(one), aim.value(other)) for one, other in zip(mine, today, strict=True)]
    known = np.array([pair for pair in pairs if all(math.isfinite(value) and value > 0.0 for value in pair)])
    if len(known) < stats.FEWEST_PAIRS:
        return None
    logs = np.log(known)
    found = stats.t_interval(logs[:, 0] - logs[:, 1], confidence)
    one, other = (float(np.exp(column.mean())) for column in logs.T)
    mean, low, high = (float(np.expm1(end)) for end in (found.mean, found.low, found.high))
    return Effect(aim.text, aim.unit, one, other, mean, low, high, found.n)
