"""Find the best of several schemes, with a look after every seed: pure statistics, without runs.

Every scheme sees the same seeds (common random numbers), and two schemes are compared by the logarithms of their ratio,
seed by seed. Each pair has a confidence sequence: an interval for the mean log ratio, valid at all seed counts at
once, so that looking after every seed, and stopping at any time, costs nothing. It is that of the anytime-valid
t-test with a Gaussian mixture over the effect size (Wang and Ramdas, "Anytime-valid t-tests and confidence sequences
for Gaussian means with unknown variance", Sequential Analysis, 2025, arXiv 2310.03722; the mixture is the Bayesian t
test of Gönen et al., The American Statistician 59(3), 2005, and Lai, Annals of Statistics 4(2), 1976, showed that such
ratios stay valid under looks). Schemes that are surely worse leave the race, as in action elimination (Even-Dar,
Mannor and Mansour, JMLR 7, 2006). A scheme is compared with all remaining schemes, not only with the current best.

The error budget is divided over the opponents of the best scheme and over the aims: the chance that the best scheme
is dropped at any look is at most `alpha`, where log ratios are Gaussian. tests/python/test_advise_race.py measures it,
with outlying seeds too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np
import numpy.typing as npt

from spinewise.measures.stats import Around

METHOD: Final = (
    "anytime-valid t intervals of paired log ratios (Wang and Ramdas, Sequential Analysis, 2025, arXiv 2310.03722), "
    "with action elimination (Even-Dar et al., JMLR 7, 2006)"
)
ALPHA = 0.05
MIXTURE = 9.0
"""Variance of the mixture over effect sizes (mean over standard deviation): 3² suits schemes that are far behind, which
few seeds reveal, and costs little where many are needed."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Contrast(Around):
    """The comparison of two schemes on their common seeds, as logarithms of one's value over the other's.

    Attributes:
        mean: mean log ratio; above zero is worse. `math.expm1` converts it to a share.
        half: half the width of its confidence sequence; infinite while there is no bound.
        median: median log ratio, which an outlying seed does not move.
        seeds: the number of common seeds.
    """

    median: float
    seeds: int


@dataclass(frozen=True)
class Drop:
    """A scheme that left the race.

    Attributes:
        arm: the scheme.
        by: the one that is surely better, and as cheap to deploy.
        seeds: the number of seeds that both had by then.
        contrasts: the contrasts of the scheme with `by`, aim by aim.
    """

    arm: str
    by: str
    seeds: int
    contrasts: tuple[Contrast, ...]


def half_width(n: int, sd: float, alpha: float) -> float:
    """Half the width of the confidence sequence of a Gaussian mean after `n` values with standard deviation `sd`.

    The t statistic t of n values has the mixture ratio
    (1 + ng)^(-1/2) · ((1 + t²/(n-1)) / (1 + t²/((n-1)(1 + ng))))^(n/2), a martingale if the mean is zero; by Ville's
    inequality it ever exceeds 1/alpha with a chance of at most alpha. Solved for t.
    """
    if n < 2:
        return math.inf
    widened = 1.0 + n * MIXTURE
    ratio = (math.sqrt(widened) / alpha) ** (2.0 / n)
    if ratio >= widened:
        return math.inf
    return sd * math.sqrt((n - 1) / n * (ratio - 1.0) / (1.0 - ratio / widened))


def contrast(values: Floats, others: Floats, alpha: float) -> Contrast:
    """Compare `values` with `others`, seed by seed; both positive, less is better."""
    found = np.log(values) - np.log(others)
    n = int(found.size)
    if n == 0:
        return Contrast(math.nan, math.inf, math.nan, 0)
    sd = float(found.std(ddof=1)) if n > 1 else math.inf
    return Contrast(float(found.mean()), half_width(n, sd, alpha), float(np.median(found)), n)


@dataclass
class Race:
    """A race of schemes on one or more aims.

    Attributes:
        tiers: the deployment cost of each scheme: a higher number is more expensive.
        aims: how many numbers each run has; lower is better for all.
        bands: for each aim, the share below which a difference does not matter.
        most: schemes that may ever take part, by which the error budget is divided.
        alpha: chance of dropping the best one.
        values: the numbers of each scheme, by seed.
        drops: the schemes that left, in order.
    """

    tiers: dict[str, int]
    aims: int
    bands: tuple[float, ...]
    most: int
    alpha: float = ALPHA
    values: dict[str, dict[int, tuple[float, ...]]] = field(default_factory=dict)
    drops: list[Drop] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of the error budget for each confidence sequence."""
        return self.alpha / (max(self.most - 1, 1) * self.aims)

    @property
    def alive(self) -> list[str]:
        """Schemes that are still in the race, in their first order."""
        gone = {drop.arm for drop in self.drops}
        return [arm for arm in self.tiers if arm not in gone]

    def enter(self, arm: str, tier: int) -> None:
        """Enter another scheme."""
        if len(self.tiers) >= self.most:
            raise ValueError(f"{self.most} schemes have the error budget, and {arm} would be one more")
        self.tiers[arm] = tier

    def take_out(self, arm: str) -> None:
        """Remove a scheme that cannot be run; those that left because of it are in the race again."""
        self.tiers.pop(arm, None)
        self.drops = [drop for drop in self.drops if arm not in (drop.arm, drop.by)]

    def tell(self, arm: str, seed: int, numbers: Sequence[float]) -> None:
        """Record the numbers of a run of a scheme."""
        if len(numbers) != self.aims or not all(0.0 < number < math.inf for number in numbers):
            raise ValueError(f"{arm}, seed {seed}: {self.aims} positive numbers are needed, not {tuple(numbers)}")
        self.values.setdefault(arm, {})[seed] = tuple(numbers)

    def seeds(self, arms: Sequence[str]) -> list[int]:
        """Seeds that all of `arms` have, in order."""
        found = [set(self.values.get(arm, {})) for arm in arms]
        return sorted(set.intersection(*found)) if found else []

    def column(self, arm: str, aim: int, seeds: Sequence[int]) -> Floats:
        """The numbers of a scheme on these seeds."""
        return np.array([self.values[arm][seed][aim] for seed in seeds], dtype=np.float64)

    def against(self, arm: str, other: str, aim: int = 0) -> Contrast:
        """Compare a scheme with another on an aim."""
        seeds = self.seeds([arm, other])
        return contrast(self.column(arm, aim, seeds), self.column(other, aim, seeds), self.share)

    def pairs(self, arms: Sequence[str], aim: int) -> tuple[Floats, Floats]:
        """Mean log ratio of row to column and its half width, for each pair of `arms`, on the seeds that both have."""
        seeds = self.seeds(arms)
        if any(len(self.values.get(arm, {})) != len(seeds) for arm in arms):
            return self._pairs_apart(arms, aim)
        logs = np.log([self.column(arm, aim, seeds) for arm in arms])
        apart = logs[:, None, :] - logs[None, :, :]
        n = len(seeds)
        if n < 2:
            return np.zeros(apart.shape[:2]), np.full(apart.shape[:2], math.inf)
        unit = half_width(n, 1.0, self.share)
        spread = apart.std(axis=2, ddof=1)
        return apart.mean(axis=2), np.full_like(spread, math.inf) if math.isinf(unit) else unit * spread

    def _pairs_apart(self, arms: Sequence[str], aim: int) -> tuple[Floats, Floats]:
        """The same where some arms have fewer seeds, as in a race that ended within one: pair by pair."""
        mean, half = np.zeros((len(arms), len(arms))), np.full((len(arms), len(arms)), math.inf)
        for row, column in permutations(range(len(arms)), 2):
            found = self.against(arms[row], arms[column], aim)
            if found.seeds > 1:
                mean[row, column], half[row, column] = found.mean, found.half
        return mean, half

    def worse(self, arms: Sequence[str], aim: int) -> Flags:
        """For each pair of `arms`: whether the row is certainly worse than the column, with a mean beyond the band."""
        mean, half = self.pairs(arms, aim)
        found: Flags = (mean - half > 0.0) & (mean > math.log1p(self.bands[aim]))
        return found

    def look(self) -> list[Drop]:
        """Drop schemes that an equally cheap one surely beats on every aim, and return those dropped now."""
        left = self.alive
        if len(left) < 2:
            return []
        tiers = np.array([self.tiers[arm] for arm in left])
        loses: Flags = tiers[None, :] <= tiers[:, None]
        for aim in range(self.aims):
            loses &= self.worse(left, aim)
        dropped = []
        for arm, better in zip(left, loses.tolist(), strict=True):
            by = next((one for one, its in zip(left, better, strict=True) if its), None)
            if by is not None:
                found = tuple(self.against(arm, by, aim) for aim in range(self.aims))
                dropped.append(Drop(arm, by, found[0].seeds, found))
        self.drops += dropped
        return dropped

    def contenders(self, pool: Sequence[str], aim: int = 0) -> list[str]:
        """Those of `pool` still in the race that no other of them certainly beats, the lowest mean first."""
        gone = {drop.arm for drop in self.drops}
        alive = [arm for arm in pool if arm not in gone]
        if len(alive) < 2:
            return alive
        beaten = [any(row) for row in self.worse(alive, aim).tolist()]
        # A race that ends within a seed leaves some without it: each is held against one that has the most.
        most = max(alive, key=lambda arm: len(self.values.get(arm, {})))
        means = [0.0 if arm == most else self.against(arm, most, aim).mean for arm in alive]
        keys = [math.inf if math.isnan(mean) else mean for mean in means]
        return [alive[k] for k in sorted(range(len(alive)), key=lambda k: keys[k]) if not beaten[k]]

    def settled(self, pool: Sequence[str], aim: int = 0) -> bool:
        """Whether the contenders of `pool` are known against the best to within the band, or only one is left."""
        found = self.contenders(pool, aim)
        if len(found) < 2:
            return True
        _, half = self.pairs(found, aim)
        return bool((half[1:, 0] <= math.log1p(self.bands[aim])).all())

    def front(self, today: str | None = None) -> list[str]:
        """The schemes that no other certainly beats on one aim while being as good, within the band, on the rest.

        Args:
            today: what runs today, which stays unless the other is no worse by its means on any aim: a change costs.
        """
        alive = self.alive
        if len(alive) < 2:
            return alive
        better: Flags = np.zeros((len(alive), len(alive)), dtype=np.bool_)
        as_good: Flags = np.ones_like(better)
        for aim, band in enumerate(self.bands):
            better |= self.worse(alive, aim)
            least = [0.0 if arm == today else -math.log1p(band) for arm in alive]
            as_good &= self.pairs(alive, aim)[0] >= np.array(least)[:, None]
        return [arm for arm, row in zip(alive, better & as_good, strict=True) if not row.any()]
