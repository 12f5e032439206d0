"""The setting of the study: two fat-trees, eight workloads over four transports, four conditions.

Everything runs on one kind of fabric, so that what differs between two tables is the transport, the traffic or the
fault: a fat-tree with 100 Gbps and 1 µs on every link, without oversubscription. LBSP needs three tiers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spinewise.edge.row import Statistic
from spinewise.shapes import Detection, Fault, Spec, Topology, Traffic
from spinewise.shapes import Transport as TransportTable
from spinewise.specs.variants import parse

RATE_GBPS = 100
SLOW_GBPS = 25
LOSS = 0.001
DEAD_AT_US = 50
LAST_US = 2_000_000
"""The latest end of a run; no flow of the kept evidence was unfinished then."""

DETECTION: Detection = {"mode": "carrier", "carrier_us": 100, "control_plane_us": 1000}


@dataclass(frozen=True)
class Fabric:
    """A k-ary fat-tree of k³ / 4 hosts.

    Attributes:
        k: ports of a switch.
        seeds: the number of runs of each kind on it.
    """

    k: int
    seeds: int

    @property
    def hosts(self) -> int:
        """The number of its hosts."""
        return int(self.k**3 // 4)

    @property
    def topology(self) -> Topology:
        """The [topology] table."""
        return {"kind": "fat_tree", "k": self.k, "host_rate_gbps": RATE_GBPS, "fabric_rate_gbps": RATE_GBPS}


FABRICS = {fabric.hosts: fabric for fabric in (Fabric(8, 5), Fabric(16, 3))}

# The link that is slow or dies: a leaf's first uplink.
LEAF, AGGREGATION = "leaf0", "aggregation0"


@dataclass(frozen=True)
class Condition:
    """A condition of the fabric.

    Attributes:
        name: the name in tables and in the evidence.
        about: a description in a sentence.
        faults: its [[fault]] tables.
    """

    name: str
    about: str
    faults: Callable[[Fabric], list[Fault]]


def slow(_fabric: Fabric) -> list[Fault]:
    """A link at a quarter of its rate, from the start."""
    return [{"kind": "rate", "ends": [LEAF, AGGREGATION], "at_us": 0, "rate_gbps": SLOW_GBPS}]


def dead(_fabric: Fabric) -> list[Fault]:
    """A link that dies during the run."""
    return [{"kind": "down", "ends": [LEAF, AGGREGATION], "at_us": DEAD_AT_US}]


def lossy(fabric: Fabric) -> list[Fault]:
    """Random packet loss on every link between a leaf and an aggregation switch."""
    half = fabric.k // 2
    pairs = [(leaf, leaf // half * half + up) for leaf in range(fabric.k * half) for up in range(half)]
    return [
        {"kind": "loss", "ends": [f"leaf{leaf}", f"aggregation{up}"], "at_us": 0, "probability": LOSS}
        for leaf, up in pairs
    ]


HEALTHY, SLOW, DEAD, LOSSY = "healthy", "slow link", "dead link", "loss"
CONDITIONS = {
    one.name: one
    for one in (
        Condition(HEALTHY, "nothing is wrong", lambda _fabric: []),
        Condition(
            SLOW,
            f"one uplink of a leaf runs at {SLOW_GBPS} of {RATE_GBPS} Gbps, both ways, from the start; its two "
            f"switches know after {DETECTION['carrier_us']} µs, routes do not change",
            slow,
        ),
        Condition(
            DEAD,
            f"the same uplink dies {DEAD_AT_US} µs after the start; its two switches know after "
            f"{DETECTION['carrier_us']} µs, all others route around it {DETECTION['control_plane_us']} µs after they "
            "have heard of it",
            dead,
        ),
        Condition(
            LOSSY,
            f"every link between a leaf and an aggregation switch loses {100 * LOSS:g} % of its packets at random, and "
            "nothing reports it",
            lossy,
        ),
    )
}


@dataclass(frozen=True)
class Transport:
    """A transport and its switches.

    Attributes:
        name: the name in tables.
        about: a description in a sentence.
        spec: the tables [transport] and [switch], or the preset that has them.
        any_order: whether packets may overtake each other at no cost.
    """

    name: str
    about: str
    spec: Spec
    any_order: bool = False


UET = Transport(
    "UET",
    "Ultra Ethernet with NSCC over switches that trim, as in its reference simulator (preset `uet-htsim`)",
    {"preset": "uet-htsim"},
    any_order=True,
)
TCP = Transport(
    "TCP",
    "DCTCP with RACK-TLP and SACK, as in Linux, over switches that mark and drop (preset `linux`)",
    {"preset": "linux", "transport": {"kind": "dctcp", "recovery": "rack"}},
)
ROCE = Transport(
    "RoCE",
    'DCQCN with go-back-N over a shared buffer with priority flow control (preset `linux`, `kind = "rdma"`)',
    {
        "preset": "linux",
        "transport": {"kind": "rdma"},
        "switch": {"model": "shared_buffer", "pfc": True, "pause_us": 5},
    },
)
IRN = Transport(
    "IRN",
    'the same queue pairs with IRN\'s selective repeat, without flow control (`recovery = "irn"`)',
    {"preset": "linux", "transport": {"kind": "rdma", "recovery": "irn"}, "switch": {"model": "shared_buffer"}},
)
TRANSPORTS = (TCP, ROCE, IRN, UET)


@dataclass(frozen=True)
class Workload:
    """Traffic over a transport, and its judged value.

    Attributes:
        name: the name in tables and in the evidence.
        transport: the transport it runs over.
        about: a description of the traffic.
        asked: the judged value in words; `row` measures it.
        judged: the traffic entry that is judged.
        statistic: the statistic of that entry.
        traffic: the [[traffic]] tables.
        conditions: the conditions it runs under, by size of the fabric.
        changed: keys of the transport that it changes.
    """

    name: str
    transport: Transport
    about: str
    asked: str
    judged: str
    statistic: Statistic
    traffic: Callable[[Fabric], list[Traffic]]
    conditions: Mapping[int, tuple[str, ...]]
    changed: TransportTable = field(default_factory=TransportTable)

    @property
    def base(self) -> Spec:
        """The tables of its transport."""
        spec = self.transport.spec
        return {**spec, "transport": {**spec.get("transport", {}), **self.changed}} if self.changed else spec


EVERYTHING = {128: (HEALTHY, SLOW, DEAD, LOSSY)}
LARGE = {**EVERYTHING, 1024: (HEALTHY, SLOW, DEAD)}
LARGE_DEAD = {**EVERYTHING, 1024: (HEALTHY, DEAD)}


def poisson(name: str, cdf: str, duration_us: int) -> Callable[[Fabric], list[Traffic]]:
    """Flows between racks at half the capacity of the hosts' links."""
    entry: Traffic = {
        "name": name, "kind": "poisson", "cdf": cdf, "load": 0.5, "pairs": "inter_rack", "duration_us": duration_us,
    }  # fmt: skip
    return lambda _fabric: [entry]


def permutation(_fabric: Fabric) -> list[Traffic]:
    """Each host sends to one other."""
    return [{"name": "permutation", "kind": "permutation", "size_bytes": 4_000_000}]


def incast(_fabric: Fabric) -> list[Traffic]:
    """Many to one, beside a permutation."""
    return [
        {"name": "incast", "kind": "incast", "receiver": 0, "senders": 32, "size_bytes": 250_000},
        {"name": "victims", "kind": "permutation", "size_bytes": 2_000_000},
    ]


def all_to_all(fabric: Fabric) -> list[Traffic]:
    """Groups of one host a leaf, step by step, in a random order."""
    entry: Traffic = {"name": "all-to-all", "kind": "all_to_all", "order": "random"}
    return [{**entry, "pair_bytes": 131_072, "hosts": groups(fabric, fabric.k // 2)}]


def all_reduce(fabric: Fabric) -> list[Traffic]:
    """Rings of one host a pod."""
    rings = groups(fabric, fabric.k**2 // 4)
    return [{"name": "all-reduce", "kind": "all_reduce", "size_bytes": 2_000_000, "hosts": rings}]


def groups(fabric: Fabric, count: int) -> list[list[int]]:
    """All hosts in this many groups, dealt out in turn."""
    return [list(range(first, fabric.hosts, count)) for first in range(count)]


P99_SLOWDOWN = "99th percentile of slowdown"
LAST = "time until the last flow is done"
WORKLOADS = {
    one.name: one
    for one in (
        Workload(
            "web search", TCP, "web search between racks at half the hosts' capacity, for 2 ms",
            "mean completion time", "web", "mean", poisson("web", "web_search", 2000), EVERYTHING,
        ),
        Workload(
            "storage", ROCE, "AliCloud storage between racks at half the hosts' capacity, for 300 µs",
            P99_SLOWDOWN, "storage", "p99 slowdown", poisson("storage", "ali_storage", 300), EVERYTHING,
        ),
        Workload(
            "storage, IRN", IRN, "the same flows",
            P99_SLOWDOWN, "storage", "p99 slowdown", poisson("storage", "ali_storage", 300), {128: (HEALTHY, DEAD)},
        ),
        Workload(
            "permutation", UET, "each host sends 4 MB to one other, all at once",
            LAST, "permutation", "last", permutation, LARGE,
        ),
        Workload(
            "incast, victims", UET, "32 hosts send 250 kB each to one; each host also sends 2 MB to one other",
            "95th percentile of the victims' completion times", "victims", "p95", incast, EVERYTHING,
        ),
        Workload(
            "all-to-all", UET, "groups of one host per leaf: 128 KiB for each pair, step by step, in a random order",
            "time until it is done", "all-to-all", "last", all_to_all, EVERYTHING,
        ),
        Workload(
            "all-reduce", UET,
            "rings of one host per pod: 2 MB from each host, 250 kB or 125 kB per step",
            "time until it is done", "all-reduce", "last", all_reduce, LARGE_DEAD,
        ),
        Workload(
            "all-reduce, kept", UET,
            "the same rings with one connection per pair of hosts, which keeps what it learns from step to step "
            "(`transport.connections = 1`)",
            "time until it is done", "all-reduce", "last", all_reduce, EVERYTHING, {"connections": 1},
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Scheme:
    """A scheme in the study.

    Attributes:
        label: the label in tables and in the evidence.
        variant: the variant, as in ``--schemes``.
        kind: the component that decides, or the origin of the scheme: see `KINDS`.
        any_order: whether it takes part only where packets may overtake each other at no cost.
        large: whether it takes part with 1,024 hosts.
        adapted: the changes for this study; empty if there are none.
        untrimmed: the variant without trimming, if it differs.
        acks_of_all: whether receivers acknowledge every packet of Ultra Ethernet for it.
    """

    label: str
    variant: str
    kind: str
    any_order: bool = False
    large: bool = False
    adapted: str = ""
    untrimmed: str = ""
    acks_of_all: bool = False

    def applied(self, spec: Spec, workload: Workload) -> Spec:
        """`spec` with the scheme applied."""
        text = self.untrimmed if self.untrimmed and not workload.transport.any_order else self.variant
        if self.acks_of_all and workload.transport is UET:
            spec = {**spec, "transport": {**spec.get("transport", {}), "ack_every_bytes": 1}}
        return parse(f"{text}@{self.label}").apply(spec)


HASH, SWITCH, ENTROPY, PAPER, ADAPTED = "one path a flow", "switches", "entropy", "papers", "papers, adapted"
KINDS = {
    HASH: "a hash gives each flow one path (PLB: until it has seen marks or a timeout)",
    SWITCH: "switches choose, by their own queues or round robin",
    ENTROPY: "hosts put an entropy value on each packet, switches hash it",
    PAPER: "the five systems, as published",
    ADAPTED: "the same ideas where packets may arrive in any order",
}
_BLAMES = "timeout_blames=value"
_OF_BLAMES = (
    "a timeout blames the value of the packet that timed out, as everywhere except in the preset `uet-htsim`, whose "
    "senders do not keep it and blame the first value"
)
_OF_ACKS = (
    "with Ultra Ethernet, receivers acknowledge every packet, as where it was published, and not every fourth (preset "
    "`uet-htsim`)"
)
_ANY_ORDER = "flowlet_gap_us=0:tie=random:t_update_us=100:t_probe_us=100"
SCHEMES = {
    one.label: one
    for one in (
        Scheme("ecmp", "ecmp", HASH, large=True),
        Scheme("resilient", "resilient", HASH),
        Scheme("plb", "plb", HASH),
        Scheme("round_robin", "round_robin", SWITCH, large=True),
        Scheme("adaptive", "adaptive", SWITCH, large=True),
        Scheme("host_ar", "host_ar", SWITCH),
        Scheme("ars", "ars", SWITCH),
        Scheme("ars, packets", "ars:mode=per_packet_quality", SWITCH, any_order=True),
        Scheme("oblivious", "oblivious", ENTROPY, large=True),
        Scheme("bitmap", f"bitmap:{_BLAMES}", ENTROPY, large=True, adapted=_OF_BLAMES),
        Scheme(
            "reps", "reps", ENTROPY, large=True, untrimmed="reps:freezing=idle_timeout",
            adapted="where nothing is trimmed a timeout may mean congestion. There REPS freezes by its artifact's "
            "rule, only if no round trip has been long since the last timeout",
        ),
        Scheme("reps_fifo", "reps_fifo", ENTROPY),
        Scheme("uet_mixed", f"uet_mixed:{_BLAMES}", ENTROPY, large=True, adapted=_OF_BLAMES),
        Scheme("mrc", "mrc", ENTROPY, large=True),
        Scheme("uno", "uno", ENTROPY, acks_of_all=True, adapted=_OF_ACKS),
        Scheme("mprdma_reuse", "mprdma_reuse", ENTROPY, acks_of_all=True, adapted=_OF_ACKS),
        Scheme("lbsp", "lbsp", PAPER, large=True),
        Scheme("selb", "selb", PAPER),
        Scheme("pdlb", "pdlb", PAPER),
        Scheme("meet", "meet", PAPER),
        Scheme("elab", "elab", PAPER),
        Scheme(
            "pdlb, packets", "pdlb:initial_packets=1:max_packets=1", ADAPTED, any_order=True, large=True,
            adapted="PDLB cuts flows into cells to bound reordering, which is free here: a cell is one packet. Its "
            "probes, its random choice and its rule for dead paths are kept",
        ),
        Scheme(
            "meet, packets", f"meet:{_ANY_ORDER}", ADAPTED, any_order=True, large=True,
            adapted="MEET moves flowlets so that nothing is reordered: here each packet is a flowlet, and takes any of "
            "the best paths instead of staying on its own. Reports and probes are sent every 100 µs, about eight base "
            "round trips, instead of 500 µs",
        ),
        Scheme(
            "elab, values", "elab:discovery=blind", ADAPTED, any_order=True, large=True,
            adapted="ELAB finds tunnel ports that lead over different paths by tracing them: here the values are the "
            "paths, and there is no search",
        ),
    )
}  # fmt: skip


def spec_of(workload: Workload, fabric: Fabric, condition: Condition) -> Spec:
    """The spec of one kind of run, without scheme and seed."""
    spec: Spec = {
        **workload.base,
        "name": f"edge 2026, {workload.name}, {condition.name}, {fabric.hosts} hosts",
        "topology": fabric.topology,
        "traffic": workload.traffic(fabric),
        "run": {"until_us": LAST_US},
        "metrics": {"facts": True},
    }
    faults = condition.faults(fabric)
    return {**spec, "fault": faults, "detection": DETECTION} if faults else spec


def takes_part(scheme: Scheme, workload: Workload, fabric: Fabric) -> bool:
    """Whether a scheme is run under a workload on a fabric."""
    return (workload.transport.any_order or not scheme.any_order) and (fabric.k == 8 or scheme.large)
