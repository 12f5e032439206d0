"""A run with faults compared with the same run without them: the loss, and when goodput recovered.

Both are compared only until the run without faults tails off. Flows have sizes: sooner or later each is done, with
the faults or without, and a comparison of all bytes received by then shows no loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spinewise.measures.tables import numbers
from spinewise.resilience.measures import SHARE, Floats, goodput, lost_share, recovery
from spinewise.runs.result import Result

MOST = 0.9
"""The mean goodput of the run without faults is taken until it has this share of the bytes it receives from the first
fault on. Only a few last flows come later."""
STRETCH = 10
"""Goodput is compared with that mean over this part of that time."""
FEWEST = 4
"""The shortest time that counts as a recovery, or as a stretch, in intervals."""
WINDOW = 20
"""The shortest time that counts as a recovery, as a part of the observed time."""
HOLD = 4
"""The part of the observed time for which goodput must stay recovered."""
NEAR = 1e-9
"""An instant this close to the end of an interval (in intervals) is that end."""


@dataclass(frozen=True)
class Pair:
    """Bytes that all hosts received in each interval, in two runs of the same traffic.

    Attributes:
        interval_us: length of an interval.
        broken: with the faults.
        whole: without them; of the same length.
    """

    interval_us: float
    broken: Floats
    whole: Floats

    @classmethod
    def of(cls, interval_us: float, broken: Floats, whole: Floats) -> Pair:
        """Build from two series; nothing is received after the end of a run."""
        length = max(len(broken), len(whole))
        return cls(interval_us, *(np.pad(one, (0, length - len(one))) for one in (broken, whole)))

    def floor(self, instant_us: float) -> int:
        """The interval that contains an instant."""
        return min(len(self.whole), math.floor(instant_us / self.interval_us + NEAR))

    def ceil(self, instant_us: float) -> int:
        """The first interval that begins at an instant or later; after the last one for `inf`."""
        if math.isinf(instant_us):
            return len(self.whole)
        return min(len(self.whole), math.ceil(instant_us / self.interval_us - NEAR))

    def tails_off(self, first: int) -> int:
        """The interval at whose beginning the run without faults tails off, seen from interval `first` on.

        That is the end of the last stretch with `SHARE` of its mean goodput; see `MOST` and `STRETCH`.
        """
        so_far = np.concatenate([[0.0], np.cumsum(self.whole[first:])])
        if so_far[-1] <= 0.0:
            return first
        most = int(np.searchsorted(so_far, MOST * so_far[-1] * (1.0 - NEAR)))
        stretch = min(most, max(FEWEST, math.ceil(most / STRETCH)))
        brought = so_far[stretch:] - so_far[: len(so_far) - stretch]
        busy = np.flatnonzero(brought >= SHARE * stretch * so_far[most] / most)
        return first + (stretch + int(busy[-1]) if len(busy) else most)

    def back_us(self, start: int, stop: int, repair: int) -> float:
        """The time from the start of interval `start` until goodput has recovered, in µs; `inf` if not before `stop`.

        It must stay recovered for part of the observed time; if the last repair, at the beginning of interval
        `repair`, comes in that time, for part of what follows it.
        """
        span = stop - start
        window = max(FEWEST, math.ceil(span / WINDOW))
        look = stop - repair if start <= repair <= stop - window else span
        hold = max(window, math.ceil(look / HOLD))
        return recovery(self.broken[start:stop], self.whole[start:stop], window=window, hold=hold) * self.interval_us


@dataclass(frozen=True)
class Cost:
    """The cost of faults, until the run without them tails off.

    Attributes:
        lost: share of bytes not received from the first fault to `until_us`; NaN if none would arrive.
        until_us: the last repair or `tails_off_us`, whichever is first, to a whole interval.
        tails_off_us: when the run without faults tails off.
        recovery_us: from the first fault until goodput has recovered for good; `inf` if not by `tails_off_us`,
            NaN as above.
        after_repair_us: the same from the last repair; also NaN if a fault is never repaired.
    """

    lost: float
    until_us: float
    tails_off_us: float
    recovery_us: float
    after_repair_us: float


def cost(pair: Pair, first_us: float, last_us: float) -> Cost:
    """Compute the cost of faults.

    Args:
        pair: the run with them, and the one without.
        first_us: the first fault.
        last_us: the last repair; `inf` if a fault is never repaired.
    """
    length = pair.interval_us
    first, last = pair.floor(first_us), pair.ceil(last_us)
    tail = pair.tails_off(first)
    until = min(last, tail)
    lost = lost_share(pair.broken[first:until], pair.whole[first:until])
    recovered = after = math.nan
    if not math.isnan(lost):
        took = pair.back_us(first, tail, last)
        # A fault may begin within an interval: the time counts from the fault, and not from the interval's beginning.
        recovered = max(0.0, first * length + took - first_us)
        if math.isfinite(last_us):
            after = pair.back_us(last, tail, last)
    return Cost(lost, until * length, tail * length, recovered, after)


def received(result: Result, interval_us: float) -> Floats:
    """Bytes that all hosts received in each interval of a run, including the one in which it ends.

    The series has a point for that one only if it is whole. If all flows are done, their sizes give the missing bytes.
    """
    count = math.ceil(float(result.report["stop_ps"]) / (interval_us * 1e6))
    found = goodput(result, interval_us, count)
    flows = result.flows
    if count and flows.num_rows and numbers(flows, "finished").all() and numbers(flows, "tcp").all():
        found[-1] += max(0.0, float(numbers(flows, "size_bytes").sum()) - float(found.sum()))
    return found
