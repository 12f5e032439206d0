"""How long packets take between two hosts without waiting, on the shortest paths of the fabric.

For packets whose path was not traced. If all shortest paths are equally fast, it does not matter which of them a packet
took; if not, it took at least as long as on the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from spinewise import core
from spinewise.magnitudes import serialisation_ps
from spinewise.measures.nodes import ends
from spinewise.runs.result import Result


@dataclass(frozen=True)
class Link:
    """A link.

    Attributes:
        rate_bps: its rate.
        delay_ps: its delay.
    """

    rate_bps: int
    delay_ps: int

    def takes(self, size: int) -> int:
        """How long this many bytes take to be sent, ps."""
        return serialisation_ps(size, self.rate_bps)


class Travel(NamedTuple):
    """How long a packet takes from host to host without waiting.

    Attributes:
        least: on the fastest of the shortest paths, ps.
        exact: whether it cannot have taken longer.
        waits_at: the only link for which it can have waited on its way; None if there are more.
    """

    least: int
    exact: bool
    waits_at: str | None


class Shortest:
    """The shortest paths between the hosts of a run."""

    def __init__(self, result: Result) -> None:
        fabric = core.topology(result.spec)
        self.links = {one["name"]: Link(one["rate_bps"], one["delay_ps"]) for one in fabric["links"]}
        self.works = [one["name"] for one in fabric["links"] if one["up"]]
        # Faults change links and paths, and static routes may lead over longer ones.
        self.fixed = not fabric["faults"] and not result.spec["topology"].get("routes")
        self.travel, self.links_between = cache(self.travel_of), cache(self.searched)

    @cached_property
    def into(self) -> dict[str, list[str]]:
        """The links that lead to a node."""
        found: dict[str, list[str]] = {}
        for link in self.works:
            found.setdefault(ends(link).end, []).append(link)
        return found

    def travel_of(self, src: str, dst: str, size: int) -> Travel:
        """How long a packet of a size takes."""
        links = self.links_between(src, dst)
        if not links:
            return Travel(0, exact=False, waits_at=None)
        least, most = {dst: 0}, {dst: 0}
        for name in links:
            node, behind = ends(name)
            takes = self.links[name].takes(size) + self.links[name].delay_ps
            least[node] = min(least.get(node, takes + least[behind]), takes + least[behind])
            most[node] = max(most.get(node, 0), takes + most[behind])
        # A crossing begins as the host's port sends the packet.
        ahead = [name for name in links if ends(name).begin != src]
        alone = self.fixed and len(ahead) == 1
        exact = self.fixed and least[src] == most[src]
        return Travel(least[src], exact, ahead[0] if alone else None)

    def searched(self, src: str, dst: str) -> list[str]:
        """The links of all paths with the fewest hops, those nearest to the destination first."""
        stages: list[list[str]] = []
        met, edge = {dst}, {dst}
        while edge and src not in met:
            stages.append([link for node in sorted(edge) for link in self.into.get(node, [])])
            stages[-1] = [link for link in stages[-1] if ends(link).begin not in met]
            edge = {ends(link).begin for link in stages[-1]}
            met |= edge
        found: list[str] = []
        reached = {src}
        for stage in reversed(stages):
            on = [link for link in stage if ends(link).begin in reached]
            reached = {ends(link).end for link in on}
            found = [*on, *found]
        return found
