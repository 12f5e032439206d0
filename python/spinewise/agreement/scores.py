"""The distance of our slowdowns, or completion times, from theirs: pure functions of arrays.

A slowdown is max(1, completion time / ideal). Short flows are below one bandwidth-delay product, all others are long;
cases of TCP have classes of their own. Percentiles are interpolated, as numpy does it and as ConWeave's script sums up
its runs. `z` is the distance of their one run from ours in standard deviations of a single run that also carry the
uncertainty of our mean: (theirs − ours) / (sd · √(1 + 1/salts)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from spinewise.agreement.recorded import Ints
from spinewise.measures import stats

SHORT_BELOW_BYTES = 104_000
CLASSES = ("all", "short", "long")
STATISTICS = ("mean", "p50", "p95", "p99")
QUANTILES = (0.50, 0.95, 0.99)
EFFECTS = ("mean", "p99")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """One statistic.

    Attributes:
        theirs: the value of the recorded run.
        ours: mean over salts.
        ours_sd: standard deviation over salts.
        z: distance in standard deviations; NaN if there is nothing to compare.
    """

    theirs: float
    ours: float
    ours_sd: float
    z: float

    @classmethod
    def of(cls, theirs: float, ours: Floats) -> Score:
        """Build a score from their value and ours at each salt (two or more)."""
        mean, sd = float(ours.mean()), float(ours.std(ddof=1))
        distance = theirs - mean
        # The mean of equal values can differ from them by rounding: that is neither a distance nor a spread.
        if np.ptp(ours) == 0.0:
            sd, distance = 0.0, theirs - float(ours[0])
        scale = sd * math.sqrt(1.0 + 1.0 / ours.size)
        z = distance / scale if scale > 0.0 else math.copysign(math.inf, distance) if distance else 0.0
        return cls(theirs, mean, sd, math.nan if math.isnan(distance) else z)

    @property
    def relative(self) -> float:
        """(ours − theirs) / theirs."""
        return (self.ours - self.theirs) / self.theirs if self.theirs else math.nan

    def as_dict(self) -> dict[str, float]:
        """The four numbers by name."""
        return asdict(self)


def slowdowns(fct_ns: Ints, ideal_ns: Ints) -> Floats:
    """The slowdown of each flow; NaN where `fct_ns` is 0, which marks a flow that did not finish."""
    fct = np.asarray(fct_ns, dtype=np.float64)
    values: Floats = np.where(fct > 0, np.maximum(1.0, fct / np.asarray(ideal_ns, dtype=np.float64)), np.nan)
    return values


def statistics(
    size_bytes: Ints, values: Floats, bounds: tuple[int, int] = (SHORT_BELOW_BYTES, SHORT_BELOW_BYTES)
) -> Floats:
    """Mean, p50, p95, p99 (columns) of all, short and long flows (rows) that finished; NaN if there are none.

    Args:
        size_bytes: payload of each flow.
        values: slowdown or completion time of each flow, NaN without an end.
        bounds: flows below the first are short, from the second on long, in bytes.
    """
    size = np.asarray(size_bytes)
    done = np.isfinite(values)
    classes = (done, done & (size < bounds[0]), done & (size >= bounds[1]))
    rows = [[stats.mean(values[c]), *stats.percentiles(values[c], QUANTILES, "linear")] for c in classes]
    return np.array(rows)


def ks(a: Floats, b: Floats) -> float:
    """The two-sample Kolmogorov–Smirnov statistic: the greatest distance of the two empirical distributions.

    Values that are not finite do not count; NaN if a sample is empty.
    """
    a, b = np.sort(a[np.isfinite(a)]), np.sort(b[np.isfinite(b)])
    if not a.size or not b.size:
        return math.nan
    at = np.concatenate([a, b])
    below = [np.searchsorted(sample, at, side="right") / sample.size for sample in (a, b)]
    return float(np.abs(below[0] - below[1]).max())


def scores(
    theirs: Floats, ours: Floats, shown: Mapping[str, Sequence[str]] | None = None
) -> dict[str, dict[str, Score]]:
    """Score each class and statistic (those `shown`, or all), from their `statistics` and ours stacked over salts."""
    shown = dict.fromkeys(CLASSES, STATISTICS) if shown is None else shown
    places = {stat: column for column, stat in enumerate(STATISTICS)}
    return {
        name: {stat: Score.of(float(theirs[row, places[stat]]), ours[:, row, places[stat]]) for stat in shown[name]}
        for row, name in enumerate(CLASSES)
    }


def effect(theirs: Floats, their_baseline: Floats, ours: Floats, our_baseline: Floats) -> dict[str, Score]:
    """Relative change of mean and p99 slowdown of all flows against the baseline, ours paired salt by salt."""
    found = {}
    for stat in EFFECTS:
        column = STATISTICS.index(stat)
        change = ours[:, 0, column] / our_baseline[:, 0, column] - 1.0
        found[stat] = Score.of(float(theirs[0, column] / their_baseline[0, column] - 1.0), change)
    return found
