"""The settings that a recorded case does not give: its fabric, transport and switch.

All cases of RDMA come from one code base and one kind of fabric: leaf-spine, 100 Gbps and 1 µs on every link, 8
spines. Those of TCP come from another: 4 spines, 8 hosts a leaf, 10 Gbps and 10 µs; "asym" has one slow link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spinewise.agreement.recorded import BASELINE, TCP, Flows, Ints, Recorded
from spinewise.errors import SpecError, nearest
from spinewise.replies import Listed
from spinewise.shapes import Override, Scheme, Spec, Topology

PRESET = "conweave-ns3"
RATE_GBPS = 100
DELAY_NS = 1_000
SPINES = 8
HOSTS_PER_LEAF = 16
# Sizes of racks to try when 16 hosts do not fit the file.
OTHER_RACKS = (8, 32, 4, 64, 2)
USUAL_HOSTS = 128

# ideal_fct_ns without the frames: the round trip inside a rack and across, with 80 ns a hop for 1000 B.
RACK_NS, ACROSS_NS = 4_160, 8_320
MSS_BYTES, HEADER_BYTES = 1_000, 48

TCP_PRESET = "ns3-hermes"
TCP_RATE_GBPS = 10
TCP_DELAY_NS = 10_000
TCP_SPINES = 4
TCP_HOSTS_PER_LEAF = 8
# Their runs ended here, finished or not.
TCP_UNTIL_US = 300_000
# The one slow link of "asym", both ways.
SLOW: Override = {"leaf": 0, "spine": 3, "rate_gbps": 2}

RECOVERY = {"lossless": "go_back_n", "irn": "irn"}
# Values that keep flows on their first path, by parameter: a flowlet gap, a deadline of replies, a time of inactivity
# (100 ms, beyond the life of these flows) and a growth of queues that never occur.
NEVER: dict[str, float] = {
    "flowlet_gap_us": 1e9,
    "theta_reply_us": 1e5,
    "theta_inactive_us": 1e5,
    "theta": 1e3,
}


@dataclass(frozen=True)
class Fabric:
    """A leaf-spine.

    Attributes:
        leaves: ToR switches.
        hosts_per_leaf: hosts under each.
        assumed: what was concluded from the flows, for people; empty for the usual fabric.
    """

    leaves: int
    hosts_per_leaf: int
    assumed: str


def fabric_of(flows: Flows, case: Recorded | None = None) -> Fabric:
    """The fabric on which these flows ran.

    For TCP, only the number of leaves is open. Else the file's ideals show which pairs share a rack; the least number
    of racks that holds the largest host is taken.
    """
    largest = int(max(flows.src.max(), flows.dst.max()))
    if case is not None and case.mode == TCP:
        return Fabric(max(2, largest // TCP_HOSTS_PER_LEAF + 1), TCP_HOSTS_PER_LEAF, "")
    packets = -(-flows.size_bytes // MSS_BYTES)
    round_trip = flows.ideal_fct_ns - (flows.size_bytes + HEADER_BYTES * packets) * 8 // RATE_GBPS
    known = bool(np.isin(round_trip, (RACK_NS, ACROSS_NS)).all())
    fits = [size for size in (HOSTS_PER_LEAF, *OTHER_RACKS) if known and shares_rack(flows, round_trip, size)]
    rack = fits[0] if fits else HOSTS_PER_LEAF
    leaves = max(2, -(-(largest + 1) // rack))
    if leaves * rack == USUAL_HOSTS and rack == HOSTS_PER_LEAF and fits:
        return Fabric(leaves, rack, "")
    assumed = f"assumed: {leaves * rack} hosts, {rack} a ToR, {SPINES} spines (the largest host is {largest})"
    if not fits:
        assumed += "; the file's ideal_fct_ns is not that of such a fabric with links of 100 Gbps and 1 µs"
    return Fabric(leaves, rack, assumed)


def shares_rack(flows: Flows, round_trip: Ints, size: int) -> bool:
    """Whether racks of `size` hosts agree with the ideals."""
    return bool(((flows.src // size == flows.dst // size) == (round_trip == RACK_NS)).all())


def spec_of(case: Recorded, fabric: Fabric, flow_file: Path, salt: int, scheme: Scheme) -> Spec:
    """The spec of a case at one hash salt, as such cases usually run; `scheme` is its name and parameters."""
    if case.mode == TCP:
        return tcp_spec_of(case, fabric, flow_file, salt, scheme)
    lossless = case.mode == "lossless"
    return {
        "name": case.name,
        "seed": salt + 1,
        "preset": PRESET,
        "topology": {
            "kind": "leaf_spine",
            "leaves": fabric.leaves,
            "spines": SPINES,
            "hosts_per_leaf": fabric.hosts_per_leaf,
            "host_rate_gbps": RATE_GBPS,
            "fabric_rate_gbps": RATE_GBPS,
            "host_delay_ns": DELAY_NS,
            "fabric_delay_ns": DELAY_NS,
            "tx_time_rounding": "floor_1ns",
        },
        "transport": {"kind": "rdma", "recovery": RECOVERY[case.mode]},
        "switch": {"model": "shared_buffer", "pfc": lossless},
        "scheme": {"acks": "ecmp", "hash": "murmur3", **scheme, "hash_salt": salt},
        "traffic": [{"kind": "flows", "file": str(flow_file)}],
    }


def tcp_spec_of(case: Recorded, fabric: Fabric, flow_file: Path, salt: int, scheme: Scheme) -> Spec:
    """The spec of a case of TCP."""
    topology: Topology = {
        "kind": "leaf_spine",
        "leaves": fabric.leaves,
        "spines": TCP_SPINES,
        "hosts_per_leaf": fabric.hosts_per_leaf,
        "host_rate_gbps": TCP_RATE_GBPS,
        "fabric_rate_gbps": TCP_RATE_GBPS,
        "host_delay_ns": TCP_DELAY_NS,
        "fabric_delay_ns": TCP_DELAY_NS,
        # The clock of ns-3, by which arrivals at an instant precede what ends then.
        "tx_time_rounding": "floor_1ns",
    }
    if case.load == "asym":
        topology["override"] = [SLOW.copy()]
    return {
        "name": case.name,
        "seed": salt + 1,
        "preset": TCP_PRESET,
        "topology": topology,
        "scheme": {**scheme, "hash_salt": salt},
        "traffic": [{"kind": "flows", "file": str(flow_file)}],
        "run": {"until_us": TCP_UNTIL_US},
    }


def known_scheme(name: str, registry: Sequence[Listed], file: str) -> None:
    """Refuse an unknown name of a scheme, given in `file`.

    Raises:
        SpecError: no scheme has that name.
    """
    names = [str(entry["name"]) for entry in registry]
    if name not in names:
        raise SpecError("scheme", name, ", ".join(names), nearest(name, names), file=file)


def without_rerouting(scheme: Scheme, registry: Sequence[Listed]) -> Scheme:
    """The scheme with flows kept on their first path; ECMP, if a scheme has no parameter for that."""
    entry = next(entry for entry in registry if entry["name"] == scheme["name"])
    told = {param["name"]: NEVER[param["name"]] for param in entry["params"] if param["name"] in NEVER}
    return {**scheme, "params": {**scheme.get("params", {}), **told}} if told else {"name": BASELINE}


def flow_csv(flows: Flows) -> str:
    """The flows as ``[[traffic]]`` of kind ``flows`` reads them."""
    columns = (flows.src, flows.dst, flows.size_bytes, flows.start_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "src,dst,size_bytes,start_ns\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows)
