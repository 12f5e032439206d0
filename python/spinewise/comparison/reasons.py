"""Differences between the runs of two schemes besides completion times: facts that may be why one is faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from spinewise.comparison.cells import Cell, Comparison
from spinewise.measures import stats, units
from spinewise.measures.afterwards import IDLE, IDLE_FABRIC
from spinewise.measures.entries import names
from spinewise.measures.facts import HEADERS
from spinewise.measures.nodes import Nodes, ends
from spinewise.measures.packets import Packets

LEAST = 0.05
"""The share of the greater value below which a difference is not a reason."""
MOST = 3
"""The number of reasons shown for a verdict."""
OF_THE_WHOLE_RUN = ("hottest.queue_p99",)
"""Facts over all samples of a run, even after its traffic ended."""
NOBODY = 0.001
"""A share of packets, bytes or time that is too small to matter."""
BURST = 0.25
"""The share of an interval of sending from which a link counts as used: rounds may be far apart."""
PRICES = ("timeouts", "waited", "out_of_order", "drops", "given_up", "retransmits", "extra")
"""Facts of which more is a price. Others may be greater only because a run ended sooner."""


@dataclass(frozen=True)
class Reason:
    """A fact that differs by more than chance, or one that all schemes share.

    Attributes:
        fact: its name.
        mine, other: means over seeds under the two schemes.
        text: the reason in words, with both numbers.
    """

    fact: str
    mine: float
    other: float
    text: str


@dataclass(frozen=True)
class Fact:
    """A number for which lower is better.

    Attributes:
        name: the name in a `Reason`.
        words: the name in text.
        value: takes it from a run.
        tell: formats it with its unit.
        least: a smaller difference does not matter, however certain it is.
    """

    name: str
    words: str
    value: Callable[[Cell], float]
    tell: Callable[[float], str]
    least: Callable[[Cell], float] = lambda _: 0.0


def reasons(
    comparison: Comparison, entry: str | None, load: float | None, best: str, other: str
) -> tuple[list[Reason], list[Reason]]:
    """Facts by which `best` does better than `other`, and facts by which it does worse."""
    pointless = incomparable(comparison, load, best, other)
    asked = [fact for fact in facts(entry) if fact.name not in pointless]
    found = [one for fact in asked if (one := differing(comparison, fact, load, best, other))]
    better = [one for one in found if one.mine < one.other]
    worse = [one for one in found if one.mine > one.other and one.fact in PRICES]
    return better[:MOST], worse[:MOST]


def incomparable(comparison: Comparison, load: float | None, best: str, other: str) -> set[str]:
    """Facts by which two variants cannot be compared, or that another fact covers better."""
    cells = [cell for label in (best, other) for cell in comparison.at(label, load)]
    found = {"given_up" if not any(has_trims(cell) for cell in cells) else "drops"}
    # One timeout of 4 ms costs more than ten of 0.1 ms.
    found.add("waited" if len({cell.min_rto_s for cell in cells}) == 1 else "timeouts")
    if len({cell.transport for cell in cells}) > 1:
        # A transport that takes packets in any order is not affected.
        found.add("out_of_order")
    return found


def has_trims(cell: Cell) -> bool:
    """Whether the switches of a run trim."""
    return math.isfinite(cell.summary.facts.trims)


def given_up(cell: Cell) -> float:
    """Packets that found no buffer space: dropped, or trimmed."""
    found = cell.summary.facts
    return found.drops + (found.trims if has_trims(cell) else 0.0)


def facts(entry: str | None) -> list[Fact]:
    """All facts, the most significant first."""
    of = "" if entry is None else f" of {entry}"

    def packets(cell: Cell) -> Packets:
        return cell.summary.packets if entry is None else cell.summary.entry(entry).packets

    def timeouts(cell: Cell) -> float:
        return float(packets(cell).timeouts)

    def waited(cell: Cell) -> float:
        return math.nan if cell.min_rto_s is None else timeouts(cell) * cell.min_rto_s

    def links(name: str) -> Callable[[Cell], float]:
        return lambda cell: cell.summary.facts.get(name)

    def few(cell: Cell) -> float:
        return NOBODY * packets(cell).sent

    all_traffic = ", all traffic" if entry is not None else ""
    return [
        Fact("timeouts", f"timeouts{of} a run", timeouts, units.count),
        Fact(
            "waited", f"summed wait for timeouts{of} a run, at least",
            waited, lambda value: units.duration(value, 3),
        ),
        Fact(
            "out_of_order", f"arrivals{of} out of order",
            lambda cell: packets(cell).out_of_order_ratio, units.percent, lambda _: NOBODY,
        ),
        Fact("hottest.max_use", "busiest interval of the hottest link", links("hottest.max_use"), units.percent),
        Fact("hottest.busy", "hottest link busy for", busy, lambda value: units.duration(value, 3)),
        Fact("hottest.queue_p99", "p99 of the queue of the hottest link", links("hottest.queue_p99"), units.size),
        Fact("imbalance", "imbalance of equal-cost links", links("imbalance"), lambda value: units.digits(value, 3)),
        Fact("drops", f"drops per run{all_traffic}", links("drops"), units.count, few),
        Fact("given_up", f"packets dropped or trimmed a run{all_traffic}", given_up, units.count, few),
        Fact("retransmits", f"packets{of} sent again", lambda cell: float(packets(cell).retransmits), units.count, few),
        Fact(
            "extra", "bytes of probes, messages and headers of schemes", extra, units.percent, lambda _: NOBODY
        ),
        Fact(
            "paused_s", "queues paused", links("paused_s"),
            lambda value: units.duration(value, 3), lambda cell: NOBODY * cell.summary.facts.run_s,
        ),
    ]  # fmt: skip


def busy(cell: Cell) -> float:
    """How long the hottest link was sending: its share of the run would shrink if a run were longer."""
    found = cell.summary.facts
    return found.get("hottest.mean_use") * found.run_s


def extra(cell: Cell) -> float:
    """Share of all bytes made that only a scheme required."""
    found, made = cell.summary.facts.overhead_bytes, cell.summary.created_bytes
    return sum(found.get(kind, 0.0) for kind in ("probes", "messages", HEADERS)) / made if made else math.nan


def differing(comparison: Comparison, fact: Fact, load: float | None, best: str, other: str) -> Reason | None:
    """The fact, if it differs between the schemes by more than chance and by enough to matter."""
    mine, theirs = ([fact.value(cell) for cell in comparison.at(label, load)] for label in (best, other))
    difference = stats.paired_difference(mine, theirs)
    one, two = (stats.t_interval(values).mean for values in (mine, theirs))
    if not math.isfinite(difference.mean) or abs(one - two) <= LEAST * max(abs(one), abs(two)):
        return None
    floor = stats.mean([fact.least(cell) for label in (best, other) for cell in comparison.at(label, load)])
    if abs(one - two) < floor:
        return None
    if fact.name in OF_THE_WHOLE_RUN and not lasts_alike(comparison, load, best, other):
        return None
    less, more = (mine, theirs) if one < two else (theirs, mine)
    if difference.n >= 2 and not 2.0 * stats.surely_less(less, more) < 1.0 - stats.CONFIDENCE:
        return None
    named = fact.name in ("hottest.max_use", "hottest.busy")
    where = hottest_names(comparison, load, best, other) if named else ("", "")
    text = f"{fact.words}: {fact.tell(one)}{where[0]}, {other} {fact.tell(two)}{where[1]}"
    return Reason(fact.name, one, two, text)


def lasts_alike(comparison: Comparison, load: float | None, best: str, other: str) -> bool:
    """Whether the runs of two schemes are about equally long: otherwise shares of them are not comparable."""
    one, two = (comparison.facts(label, load).run_s for label in (best, other))
    return abs(one - two) <= LEAST * max(one, two)


def hottest_names(comparison: Comparison, load: float | None, best: str, other: str) -> tuple[str, str]:
    """The hottest links, in brackets."""
    links = [comparison.facts(label, load).hottest for label in (best, other)]
    one, two = (f" ({link.name})" if link else "" for link in links)
    return one, two


def shared_timeouts(comparison: Comparison, load: float | None, counts: list[float], waits: set[float]) -> Reason:
    """Timeouts per run under each scheme, and where packets were lost."""
    low, high = units.count(min(counts)), units.count(max(counts))
    wait = f" of at least {units.duration(min(waits), 2)}" if len(waits) == 1 else ""
    text = (
        f"under every scheme flows wait for a timeout{wait}:"
        f" {low if low == high else f'{low} to {high}'} timeouts a run{lost_at_hosts(comparison, load)}"
    )
    return Reason("timeouts", min(counts), max(counts), text)


def lost_at_hosts(comparison: Comparison, load: float | None) -> str:
    """A note on the port at which most packets are dropped, if there is one in every run of every scheme."""
    places, nodes = set(), Nodes.of(comparison.spec)
    for label in comparison.labels:
        for found in (cell.summary.facts for cell in comparison.at(label, load)):
            if found.dropped_at is None or 2.0 * found.dropped_there <= found.drops:
                return ""
            places.add(found.dropped_at)
    last_hop = all(map(nodes.leads_to_host, places))
    if len(places) > 1:
        return "; most drops of a run are at one port to a host, where no scheme has a choice" if last_hop else ""
    return f"; most drops are at {min(places)}" + (", where no scheme has a choice" if last_hop else "")


def full_port(comparison: Comparison, entry: str | None, load: float | None) -> Reason | None:
    """A reason, if in every run of every scheme packets of an incast were dropped at the port to its receiver."""
    host = receiver(comparison, entry)
    if host is None:
        return None
    drops, name = [], Nodes.of(comparison.spec).host(host)
    for label in comparison.labels:
        for cell in comparison.at(label, load):
            found = cell.summary.facts
            if not found.host_port_drops > 0.0 or ends(str(found.host_port)).end != name:
                return None
            drops.append(found.host_port_drops)
    low, high, place = min(drops), max(drops), comparison.facts(comparison.labels[0], load).host_port
    many = units.count(low) if low == high else f"{units.count(low)} to {units.count(high)}"
    text = (
        f"in every run packets were dropped at {place}, the receiver's own port, where no scheme has a choice: {many}"
    )
    return Reason("host_port_drops", low, high, text)


def idle_links(comparison: Comparison, load: float | None) -> Reason | None:
    """A reason, if links between switches were hardly used in any run; None if a warning already says so."""
    cells = [cell for label in comparison.labels for cell in comparison.at(label, load)]
    if any(notice.code == IDLE_FABRIC for cell in cells for notice in cell.summary.warnings):
        return None
    uses = [cell.summary.facts.hottest for cell in cells]
    known = [use for use in uses if use is not None and use.mean_use < IDLE and not use.max_use >= BURST]
    if len(known) < len(cells):
        return None
    low, high = (end(use.mean_use for use in known) for end in (min, max))
    text = (
        f"in every run links between switches were hardly used, the busiest for {units.percent(high, 2)} of it at most:"
        " at this size the choice of paths matters little"
    )
    return Reason("hottest.mean_use", low, high, text)


def receiver(comparison: Comparison, entry: str | None) -> int | None:
    """The receiver of an incast; None for other traffic."""
    traffic = comparison.spec.get("traffic") or []
    named = [one for name, one in zip(names(traffic), traffic, strict=True) if entry is None or name == entry]
    host = named[0].get("receiver") if len(named) == 1 and named[0].get("kind") == "incast" else None
    return host if isinstance(host, int) else None
