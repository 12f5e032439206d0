"""Distributions of completion times: over all flows, and over flow sizes. Pure functions of a flow table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import stats
from spinewise.measures.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]

LEVELS: tuple[float, ...] = (*(n / 100 for n in range(1, 99)), *(0.98 + n / 1000 for n in range(20)), 0.9995, 0.9999)
"""Shares of flows at which a distribution is kept: every percent, and finer in the tail."""
BINS_PER_DECADE = 4
FEWEST = {"p50": 10, "p99": 100}
"""The number of flows from which a percentile of a bin is kept."""


@dataclass(frozen=True)
class SizeBin:
    """Flows of about one size.

    Attributes:
        size_bytes: geometric middle of the sizes in it.
        flows: finished flows in it.
        p50: median slowdown; NaN with too few flows.
        p99: 99th percentile; NaN with too few flows.
    """

    size_bytes: float
    flows: int
    p50: float
    p99: float


@dataclass(frozen=True)
class Curves:
    """Distributions of the completion times of some flows.

    Attributes:
        flows: finished flows.
        fct_s: completion time at each of `LEVELS`, in seconds; NaN if the flows are too few.
        slowdown: slowdown at each of `LEVELS`.
        sizes: slowdown by flow size, in ascending order.
    """

    flows: int
    fct_s: tuple[float, ...]
    slowdown: tuple[float, ...]
    sizes: tuple[SizeBin, ...]

    @classmethod
    def of(cls, flows: pa.Table, entry: int | None = None) -> Curves:
        """Build from the finished flows of a run, or of one traffic entry of it; UDP is left out."""
        inside = numbers(flows, "tcp").astype(bool) & numbers(flows, "finished").astype(bool)
        if entry is not None:
            inside &= numbers(flows, "entry") == entry
        fct_s = numbers(flows, "fct_ps")[inside] / PS_PER_SECOND
        slowdown = numbers(flows, "slowdown")[inside]
        size = numbers(flows, "size_bytes")[inside].astype(np.float64)
        return cls(int(inside.sum()), levels(fct_s), levels(slowdown), tuple(by_size(size, slowdown)))


def levels(values: Floats) -> tuple[float, ...]:
    """`values` at each of `LEVELS`, by nearest rank; NaN if fewer than one value lies beyond the level."""
    if not len(values):
        return (math.nan,) * len(LEVELS)
    found = stats.percentiles(values, list(LEVELS))
    return tuple(x if (1.0 - p) * len(values) >= 1.0 - 1e-9 else math.nan for p, x in zip(LEVELS, found, strict=True))


def by_size(size: Floats, slowdown: Floats) -> list[SizeBin]:
    """Slowdown in bins of size, `BINS_PER_DECADE` a decade, with fixed edges."""
    if not len(size):
        return []
    number = np.floor(np.log10(np.maximum(size, 1.0)) * BINS_PER_DECADE).astype(np.int64)
    made = []
    for one in np.unique(number).tolist():
        inside = slowdown[number == one]
        p50, p99 = stats.percentiles(inside, [0.5, 0.99])
        made.append(
            SizeBin(
                size_bytes=10.0 ** ((one + 0.5) / BINS_PER_DECADE),
                flows=len(inside),
                p50=p50 if len(inside) >= FEWEST["p50"] else math.nan,
                p99=p99 if len(inside) >= FEWEST["p99"] else math.nan,
            )
        )
    return made


def over_seeds(curves: Sequence[Curves], quantity: str) -> Floats:
    """Mean over runs of ``fct_s`` or ``slowdown`` at each of `LEVELS`; NaN if a run has no value."""
    found: Floats = np.mean([getattr(one, quantity) for one in curves], axis=0)
    return found


def sizes_over_seeds(curves: Sequence[Curves], percentile: str) -> tuple[Floats, Floats]:
    """Sizes in bytes and, over runs that have it, the mean of ``p50`` or ``p99`` of the slowdown."""
    known: dict[float, list[float]] = {}
    for one in curves:
        for found in one.sizes:
            value = getattr(found, percentile)
            if math.isfinite(value):
                known.setdefault(found.size_bytes, []).append(value)
    sizes = sorted(known)
    return np.array(sizes), np.array([float(np.mean(known[size])) for size in sizes])
