"""Seeds that are far worse than usual for a scheme, on every aim: a mean over seeds hides them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from spinewise.advice.aims import Aim
from spinewise.advice.answer import Extreme
from spinewise.advice.trials import Trial
from spinewise.comparison.cells import Cell
from spinewise.comparison.reasons import facts
from spinewise.measures.classes import ALL

FAR_OFF = 2.0
"""How many times as bad as the geometric mean a seed must be to be reported."""


def how_bad(values: Sequence[float], more_is_better: bool) -> tuple[int, float] | None:
    """Find the worst of some values: its place, and how many times as bad as their geometric mean it is.

    None if it is not far off.
    """
    known = [place for place, value in enumerate(values) if value > 0.0 and math.isfinite(value)]
    if not known:
        return None
    logs = {place: math.log(values[place]) * (-1.0 if more_is_better else 1.0) for place in known}
    worst = max(known, key=logs.__getitem__)
    times = math.exp(logs[worst] - sum(logs.values()) / len(logs))
    return (worst, times) if times > FAR_OFF else None


def extreme(aim: Aim, place: int, label: str, runs: Mapping[int, Trial], cells: Sequence[Cell]) -> Extreme | None:
    """The worst seed of a scheme on an aim; None if it is not far off.

    Args:
        aim: the aim.
        place: the place of its value among the values of a run.
        label: the scheme.
        runs: its runs by seed.
        cells: the record of each of these runs, in the same order.
    """
    seeds = list(runs)
    found = how_bad([runs[seed].values[place] for seed in seeds], aim.more_is_better)
    if found is None:
        return None
    worst, times = found
    timeouts = [timeouts_of(aim, cell) for cell in cells]
    here, usual = timeouts[worst], float(np.median(timeouts))
    known = math.isfinite(here) and math.isfinite(usual)
    return Extreme(
        scheme=label, aim=aim.text, unit=aim.unit, seed=seeds[worst], value=runs[seeds[worst]].values[place],
        times=times, seeds=len(seeds), timeouts=here if known else None, usual_timeouts=usual if known else None,
    )  # fmt: skip


def timeouts_of(aim: Aim, cell: Cell) -> float:
    """Timeouts of the flows of an aim in a run; NaN if the run does not record them."""
    (fact,) = (one for one in facts(None if aim.entry == ALL else aim.entry) if one.name == "timeouts")
    return fact.value(cell)
