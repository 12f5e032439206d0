"""Statistics of flows and of repeated runs. Every function states its convention.

Percentiles follow the field: the public ns-3 load-balancing codes (TLB/Hermes and ConWeave) print
``sorted[int(p * n)]``, an observed value, and so does `percentile` by default. Linear interpolation,
as numpy does it, is the named alternative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

NEARLY_WHOLE = 1e-8
"""The distance below a whole number that may be due to decimals."""
Method = Literal["nearest_rank", "linear"]
Floats = npt.ArrayLike
Kept = npt.NDArray[np.float64]

CONFIDENCE = 0.95
FEWEST_PAIRS = 3
"""The fewest pairs for a distinction: two may be close by luck, which a test would mistake for no spread."""


def percentile(values: Floats, p: float, method: Method = "nearest_rank") -> float:
    """The `p`-quantile (0 ≤ p ≤ 1) of `values`; NaN when there are none.

    ``nearest_rank`` is ``sorted[int(p * n)]`` with the index capped at the last value;
    ``linear`` interpolates between the neighbours at rank ``p * (n - 1)``.
    """
    return percentiles(values, [p], method)[0]


def percentiles(values: Floats, ps: Sequence[float], method: Method = "nearest_rank") -> list[float]:
    """Several quantiles with one sort; see `percentile`."""
    shares = np.asarray(ps, dtype=np.float64)
    if method not in get_args(Method):
        raise ValueError(f"a method is one of {', '.join(get_args(Method))}, not {method!r}")
    if not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError(f"quantiles lie between 0 and 1, not {list(ps)}")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if ordered.size == 0:
        return [math.nan] * len(ps)
    if method == "linear":
        return [float(value) for value in np.quantile(ordered, list(ps))]
    found: list[float] = ordered[np.minimum(ranks(ps, ordered.size), ordered.size - 1)].tolist()
    return found


def ranks(ps: Sequence[float], n: int) -> npt.NDArray[np.int64]:
    """`rank` of each of `ps`; where binary and decimal could differ, number by number."""
    products = np.asarray(ps, dtype=np.float64) * n
    found = np.floor(products).astype(np.int64)
    for k in np.flatnonzero(found + 1 - products < NEARLY_WHOLE).tolist():
        found[k] = rank(ps[k], n)
    return found


def rank(p: float, n: int) -> int:
    """``int(p * n)`` in decimal arithmetic: 0.29 of 100 is rank 29, though binary 0.29 * 100 is below."""
    return math.floor(round(p * n, 9))


def mean(values: Floats) -> float:
    """The arithmetic mean; NaN if there are no values."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()) if array.size else math.nan


@dataclass(frozen=True)
class Around:
    """A mean and how far an interval reaches to either side of it.

    Attributes:
        mean: the middle.
        half: half the width of the interval.
    """

    mean: float
    half: float

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half


@dataclass(frozen=True)
class Interval(Around):
    """A mean over repeats with its confidence interval.

    Attributes:
        mean: mean of the repeats, in their unit.
        half: half the width of the interval; NaN with fewer than two repeats.
        n: number of repeats that count (finite values).
    """

    n: int

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside (never if the width is unknown)."""
        return self.n >= 2 and (self.low > 0.0 or self.high < 0.0)


def error_each(comparisons: int) -> float:
    """The error of each of several comparisons that together are wrong with that of one (Bonferroni)."""
    return (1.0 - CONFIDENCE) / max(comparisons, 1)


def t_interval(values: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Mean ± t·s/√n (Student, two-sided) over independent repeats; NaN values do not count."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    n = int(array.size)
    if n == 0:
        return Interval(math.nan, math.nan, 0)
    if n == 1:
        return Interval(float(array[0]), math.nan, 1)
    half = t_quantile(0.5 + confidence / 2.0, n - 1) * float(array.std(ddof=1)) / math.sqrt(n)
    return Interval(float(array.mean()), half, n)


def t_quantile(p: float, degrees: int) -> float:
    """The `p`-quantile of Student's t distribution."""
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy is slow to import

    return float(stdtrit(degrees, p))


def paired_difference(values: Floats, baseline: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Interval of ``values - baseline``, pair by pair: repeat i of both saw the same traffic.

    Pairing removes the spread that both share, which is most of it in heavy-tailed traffic.
    """
    a = np.asarray(values, dtype=np.float64)
    b = np.asarray(baseline, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"pairs are needed, not {a.shape} against {b.shape} values")
    return t_interval(a - b, confidence)


def relative_difference(values: Floats, baseline: Floats) -> Interval:
    """`paired_difference` as a fraction of the mean of `baseline` over the same pairs.

    The baseline's mean is taken as given: its own spread does not widen the interval.
    """
    a = np.asarray(values, dtype=np.float64)
    b = np.asarray(baseline, dtype=np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    difference = paired_difference(a[both], b[both])
    scale = mean(b[both])
    if not scale > 0.0:
        return Interval(math.nan, math.nan, difference.n)
    return Interval(difference.mean / scale, difference.half / scale, difference.n)


def paired_p(values: Floats, baseline: Floats) -> float:
    """Two-sided p of Student's paired t test that both have one mean; NaN with fewer than two pairs."""
    return p_of_zero(paired_difference(values, baseline, CONFIDENCE))


def p_of_zero(found: Interval) -> float:
    """Two-sided p of Student's t test that the mean of this interval of `CONFIDENCE` is zero; NaN without a width."""
    if found.n < 2:
        return math.nan
    if found.half == 0.0:
        return 1.0 if found.mean == 0.0 else 0.0
    from scipy.special import stdtr  # noqa: PLC0415 - scipy is slow to import

    t = abs(found.mean) / (found.half / t_quantile(0.5 + CONFIDENCE / 2.0, found.n - 1))
    return 2.0 * float(stdtr(found.n - 1, -t))


def as_ratios(values: Floats, baseline: Floats) -> tuple[Kept, Kept]:
    """The finite pairs of both as logarithms, if possible: times and counts differ by factors, between seeds too.

    If a value is zero or below, the values themselves.
    """
    a, b = (np.asarray(found, dtype=np.float64) for found in (values, baseline))
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    return (np.log(a), np.log(b)) if (a > 0.0).all() and (b > 0.0).all() else (a, b)


def ratio_p(values: Floats, baseline: Floats) -> float:
    """`paired_p` of `as_ratios`."""
    return paired_p(*as_ratios(values, baseline))


def told_from_best(rows: Sequence[Sequence[float]], alpha: float = 1.0 - CONFIDENCE) -> list[bool]:
    """Whether each row is certainly not the best, that is, of the lowest true mean; False for the lowest mean here.

    A row is a scheme, with a value per repeat, in the same order in all rows; rows may end early, and have NaN. One is
    told from the best if another is surely lower, by a one-sided `ratio_p` at `alpha` over the number of the others
    (Bonferroni), on `FEWEST_PAIRS` repeats or more. So whichever is the best is excluded in at most `alpha` of
    cases, and with 95 % confidence the best is among the rest (a subset as in Gupta, Technometrics 1965, Hsu, Annals
    of Statistics 1984). The row that comes first here is not a reference: it may be first by luck.
    """
    most = max(map(len, rows), default=0)
    values = [[*row, *[math.nan] * (most - len(row))] for row in rows]
    means = [mean([value for value in row if math.isfinite(value)]) for row in values]
    first = min(range(len(rows)), key=lambda at: math.inf if math.isnan(means[at]) else means[at], default=0)

    def told(at: int) -> bool:
        others = [row for other, row in enumerate(values) if other != at]
        return at != first and any(is_less(row, values[at], alpha / len(others)) for row in others)

    return [told(at) for at in range(len(values))]


def is_less(values: Sequence[float], others: Sequence[float], alpha: float) -> bool:
    """Whether `values` are surely less than `others`, by `surely_less`, on `FEWEST_PAIRS` pairs or more."""
    pairs = sum(math.isfinite(a) and math.isfinite(b) for a, b in zip(values, others, strict=True))
    return pairs >= FEWEST_PAIRS and surely_less(values, others) < alpha


def surely_less(values: Sequence[float], others: Sequence[float]) -> float:
    """One-sided p of the test of `ratio_p`: small if `values` are surely less than `others`, pair by pair."""
    a, b = as_ratios(values, others)
    half = paired_p(a, b) / 2.0
    return half if mean(a - b) < 0.0 else 1.0 - half


def jain(shares: Floats) -> float:
    """Jain's fairness index (Σx)² / (n·Σx²): 1 when all are equal, 1/n when one takes all."""
    array = np.asarray(shares, dtype=np.float64)
    squares = float((array**2).sum())
    if array.size == 0 or squares == 0.0:
        return math.nan
    return float(array.sum()) ** 2 / (array.size * squares)
