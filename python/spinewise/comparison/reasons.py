"""What differs between the runs of two schemes besides completion times: facts that may be why one is faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from spinewise.comparison.cells import Cell, Comparison
from spinewise.measures import stats, units
from spinewise.measures.packets import Packets

LEAST = 0.05
"""A fact that differs by a smaller share of the greater value is no reason."""
MOST = 3
"""Reasons told of a verdict."""
PRICES = ("timeouts", "out_of_order", "drops", "retransmits", "overhead_share")
"""Facts of which more is a price. Others may be greater only because a run was over sooner."""


@dataclass(frozen=True)
class Reason:
    """A fact that differs by more than chance, or one that all schemes share.

    Attributes:
        fact: its name.
        mine, other: means over seeds under the two schemes.
        text: in words, with both numbers.
    """

    fact: str
    mine: float
    other: float
    text: str


@dataclass(frozen=True)
class Fact:
    """A number of which less is better: how it is found in a run, and how it is told."""

    name: str
    words: str
    value: Callable[[Cell], float]
    tell: Callable[[float], str]


def reasons(
    comparison: Comparison, entry: str | None, load: float | None, best: str, other: str
) -> tuple[list[Reason], list[Reason]]:
    """Facts by which `best` does better than `other`, and facts by which it does worse."""
    found = [one for fact in facts(entry) if (one := differing(comparison, fact, load, best, other))]
    better = [one for one in found if one.mine < one.other]
    worse = [one for one in found if one.mine > one.other and one.fact in PRICES]
    return better[:MOST], worse[:MOST]


def facts(entry: str | None) -> list[Fact]:
    """The facts looked at, the most telling first."""
    of = "" if entry is None else f" of {entry}"

    def packets(cell: Cell) -> Packets:
        return cell.summary.packets if entry is None else cell.summary.entry(entry).packets

    def links(name: str) -> Callable[[Cell], float]:
        return lambda cell: cell.summary.facts.get(name)

    return [
        Fact("timeouts", f"timeouts{of} a run", lambda cell: float(packets(cell).timeouts), units.count),
        Fact(
            "out_of_order", f"arrivals{of} out of order", lambda cell: packets(cell).out_of_order_ratio, units.percent
        ),
        Fact("hottest.max_use", "busiest interval of the hottest link", links("hottest.max_use"), units.percent),
        Fact("hottest.mean_use", "hottest link in use", links("hottest.mean_use"), units.percent),
        Fact("hottest.queue_p99", "p99 of its queue", links("hottest.queue_p99"), size),
        Fact("imbalance", "imbalance of equal-cost links", links("imbalance"), lambda value: units.digits(value, 3)),
        Fact("drops", "drops a run", links("drops"), units.count),
        Fact("retransmits", f"packets{of} sent again", lambda cell: float(packets(cell).retransmits), units.count),
        Fact("overhead_share", "bytes that carry no data", links("overhead_share"), units.percent),
        Fact("paused_s", "queues paused", links("paused_s"), lambda value: units.duration(value, 3)),
    ]


def size(value: float) -> str:
    """So many bytes."""
    return units.count(value) + "B"


def differing(comparison: Comparison, fact: Fact, load: float | None, best: str, other: str) -> Reason | None:
    """The fact, if it differs between the schemes by more than chance and by enough to matter."""
    mine, theirs = ([fact.value(cell) for cell in comparison.at(label, load)] for label in (best, other))
    difference = stats.paired_difference(mine, theirs)
    one, two = (stats.t_interval(values).mean for values in (mine, theirs))
    if not math.isfinite(difference.mean) or abs(one - two) <= LEAST * max(abs(one), abs(two)):
        return None
    if difference.n >= 2 and not difference.excludes_zero:
        return None
    where = hottest_names(comparison, load, best, other) if fact.name.startswith("hottest.m") else ("", "")
    text = f"{fact.words}: {fact.tell(one)}{where[0]}, {other} {fact.tell(two)}{where[1]}"
    return Reason(fact.name, one, two, text)


def hottest_names(comparison: Comparison, load: float | None, best: str, other: str) -> tuple[str, str]:
    """Which links are the hottest, in brackets."""
    links = [comparison.facts(label, load).hottest for label in (best, other)]
    one, two = (f" ({link.name})" if link else "" for link in links)
    return one, two


def shared_timeouts(comparison: Comparison, load: float | None, counts: list[float], waits: set[float]) -> Reason:
    """Under every scheme so many timeouts in a run, and where what was lost was lost."""
    low, high = units.count(min(counts)), units.count(max(counts))
    wait = f" of at least {units.duration(min(waits), 2)}" if len(waits) == 1 else ""
    text = (
        f"under every scheme flows wait for a timeout{wait}:"
        f" {low if low == high else f'{low} to {high}'} timeouts a run{lost_at_hosts(comparison, load)}"
    )
    return Reason("timeouts", min(counts), max(counts), text)


def lost_at_hosts(comparison: Comparison, load: float | None) -> str:
    """That most is dropped where no scheme has a choice, if it is so under every scheme."""
    places = set()
    for label in comparison.labels:
        found = comparison.facts(label, load)
        if found.dropped_at is None or 2.0 * found.dropped_there <= found.drops:
            return ""
        places.add(found.dropped_at)
    if len(places) != 1:
        return ""
    (place,) = places
    last_hop = place.partition("->")[2].startswith("host")
    return f"; most drops are at {place}" + (", where no scheme has a choice" if last_hop else "")
