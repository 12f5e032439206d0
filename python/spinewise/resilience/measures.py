"""The cost of a fault, from goodput over time: pure functions on arrays.

A series holds the payload bytes that all hosts received in each interval, each byte once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.runs.result import Result

Floats = npt.NDArray[np.float64]

SHARE = 0.95
"""The share of the goodput without the fault from which goodput counts as recovered."""
NEVER = math.inf


def goodput(result: Result, interval_us: float, count: int) -> Floats:
    """Payload bytes received by all hosts in each of the first `count` intervals; zero after the run's end."""
    time_s, value = result.series_of("received_bytes")
    index = np.rint(np.asarray(time_s) * PS_PER_SECOND / (interval_us * 1e6)).astype(np.int64) - 1
    inside = index < count
    return np.bincount(index[inside], weights=np.asarray(value)[inside], minlength=count).astype(np.float64)


def lost_share(broken: Floats, whole: Floats) -> float:
    """Share of `whole`'s bytes that `broken` did not receive; below zero if it received more."""
    total = float(np.sum(whole))
    return 1.0 - float(np.sum(broken)) / total if total > 0.0 else math.nan


def recovery(broken: Floats, whole: Floats, *, window: int, hold: int, share: float = SHARE) -> float:
    """Intervals from the start of both series until goodput has recovered; `NEVER` if it does not.

    It has recovered at the first interval t from which it is at least `share` of that without the fault, however long
    one looks: over t … u for every u from t + `window` to the end. (A queue that is served a little later makes single
    intervals differ by a tenth; sums from t are not affected.) At least `hold` intervals must be left after t: a good
    moment shortly before the end is not a recovery. 0 means that it never fell below. The resolution is `window`:
    if delayed bytes come in a burst, a window that ends in it may begin slightly too early.

    Args:
        broken: bytes per interval with the fault, from the fault (or the repair) on.
        whole: the same of the run without it.
        window: the shortest time that counts, in intervals.
        hold: the shortest time that it must last.
        share: of goodput without the fault.
    """
    ahead = np.concatenate([[0.0], np.cumsum(np.asarray(broken, float) - share * np.asarray(whole, float))])
    # The worst value still to come, from each instant.
    worst = np.minimum.accumulate(ahead[::-1])[::-1]
    last = len(ahead) - 1 - max(hold, window)
    for start in range(last + 1):
        if worst[start + window] >= ahead[start]:
            return float(start)
    return NEVER
