"""Overload, which is the same under all schemes: how much, where, and by which entries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spinewise import core
from spinewise.comparison.cells import Cell
from spinewise.measures import units
from spinewise.measures.entries import entries_of
from spinewise.measures.nodes import Nodes
from spinewise.shapes import Spec

OVERLOADED = "OVERLOADED"
"""The beginning of the note about links that cannot carry what is offered."""


def overload(spec: Spec, cells: Sequence[Cell]) -> list[str]:
    """Notes about overload, a sentence each; empty if links can carry what is offered.

    Args:
        spec: the spec, with every default.
        cells: runs of one scheme.
    """
    rounds = overlapping(spec)
    over = [cell for cell in cells if cell.summary.overloaded]
    if not over:
        return rounds
    worst = max(over, key=offered)
    much = f"up to {units.digits(offered(worst), 3)} of what links can carry is offered"
    on = f"on {len(over)} of {len(cells)} seeds looked at"
    told = f"{OVERLOADED}: {on}, {much}, and the results depend on how long the run lasts"
    return [told + busiest(worst), *rounds]


def offered(cell: Cell) -> float:
    """The load offered to the busiest cut, over its capacity."""
    return cell.summary.loads.get("wire_of_available", math.inf)


def busiest(cell: Cell) -> str:
    """The link that was busy longest in a run."""
    facts = cell.summary.facts
    links = [one for one in (facts.hottest, facts.hottest_edge) if one is not None]
    if not links:
        return ""
    link = max(links, key=lambda one: one.mean_use)
    return f"; on the worst of them {link.name} is the busiest, in use for {units.percent(link.mean_use)} of the run"


def overlapping(spec: Spec) -> list[str]:
    """The incasts in which a round takes longer, at the full rate of its receiver, than the time until the next."""
    rates: dict[str, float] = {}
    for link in core.topology(spec)["links"]:
        rates[link["to"]] = rates.get(link["to"], 0.0) + link["rate_bps"]
    told, nodes = [], Nodes.of(spec)
    for entry, one in zip(entries_of(spec), spec["traffic"], strict=True):
        host, senders, size = one.get("receiver"), one.get("senders"), one.get("size_bytes")
        if one["kind"] != "incast" or one.get("repeat", 1) < 2:
            continue
        if not isinstance(host, int) or not isinstance(senders, int) or not isinstance(size, int):
            # Each round has other senders, or sizes of its own.
            continue
        least_s = 8.0 * senders * size / rates[nodes.host(host)]
        period_s = float(one["period_us"]) / 1e6
        if least_s > period_s:
            told.append(
                f"rounds of {entry.name} overlap under every scheme: the link to {nodes.host(host)} needs"
                f" {units.duration(least_s, 3)} for one, and the next begins after {units.duration(period_s, 3)}"
            )
    return told
