"""The setting of the study: two fabrics of 16 hosts, one open-loop traffic, ten kinds of fault.

The offered load is two fifths of the fabric's capacity, so that the capacity left by a fault suffices: a scheme
that avoids the fault loses nothing. Flows start evenly whatever happens (open loop), so that goodput without a
fault is steady, and traffic delayed by an outage appears later.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from spinewise import shapes
from spinewise.shapes import Detection, ListedFlow, Spec, Topology, Traffic, Transport

HOST_GBPS = 10
HOSTS = 16
INTERVAL_US = 250
"""Interval of the goodput series."""

# (bytes, time between two of one host in µs): 2 Gbps of small flows and 2 Gbps of large ones a host.
FLOWS = ((50_000, 200), (1_000_000, 4_000))

# RACK-TLP, so that schemes that reorder are not punished for it; a minimum timeout of 1 ms, as networks with such
# round-trip times set it, so that an outage costs its own length and not that of a timer.
TRANSPORT: Transport = {"kind": "dctcp", "recovery": "rack", "min_rto_us": 1000, "initial_rto_us": 1000}


@dataclass(frozen=True)
class Fabric:
    """A fabric and its fault locations.

    Attributes:
        name: the name in ``--fabrics``.
        about: a short description.
        topology: the [topology] table; 16 hosts.
        rack: hosts under a leaf; there is no traffic within a rack.
        link: the two ends of the link that fails.
        switch: the switch that fails.
    """

    name: str
    about: str
    topology: Topology
    rack: int
    link: tuple[str, str]
    switch: str


@dataclass(frozen=True)
class Timing:
    """The times of the fault, the repair, the end of the traffic and the latest end of the run, in µs."""

    fault_us: int
    repair_us: int
    end_us: int
    stop_us: int


FULL = Timing(10_000, 30_000, 50_000, 150_000)
QUICK = Timing(4_000, 16_000, 24_000, 60_000)


@dataclass(frozen=True)
class Fault:
    """A kind of fault, and its detection.

    Attributes:
        name: the name in ``--faults``.
        title: the title in tables and figures.
        about: a description in a sentence.
        keys: the keys of the [[fault]] entry, besides place and time.
        on_switch: whether it hits the fabric's switch, and not its link.
        detection: the [detection] table.
    """

    name: str
    title: str
    about: str
    keys: shapes.Fault
    on_switch: bool = False
    detection: Detection = field(default_factory=lambda: CARRIER)

    def entry(self, fabric: Fabric, timing: Timing) -> shapes.Fault:
        """The [[fault]] entry in `fabric`."""
        place: shapes.Fault = {"switch": fabric.switch} if self.on_switch else {"ends": list(fabric.link)}
        return {**self.keys, **place, "at_us": timing.fault_us, "until_us": timing.repair_us}


CARRIER: Detection = {"mode": "carrier", "carrier_us": 100, "control_plane_us": 1000}
HELLO: Detection = {
    "mode": "hello", "hello_interval_us": 1000, "hello_dead_count": 3, "control_plane_us": 1000,
}  # fmt: skip
NEVER: Detection = {"mode": "never"}

FABRICS = {
    fabric.name: fabric
    for fabric in (
        Fabric(
            "leaf-spine",
            "4 leaves, 4 spines, 4 hosts a leaf",
            {"kind": "leaf_spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4},
            4,
            ("leaf0", "spine0"),
            "spine0",
        ),
        Fabric(
            "fat-tree",
            "a 4-ary fat-tree: 4 pods, 4 cores, 2 hosts a leaf",
            {"kind": "fat_tree", "k": 4},
            2,
            ("aggregation0", "core0"),
            "core0",
        ),
    )
}

FAULTS = {
    fault.name: fault
    for fault in (
        Fault("link", "link down", "a link is down, detected by loss of carrier in 100 µs", {"kind": "down"}),
        Fault(
            "link-hello",
            "link down, hello",
            "the same, detected after 3 ms without hellos",
            {"kind": "down"},
            detection=HELLO,
        ),
        Fault("link-unseen", "link down, unseen", "the same, never detected", {"kind": "down"}, detection=NEVER),
        Fault(
            "one-way",
            "one way down, hello",
            "one direction of the link is down (upwards), detected by hellos",
            {"kind": "down", "direction": "forward"},
            detection=HELLO,
        ),
        Fault(
            "switch",
            "switch down",
            "a switch of the top tier is down, detected by loss of carrier",
            {"kind": "down"},
            True,
        ),
        Fault(
            "flap",
            "link flaps",
            "the link is down for 1 ms of every 4 ms, detected by loss of carrier",
            {"kind": "flap", "period_us": 4000, "down_us": 1000},
        ),
        Fault("rate", "rate ÷ 10", "the link has a tenth of its rate", {"kind": "rate", "rate_gbps": HOST_GBPS / 10}),
        Fault("delay", "delay + 100 µs", "the link takes 100 µs longer", {"kind": "delay", "added_us": 100}),
        Fault(
            "loss", "loss 1 %", "the link loses each packet with probability 1 %", {"kind": "loss", "probability": 0.01}
        ),
        Fault(
            "black-hole",
            "black hole",
            "a switch of the top tier drops the packets of a quarter of all host pairs, never detected",
            {"kind": "black_hole", "fraction": 0.25},
            True,
        ),
    )
}


def spec_of(fabric: Fabric, fault: Fault | None, timing: Timing, seed: int, flows: Traffic) -> Spec:
    """The spec of one run, without its scheme; without `fault` that of the run it is compared with.

    `flows` is the source of the flows: `{"file": …}` or `{"list": …}`.
    """
    spec: Spec = {
        "name": f"resilience {fabric.name} {fault.name if fault else 'whole'}",
        "seed": seed,
        "preset": "datacenter",
        "topology": fabric.topology.copy(),
        "transport": TRANSPORT.copy(),
        "traffic": [{**flows, "kind": "flows"}],
        "run": {"until_us": timing.stop_us},
        "metrics": {"series_interval_us": INTERVAL_US},
    }
    if fault is not None:
        spec["fault"] = [fault.entry(fabric, timing)]
        spec["detection"] = fault.detection.copy()
    return spec


def flow_list(fabric: Fabric, end_us: int, seed: int) -> list[ListedFlow]:
    """All flows: every host starts one of each size per period, hosts in turn; receivers in other racks are drawn.

    The order of hosts within a period and the receivers follow from `seed` alone.
    """
    dice = random.Random(seed)
    flows: list[ListedFlow] = []
    for size, period_us in FLOWS:
        order = list(range(HOSTS))
        dice.shuffle(order)
        for slot in range(end_us * HOSTS // period_us):
            src = order[slot % HOSTS]
            others = [host for host in range(HOSTS) if host // fabric.rack != src // fabric.rack]
            start_ns = slot * period_us * 1000 // HOSTS
            flows.append({"src": src, "dst": dice.choice(others), "size_bytes": size, "start_ns": start_ns})
    return flows


def write_flows(fabric: Fabric, timing: Timing, seed: int, folder: Path) -> Traffic:
    """Write all flows as a file into `folder`, and return the source in the form for `spec_of`.

    The engine reads a file much faster than a list in each of many specs.
    """
    path = folder / f"{fabric.name}-{seed}.csv"
    flows = flow_list(fabric, timing.end_us, seed)
    rows = [",".join(flows[0]), *(",".join(map(str, flow.values())) for flow in flows)]
    path.write_text("\n".join(rows) + "\n")
    return {"file": str(path)}
