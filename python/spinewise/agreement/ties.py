"""Find which of two flows that start in the same nanosecond was started first.

The recorded files are sorted, so the order in which a program was given such flows is lost. It can matter: queue pairs
get their ports in that order, and where all switches draw paths from one stream, the flow that comes first draws first.
What happens up to an instant does not depend on flows that start later, so the order is found pair by pair, in the
order of time: as long as some flow does not end as recorded, one of the pairs shortly before that is swapped.

The search is limited to:

- only pairs of neighbours in the file whose order may matter (`replay.ambiguous`), one swapped at a time;
- for a flow that does not end as recorded, the `MOST` pairs that start last within `WITHIN_NS` before its end, last
  first, up to one that helps;
- each on the flows that start up to `WITHIN_NS` after that end; then twice as many with each step, as long as all end
  as recorded;
- until all flows do, no such pair helps, or all runs together have simulated `BUDGET` times the flows of the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from spinewise.agreement import recorded
from spinewise.agreement.recorded import Flows, Ints

#: A pair in the wrong order shows within this time; other pairs are not tried.
WITHIN_NS = 60_000
#: At most this many pairs are tried for one flow that does not end as recorded.
MOST = 12
#: All runs of a search together simulate at most this many times the flows of the case, first and last run apart.
BUDGET = 20

SETTLED = "all flows end as recorded"
NO_PAIR = "turning no pair before that helps"
SPENT = f"{BUDGET} times the flows of the case have been simulated"

Run = Callable[[Flows, list[int]], Ints]
"""A function from flows to completion times in ns, in their order, with these pairs swapped."""


@dataclass(frozen=True)
class Found:
    """The best order found.

    Attributes:
        swapped: the first of each swapped pair.
        ours: completion times in ns.
        orders: how many orders were tried.
        ended: why no more orders were tried.
    """

    swapped: list[int]
    ours: Ints
    orders: int
    ended: str


@dataclass
class Search:
    """Runs of the first flows of a case in different orders, and what they have cost."""

    flows: Flows
    run: Run
    spent: int = 0
    orders: set[tuple[int, ...]] = field(default_factory=set)

    def affords(self, count: int) -> bool:
        """Whether a run of the first `count` flows is within the budget."""
        return self.spent + count <= BUDGET * len(self.flows)

    def apart(self, count: int, order: list[int]) -> float:
        """When the first of `count` flows ends at another time than recorded; infinity if these show no such flow."""
        self.spent += count
        self.orders.add(tuple(order))
        some = first_of(self.flows, count)
        at = first_apart(some, self.run(some, [tie for tie in order if tie + 1 < count]))
        # The result for these flows is valid until the first missing flow starts.
        beyond = at is None or (count < len(self.flows) and at >= self.flows.start_ns[count])
        return inf if beyond or at is None else at


def settle(flows: Flows, ties: list[int], run: Run, start: list[int]) -> Found:
    """Find an order in which all flows end as recorded, if there is one, from that with `start` swapped."""
    search = Search(flows, run)
    order, ours = start, run(flows, start)
    search.orders.add(tuple(start))
    at: float = inf if (apart := first_apart(flows, ours)) is None else apart
    ended = SETTLED
    while at < inf:
        better, holds, count, ended = turned(search, ties, order, at)
        if better is None:
            break
        order, at = better, holds
        while at == inf and count < len(flows) and search.affords(2 * count):
            count = min(2 * count, len(flows))
            at = search.apart(count, order)
        ended = SETTLED if count == len(flows) else SPENT
    if order != start:
        ours = run(flows, order)
    return Found(order, ours, len(search.orders), SETTLED if first_apart(flows, ours) is None else ended)


def turned(search: Search, ties: list[int], order: list[int], at: float) -> tuple[list[int] | None, float, int, str]:
    """Swap the last pair before `at` that makes more flows end as recorded.

    Also return until when they do, on how many flows it was tried, and why there is no better order.
    """
    starts = search.flows.start_ns
    near = [tie for tie in reversed(ties) if at - WITHIN_NS <= starts[tie] < at][:MOST]
    count = int((starts < at + WITHIN_NS).sum())
    for tie in near:
        if not search.affords(count):
            return None, at, count, SPENT
        trial = flip(order, tie)
        holds = search.apart(count, trial)
        if holds > at:
            return trial, holds, count, SETTLED
    return None, at, count, NO_PAIR


def first_apart(flows: Flows, ours: Ints) -> int | None:
    """When the first flow ends that does not end as recorded."""
    apart = ours != flows.fct_ns
    if not apart.any():
        return None
    return int((flows.start_ns + np.minimum(ours, flows.fct_ns))[apart].min())


def flip(swapped: list[int], tie: int) -> list[int]:
    """Add a pair to the swapped ones, or remove it if it is one of them."""
    return sorted(set(swapped) ^ {tie})


def first_of(flows: Flows, count: int) -> Flows:
    """The first `count` flows."""
    return Flows(*(getattr(flows, name)[:count] for name in recorded.COLUMNS))


def in_order(flows: Flows, swapped: list[int]) -> Flows:
    """The flows with these pairs swapped."""
    order = np.arange(len(flows))
    for first in swapped:
        order[[first, first + 1]] = order[[first + 1, first]]
    return Flows(*(getattr(flows, name)[order] for name in recorded.COLUMNS))
