"""Shortest paths over a fabric, and the time a flow takes alone as ConWeave's code counts it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from spinewise.magnitudes import NS_PER_SECOND, PS_PER_NS
from spinewise.replies import Fabric
from spinewise.shapes import Transport


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
    def of(cls, fabric: Fabric, transport: Transport) -> Graph:
        """The links of a fabric that are up, for packets of a transport."""
        numbers = {node["name"]: number for number, node in enumerate(fabric["nodes"])}
        hosts = sum(node["tier"] == "host" for node in fabric["nodes"])
        edges: list[list[Edge]] = [[] for _ in numbers]
        for link in fabric["links"]:
            if link["up"]:
                edges[numbers[link["from"]]].append(Edge(numbers[link["to"]], link["rate_bps"], link["delay_ps"]))
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
