"""The size of a fabric, and how much more its hosts can send than its switches can carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spinewise.replies import Fabric, FabricLink

HOST, LEAF, CORE = "host", "leaf", "core"
PODS = "pods"
WORSE = 1.0 + 1e-9
"""The factor from which one rate counts as greater than another."""
MANY = 999.5
"""The ratio from which ratios are shown as whole numbers."""


@dataclass(frozen=True)
class FabricSize:
    """The size of a fabric.

    Attributes:
        hosts: their number.
        leaves: switches with hosts.
        oversubscription: the rate of the hosts' links over that of the uplinks, in the direction and at the leaf (or,
            in a fat-tree, pod) where that is greatest; overrides count, faults do not. None if nothing leads up.
        at: that leaf or pod; "pods" where all pods are alike and worse than leaves, None where all leaves are alike.
    """

    hosts: int
    leaves: int
    oversubscription: float | None
    at: str | None

    def __str__(self) -> str:
        hosts = f"{self.hosts:,} host{'s' * (self.hosts != 1)}"
        size = f"{hosts}, {self.leaves:,} lea{'f' if self.leaves == 1 else 'ves'}"
        if self.oversubscription is None:
            return size
        worst = {None: "", PODS: " at the pods"}.get(self.at, f" at {self.at}, the worst")
        return f"{size}, hosts to uplinks {proportion(self.oversubscription)}{worst}"


def proportion(ratio: float) -> str:
    """A ratio as people write oversubscription: 1:1, 2:1, 1:1.33."""
    times = max(ratio, 1.0 / ratio)
    text = f"{times:.3g}" if times < MANY else f"{times:,.0f}"
    return f"{text}:1" if ratio >= 1.0 else f"1:{text}"


def size_of(fabric: Fabric) -> FabricSize:
    """The size of a fabric as built."""
    tier = {node["name"]: node["tier"] for node in fabric["nodes"]}
    home = {node["name"]: node["leaf"] for node in fabric["nodes"] if node["leaf"]}
    leaves = list(dict.fromkeys(home.values()))
    links = [link for link in fabric["links"] if link["up"]]
    cuts = [ratios(links, {leaf: leaf for leaf in leaves}, home)]
    if CORE in tier.values():
        cuts.append(ratios(links, pods(links, tier), home))
    hosts = sum(kind == HOST for kind in tier.values())
    known = [found for found in cuts if found]
    if not known:
        return FabricSize(hosts, len(leaves), None, None)
    # The first of equals: the leaves.
    found = max(known, key=lambda one: round(max(one.values()), 9))
    worst = max(found.values())
    alike = worst <= min(found.values()) * WORSE
    every = None if found is cuts[0] else PODS
    return FabricSize(hosts, len(leaves), worst, every if alike else max(found, key=lambda name: found[name]))


def pods(links: Iterable[FabricLink], tier: Mapping[str, str]) -> dict[str, str]:
    """The pod of each switch below the cores: the switches connected without them, numbered in the order of leaves."""
    beside: dict[str, list[str]] = {}
    for link in links:
        if not {HOST, CORE} & {tier[link["from"]], tier[link["to"]]}:
            beside.setdefault(link["from"], []).append(link["to"])
    found: dict[str, str] = {}
    number = 0
    for leaf in (name for name, kind in tier.items() if kind == LEAF):
        reached = [leaf] if leaf not in found else []
        number += len(reached)
        while reached:
            node = reached.pop()
            if node not in found:
                found[node] = f"pod{number - 1}"
                reached += beside.get(node, [])
    return found


def ratios(links: Iterable[FabricLink], part_of: Mapping[str, str], home: Mapping[str, str]) -> dict[str, float]:
    """The rate of the hosts' links of each part over that of its links to elsewhere, in the worse direction.

    Args:
        links: the links of the fabric that are up.
        part_of: the part of each switch.
        home: the leaf of each host.
    """
    of_hosts: Counter[tuple[str | None, str]] = Counter()
    away: Counter[tuple[str | None, str]] = Counter()
    for link in links:
        sender, receiver, rate = link["from"], link["to"], link["rate_bps"]
        if sender in home:
            of_hosts[part_of[home[sender]], "up"] += rate
        elif receiver in home:
            of_hosts[part_of[home[receiver]], "down"] += rate
        elif part_of.get(sender) != part_of.get(receiver):
            away[part_of.get(sender), "up"] += rate
            away[part_of.get(receiver), "down"] += rate
    return {
        part: max(of_hosts[part, way] / away[part, way] for way in ("up", "down"))
        for part in dict.fromkeys(part_of.values())
        if all(away[part, way] for way in ("up", "down"))
    }
