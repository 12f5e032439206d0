"""The number of repeats that a mean needs: more are made until its confidence interval is narrow enough.

The rule is that of Chow and Robbins (Annals of Mathematical Statistics 36(2), 1965) in its relative form (Law,
Simulation Modeling and Analysis, §9.4.1): stop at the first look at which half the width of the 95 % Student-t interval
is at most the bound, as a share of the mean. Its coverage is 95 % only in the limit of narrow bounds: a sample that
happens to be quiet stops too early. Two things limit that: no look before `fewest` repeats, and few looks, because
each continues to as many repeats as the spread so far requires, at most twice as many as before (Stein's second stage,
in steps). docs/sweeps.md gives the remaining error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spinewise.measures import stats

FEWEST = 5


@dataclass(frozen=True)
class Stop:
    """The rule that ends the adding of repeats.

    Attributes:
        bound: the limit of half the width of the 95 % interval, as a share of the mean.
        fewest: repeats before the first look, 5 or more.
        most: repeats at which it ends in any case.
    """

    bound: float
    fewest: int = FEWEST
    most: int = 100

    def met(self, values: Sequence[float]) -> bool:
        """Whether the mean of these is known precisely enough; values that are not finite do not count."""
        found = stats.t_interval(values)
        return found.n >= self.fewest and found.half <= self.bound * abs(found.mean)

    def wanted(self, values: Sequence[float]) -> int:
        """How many repeats to have next, for one metric; as many as there are if it may stop."""
        made = len(values)
        if made < self.fewest:
            return self.fewest
        if self.met(values) or made >= self.most:
            return made
        found = stats.t_interval(values)
        ratio = found.half / (self.bound * abs(found.mean)) if found.mean else math.inf
        called_for = math.ceil(found.n * ratio**2) if math.isfinite(ratio) else self.most
        return min(self.most, max(made + 1, min(2 * made, called_for)))
