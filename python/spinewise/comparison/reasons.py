"""What differs between the runs of two schemes besides completion times: facts that may be why one is faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from spinewise.comparison.cells import Cell, Comparison
from spinewise.measures import stats, units
from spinewise.measures.facts import HEADERS
from spinewise.measures.packets import Packets

LEAST = 0.05
"""A fact that differs by a smaller share of the greater value is no reason."""
MOST = 3
"""Reasons told of a verdict."""
OF_THE_WHOLE_RUN = ("hottest.queue_p99",)
"""Facts over all samples of a run, however long nothing was left to do in it."""
PRICES = ("timeouts", "out_of_order", "drops", "retransmits", "extra")
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
        Fact("hottest.busy", "hottest link busy for", busy, lambda value: units.duration(value, 3)),
        Fact("hottest.queue_p99", "p99 of its queue", links("hottest.queue_p99"), size),
        Fact("imbalance", "imbalance of equal-cost links", links("imbalance"), lambda value: units.digits(value, 3)),
        Fact("drops", "drops a run" + (", all traffic" if entry is not None else ""), links("drops"), units.count),
        Fact("retransmits", f"packets{of} sent again", lambda cell: float(packets(cell).retransmits), units.count),
        Fact("extra", "bytes of probes, messages and headers of schemes", extra, units.percent),
        Fact("paused_s", "queues paused", links("paused_s"), lambda value: units.duration(value, 3)),
    ]


def busy(cell: Cell) -> float:
    """How long the hottest link was sending: its share of the run would shrink where a run is longer."""
    found = cell.summary.facts
    return found.get("hottest.mean_use") * found.run_s


def extra(cell: Cell) -> float:
    """Share of all bytes made that only a scheme asked for."""
    found, made = cell.summary.facts.overhead_bytes, cell.summary.created_bytes
    return sum(found.get(kind, 0.0) for kind in ("probes", "messages", HEADERS)) / made if made else math.nan


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
    if fact.name in OF_THE_WHOLE_RUN and not lasts_alike(comparison, load, best, other):
        return None
    if difference.n >= 2 and not difference.excludes_zero:
        return None
    where = (
        hottest_names(comparison, load, best, other) if fact.name in ("hottest.max_use", "hottest.busy") else ("", "")
    )
    text = f"{fact.words}: {fact.tell(one)}{where[0]}, {other} {fact.tell(two)}{where[1]}"
    return Reason(fact.name, one, two, text)


def lasts_alike(comparison: Comparison, load: float | None, best: str, other: str) -> bool:
    """Whether the runs of two schemes are about as long: else what is a share of them says little."""
    one, two = (comparison.facts(label, load).run_s for label in (best, other))
    return abs(one - two) <= LEAST * max(one, two)


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
