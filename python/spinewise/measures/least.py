"""The least time of a round: no scheme can beat it, whatever paths packets take.

Each of these is a time that a round cannot beat, and the greatest counts:

- that of each of its flows alone (`ideal_fct_ps`, docs/model.md);
- that of a host's link, or of all uplinks or downlinks of a leaf, with all that must cross them; what a host receives
  cannot be there before a first packet has come by the shortest path;
- that of flows that wait for each other up to its end, each alone, one behind the other. Where one waits for an
  acknowledgement, that comes back by the shortest path;
- that of the flows of its last step at the links of hosts, behind the fastest flow of each step before.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from spinewise import core
from spinewise.errors import SpecError
from spinewise.magnitudes import PS_PER_SECOND, serialisation_ps
from spinewise.measures.report import Report
from spinewise.measures.stragglers import Columns, Straggler
from spinewise.measures.tables import Values
from spinewise.replies import Fabric, FabricLink
from spinewise.shapes import Spec, Transport
from spinewise.specs.carriers import of_entry


@dataclass(frozen=True)
class Frame:
    """Sizes of packets in bytes.

    Attributes:
        payload: the payload of a full packet of data.
        header: other bytes of each packet of data.
        ack: an acknowledgement.
        whole: whether all packets of a flow but its last are full; those of a message split over queue pairs are not.
    """

    payload: int
    header: int
    ack: int
    whole: bool = True

    @classmethod
    def of(cls, own: Transport) -> Frame:
        """Those of a transport."""
        return cls(own["mss_bytes"], own["header_bytes"], own["ack_bytes"], own.get("queue_pairs", 1) == 1)

    def wire(self, size: Values) -> Values:
        """Bytes on the wire of flows of these sizes."""
        return cast(Values, size + (size + self.payload - 1) // self.payload * self.header)

    def smallest(self, sizes: Values) -> int:
        """Bytes of the smallest packet of flows of these sizes on the wire."""
        return self.header + (int(((sizes - 1) % self.payload + 1).min()) if self.whole else 0)


@dataclass(frozen=True)
class Ways:
    """The fabric in terms of the least times of packets.

    Attributes:
        frame: sizes of packets.
        frames: the same for each traffic entry.
        leaf: the leaf of each host, by number.
        up, down: the links from and to each host.
        into: the links into each switch that come from another.
        out: the links out of each switch that lead to another.
    """

    frame: Frame
    frames: tuple[Frame, ...]
    leaf: list[str]
    up: list[FabricLink]
    down: list[FabricLink]
    into: dict[str, list[FabricLink]]
    out: dict[str, list[FabricLink]]
    _known: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Spec, report: Report) -> Ways | None:
        """The fabric of a resolved spec; None if the ideals of its flows are not bounds or were not computed."""
        exact = spec.get("topology", {}).get("tx_time_rounding", "exact") == "exact"
        if "linux" in report or not exact or spec.get("metrics", {}).get("ideal") != "bound":
            return None
        try:
            return cls.through(core.topology(spec), *(Frame.of(of_entry(spec, entry)) for entry in spec["traffic"]))
        except SpecError:
            # A result of another version.
            return None

    @classmethod
    def through(cls, fabric: Fabric, *frames: Frame) -> Ways:
        """Build from a fabric, with the packets of each traffic entry."""
        hosts = {one["name"]: one for one in fabric["nodes"] if one["tier"] == "host"}
        up, down = ({one[end]: one for one in fabric["links"] if one[end] in hosts} for end in ("from", "to"))
        into: dict[str, list[FabricLink]] = defaultdict(list)
        out: dict[str, list[FabricLink]] = defaultdict(list)
        for one in fabric["links"]:
            if one["up"] and one["from"] not in hosts and one["to"] not in hosts:
                into[one["to"]].append(one)
                out[one["from"]].append(one)
        names = sorted(hosts, key=lambda name: hosts[name]["position"])
        leaves = [str(hosts[name]["leaf"]) for name in names]
        return cls(frames[0], frames, leaves, [up[name] for name in names], [down[name] for name in names], into, out)

    def of_entry(self, entry: int) -> Ways:
        """The same for packets of a traffic entry."""
        return self if self.frames[entry] == self.frame else replace(self, frame=self.frames[entry])

    def crossing(self, leaf: str, size: int) -> dict[str, int]:
        """Picoseconds that a packet of `size` bytes takes from each switch to a leaf, without queueing."""
        if (leaf, size) not in self._known:
            found: dict[str, int] = {}
            waiting = [(0, leaf)]
            while waiting:
                took, at = heapq.heappop(waiting)
                if at in found:
                    continue
                found[at] = took
                for one in self.into[at]:
                    if one["from"] not in found:
                        heapq.heappush(waiting, (took + hop(one, size), one["from"]))
            self._known[leaf, size] = found
        return self._known[leaf, size]

    def way(self, src: int, dst: int, size: int) -> int:
        """Picoseconds that a packet of `size` bytes takes from a host to the link of another, without queueing."""
        between = self.crossing(self.leaf[dst], size).get(self.leaf[src], 0)
        return hop(self.up[src], size) + between + self.down[dst]["delay_ps"]


def hop(link: FabricLink, size: int) -> int:
    """Picoseconds that a packet takes over a link, from the start of its sending to its arrival."""
    return serialisation_ps(size, link["rate_bps"]) + link["delay_ps"]


def least_s(flows: Columns, found: Straggler, ways: Ways) -> float:
    """The least time in seconds of a round of these flows, whose straggler is known; NaN if it had not finished."""
    if math.isinf(found.excess_s):
        return math.nan
    alone = int(flows["ideal_fct_ps"].max())
    of_all = [alone, *by_hosts(flows, ways), *by_leaves(flows, ways)]
    return max([*of_all, behind_each_other(found, ways), behind_steps(flows, ways)]) / PS_PER_SECOND


def by_hosts(flows: Columns, ways: Ways) -> Iterator[int]:
    """Picoseconds for the host links that carry the most; received bytes also have the path before them."""
    wire = ways.frame.wire(flows["size_bytes"])
    for end, links in (("src", ways.up), ("dst", ways.down)):
        hosts, places = np.unique(flows[end], return_inverse=True)
        took = [
            serialisation_ps(round(size), links[host]["rate_bps"])
            for host, size in zip(hosts.tolist(), np.bincount(places, wire), strict=True)
        ]
        place = int(np.argmax(took))
        yield took[place] + (first_there(flows, int(hosts[place]), ways) if end == "dst" else 0)


def behind_steps(flows: Columns, ways: Ways) -> int:
    """Picoseconds for the last step, if its flows all wait for flows of the previous step, and for what precedes it."""
    starts = np.flatnonzero(np.diff(flows["step"].astype(np.int64), prepend=-1))
    fastest = np.minimum.reduceat(flows["ideal_fct_ps"], starts)
    begun = np.minimum.reduceat(flows["start_ps"], starts)
    if not (begun[1:] >= begun[:-1] + fastest[:-1]).all():
        # They all began at once.
        return 0
    last = {name: column[starts[-1] :] for name, column in flows.items()}
    return int(fastest[:-1].sum()) + max(by_hosts(last, ways))


def first_there(flows: Columns, host: int, ways: Ways) -> int:
    """Picoseconds until a packet of a round can be at the link to a host, and the delay of that link."""
    mine = flows["dst"] == host
    # A short last packet may overtake those before it.
    size = ways.frame.smallest(flows["size_bytes"][mine])
    return min(ways.way(src, host, size) for src in np.unique(flows["src"][mine]).tolist())


def by_leaves(flows: Columns, ways: Ways) -> Iterator[int]:
    """Picoseconds that the uplinks and the downlinks of each leaf need for the bytes that must cross them."""
    wire = ways.frame.wire(flows["size_bytes"])
    names, numbers = np.unique(ways.leaf, return_inverse=True)
    src, dst = (numbers[flows[end]] for end in ("src", "dst"))
    crosses = src != dst
    for leaves, links in ((src, ways.out), (dst, ways.into)):
        sizes = np.bincount(leaves[crosses], wire[crosses], len(names))
        for name, size in zip(names.tolist(), sizes, strict=True):
            yield serialisation_ps(round(size), sum(one["rate_bps"] for one in links[name]))


def behind_each_other(found: Straggler, ways: Ways) -> int:
    """Picoseconds for the flows, each alone, that waited for each other until the end of a round."""
    took = sum(round(one.ideal_s * PS_PER_SECOND) for one in found.chain)
    for one, after in zip(found.chain, found.chain[1:], strict=False):
        if one.dst != after.src:
            back = ways.way(one.dst, one.src, ways.frame.ack)
            took += back + serialisation_ps(ways.frame.ack, ways.down[one.src]["rate_bps"])
    return took
