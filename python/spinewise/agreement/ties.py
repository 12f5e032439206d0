"""Which of two flows that start in one nanosecond was started first.

The recorded files are sorted, so the order in which a program was given such flows is lost. It can matter: queue pairs
get their ports in that order, and where all switches draw paths from one stream, the flow that comes first draws first.
What happens up to an instant does not depend on flows that start later, so the order is found pair by pair, in the
order of time: as long as some flow ends otherwise than recorded, one of the pairs shortly before that is turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from spinewise.agreement import recorded
from spinewise.agreement.recorded import Flows

#: A pair in the wrong order shows within this time, or it is none of those tried.
WITHIN_NS = 60_000
#: Never more pairs than this are tried for one flow that ends otherwise.
MOST = 12

Run = Callable[[Flows, list[int]], Any]
"""Completion times in ns of some flows, in their order, with these pairs listed the other way round."""


@dataclass(frozen=True)
class Found:
    """The best order found.

    Attributes:
        swapped: the first of each pair listed the other way round.
        ours: completion times in ns.
    """

    swapped: list[int]
    ours: Any


def settle(flows: Flows, ties: list[int], run: Run, start: list[int]) -> Found:
    """Find an order in which all flows end as recorded, as far as there is one, from that with `start` turned round."""
    best = Found(start, run(flows, start))
    while (at := first_apart(flows, best.ours)) is not None:
        near = [tie for tie in reversed(ties) if at - WITHIN_NS <= flows.start_ns[tie] < at][:MOST]
        # Flows that start later change nothing before; some are needed to see how far an order holds.
        some = first_of(flows, int((flows.start_ns < at + WITHIN_NS).sum()))
        order, until = farthest(some, [flip(best.swapped, tie) for tie in near], run, all_known=len(some) == len(flows))
        if until <= at:
            break
        best = Found(order, run(flows, order))
    return best


def farthest(flows: Flows, orders: list[list[int]], run: Run, *, all_known: bool) -> tuple[list[int], float]:
    """The order by which flows, the first of a list or all, end as recorded for longest, and until when they do."""
    best: tuple[list[int], float] = ([], 0)
    most = inf if all_known else int(flows.start_ns[-1])
    for order in orders:
        at = first_apart(flows, run(flows, [tie for tie in order if tie + 1 < len(flows)]))
        until = most if at is None else min(at, most)
        if until > best[1]:
            best = (order, until)
        if until == most:
            break
    return best


def first_apart(flows: Flows, ours: Any) -> int | None:
    """When the first flow ends that does not end as recorded."""
    apart = ours != flows.fct_ns
    if not apart.any():
        return None
    return int((flows.start_ns + np.minimum(ours, flows.fct_ns))[apart].min())


def flip(swapped: list[int], tie: int) -> list[int]:
    """The same pairs and this one; without it, if it is one of them."""
    return sorted(set(swapped) ^ {tie})


def first_of(flows: Flows, count: int) -> Flows:
    """The first flows, up to a number."""
    return Flows(*(getattr(flows, name)[:count] for name in recorded.COLUMNS))


def in_order(flows: Flows, swapped: list[int]) -> Flows:
    """The flows with these pairs the other way round."""
    order = np.arange(len(flows))
    for first in swapped:
        order[[first, first + 1]] = order[[first + 1, first]]
    return Flows(*(getattr(flows, name)[order] for name in recorded.COLUMNS))
