"""The simulation in words: the fabric, its transport, its traffic, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from spinewise import core
from spinewise.measures import units
from spinewise.measures.entries import entries_of
from spinewise.replies import Fabric
from spinewise.shapes import Spec

TIERS = ("host", "leaf", "aggregation", "spine", "core")
MANY = {"switch": "switches", "leaf": "leaves", "aggregation": "aggregation switches"}


def simulated(spec: Spec) -> tuple[str, ...]:
    """A sentence each about the fabric, the transport, the traffic and the faults of a resolved spec."""
    fabric = core.topology(spec)
    lines = [f"fabric: {nodes(fabric)}; {links(fabric)}", f"transport: {transport(spec)}", f"traffic: {traffic(spec)}"]
    if fabric["faults"]:
        lines.append(f"faults: {', '.join(one['kind'] for one in fabric['faults'])}")
    return tuple(lines)


def nodes(fabric: Fabric) -> str:
    """The number of nodes of each tier."""
    found = Counter(one["tier"] for one in fabric["nodes"])
    order = sorted(found, key=lambda tier: TIERS.index(tier) if tier in TIERS else len(TIERS))
    return ", ".join(f"{found[tier]:,} {tier if found[tier] == 1 else MANY.get(tier, f'{tier}s')}" for tier in order)


def links(fabric: Fabric) -> str:
    """The number of links between each pair of tiers, their nominal rates, and how many are slow or down."""
    tiers = {one["name"]: one["tier"] for one in fabric["nodes"]}
    place = {one["name"]: number for number, one in enumerate(fabric["nodes"])}
    kinds: dict[tuple[str, int], Counter[str]] = {}
    for link in fabric["links"]:
        # Each cable is two links.
        if place[link["from"]] < place[link["to"]]:
            between = f"{tiers[link['from']]} to {tiers[link['to']]}"
            found = kinds.setdefault((between, link["nominal_rate_bps"]), Counter())
            found["all"] += 1
            found["down" if not link["up"] else "slow" if link["slow"] else "whole"] += 1
    return ", ".join(
        f"{units.counted(found['all'], 'link')} from {between} at {units.digits(rate / 1e9, 3)} Gbit/s{unlike(found)}"
        for (between, rate), found in kinds.items()
    )


def unlike(found: Mapping[str, int]) -> str:
    """The number of links of a kind that are slower than nominal, or down."""
    told = [f"{found[how]:,} {how}" for how in ("slow", "down") if found.get(how)]
    return f" ({', '.join(told)})" if told else ""


def transport(spec: Spec) -> str:
    """The transport with its congestion control and its loss recovery, if it has them."""
    own = spec["transport"]
    told = [own["kind"]]
    if "congestion_control" in own:
        told.append(f"congestion control {own['congestion_control']}")
    if "recovery" in own:
        told.append(f"loss recovery {own['recovery']}")
    return ", ".join(told)


def traffic(spec: Spec) -> str:
    """The traffic entries, each with its kind and its load."""
    told = []
    for entry, one in zip(entries_of(spec), spec["traffic"], strict=True):
        load = one.get("load")
        at = f" at load {units.plain(load)}" if isinstance(load, int | float) else ""
        told.append(f"{entry.kind}{at}" if entry.name == entry.kind else f"{entry.name} ({entry.kind}{at})")
    return ", ".join(told)
