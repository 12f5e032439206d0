"""The plan of a lab, from a spec alone: namespaces, cables, addresses, queues. Needs no privilege.

Host `j` of leaf `i` is 10.(10+i).j.2 behind 10.(10+i).j.1; cable `n` between switches has 172.16.0.0 + 2 n at its
leaf and the next address at its spine.
"""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from spinewise import core
from spinewise.errors import SpecError
from spinewise.lab import fit
from spinewise.lab.scale import at_scale, default_factor
from spinewise.replies import Fabric
from spinewise.shapes import Spec

Steering = Literal["needed", "always", "watched"]
"""When agents choose paths: where the kernel cannot; under every scheme; or always, and watching their paths."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
NAMES = "1 to 32 small letters, digits, - and _, the first a letter or digit"
PREFIX = "spinewise-"
TUNNEL_BYTES = 100
"""The most bytes that an edge may put around a packet: the fabric's MTU is that much above the hosts'."""
FIRST_CABLE = ipaddress.IPv4Address("172.16.0.0")
HOST_QUEUE_BYTES = 16_000_000
"""A host's own queue never drops: TCP stops at its small-queue limit long before."""
BURST_PACKETS = 2
"""The number of packets that a token bucket lets pass at once: with fewer it misses its rate."""


@dataclass(frozen=True)
class Port:
    """One end of a cable.

    Attributes:
        node: its node, by the simulator's name.
        device: the interface in the node's namespace.
        address: the address with the length of its prefix.
        link: the direction that leaves here, by the simulator's name.
        rate_bps: the rate of its token bucket.
        queue_bytes: the limit of its queue.
    """

    node: str
    device: str
    address: str
    link: str
    rate_bps: int
    queue_bytes: int

    @property
    def ip(self) -> str:
        """The address alone."""
        return self.address.partition("/")[0]


@dataclass(frozen=True)
class Cable:
    """A cable: its lower end (host or leaf) and its upper one (leaf or spine); `up` unless the spec has it down."""

    lower: Port
    upper: Port
    up: bool

    @property
    def ports(self) -> tuple[Port, Port]:
        """Both ends."""
        return self.lower, self.upper


@dataclass(frozen=True)
class Plan:
    """A lab before it is built.

    Attributes:
        name: the name of the lab.
        factor: rates of the spec over rates here.
        spec: resolved, at the scale of the lab.
        fabric: of that spec, as the simulator builds it.
        hosts, leaves, spines: names of nodes, in order.
        leaf_of: the leaf of each host.
        edge: cables of hosts, in the order of hosts.
        core: cables between leaves and spines.
        mtu: the MTU of the hosts' routes; that of the fabric is `fabric_mtu`.
        agents: whether agents at the hosts choose paths, and not the kernel.
        marks: whether ports of switches mark packets.
        silent_ms: how long a path may be silent before agents consider it dead; 0: they do not watch their paths.
        sight_ms: how often agents record what their scheme sees of each path; 0: never.
    """

    name: str
    factor: int
    spec: Spec
    fabric: Fabric
    hosts: tuple[str, ...]
    leaves: tuple[str, ...]
    spines: tuple[str, ...]
    leaf_of: dict[str, str]
    edge: tuple[Cable, ...]
    core: tuple[Cable, ...]
    mtu: int
    agents: bool = False
    marks: bool = False
    silent_ms: int = 0
    sight_ms: int = 0

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, hosts first."""
        return (*self.hosts, *self.leaves, *self.spines)

    @property
    def fabric_mtu(self) -> int:
        """MTU of every interface."""
        return self.mtu + TUNNEL_BYTES

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """All ports, each of which feeds a link of the simulator's."""
        return tuple(port for cable in (*self.edge, *self.core) for port in cable.ports)

    def namespace(self, node: str) -> str:
        """The name of a node's network namespace on the machine."""
        return f"{prefix(self.name)}{node}"

    def address(self, host: int) -> str:
        """The address of a host, by its number."""
        return self.edge[host].lower.ip

    def subnet(self, leaf: str) -> str:
        """The prefix of all hosts of a leaf."""
        return f"10.{10 + self.leaves.index(leaf)}.0.0/16"


def prefix(name: str) -> str:
    """The prefix of a lab's namespaces. A lab's name has no dot, so no two labs share a prefix."""
    return f"{PREFIX}{name}."


def checked_name(name: str, key: str = "--name") -> str:
    """Check a lab's name.

    Raises:
        SpecError: it is not a valid name.
    """
    if not NAME.fullmatch(name):
        raise SpecError(key, name, NAMES)
    return name


def name_of(resolved: Spec) -> str:
    """The default name of a lab: that of its spec, made safe."""
    words = re.sub(r"[^a-z0-9_-]+", "-", str(resolved.get("name") or "lab").lower()).strip("-_")[:32]
    return words or "lab"


def plan_of(resolved: Spec, name: str | None = None, factor: int | None = None, steering: Steering = "needed") -> Plan:
    """The lab of a resolved spec, as far as it is built.

    Raises:
        SpecError: the lab cannot build it; the error says why.
    """
    fit.check_spec(resolved)
    fabric = core.topology(resolved)
    chosen = default_factor(fabric) if factor is None else factor
    fit.check_size(fabric, chosen)
    spec = at_scale(resolved, chosen)
    fabric = core.topology(spec)
    tiers = {
        tier: tuple(node["name"] for node in fabric["nodes"] if node["tier"] == tier)
        for tier in ("host", "leaf", "spine")
    }
    mtu = int(spec["transport"]["mss_bytes"]) + fit.HEADERS
    edge, trunk = cables(spec, fabric)
    return Plan(
        name=checked_name(name if name is not None else name_of(resolved)),
        factor=chosen,
        spec=spec,
        fabric=fabric,
        hosts=tiers["host"],
        leaves=tiers["leaf"],
        spines=tiers["spine"],
        leaf_of={node["name"]: str(node["leaf"]) for node in fabric["nodes"] if node["tier"] == "host"},
        edge=edge,
        core=trunk,
        mtu=mtu,
        agents=steering != "needed" or str(spec["scheme"]["name"]) not in fit.PLAIN,
        marks=fit.needs_marks(spec),
        silent_ms=longest_queueing_ms(edge, trunk) if steering == "watched" else 0,
    )


def longest_queueing_ms(edge: tuple[Cable, ...], trunk: tuple[Cable, ...]) -> int:
    """The longest round trip through full queues: a path that is silent for longer is dead."""
    between = max(8e3 * port.queue_bytes / port.rate_bps for cable in trunk for port in cable.ports)
    down = max(8e3 * cable.upper.queue_bytes / cable.upper.rate_bps for cable in edge)
    return math.ceil(2 * (between + down))


def cables(spec: Spec, fabric: Fabric) -> tuple[tuple[Cable, ...], tuple[Cable, ...]]:
    """The cables of hosts, and those between switches."""
    tier = {node["name"]: node["tier"] for node in fabric["nodes"]}
    place = {node["name"]: node["position"] for node in fabric["nodes"]}
    back: dict[tuple[str, str], list[int]] = {}
    for number, link in enumerate(fabric["links"]):
        back.setdefault((link["from"], link["to"]), []).append(number)
    edge: dict[int, Cable] = {}
    trunk: list[Cable] = []
    under: dict[str, int] = {}
    for (lower, upper), numbers in back.items():
        if (tier[lower], tier[upper]) not in {("host", "leaf"), ("leaf", "spine")}:
            continue
        for parallel, (there, here) in enumerate(zip(numbers, back[upper, lower], strict=True)):
            links = fabric["links"][there], fabric["links"][here]
            up = links[0]["up"] and links[1]["up"]
            queues = queue_bytes(spec, links[0]["rate_bps"]), queue_bytes(spec, links[1]["rate_bps"])
            if tier[lower] == "host":
                # Hosts come leaf by leaf, so a host's place below its leaf is the number of its hosts before it.
                below = under[upper] = under.get(upper, -1) + 1
                net = f"10.{10 + place[upper]}.{below}"
                low = Port(lower, "eth0", f"{net}.2/24", links[0]["name"], links[0]["rate_bps"], HOST_QUEUE_BYTES)
                high = Port(upper, f"h{below}", f"{net}.1/24", links[1]["name"], links[1]["rate_bps"], queues[1])
                edge[place[lower]] = Cable(low, high, up)
            else:
                first = FIRST_CABLE + 2 * len(trunk)
                which = f"p{parallel}" if parallel else ""
                low_name, high_name = f"s{place[upper]}{which}", f"l{place[lower]}{which}"
                low = Port(lower, low_name, f"{first}/31", links[0]["name"], links[0]["rate_bps"], queues[0])
                high = Port(upper, high_name, f"{first + 1}/31", links[1]["name"], links[1]["rate_bps"], queues[1])
                trunk.append(Cable(low, high, up))
    return tuple(edge[number] for number in sorted(edge)), tuple(trunk)


def queue_bytes(spec: Spec, rate_bps: int) -> int:
    """The queue capacity of a switch port, as in the simulator at that rate."""
    switch = spec["switch"]
    if "buffer_packets" in switch:
        return full_packets(spec, switch["buffer_packets"])
    return int(float(switch["buffer_bytes"]) + float(switch["buffer_us"]) * 1e-6 * rate_bps / 8)


def threshold_bytes(spec: Spec, rate_bps: int) -> int:
    """The queue from which a switch port marks packets, as in the simulator at that rate; 0: it marks none."""
    switch = spec["switch"]
    if "ecn_threshold_packets" in switch:
        return full_packets(spec, switch["ecn_threshold_packets"])
    # A preset may have neither, and then there is no threshold.
    least, micros = switch.get("ecn_threshold_bytes", 0), switch.get("ecn_threshold_us", 0)
    return int(float(least) + float(micros) * 1e-6 * rate_bps / 8)


def full_packets(spec: Spec, count: int) -> int:
    """The bytes of full packets, as the kernel's queues count them."""
    return count * (int(spec["transport"]["mss_bytes"]) + fit.HEADERS + ETHERNET)


def burst_bytes(mtu: int) -> int:
    """The depth of a token bucket."""
    return BURST_PACKETS * (mtu + ETHERNET)


ETHERNET = 14
"""Token buckets count the Ethernet header, and the simulator does not."""
