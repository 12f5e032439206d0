"""Completion times that omit no flow: one that had not finished counts with the time that it had waited.

That is less than it would have taken, so a percentile may be a bound, and is marked so. But a scheme that leaves flows
behind never benefits from that, as it would with percentiles of finished flows only. A flow that was to begin after
others and never did has waited for these, not for itself, and has no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.measures import stats
from spinewise.measures.entries import Mask, begun
from spinewise.measures.report import Report
from spinewise.measures.tables import numbers
from spinewise.measures.units import PS_PER_SECOND
from spinewise.shapes import Spec

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tail:
    """A percentile of completion times.

    Attributes:
        fct_s: the time in seconds; NaN without flows.
        at_least: whether it is a lower bound: a flow that had not finished counts with no more than this.
    """

    fct_s: float
    at_least: bool


@dataclass(frozen=True)
class Waits:
    """A completion time for each row of a flow table.

    Attributes:
        fct_s: in seconds; for an unfinished flow the time it had waited, but no less than it takes alone; NaN for one
            that never began.
        done: whether each flow finished.
        begun: whether each flow began.
    """

    fct_s: Floats
    done: Mask
    begun: Mask

    @classmethod
    def of(cls, flows: pa.Table, spec: Spec, stop_s: float) -> Waits:
        """Build from a row per flow; flows without an end have waited until `stop_s`."""
        done = numbers(flows, "finished").astype(bool)
        waited = stop_s - numbers(flows, "start_ps") / PS_PER_SECOND
        ideal = numbers(flows, "ideal_fct_ps") / PS_PER_SECOND
        fct = np.where(done, numbers(flows, "fct_ps") / PS_PER_SECOND, np.maximum(waited, ideal))
        known = begun(flows, spec)
        return cls(np.where(known, fct, np.nan), done, known)

    def tail(self, inside: Mask, p: float) -> Tail:
        """The `p`-quantile of some flows, an observed value; see `spinewise.measures.stats.percentile`."""
        inside = inside & self.begun
        found = stats.percentile(self.fct_s[inside], p)
        return Tail(found, bool((self.fct_s[inside & ~self.done] <= found).any()))


def waited_until(spec: Spec, report: Report) -> float:
    """The instant, in seconds, until which flows without an end have waited.

    A deadlock ends a run early, and nothing would have moved after it: they wait until the end that the run was
    given (`run.until_us`).
    """
    stop_s = float(report["stop_ps"]) / PS_PER_SECOND
    return max(stop_s, float(spec["run"]["until_us"]) / 1e6) if report.get("deadlock") else stop_s
