"""The faults of a run, in words: what failed, when, and whether it was active at some time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from spinewise import core
from spinewise.magnitudes import PS_PER_US
from spinewise.measures import units
from spinewise.replies import FabricFault
from spinewise.runs.result import Result

MOST_TOLD = 3
"""The number of faults named one by one; the rest is counted."""


@dataclass(frozen=True)
class Break:
    """A period in which a fault was active.

    Attributes:
        what: the part that failed: a cable, one direction of it, or a switch.
        does: the effect, in words.
        cuts: whether nothing got through.
        links: the links that it hit.
        switch: the switch that failed, if one did.
        begin_us, end_us: the period; the end is infinite if it was permanent.
    """

    what: str
    does: str
    cuts: bool
    links: frozenset[str]
    switch: str | None
    begin_us: float
    end_us: float

    def __str__(self) -> str:
        begin = units.duration(self.begin_us / 1e6) if self.begin_us else "the start"
        until = "on" if self.end_us == inf else f"to {units.duration(self.end_us / 1e6)}"
        return f"{self.what} {self.does} from {begin} {until}"

    def holds(self, begin_us: float, end_us: float) -> bool:
        """Whether it was active at some time between two instants."""
        return self.begin_us <= end_us and begin_us < self.end_us

    def touches(self, device: str) -> bool:
        """Whether a device is at an end of the failed part."""
        return any(device in link.partition("#")[0].split("->") for link in self.links)


def breaks(result: Result) -> list[Break]:
    """All faults of a run, each of its periods separately, in order of time."""
    if not result.spec.get("fault"):
        return []
    found = [
        Break(
            what=name_of(fault),
            does=does(fault),
            cuts=fault["kind"] in {"down", "flap"},
            links=frozenset(fault["links"]),
            switch=fault["switch"],
            begin_us=(begin or 0) / PS_PER_US,
            end_us=inf if end is None else end / PS_PER_US,
        )
        for fault in core.topology(result.spec)["faults"]
        for begin, end in fault["intervals"]
    ]
    return sorted(found, key=lambda one: one.begin_us)


def onward(result: Result, device: str, host: str) -> frozenset[str]:
    """The links of the shortest paths from a device to a host with nothing broken; empty if one of them is unknown."""
    into: dict[str, list[tuple[str, str]]] = {}
    for link in core.topology(result.spec)["links"]:
        if link["up"]:
            into.setdefault(link["to"], []).append((link["from"], link["name"]))
    hops, edge = {host: 0}, [host]
    for node in edge:
        for before, _ in into.get(node, []):
            if before not in hops:
                hops[before] = hops[node] + 1
                edge.append(before)
    # From the host back: a link is on the path if the device reaches its beginning along such links.
    steps: dict[str, list[tuple[str, str]]] = {}
    for node, sources in into.items():
        for before, name in sources:
            if node in hops and hops.get(before) == hops[node] + 1:
                steps.setdefault(before, []).append((node, name))
    found: set[str] = set()
    met, ahead = {device}, [device]
    for node in ahead:
        for after, name in steps.get(node, []):
            found.add(name)
            if after not in met:
                met.add(after)
                ahead.append(after)
    return frozenset(found)


def name_of(fault: FabricFault) -> str:
    """The part that failed: a switch, or its cables; one direction if only that is hit."""
    if fault["switch"]:
        return str(fault["switch"])
    names = list(dict.fromkeys(cable(link, fault["links"]) for link in fault["links"]))
    return " and ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more links"


def cable(link: str, hit: Iterable[str]) -> str:
    """The cable of a link, if the fault hits both its directions; else the link."""
    ends, parallel, number = link.partition("#")
    one, _, other = ends.partition("->")
    back = f"{other}->{one}{parallel}{number}"
    return f"{min(one, other)}–{max(one, other)}{parallel}{number}" if back in hit else link


def does(fault: FabricFault) -> str:
    """The effect of a fault, in words."""
    match fault["kind"]:
        case "loss":
            return f"lost packets with probability {fault.get('probability', 0.0):g}"
        case "black_hole":
            return "swallowed the packets of some pairs of hosts"
        case "rate":
            return f"ran at {fault.get('rate_bps', 0) / 1e9:g} Gbit/s"
        case "delay":
            return f"took {units.duration(fault.get('added_ps', 0) / 1e12)} longer"
    return "was down"


def listed(found: Iterable[Break]) -> list[str]:
    """Faults in words, each once; of many, the rest is counted."""
    told = list(dict.fromkeys(str(one) for one in found))
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], units.counted(more, "more fault")]
