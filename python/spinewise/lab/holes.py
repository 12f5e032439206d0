"""The cost of a black hole: when traffic has left it, and the goodput meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinewise.lab.plan import Plan
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.runs.result import Result

QUIET = 0.02
"""The share of use of every link to a spine below which traffic has left it: probes do not count."""
BEFORE_S = 2.0
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hole:
    """The effect of a black hole in one run.

    Attributes:
        left_s: from its beginning until no link to the spine was in use; infinite if that never happened while it
            lasted.
        kept: goodput while it lasted, as a share of that in the two seconds before.
    """

    left_s: float
    kept: float


@dataclass(frozen=True)
class Goodput:
    """The goodput of a run's hosts over time around a black hole.

    Attributes:
        begin_s, end_s: when the hole began and ended, in seconds of the run.
        at_s: ends of the intervals, in seconds of the run.
        mbps: the rate of all links to hosts together, in megabits per second.
    """

    begin_s: float
    end_s: float
    at_s: list[float]
    mbps: list[float]


def first_hole(plan: Plan, result: Result) -> tuple[str, float, float] | None:
    """The place and time of the first black hole of a run; None if the spec has none, or the run no series of links."""
    holes = [fault for fault in plan.fabric["faults"] if fault["kind"] == "black_hole" and fault["switch"]]
    if not holes or "link_utilisation" not in result.report["series_names"]:
        return None
    (begin_ps, end_ps), *_ = holes[0]["intervals"]
    end = min(result.report["stop_ps"], end_ps or result.report["stop_ps"])
    return str(holes[0]["switch"]), (begin_ps or 0) / PS_PER_SECOND, end / PS_PER_SECOND


def goodput_of(plan: Plan, result: Result) -> Goodput | None:
    """The goodput of hosts over time; None if the spec has no black hole."""
    hole = first_hole(plan, result)
    if hole is None:
        return None
    found = [(result.series_of("link_utilisation", cable.upper.link), cable.upper.rate_bps) for cable in plan.edge]
    at = found[0][0][0]
    mbps = np.sum([used[: len(at)] * (rate / 1e6) for (_, used), rate in found], axis=0)
    return Goodput(hole[1], hole[2], [round(float(one), 4) for one in at], [round(float(one), 3) for one in mbps])


def hole_of(plan: Plan, result: Result) -> Hole | None:
    """The effect of the first black hole of a run; None if the spec has none that begins, or no series of links."""
    hole = first_hole(plan, result)
    if hole is None:
        return None
    switch, begin, end = hole
    into = [cable.lower.link for cable in plan.core if cable.upper.node == switch]
    down = [(cable.upper.link, cable.upper.rate_bps) for cable in plan.edge]
    last = begin
    for link in into:
        at, used = result.series_of("link_utilisation", link)
        busy = at[(at > begin) & (at <= end) & (used > QUIET)]
        last = max(last, float(busy.max()) if len(busy) else begin)
    step = float(plan.spec["metrics"].get("series_interval_us", 0)) / 1e6
    left = math.inf if last > end - step else last - begin
    carried = [(result.series_of("link_utilisation", link), rate) for link, rate in down]
    before = sum(mean_between(at, used, begin - BEFORE_S, begin) * rate for (at, used), rate in carried)
    during = sum(mean_between(at, used, begin, end) * rate for (at, used), rate in carried)
    return Hole(left, during / before if before else math.nan)


def mean_between(at: Floats, values: Floats, begin: float, end: float) -> float:
    """The mean of the samples in a period."""
    inside = values[(at > begin) & (at <= end)]
    return float(inside.mean()) if len(inside) else math.nan
