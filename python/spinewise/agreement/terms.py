"""The quantity by which a case is compared: slowdowns of RDMA flows, completion times of TCP flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from spinewise.agreement import scores
from spinewise.agreement.recorded import TCP, Ints, Recorded
from spinewise.agreement.scores import Floats
from spinewise.agreement.verdict import RELATIVE

NS_PER_MS = 1e6
Shown = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Terms:
    """The terms in which a kind of case is compared.

    Attributes:
        column: our completion time, a column of flows, in ps.
        values: the value of each flow, from its completion time (0: none) and its ideal, in ns.
        unit: the unit of the values, for people.
        short_below: flows of fewer bytes are short.
        long_from: flows of this many bytes or more are long.
        shown: the statistics by class.
        relative: largest relative differences, by class and statistic.
    """

    column: str
    values: Callable[[Ints, Ints], Floats]
    unit: str
    short_below: int
    long_from: int
    shown: Shown
    relative: Mapping[tuple[str, str], float]

    def statistics(self, size_bytes: Ints, values: Floats) -> Floats:
        """`scores.statistics` by these classes."""
        return scores.statistics(size_bytes, values, (self.short_below, self.long_from))


def times(fct_ns: Ints, _ideal_ns: Ints) -> Floats:
    """Completion times in ms; NaN where there is none."""
    fct = np.asarray(fct_ns, dtype=np.float64)
    values: Floats = np.where(fct > 0, fct / NS_PER_MS, np.nan)
    return values


SLOWDOWNS = Terms(
    column="sender_fct_ps",
    values=scores.slowdowns,
    unit="slowdowns",
    short_below=scores.SHORT_BELOW_BYTES,
    long_from=scores.SHORT_BELOW_BYTES,
    shown=dict.fromkeys(scores.CLASSES, scores.STATISTICS),
    relative=RELATIVE,
)

# FCT there runs to the last packet of a connection. There are a few hundred flows, six of them long: one run shows
# nothing about the percentiles of long flows, and no relative bound would be fair.
TIMES = Terms(
    column="close_fct_ps",
    values=times,
    unit="completion times in ms",
    short_below=100_000,
    long_from=10_000_001,
    shown={"all": scores.STATISTICS, "short": ("mean", "p99"), "long": ("mean",)},
    relative={},
)


def of(case: Recorded) -> Terms:
    """The terms of a case."""
    return TIMES if case.mode == TCP else SLOWDOWNS
