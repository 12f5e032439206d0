"""The simulation in words: the fabric, its transport, its traffic, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

from spinewise import core
from spinewise.measures import units
from spinewise.measures.entries import entries_of
from spinewise.measures.nodes import Nodes
from spinewise.replies import Fabric, FabricLink
from spinewise.shapes import Fault, Spec, Traffic, Transport
from spinewise.show.offered import of_what
from spinewise.specs.carriers import of_entry, transports

TIERS = ("host", "leaf", "aggregation", "spine", "core")
MANY = {"switch": "switches", "leaf": "leaves", "aggregation": "aggregation switches"}
MOST_NAMED = 3
"""The most slow links, and the most links that are down, whose names are shown of a kind."""


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
    """The number of links between each pair of tiers, their nominal rates, and which are slow or down."""
    tiers = {one["name"]: one["tier"] for one in fabric["nodes"]}
    place = {one["name"]: number for number, one in enumerate(fabric["nodes"])}
    kinds: dict[tuple[str, int], list[FabricLink]] = {}
    for link in fabric["links"]:
        # Each cable is two links.
        if place[link["from"]] < place[link["to"]]:
            between = f"{tiers[link['from']]} to {tiers[link['to']]}"
            kinds.setdefault((between, link["nominal_rate_bps"]), []).append(link)
    return ", ".join(
        f"{units.counted(len(found), 'link')} from {between} at {gbps(rate)} Gbit/s{unlike(found)}"
        for (between, rate), found in kinds.items()
    )


def gbps(rate_bps: float) -> str:
    """A rate in Gbit/s."""
    return units.digits(rate_bps / 1e9, 3)


def unlike(found: Sequence[FabricLink]) -> str:
    """The links of a kind that are slower than nominal, with their rates, and those that are down."""
    slow = [f"{cable(one)} at {gbps(one['rate_bps'])} Gbit/s" for one in found if one["up"] and one["slow"]]
    down = [cable(one) for one in found if not one["up"]]
    told = [f"{len(names):,} {how}: {some(names)}" for how, names in (("slow", slow), ("down", down)) if names]
    return f" ({'; '.join(told)})" if told else ""


def cable(link: FabricLink) -> str:
    """The name of a link in both directions; of several parallel links it ends in a number."""
    return link["name"].replace("->", "-")


def some(names: Sequence[str]) -> str:
    """Some names, and the number of the others; a single other one is named too."""
    most = MOST_NAMED + 1 if len(names) == MOST_NAMED + 1 else MOST_NAMED
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


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
    """The traffic entries, each with its kind, its load, and what it sends."""
    nodes, hosts = Nodes.of(spec), sum(one["tier"] == "host" for one in fabric["nodes"])
    told = []
    for entry, one in zip(entries_of(spec), spec["traffic"], strict=True):
        at, more = offered(one, fabric), ", ".join(sent(one, nodes, hosts))
        kind = entry.kind + at
        if entry.name != entry.kind:
            told.append(f"{entry.name} ({', '.join([kind, more]) if more else kind})")
        else:
            told.append(f"{kind} ({more})" if more else kind)
    return ", ".join(told)


def sent(one: Traffic, nodes: Nodes, hosts: int) -> list[str]:
    """What an entry sends: who takes part, how much, how often.

    Args:
        one: the entry, with every default.
        nodes: the names of hosts.
        hosts: the number of hosts of the fabric.
    """
    size = next((f"{units.size(one[key])} {each}" for key, each in sizes(one["kind"]) if key in one), "")
    told = [who(one, nodes, hosts), sizes_drawn(one), size, *how_often(one)]
    if "duration_us" in one:
        told.append(f"for {span(one['duration_us'])}")
    return [text for text in told if text]


def sizes(kind: str) -> tuple[tuple[Literal["size_bytes", "pair_bytes"], str], ...]:
    """The keys of a kind of traffic that say how much is sent, and of what."""
    each = {"all_reduce": "a host", "all_to_all": "a host", "rpc": "an answer", "udp": "in all"}.get(kind, "a flow")
    return ("size_bytes", each), ("pair_bytes", "a pair of hosts")


def sizes_drawn(one: Traffic) -> str:
    """Where the sizes of an entry come from, if they are not all alike."""
    if "cdf" in one:
        return f"sizes of {one['cdf']}"
    if "cdf_file" in one:
        return f"sizes of {Path(one['cdf_file']).name}"
    if "min_bytes" in one:
        return (
            f"{units.counted(one['flows'], 'flow')} of {units.size(one['min_bytes'])} to {units.size(one['max_bytes'])}"
        )
    if "file" in one:
        return f"of {Path(one['file']).name}"
    return units.counted(len(one["list"]), "flow") if "list" in one else ""


def who(one: Traffic, nodes: Nodes, hosts: int) -> str:
    """The hosts that take part in an entry, where their number is a choice of the spec."""
    said = nodes.said
    kind = one["kind"]
    if kind == "incast":
        senders = one["senders"]
        count = senders if isinstance(senders, int) else len(senders)
        return f"{units.counted(count, 'host')} to {said(one['receiver'])}"
    if kind == "rpc":
        asks = said(one["receiver"]) if "receiver" in one else "another"
        return f"{units.counted(one['fan_in'], 'host')} to {asks}"
    if kind == "udp":
        return f"{said(one['src'])} to {said(one['dst'])}"
    listed = one.get("hosts")
    if listed is None or (kind == "dag" and not isinstance(listed, list)):
        return ""
    if not isinstance(listed, list):
        count, groups = hosts, one.get("groups", 1)
    elif listed and isinstance(listed[0], list):
        count, groups = sum(len(group) for group in listed if isinstance(group, list)), len(listed)
    else:
        count, groups = len(listed), one.get("groups", 1)
    return units.counted(count, "host") + (f" in {groups:,} groups" if groups > 1 else "")


def how_often(one: Traffic) -> list[str]:
    """The number of rounds or requests of an entry that has some, and the time from one to the next."""
    noun = "request" if "requests" in one else "round"
    many = one.get("requests", one.get("repeat", one.get("rounds")))
    if many is None:
        return []
    period = one.get("period_us", 0.0)
    return [units.counted(many, noun) + (f", one every {span(period)}" if many > 1 and period else "")]


def span(time_us: float) -> str:
    """A time that is given in µs."""
    return units.duration(1e-6 * time_us, 3)


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
