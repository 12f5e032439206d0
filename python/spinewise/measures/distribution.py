"""Mean and percentiles of one quantity over some flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.measures import stats

Kept = npt.NDArray[np.float64]

NAMED = ("p50", "p95", "p99", "p999")
"""Percentiles in tables and files."""
STEPS: Kept = np.append(np.arange(1001) / 1000.0, 0.9999)
"""Shares at which a distribution is kept; nothing is known between two of them."""
UNWRITTEN = {"unwritten": True}
"""The mark of a field that no file has."""
BINS_PER_OCTAVE = 32
"""Bins of equal width in each doubling of a value, as in crates/sim/src/summary.rs."""
BIN_SHARE = 1 / BINS_PER_OCTAVE
"""The greatest width of a histogram bin, as a share of its lowest value."""


class NotKeptError(ValueError):
    """A percentile is missing in the file of a distribution; the text names those that it has."""


@dataclass(frozen=True)
class Distribution:
    """Mean and percentiles of one quantity over the finished flows of a class.

    Every percentile is available by name: ``distribution.p98``, ``distribution.get("p99.9")``; see `quantile`.
    """

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float
    kept: Kept | None = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)

    @classmethod
    def of(cls, values: stats.Floats, method: stats.Method = "nearest_rank") -> Distribution:
        """Summarise a set of values; all NaN if it is empty."""
        return cls.at_steps(stats.mean(values), np.array(stats.percentiles(values, STEPS.tolist(), method)))

    @classmethod
    def of_histogram(
        cls, mean: float | None, bins: Sequence[Sequence[int]], unit: float, least: float = 0.0
    ) -> Distribution:
        """Summarise (least value, count) pairs in ascending order, as in the engine's histograms.

        A percentile is interpolated: the values of a bin are assumed to be spaced at equal ratios. It is in the bin of
        the observed value, so its error is below `BIN_SHARE` of it; if a bin is one whole number, it is that number.
        No value is below `least`, though a bin may begin there.
        """
        edges = np.array([edge for edge, _ in bins], dtype=np.int64)
        counts = np.array([count for _, count in bins], dtype=np.int64)
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(bins) else 0
        kept = np.full(len(STEPS), math.nan)
        if total:
            ranks = np.minimum(stats.ranks(STEPS.tolist(), total), total - 1)
            at = np.searchsorted(ends, ranks, side="right")
            within = (ranks - ends[at] + counts[at] + 0.5) / counts[at]
            kept = np.maximum(edges[at] * bin_ratios(edges[at]) ** within * unit, least)
        return cls.at_steps(math.nan if mean is None else mean, kept)

    @classmethod
    def at_steps(cls, mean: float, kept: Kept) -> Distribution:
        """Build from the values at each of `STEPS`."""
        p50, p95, p99, p999 = (float(kept[step(share(name))]) for name in NAMED)
        return cls(mean, p50, p95, p99, p999, kept)

    def percentile(self, p: float) -> float:
        """The `p`-quantile, 0 ≤ p ≤ 1, in steps of a thousandth; NaN when there are no values.

        Raises:
            ValueError: `p` lies between two steps, or (`NotKeptError`) this distribution was read from a file.
        """
        place = step(p)
        if self.kept is None:
            known = {share(name): float(getattr(self, name)) for name in NAMED}
            if p in known:
                return known[p]
            raise NotKeptError(f"of percentiles a file keeps {', '.join(NAMED)}, and not the quantile {p:g}")
        return float(self.kept[place])

    def get(self, name: str) -> float:
        """``"mean"`` or a percentile by name, such as ``"p98"``, ``"p999"`` or ``"p99.9"``.

        Raises:
            ValueError: there is no such quantity.
        """
        return self.mean if name == "mean" else self.percentile(share(name))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> float:
            """Percentiles that are not fields: ``p98``."""
            try:
                return self.percentile(share(name))
            except ValueError as error:
                raise AttributeError(f"a distribution has no {name!r}: {error}") from None


def share(name: str) -> float:
    """The share in the name of a percentile: p5 0.05, p98 0.98, p999 and p99.9 0.999.

    Raises:
        ValueError: it is not such a name.
    """
    digits = name.removeprefix("p")
    whole, dot, _ = digits.partition(".")
    if not name.startswith("p") or not digits.replace(".", "", 1).isdecimal() or not whole:
        raise ValueError(f"{name!r} is neither mean nor a percentile such as p50, p98, p999 or p99.9")
    if dot or len(digits) < 3 or digits == "100":
        return round(float(digits) / 100.0, 6)
    if not digits.startswith("9"):
        raise ValueError(f"{name!r} lies above p100")
    return round(float(f"0.{digits}"), 6)


def bin_ratios(edges: npt.NDArray[np.int64]) -> Kept:
    """The ratio of the end of each histogram bin to its lowest value; 1 if a bin is one whole number."""
    exponents: npt.NDArray[np.int64] = np.frexp(edges.astype(np.float64))[1].astype(np.int64)
    widths = np.exp2(exponents - 1) / BINS_PER_OCTAVE
    return np.where(widths > 1.0, 1.0 + widths / np.maximum(edges, 1), 1.0)


@cache
def step(p: float) -> int:
    """The index of the `p`-quantile in `STEPS`."""
    near = np.flatnonzero(np.isclose(STEPS, p, rtol=0.0, atol=1e-9))
    if not len(near):
        raise ValueError(f"quantiles are from 0 to 1 in steps of a thousandth (and 0.9999), not {p:g}")
    return int(near[0])
