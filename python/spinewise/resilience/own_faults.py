"""The cost of each fault of a spec that has several: in its own time, and on its own links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinewise.measures import stats
from spinewise.resilience.compared import Pair, cost
from spinewise.resilience.measures import Floats
from spinewise.resilience.own import Plan, Study
from spinewise.resilience.own_recorded import Recording
from spinewise.specs.faults import fault_times_us

MUCH_LONGER = 2.0
"""A flow that took more than this many times as long as without the faults was hurt."""


@dataclass(frozen=True)
class Single:
    """One fault of several.

    Attributes:
        what: its kind, and where it is.
        begin_us, end_us: its time; `inf` if it is never repaired.
        links: the links that it alone hits; empty if another fault hits one of them.
        alone: whether no other fault is active in its time.
    """

    what: str
    begin_us: float
    end_us: float
    links: tuple[str, ...]
    alone: bool


@dataclass(frozen=True)
class Hurt:
    """What happened to one scheme in the time of a fault, on one seed.

    Attributes:
        goodput_lost: share of bytes not received in that time; NaN if none would arrive.
        gone: packets lost on its own links; NaN if it has none to itself.
        p99_s: 99th percentile of the completion times, in seconds, of the flows that were under way in that time in the
            run without the faults; NaN without such flows.
        p99_whole_s: the same without the faults.
        doubled: share of those flows that took more than `MUCH_LONGER` times as long.
    """

    goodput_lost: float
    gone: float
    p99_s: float
    p99_whole_s: float
    doubled: float


def singles(plan: Plan) -> list[Single]:
    """The faults of a spec that has two or more, in order; none if it has fewer."""
    times = [(begin, math.inf if end is None else end) for begin, end in fault_times_us(plan.spec)]
    if len(times) < 2:
        return []
    built = plan.fabric["faults"]
    hits = Counter(link for one in built for link in set(one["links"]))
    return [
        Single(
            f"{one['kind']} {one['switch'] or where(one['links'])}",
            *span,
            tuple(one["links"]) if all(hits[link] == 1 for link in one["links"]) else (),
            not any(meet(span, other) for at, other in enumerate(times) if at != number),
        )
        for number, (one, span) in enumerate(zip(built, times, strict=True))
    ]


def where(links: Sequence[str]) -> str:
    """The links of a fault in a word or two."""
    both_ways = len(links) == 2 and links[0].split("->") == links[1].split("->")[::-1]
    return links[0] if both_ways or len(links) == 1 else f"on {len(links)} links"


def meet(one: tuple[float, float], two: tuple[float, float]) -> bool:
    """Whether two stretches of time overlap."""
    return one[0] < two[1] and two[0] < one[1]


def hurt(study: Study, label: str, fault: Single) -> list[Hurt]:
    """What happened to a scheme in the time of a fault, in order of seeds."""
    pairs = [[study.recordings[label, seed, broken] for broken in (True, False)] for seed in study.plan.seeds]
    return [of_pair(broken, whole, fault, study.plan.interval_us) for broken, whole in pairs]


def of_pair(broken: Recording, whole: Recording, fault: Single, interval_us: float) -> Hurt:
    """The same, from a run with the faults and one without."""
    found = cost(Pair.of(interval_us, broken.goodput, whole.goodput), fault.begin_us, fault.end_us)
    mine, its, starts = joined(broken.fct_s), joined(whole.fct_s), joined(whole.start_s)
    # Comparisons with the time of a flow that never began are false.
    under_way = (1e6 * starts < fault.end_us) & (1e6 * (starts + its) > fault.begin_us) & np.isfinite(mine)
    mine, its = mine[under_way], its[under_way]
    return Hurt(
        goodput_lost=found.lost,
        gone=float(sum(broken.lost_on.get(link, 0) for link in fault.links)) if fault.links else math.nan,
        p99_s=stats.percentile(mine, 0.99),
        p99_whole_s=stats.percentile(its, 0.99),
        doubled=float((mine > MUCH_LONGER * its).mean()) if mine.size else math.nan,
    )


def joined(columns: Mapping[str, npt.NDArray[np.float32] | npt.NDArray[np.float64]]) -> Floats:
    """The flows of all entries, one after the other."""
    return np.concatenate([np.zeros(0), *columns.values()])
