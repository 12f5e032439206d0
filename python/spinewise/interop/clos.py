"""Recognise a leaf-spine or a fat-tree in a list of links.

Tiers follow from the links: leaves have hosts, above them are the switches that leaves are linked to, and above
those the cores. A fabric is recognised if it is exactly one that ``kind = "leaf_spine"`` or ``kind = "fat_tree"``
builds: as many hosts under every leaf, every leaf linked to every switch above it (in its pod), every such switch of a
column linked to the same cores and no other, and one rate and one delay for each tier. Then schemes that need tiers
and the numbering of a fat-tree, as LBSP does, can run on it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from spinewise.interop.text import ns_text
from spinewise.interop.topology import Link, Topology, gbps

Kind = Literal["leaf_spine", "fat_tree"]


@dataclass(frozen=True)
class Clos:
    """A leaf-spine or a fat-tree.

    Attributes:
        kind: which of the two.
        counts: the keys of ``[topology]`` that are counts.
        rates_bps: rates of the tiers of links, from the hosts up.
        delays_ps: their delays.
        order: the topology's own numbers of its nodes, in the order that the fabric has them.
        switch_latency_ps: time in each switch.
    """

    kind: Kind
    counts: dict[str, int]
    rates_bps: tuple[int, ...]
    delays_ps: tuple[int, ...]
    order: list[int]
    switch_latency_ps: int = 0

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        names = (
            ("leaves", "hosts_per_leaf") if self.kind == "leaf_spine" else ("pods", "leaves_per_pod", "hosts_per_leaf")
        )
        product = 1
        for name in names:
            product *= self.counts[name]
        return product

    @property
    def keeps_hosts(self) -> bool:
        """Whether every host keeps its number."""
        return self.order[: self.hosts] == list(range(self.hosts))

    def about(self) -> str:
        """A description in a few words."""
        c = self.counts
        if self.kind == "leaf_spine":
            links = f", {c['parallel_links']} links between them" if c.get("parallel_links", 1) > 1 else ""
            hosts = c["hosts_per_leaf"]
            return f"a leaf-spine of {c['leaves']} leaves with {hosts} hosts each and {c['spines']} spines{links}"
        return (
            f"a fat-tree of {c['pods']} pods, each of {c['leaves_per_pod']} leaves with {c['hosts_per_leaf']} hosts and"
            f" {c['aggregations_per_pod']} aggregation switches with {c['cores_per_aggregation']} cores"
        )

    def toml(self) -> str:
        """The ``[topology]`` table of a spec."""
        lines = ["[topology]", f'kind = "{self.kind}"', *(f"{key} = {count}" for key, count in self.counts.items())]
        tiers = ("host", "fabric", "core")
        pairs = zip(tiers, zip(self.rates_bps, self.delays_ps, strict=True), strict=False)
        for tier, (rate, delay) in pairs:
            lines += [f"{tier}_rate_gbps = {gbps(rate)}", f"{tier}_delay_ns = {ns_text(delay)}"]
        if self.switch_latency_ps:
            lines.append(f"switch_latency_ns = {ns_text(self.switch_latency_ps)}")
        return "\n".join(lines) + "\n"


class UnlikeError(Exception):
    """The reason, as the message, why a fabric is neither a leaf-spine nor a fat-tree."""


def recognise(topology: Topology) -> Clos | str:
    """Recognise a leaf-spine or fat-tree; for any other topology, return the reason in words."""
    try:
        return Fabric(topology).recognised()
    except UnlikeError as why:
        return str(why)


def renumbered(topology: Topology, clos: Clos) -> Topology:
    """The same topology with its nodes numbered as in the fabric."""
    new = {old: number for number, old in enumerate(clos.order)}
    links = [Link(new[x.a], new[x.b], x.rate_bps, x.delay_ps) for x in topology.links]
    return replace(topology, links=links, nodes=[topology.nodes[old] for old in clos.order])


class Fabric:
    """A topology by its tiers.

    Attributes:
        leaf_hosts: hosts of each leaf.
        near: switches that each switch is linked to.
        cables: links between each pair of switches, lower number first.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.leaf_hosts: defaultdict[int, list[int]] = defaultdict(list)
        self.near: defaultdict[int, set[int]] = defaultdict(set)
        self.cables: Counter[tuple[int, int]] = Counter()
        for link in topology.links:
            low, high = sorted((link.a, link.b))
            if low < topology.hosts:
                self.leaf_hosts[high].append(low)
            else:
                self.cables[low, high] += 1
                self.near[low].add(high)
                self.near[high].add(low)

    def id(self, node: int) -> int:
        """The id of a node in the file."""
        return self.topology.nodes[node]

    def recognised(self) -> Clos:
        """Recognise the fabric.

        Raises:
            UnlikeError: it is neither a leaf-spine nor a fat-tree.
        """
        leaves = sorted(self.leaf_hosts, key=lambda leaf: min(self.leaf_hosts[leaf]))
        switches = range(self.topology.hosts, self.topology.hosts + self.topology.switches)
        alike("hosts", {self.id(leaf): len(hosts) for leaf, hosts in self.leaf_hosts.items()})
        second = sorted({above for leaf in leaves for above in self.near[leaf]})
        if crossing := [node for node in second if node in self.leaf_hosts]:
            raise UnlikeError(f"leaf {self.id(crossing[0])} is linked to another leaf")
        top = sorted({above for node in second for above in self.near[node]} - set(leaves))
        if crossing := [node for node in top if node in set(second)]:
            raise UnlikeError(f"switch {self.id(crossing[0])} is linked to another of its tier")
        if spare := set(switches) - {*leaves, *second, *top}:
            raise UnlikeError(f"switch {self.id(min(spare))} is above the third tier, or linked to nothing")
        if not second:
            raise UnlikeError("it has one tier of switches")
        return self.fat_tree(leaves, top) if top else self.leaf_spine(leaves, second)

    def leaf_spine(self, leaves: list[int], spines: list[int]) -> Clos:
        """Two tiers."""
        for leaf in leaves:
            self.full(leaf, spines)
        counts = {"leaves": len(leaves), "spines": len(spines), "hosts_per_leaf": len(self.leaf_hosts[leaves[0]])}
        alike("links", {f"the pair {self.id(low)}-{self.id(high)}": n for (low, high), n in self.cables.items()})
        if (parallel := next(iter(self.cables.values()))) > 1:
            counts["parallel_links"] = parallel
        tiers = self.tiers(dict.fromkeys(leaves, 1) | dict.fromkeys(spines, 2))
        return Clos("leaf_spine", counts, tiers[0], tiers[1], [*self.hosts_of(leaves), *leaves, *spines])

    def fat_tree(self, leaves: list[int], cores: list[int]) -> Clos:
        """Three tiers: pods under cores."""
        if several := next((pair for pair, n in self.cables.items() if n > 1), None):
            raise UnlikeError(f"switches {self.id(several[0])} and {self.id(several[1])} have several links")
        pods: dict[frozenset[int], list[int]] = {}
        for leaf in leaves:
            pods.setdefault(frozenset(self.near[leaf]), []).append(leaf)
        alike("leaves", {f"the pod of leaf {self.id(of[0])}": len(of) for of in pods.values()})
        alike("aggregation switches", {f"the pod of leaf {self.id(of[0])}": len(above) for above, of in pods.items()})
        if len({node for above in pods for node in above}) != sum(map(len, pods)):
            raise UnlikeError("leaves share some but not all of the switches above them, so they form no pods")
        columns: defaultdict[frozenset[int], list[int]] = defaultdict(list)
        for above in pods:
            for node in sorted(above):
                columns[frozenset(self.near[node] - self.leaf_hosts.keys())].append(node)
        alike("cores", {self.id(nodes[0]): len(of) for of, nodes in columns.items()})
        if sum(map(len, columns)) != len(cores):
            raise UnlikeError("aggregation switches share some but not all of their cores, so they form no columns")
        ordered = sorted(columns, key=min)
        aggregations = []
        for above in pods:
            of_pod = [[node for node in columns[column] if node in above] for column in ordered]
            if any(len(nodes) != 1 for nodes in of_pod):
                raise UnlikeError(f"the pod of switch {self.id(min(above))} has not one switch for each group of cores")
            aggregations += [nodes[0] for nodes in of_pod]
        counts = {
            "pods": len(pods),
            "leaves_per_pod": len(next(iter(pods.values()))),
            "aggregations_per_pod": len(ordered),
            "cores_per_aggregation": len(ordered[0]),
            "hosts_per_leaf": len(self.leaf_hosts[leaves[0]]),
        }
        below = [leaf for of in pods.values() for leaf in of]
        above_all = [core for column in ordered for core in sorted(column)]
        tiers = self.tiers(dict.fromkeys(leaves, 1) | dict.fromkeys(aggregations, 2) | dict.fromkeys(cores, 3))
        order = [*self.hosts_of(below), *below, *aggregations, *above_all]
        return Clos("fat_tree", counts, tiers[0], tiers[1], order)

    def hosts_of(self, leaves: Iterable[int]) -> list[int]:
        """All hosts, leaf by leaf."""
        return [host for leaf in leaves for host in sorted(self.leaf_hosts[leaf])]

    def full(self, leaf: int, spines: Collection[int]) -> None:
        """Refuse a leaf that is not linked to all spines."""
        if missing := set(spines) - self.near[leaf]:
            raise UnlikeError(f"leaf {self.id(leaf)} is not linked to switch {self.id(min(missing))}")

    def tiers(self, tier_of: dict[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Rate and delay of each tier of links."""
        found: dict[int, Link] = {}
        for link in self.topology.links:
            tier = min(tier_of.get(link.a, 0), tier_of.get(link.b, 0))
            first = found.setdefault(tier, link)
            if (first.rate_bps, first.delay_ps) != (link.rate_bps, link.delay_ps):
                raise UnlikeError(
                    f"{self.told(first)} and {self.told(link)} are of one tier and differ"
                    " (if only a few links differ, write these tiers, and a [[topology.override]] for each of the few)"
                )
        tiers = [found[tier] for tier in sorted(found)]
        return tuple(link.rate_bps for link in tiers), tuple(link.delay_ps for link in tiers)

    def told(self, link: Link) -> str:
        """A link in words."""
        return f"link {self.id(link.a)}-{self.id(link.b)} ({gbps(link.rate_bps)} Gbps, {ns_text(link.delay_ps)} ns)"


def alike(what: str, counts: dict[int, int] | dict[str, int]) -> None:
    """Refuse counts that differ."""
    (first, count), *rest = counts.items()
    for name, other in rest:
        if other != count:
            words = [f"switch {x}" if isinstance(x, int) else x for x in (first, name)]
            raise UnlikeError(f"{words[0]} has {count} {what}, {words[1]} has {other}")
