"""The simulation in words: the fabric, its transport, its traffic, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from spinewise import core
from spinewise.measures import units
from spinewise.measures.entries import entries_of
from spinewise.replies import Fabric
from spinewise.shapes import Fault, Spec, Traffic, Transport
from spinewise.show.offered import of_what
from spinewise.specs.carriers import of_entry, transports

TIERS = ("host", "leaf", "aggregation", "spine", "core")
MANY = {"switch": "switches", "leaf": "leaves", "aggregation": "aggregation switches"}


def simulated(spec: Spec) -> tuple[str, ...]:
    """A sentence each about the fabric, the transport, the traffic and the faults of a resolved spec."""
    fabric = core.topology(spec)
    lines = [
        f"fabric: {nodes(fabric)}; {links(fabric)}",
        f"transport: {transport(spec)}",
        f"traffic: {traffic(spec, fabric)}",
    ]
    if found := spec.get("fault"):
        lines.append(f"faults: {'; '.join(map(fault, found))}")
    return tuple(lines)


def fault(one: Fault) -> str:
    """A fault: its kind, where it is, how bad, and when."""
    ends = one.get("ends")
    where = "-".join(ends) if ends else str(one.get("switch"))
    if "link" in one:
        where += f" (parallel link {one['link']})"
    if ends and one.get("direction", "both") != "both":
        there, back = ends if one["direction"] == "forward" else ends[::-1]
        where += f", only {there} to {back}"
    kind = one["kind"].replace("_", " ")
    return ", ".join([f"{kind}: {where}", *how_bad(one), during(one)])


def how_bad(one: Fault) -> list[str]:
    """The numbers of a fault that its kind has."""
    found = []
    if "probability" in one:
        found.append(f"{units.plain(100.0 * one['probability'])} % of packets")
    if "fraction" in one:
        found.append(f"{units.plain(100.0 * one['fraction'])} % of pairs of hosts")
    if "pairs" in one:
        found.append(units.counted(len(one["pairs"]), "pair") + " of hosts")
    if "rate_gbps" in one:
        found.append(f"at {units.plain(one['rate_gbps'])} Gbit/s")
    if "added_us" in one:
        found.append(f"{units.plain(one['added_us'])} µs longer")
    if "period_us" in one:
        found.append(f"{units.plain(one['down_us'])} µs of every {units.plain(one['period_us'])} µs")
    return found


def during(one: Fault) -> str:
    """When a fault begins and ends."""
    begin = units.plain(one["at_us"])
    return f"from {begin} to {units.plain(one['until_us'])} µs" if "until_us" in one else f"from {begin} µs on"


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
    """The transport with its congestion control and loss recovery, if it has them; several, each with its traffic."""
    every = transports(spec)
    if len(every) == 1:
        return one_transport(every[0])
    of = [
        [entry.name for entry, one in zip(entries_of(spec), spec["traffic"], strict=True) if uses(spec, one, own)]
        for own in every
    ]
    return "; ".join(f"{', '.join(names)}: {one_transport(own)}" for names, own in zip(of, every, strict=True))


def uses(spec: Spec, one: Traffic, own: Transport) -> bool:
    """Whether the flows of a traffic entry use this transport."""
    return one["kind"] != "udp" and of_entry(spec, one) == own


def one_transport(own: Transport) -> str:
    """A transport with its congestion control and its loss recovery, if it has them."""
    told = [own["kind"]]
    if "congestion_control" in own:
        told.append(f"congestion control {own['congestion_control']}")
    if "recovery" in own:
        told.append(f"loss recovery {own['recovery']}")
    return ", ".join(told)


def traffic(spec: Spec, fabric: Fabric) -> str:
    """The traffic entries, each with its kind and its load."""
    told = []
    for entry, one in zip(entries_of(spec), spec["traffic"], strict=True):
        at = offered(one, fabric)
        told.append(f"{entry.kind}{at}" if entry.name == entry.kind else f"{entry.name} ({entry.kind}{at})")
    return ", ".join(told)


def offered(one: Traffic, fabric: Fabric) -> str:
    """The load that an entry asks for, and of what it is a share; nothing of one that asks for none."""
    load = one.get("load")
    if not isinstance(load, int | float):
        return ""
    at_hosts = of_what([one])
    if not at_hosts:
        return f" at load {units.plain(load)} of uplinks"
    above = uplinks_share(fabric) if one.get("pairs") == "inter_rack" else None
    same = f" ({units.plain(float(load * above))} of uplinks)" if above is not None else ""
    return f" at load {units.plain(load)}{at_hosts}{same}"


def uplinks_share(fabric: Fabric) -> Fraction | None:
    """The rate of the hosts of a leaf over that of its uplinks, as built; None where leaves differ or have none."""
    tiers = {one["name"]: one["tier"] for one in fabric["nodes"]}
    down: Counter[str] = Counter()
    up: Counter[str] = Counter()
    for link in fabric["links"]:
        if tiers[link["from"]] == "leaf":
            side = down if tiers[link["to"]] == "host" else up
            side[link["from"]] += link["nominal_rate_bps"]
    shares = {Fraction(down[leaf], up[leaf]) if up[leaf] else None for leaf in down}
    return shares.pop() if len(shares) == 1 else None
