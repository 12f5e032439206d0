"""Shortest paths over the fabric of a resolved spec, and the time a flow takes alone as ConWeave's code counts it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from spinewise.magnitudes import BITS_PER_GIGABIT, NS_PER_SECOND, PS_PER_NS
from spinewise.shapes import Override, Spec, Topology, Transport

# The lower and the upper end of a link, the keys by which an override selects it, and its tier.
Tier = Literal["host", "fabric", "core"]
Selection = tuple[int, int, dict[str, int], Tier]
SELECTORS = ("leaf", "spine", "aggregation", "core", "link", "host")


class Edge(NamedTuple):
    """One direction of a link: its destination, bits per second, and picoseconds of propagation."""

    to: int
    rate_bps: int
    delay_ps: int


class Reach(NamedTuple):
    """The shortest path from a source to a node.

    Attributes:
        hops: links on it.
        delay_ps: propagation, one way.
        tx_ns: time to send one full payload on every hop.
        rate_bps: the lowest rate of its links.
    """

    hops: int
    delay_ps: int
    tx_ns: int
    rate_bps: int


@dataclass(frozen=True)
class Graph:
    """The fabric: edges by node, hosts first, in the order of ports; and the contents of a data packet.

    Attributes:
        hosts: number of hosts, which forward nothing.
        edges: the edges of each node.
        mss_bytes: payload of a full packet.
        header_bytes: other bytes of each packet.
    """

    hosts: int
    edges: list[list[Edge]]
    mss_bytes: int
    header_bytes: int

    @classmethod
    def of(cls, spec: Spec, transport: Transport) -> Graph:
        """The fabric of a resolved spec, for packets of a transport."""
        topology = spec["topology"]
        links = KINDS[topology["kind"]](topology)
        hosts = hosts_of(topology)
        nodes = max(max(a, edge.to) for a, edge in links) + 1
        edges: list[list[Edge]] = [[] for _ in range(max(nodes, hosts))]
        for a, edge in links:
            edges[a].append(edge)
        return cls(hosts, edges, int(transport["mss_bytes"]), int(transport["header_bytes"]))

    def reach(self, source: int) -> dict[int, Reach]:
        """The path with fewest hops to every node, the first found of several, by a breadth-first search."""
        found = {source: Reach(0, 0, 0, 0)}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            here = found[node]
            if node < self.hosts and node != source:
                continue
            for edge in self.edges[node]:
                if edge.to not in found:
                    found[edge.to] = Reach(
                        here.hops + 1,
                        here.delay_ps + edge.delay_ps,
                        here.tx_ns + self.mss_bytes * 8 * NS_PER_SECOND // edge.rate_bps,
                        min(here.rate_bps or edge.rate_bps, edge.rate_bps),
                    )
                    queue.append(edge.to)
        return found

    def standalone_ns(self, path: Reach, size_bytes: int) -> int:
        """Completion time of a flow alone: the base round trip, and all its frames at the least rate of the path.

        The round trip is twice the propagation and a full payload's sending time per hop, without headers. The
        first link is thus counted twice, and a flow can be faster than this.
        """
        frames = size_bytes + self.header_bytes * -(-size_bytes // self.mss_bytes)
        base = 2 * path.delay_ps // PS_PER_NS + path.tx_ns
        return base + frames * 8 * NS_PER_SECOND // path.rate_bps


def hosts_of(topology: Topology) -> int:
    """Number of hosts of a resolved ``[topology]``."""
    if topology["kind"] == "leaf_spine":
        return int(topology["leaves"]) * int(topology["hosts_per_leaf"])
    if topology["kind"] == "fat_tree":
        return int(topology["pods"]) * int(topology["leaves_per_pod"]) * int(topology["hosts_per_leaf"])
    return int(topology["hosts"])


def listed(topology: Topology) -> list[tuple[int, Edge]]:
    """Both directions of every link of a list, in its order."""
    found = []
    for a, b, rate_gbps, delay_ns in cables(topology):
        rate, delay = bps(rate_gbps), round(delay_ns * PS_PER_NS)
        found += [(a, Edge(b, rate, delay)), (b, Edge(a, rate, delay))]
    return found


def cables(topology: Topology) -> Iterator[tuple[int, int, float, float]]:
    """The links of a list: both ends, rate and delay. A resolved spec has them as lists, by numbers."""
    for cable in topology["links"]:
        if isinstance(cable, dict):
            yield int(cable["a"]), int(cable["b"]), cable["rate_gbps"], cable["delay_ns"]
        else:
            a, b, rate_gbps, delay_ns = cable
            yield int(a), int(b), float(rate_gbps), float(delay_ns)


def leaf_spine(topology: Topology) -> list[tuple[int, Edge]]:
    """Both directions of every link of a leaf-spine fabric that is up: leaves follow the hosts, then spines."""
    leaves, spines, per_leaf = topology["leaves"], topology["spines"], topology["hosts_per_leaf"]
    hosts = leaves * per_leaf
    selections: list[Selection] = [(host, hosts + host // per_leaf, {"host": host}, "host") for host in range(hosts)]
    selections += [
        (hosts + leaf, hosts + leaves + spine, {"leaf": leaf, "spine": spine, "link": link}, "fabric")
        for leaf in range(leaves)
        for spine in range(spines)
        for link in range(int(topology["parallel_links"]))
    ]
    return selected(topology, selections)


def fat_tree(topology: Topology) -> list[tuple[int, Edge]]:
    """Both directions of every link of a fat-tree that is up: hosts, leaves, aggregation switches, cores."""
    pods, leaves, per_leaf = topology["pods"], topology["leaves_per_pod"], topology["hosts_per_leaf"]
    columns, uplinks = topology["aggregations_per_pod"], topology["cores_per_aggregation"]
    hosts = hosts_of(topology)
    aggregations = hosts + pods * leaves
    cores = aggregations + pods * columns
    selections: list[Selection] = [(host, hosts + host // per_leaf, {"host": host}, "host") for host in range(hosts)]
    for number in range(pods * columns):
        pod, column = divmod(number, columns)
        selections += [
            (hosts + leaf, aggregations + number, {"leaf": leaf, "aggregation": number}, "fabric")
            for leaf in range(pod * leaves, (pod + 1) * leaves)
        ]
        selections += [
            (aggregations + number, cores + core, {"aggregation": number, "core": core}, "core")
            for core in range(column * uplinks, (column + 1) * uplinks)
        ]
    return selected(topology, selections)


def selected(topology: Topology, selections: list[Selection]) -> list[tuple[int, Edge]]:
    """Both directions of the links that are up, with the overrides of each."""
    found = []
    for below, above, selectors, tier in selections:
        for direction, a, b in (("up", below, above), ("down", above, below)):
            keys = usual(topology, tier) | changes(topology.get("override") or [], selectors, direction)
            if keys["up"]:
                found.append((a, Edge(b, bps(keys["rate_gbps"]), round(keys["delay_ns"] * PS_PER_NS))))
    return found


def usual(topology: Topology, tier: Tier) -> Override:
    """The settings of a link of a tier without overrides."""
    if tier == "host":
        return {"rate_gbps": topology["host_rate_gbps"], "delay_ns": topology["host_delay_ns"], "up": True}
    if tier == "fabric":
        return {"rate_gbps": topology["fabric_rate_gbps"], "delay_ns": topology["fabric_delay_ns"], "up": True}
    return {"rate_gbps": topology["core_rate_gbps"], "delay_ns": topology["core_delay_ns"], "up": True}


def changes(overrides: Sequence[Override], selectors: Mapping[str, int], direction: str) -> Override:
    """The changes by overrides to one direction of a link; a later one wins."""
    found: Override = {}
    for override in overrides:
        given = {key: value for key, value in override.items() if key in SELECTORS and value is not None}
        fits = all(selectors.get(key) == value for key, value in given.items())
        if fits and (override.get("direction") or "both") in ("both", direction):
            found |= told(override)
    return found


def told(override: Override) -> Override:
    """The changes by an override to a link."""
    found: Override = {}
    if (rate := override.get("rate_gbps")) is not None:
        found["rate_gbps"] = rate
    if (delay := override.get("delay_ns")) is not None:
        found["delay_ns"] = delay
    if (up := override.get("up")) is not None:
        found["up"] = up
    return found


def bps(rate_gbps: float) -> int:
    """Gbps in bits per second."""
    return round(rate_gbps * BITS_PER_GIGABIT)


KINDS = {"leaf_spine": leaf_spine, "fat_tree": fat_tree, "links": listed}
