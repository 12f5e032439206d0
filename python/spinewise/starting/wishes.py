"""The properties of a new spec."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TypedDict

from spinewise import core
from spinewise.errors import SpecError

LEAF_SPINE, FAT_TREE = "leaf-spine", "fat-tree"
TOPOLOGIES = (LEAF_SPINE, FAT_TREE)
NEXT_TO_EACH_OTHER = {LEAF_SPINE: [("leaf", "spine")], FAT_TREE: [("leaf", "aggregation"), ("aggregation", "core")]}
"""The kinds of switches connected by links, by topology, the lower one first."""
HOSTS_PER_LEAF = 16
LINK_GBPS = 100.0
"""Defaults of the hosts under each leaf of a leaf-spine, and of the rate of its links between switches."""
TRANSPORTS = ("tcp", "rdma", "uet")
COLLECTIVES = ("all_reduce", "all_to_all")
SUITED = {
    "tcp": ("letflow", "conga", "presto"),
    "rdma": ("letflow", "conga", "conweave", "drill"),
    "uet": ("plb", "oblivious", "reps", "adaptive"),
}
"""The default schemes to compare with ECMP, by transport."""

_LINK = re.compile(r"(leaf|aggregation)(\d+):(spine|aggregation|core)(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class SlowLink:
    """A link below its rate.

    Attributes:
        ends: each end, the kind of switch and its number, the lower one first.
        rate_gbps: the remaining rate.
    """

    ends: tuple[tuple[str, int], tuple[str, int]]
    rate_gbps: float

    @classmethod
    def of(cls, text: str, topology: str) -> SlowLink:
        """Parse ``leaf0:spine1:10``.

        Raises:
            SpecError: it is malformed, or names switches that are not neighbours in such a fabric.
        """
        found = _LINK.fullmatch(text.strip())
        if found is None or (found[1], found[3]) not in NEXT_TO_EACH_OTHER[topology]:
            unit = re.fullmatch(r".*:[0-9.]+ *[A-Za-z/]+", text.strip())
            hint = "GBPS is a number without a unit" if unit else None
            raise SpecError("--slow-link", text, form_of_slow_links(topology), hint)
        if float(found[5]) <= 0:
            hint = "for a link that is down, set up = false instead of rate_gbps in its [[topology.override]]"
            raise SpecError("--slow-link", text, "a rate above 0 Gbps", hint)
        return cls(((found[1], int(found[2])), (found[3], int(found[4]))), float(found[5]))


def form_of_slow_links(topology: str) -> str:
    """The form of a slow link in such a fabric."""
    between = " or ".join(f"{lower}0:{upper}1:10" for lower, upper in NEXT_TO_EACH_OTHER[topology])
    return f"NODE:NODE:GBPS of a {topology}, such as {between}"


class Given(TypedDict, total=False):
    """Some of the wishes, by field of `Wishes`."""

    topology: str
    leaves: int
    spines: int
    k: int
    hosts_per_leaf: int
    host_gbps: float
    link_gbps: float
    slow_links: tuple[SlowLink, ...]
    transport: str
    workload: str
    load: float
    size: int | None
    incast: int
    aim: str
    schemes: tuple[str, ...]


@dataclass(frozen=True)
class Wishes:
    """The properties of a new spec.

    Attributes:
        name: the name of the run.
        topology: leaf-spine or fat-tree.
        leaves: the leaves of a leaf-spine.
        spines: the spines of a leaf-spine.
        k: ports of the switches of a fat-tree.
        hosts_per_leaf: hosts under each leaf; None for the usual number: see `under_leaf`.
        host_gbps: rate of the hosts' links.
        link_gbps: rate of the links between switches; None for the usual rate: see `between_gbps`.
        slow_links: links below that rate.
        transport: tcp, rdma or uet.
        workload: a distribution of flow sizes that is built in, or a collective operation.
        load: the hosts' load, as a share of the leaves' uplinks or, if that is less, of the hosts' links.
        size: data of each host in a collective operation, bytes; None for a size that suits the number of hosts.
        incast: how many hosts send to one at once; 0 for no such bursts.
        aim: what to optimise for, as `spinewise advise --aim` takes it; None for an aim that suits the workload.
        schemes: the schemes to compare; empty for some that suit the transport.
    """

    name: str = "fabric"
    topology: str = LEAF_SPINE
    leaves: int = 4
    spines: int = 4
    k: int = 4
    hosts_per_leaf: int | None = None
    host_gbps: float = 25.0
    link_gbps: float | None = None
    slow_links: tuple[SlowLink, ...] = ()
    transport: str = "tcp"
    workload: str = "web_search"
    load: float = 0.5
    size: int | None = None
    incast: int = 0
    aim: str | None = None
    schemes: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """The name of the workload's traffic entry."""
        return {"web_search": "web", "all_reduce": "reduce", "all_to_all": "exchange"}.get(self.workload, self.workload)

    @property
    def aims(self) -> str:
        """The aim."""
        of_rounds = self.workload in COLLECTIVES
        return self.aim or (f"mean round time of {self.entry}" if of_rounds else f"p99 slowdown of {self.entry}")

    @property
    def compared(self) -> tuple[str, ...]:
        """The schemes to compare, the baseline first."""
        if self.schemes:
            return self.schemes
        weighted = ("wcmp",) if self.slow_links else ()
        return ("ecmp", *weighted, *SUITED[self.transport])

    @property
    def racks(self) -> int:
        """Leaves of the fabric."""
        return self.leaves if self.topology == LEAF_SPINE else self.k * self.k // 2

    @property
    def under_leaf(self) -> int:
        """Hosts under each leaf: in a fat-tree by default as many as it has uplinks."""
        return self.hosts_per_leaf or (HOSTS_PER_LEAF if self.topology == LEAF_SPINE else self.k // 2)

    @property
    def between_gbps(self) -> float:
        """Rate of the links between switches: in a fat-tree by default that of the hosts' links."""
        return self.link_gbps or (LINK_GBPS if self.topology == LEAF_SPINE else self.host_gbps)

    @property
    def hosts(self) -> int:
        """Hosts of the fabric."""
        return self.racks * self.under_leaf

    @property
    def uplinks(self) -> int:
        """Links up from each leaf."""
        return self.spines if self.topology == LEAF_SPINE else self.k // 2

    @property
    def load_of(self) -> str:
        """What a load of 1 fills: the uplinks of a leaf, or the links of its hosts if these carry less."""
        return "host_links" if self.under_leaf * self.host_gbps < self.uplinks * self.between_gbps else "leaf_uplinks"


@dataclass(frozen=True)
class Sizes:
    """Flow sizes of a distribution: their mean and standard deviation, in bytes."""

    mean: float
    deviation: float


@cache
def distributions() -> dict[str, Sizes]:
    """Built-in distributions of flow sizes."""
    known = core.registry()["workloads"]
    return {
        entry["name"]: Sizes(float(entry["mean_bytes"]), float(entry["deviation_bytes"]))
        for entry in known
        if "mean_bytes" in entry
    }


def workloads() -> list[str]:
    """The names that `--workload` accepts."""
    return [*distributions(), *COLLECTIVES]


def workload_named(name: str) -> str | None:
    """A workload by its name, or an alias that specs accept; None if there is none."""
    found = core.named(core.registry()["workloads"], name)
    return found if found in workloads() else None
