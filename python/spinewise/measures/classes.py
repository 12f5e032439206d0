"""Completion times and slowdowns of flows by size class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import stats, tables
from spinewise.measures.distribution import Distribution
from spinewise.measures.report import ClassCounts
from spinewise.measures.tables import numbers
from spinewise.shapes import SizeClass, Spec

if TYPE_CHECKING:
    import pyarrow as pa

ALL = "all"
WHOLE: SizeClass = {"name": ALL}
"""The class of every flow."""
TAIL_FROM = 100
"""The number of flows below which their p99 lies between the two slowest."""
TAILS = {"p95": 0.05, "p99": 0.01}
"""Percentiles that may be a timeout, and the share of flows beyond each."""


@dataclass(frozen=True)
class ClassSummary:
    """One size class.

    Attributes:
        name: "short", "long", … or "all".
        flows: flows of this class.
        unfinished: those that had not finished when the run stopped.
        fct_s: flow completion time in seconds, of finished flows.
        slowdown: completion time over its ideal, of finished flows.
        timed_out: finished flows that met a retransmission timeout; None if flows were not kept.
        slowest_timed_out: of the finished flows that took as long as a percentile (`TAILS`) or longer, the share that
            met a retransmission timeout; empty if flows were not kept, or none finished.
    """

    name: str
    flows: int
    unfinished: int
    fct_s: Distribution
    slowdown: Distribution
    timed_out: int | None = None
    slowest_timed_out: dict[str, float] = field(default_factory=dict)

    def tail_waited(self, percentile: str, timeouts: int) -> bool:
        """Whether most of the flows that took as long as a percentile (``"p99"``) or longer met a timeout.

        Args:
            percentile: one of `TAILS`.
            timeouts: their total number, used if flows were not kept: the answer is then whether there
                were enough.
        """
        if self.timed_out is None:
            return timeouts >= TAILS[percentile] * (self.flows - self.unfinished) > 0
        return self.slowest_timed_out.get(percentile, 0.0) > 0.5


def named(classes: Sequence[ClassSummary], name: str, what: str = "size class") -> ClassSummary:
    """The class of this name.

    Raises:
        KeyError: there is no such class.
    """
    for found in classes:
        if found.name == name:
            return found
    raise KeyError(f"no {what} {name!r}; there are {', '.join(c.name for c in classes) or 'none'}")


def summarise_rows(flows: pa.Table, size_classes: Sequence[SizeClass], method: stats.Method) -> list[ClassSummary]:
    """One `ClassSummary` per size class and one for all flows, from a row per flow."""
    size = numbers(flows, "size_bytes")
    tcp = numbers(flows, "tcp").astype(bool)
    finished = numbers(flows, "finished").astype(bool)
    fct_s = numbers(flows, "fct_ps") / PS_PER_SECOND
    slowdown = numbers(flows, "slowdown")
    timed_out = numbers(flows, "timeouts") > 0 if "timeouts" in flows.column_names else None
    result = []
    for entry in [*size_classes, WHOLE]:
        inside = tcp & members(size, entry)
        done = inside & finished
        fct = Distribution.of(fct_s[done], method)
        result.append(
            ClassSummary(
                name=str(entry["name"]),
                flows=int(inside.sum()),
                unfinished=int((inside & ~finished).sum()),
                fct_s=fct,
                slowdown=Distribution.of(slowdown[done], method),
                timed_out=None if timed_out is None else int((done & timed_out).sum()),
                slowest_timed_out={} if timed_out is None else timed_out_from(fct, fct_s[done], timed_out[done]),
            )
        )
    return result


def timed_out_from(
    fct: Distribution, fct_s: npt.NDArray[np.float64], timed_out: npt.NDArray[np.bool_]
) -> dict[str, float]:
    """The share of flows at and beyond each of `TAILS` that met a timeout; empty if there are no flows."""
    return {name: float(timed_out[fct_s >= fct.get(name)].mean()) for name in TAILS} if fct_s.size else {}


def members(size_bytes: tables.Values, entry: SizeClass) -> npt.NDArray[np.bool_]:
    """A mask of the flows in a class: from_bytes ≤ size < below_bytes, each bound optional."""
    lower = entry.get("from_bytes") or 0
    upper = entry.get("below_bytes") or math.inf
    return (size_bytes >= lower) & (size_bytes < upper)


def least_slowdown(spec: Spec) -> float:
    """The lowest possible slowdown: 1 if the ideal is a bound; 0 with "best_path", which several paths can beat."""
    return 0.0 if spec.get("metrics", {}).get("ideal") == "best_path" else 1.0


def summarise_histogram(entry: ClassCounts, least: float) -> ClassSummary:
    """One class from the engine's exact counts and histograms.

    Those of slowdowns are in whole thousandths: below 0.032 a percentile may be off by one of them.

    Args:
        entry: the engine's counts.
        least: see `least_slowdown`.
    """
    fct_ps, slowdown = entry["mean_fct_ps"], entry["mean_slowdown"]
    return ClassSummary(
        name=str(entry["name"]),
        flows=int(entry["flows"]),
        unfinished=int(entry["flows"]) - int(entry["finished"]),
        fct_s=Distribution.of_histogram(
            None if fct_ps is None else fct_ps / PS_PER_SECOND, entry["fct_ps_histogram"], 1 / PS_PER_SECOND
        ),
        slowdown=Distribution.of_histogram(slowdown, entry["slowdown_thousandths_histogram"], 1e-3, least),
    )
