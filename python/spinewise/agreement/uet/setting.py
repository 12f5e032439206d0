"""The spec of a case of uet-htsim: the meaning of its options here."""

from __future__ import annotations

import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import cast

from spinewise import core
from spinewise.agreement.uet.recorded import UetCase
from spinewise.errors import SpecError
from spinewise.interop import htsim_cm, htsim_topo
from spinewise.interop.htsim_cm import Reading
from spinewise.shapes import Override, Scheme, Spec, Switch, Topology, Transport

PRESET = "uet-htsim"
MTU_BYTES, HEADER_BYTES = 4_150, 64
# How much slower a link of a degraded switch is.
SLOWER = 4
# Handles what falls on one instant in the program's order.
ENGINE = "htsim"
LOAD_BALANCERS = {
    "oblivious": "oblivious",
    "bitmap": "bitmap",
    "reps": "reps",
    "reps_legacy": "reps_fifo",
    "mixed": "uet_mixed",
}
SENDERS = {"nscc": "nscc", "dctcp": "dctcp_per_mark", "constant": "constant"}
# The quantities by which its adaptive switches compare ports. Nothing feeds the program's meters of use, and no port
# pauses, so those two always tie: a mode with queues compares only queues, and one without them draws any port.
TIES = "pause"
COMPARED = {
    "queue": "queue", "pqb": "queue", "pq": "queue", "qb": "queue", "bandwidth": TIES, "pause": TIES, "pb": TIES,
}  # fmt: skip
# Turns at leaves, hashes above.
ROUND_AND_HASH = "rr_ecmp"
ROUND: dict[str, str | float | bool] = {"tiers": "leaf", "reshuffle_rounds": 5, "least_bytes": 0}
MOST_PORTS = 64
USUAL_PATHS = 64
USUAL_MBPS = 100_000
USUAL_END_US = 20_000


def spec_of(case: UetCase, seed: int, flow_file: Path) -> Spec:
    """The spec of a case at a seed; its flows are written into `flow_file`.

    Raises:
        SpecError: an option has an unknown value, or a file of the case cannot be read.
    """
    topology = topology_of(case)
    flows = htsim_cm.read(case.folder / "inputs" / case.matrix, Reading(start_unit="us"))
    flow_file.write_text(flows.csv())
    return {
        "name": case.name,
        "seed": seed,
        "preset": PRESET,
        "topology": topology,
        "transport": transport_of(case, topology),
        "switch": switch_of(case, topology),
        "scheme": scheme_of(case),
        "traffic": [{"kind": "dag" if hasattr(flows, "operations") else "flows", "file": str(flow_file)}],
        "run": {"until_us": case.number("end", USUAL_END_US), "engine": ENGINE},
    }


def topology_of(case: UetCase) -> Topology:
    """The fabric, with its degraded links."""
    gbps = case.number("linkspeed", USUAL_MBPS) / 1000
    if case.topo is None:
        topology = own_fabric(case, gbps)
    else:
        found = htsim_topo.read(case.folder / "inputs" / case.topo)
        topology = cast(Topology, tomllib.loads(found.fabric.toml())["topology"])
        if topology["host_rate_gbps"] != gbps:
            # NICs there follow the option, ports the file.
            allowed = f"the rate of hosts in {case.topo}, {topology['host_rate_gbps']} Gbps, in Mbps"
            raise SpecError("-linkspeed", case.number("linkspeed", USUAL_MBPS), allowed, file=case.name)
    if not {"nodes", "tiers"}.isdisjoint(case.options):
        check_size(case, topology)
    degraded = case.number("failed", 0)
    if degraded:
        topology["override"] = slower(topology, degraded)
    return topology


def own_fabric(case: UetCase, gbps: float) -> Topology:
    """The program's own fabric, used if no topology is given: a k-ary fat-tree of as many hosts as the matrix has.

    Raises:
        SpecError: no such tree has as many.
    """
    hosts, tiers = htsim_cm.read_matrix(case.folder / "inputs" / case.matrix).nodes, case.number("tiers", 3)
    of_tiers = {2: lambda k: k * k // 2, 3: lambda k: k**3 // 4}
    k = next((k for k in range(2, MOST_PORTS + 1, 2) if of_tiers.get(tiers, of_tiers[3])(k) == hosts), None)
    if tiers not in of_tiers or k is None:
        raise SpecError(
            "Nodes", hosts, "k³ / 4 hosts in three tiers, or k² / 2 in two (-tiers 2), or -topo", file=case.name
        )
    if tiers == 2:
        return {
            "kind": "leaf_spine", "leaves": k, "spines": k // 2, "hosts_per_leaf": k // 2, "host_rate_gbps": gbps,
            "fabric_rate_gbps": gbps, "host_delay_ns": 1000, "fabric_delay_ns": 1000,
        }  # fmt: skip
    return {
        "kind": "fat_tree", "pods": k, "leaves_per_pod": k // 2, "aggregations_per_pod": k // 2,
        "cores_per_aggregation": k // 2, "hosts_per_leaf": k // 2, "host_rate_gbps": gbps, "fabric_rate_gbps": gbps,
        "core_rate_gbps": gbps, "host_delay_ns": 1000, "fabric_delay_ns": 1000, "core_delay_ns": 1000,
    }  # fmt: skip


def check_size(case: UetCase, topology: Topology) -> None:
    """Check that the numbers of hosts and of tiers agree with the options."""
    fabric = core.topology({"topology": topology})
    tiers = Counter(node["tier"] for node in fabric["nodes"])
    for option, there in (("nodes", tiers["host"]), ("tiers", len(tiers) - 1)):
        if (told := case.number(option, there)) != there:
            raise SpecError(f"-{option}", told, f"{there}, as the fabric has", file=case.name)


def slower(topology: Topology, count: int) -> list[Override]:
    """The first spines at a quarter of their speed; in three tiers the first links from cores downwards."""
    rate = float(topology["host_rate_gbps"]) / SLOWER
    if topology["kind"] == "leaf_spine":
        # A count above the number of spines slows all of them.
        return [{"spine": spine, "rate_gbps": rate} for spine in range(min(count, int(topology["spines"])))]
    columns, cores = int(topology["aggregations_per_pod"]), int(topology["cores_per_aggregation"])
    pairs = [(agg, link) for agg in range(columns * int(topology["pods"])) for link in range(cores)]
    # Link l of aggregation switch g is slow if l + g * (aggregation switches of a pod) is below the count.
    slow = [(agg, link) for agg, link in pairs if link + agg * columns < count]
    return [
        {"aggregation": agg, "core": agg % columns * cores + link, "rate_gbps": rate, "direction": "down"}
        for agg, link in slow
    ]


def packets_of(case: UetCase, topology: Topology) -> tuple[int, int]:
    """Bandwidth-delay product in packets, and the data queue of a port in packets."""
    links = 4 if topology["kind"] == "leaf_spine" else 6
    gbps = Fraction(str(topology["host_rate_gbps"]))
    rtt_ns = 2 * links * 1000 + links * (MTU_BYTES + HEADER_BYTES) * 8 / gbps
    product = -(-int(rtt_ns * gbps / 8) // MTU_BYTES)
    usual = product if "disable_trim" not in case.options else 5 * product
    return product, case.number("q", usual)


def transport_of(case: UetCase, topology: Topology) -> Transport:
    """``[transport]``."""
    _, queue = packets_of(case, topology)
    rate = float(topology["host_rate_gbps"])
    transport: Transport = {
        "kind": "uet",
        "ack_every_bytes": case.number("sack_threshold", 16_384),
        "rto_us": 15 + 6 * queue * MTU_BYTES * 8 / rate / 1000,
    }
    receiver_only = not case.paces[0]
    algorithm = case.option("sender_cc_algo", "nscc")
    if algorithm not in SENDERS:
        raise SpecError("-sender_cc_algo", algorithm, ", ".join(SENDERS), file=case.name)
    transport["congestion_control"] = "none" if receiver_only else SENDERS[algorithm]
    target = 1.0 if "disable_trim" in case.options else 0.75
    if transport["congestion_control"] == "nscc":
        transport["nscc_target_rtts"] = target
        transport["nscc_base_rtt_from_trims"] = "disable_base_rtt_update_on_nack" not in case.options
    if case.receiver_paces:
        transport["receiver_credit"] = True
    if "sleek" in case.options and not receiver_only:
        transport["recovery"], transport["sleek_target_rtts"] = "sleek", target
    if "force_disable_oversubscribed_cc" in case.options:
        transport["pull_least"] = 1.0
    return transport


def switch_of(case: UetCase, topology: Topology) -> Switch:
    """``[switch]``."""
    _, queue = packets_of(case, topology)
    switch: Switch = {
        "model": "trimming",
        "buffer_bytes": queue * MTU_BYTES,
        "trim": "disable_trim" not in case.options,
        "mark_last_hop": not case.receiver_paces,
    }
    if case.option("strat", "") == ROUND_AND_HASH:
        # Its ports mark above half of their capacity, whatever the option for marks is.
        switch["ecn_min_bytes"] = switch["ecn_max_bytes"] = queue * MTU_BYTES // 2
    elif "ecn" in case.options:
        low, high = case.numbers("ecn", 0, 0)
        switch["ecn_min_bytes"], switch["ecn_max_bytes"] = low * MTU_BYTES, high * MTU_BYTES
    return switch


def adaptive(case: UetCase) -> dict[str, str | float | bool]:
    """The parameters of adaptive switches."""
    method, unit = case.option("ar_method", "queue"), case.option("ar_granularity", "packet")
    if method not in COMPARED:
        raise SpecError("-ar_method", method, ", ".join(COMPARED), file=case.name)
    if unit not in ("packet", "flow"):
        raise SpecError("-ar_granularity", unit, "packet, flow", file=case.name)
    return {"compare": COMPARED[method], "unit": "flowlet" if unit == "flow" else "packet"}


def scheme_of(case: UetCase) -> Scheme:
    """``[scheme]``: the switches' algorithm if they choose, else the hosts' choice of entropy values."""
    strategy = case.option("strat", "")
    paths = case.number("paths", USUAL_PATHS)
    if strategy == "ecmp_ar":
        return {"name": "adaptive", "params": adaptive(case)}
    if strategy == "ecmp_rr":
        return {"name": "round_robin"}
    if strategy not in ("", "ecmp", "ecmp_host", "ecmp_host_ar", ROUND_AND_HASH):
        allowed = "ecmp, ecmp_host, ecmp_host_ar, ecmp_ar, ecmp_rr, rr_ecmp"
        raise SpecError("-strat", strategy, allowed, file=case.name)
    fabric: Scheme = {}
    if strategy == "ecmp_host_ar":
        compare: dict[str, str | float | bool] = {"compare": str(adaptive(case)["compare"])}
        if paths == 1:
            return {"name": "host_ar", "params": compare}
        fabric = {"fabric": "host_ar", "fabric_params": compare}
    if strategy == ROUND_AND_HASH:
        # Leaves take turns, whatever the value of a packet; switches above them hash it.
        if paths == 1:
            return {"name": "round_robin", "params": ROUND}
        fabric = {"fabric": "round_robin", "fabric_params": ROUND}
    if paths == 1:
        # One value, so that grants, whose values the program counts separately, have others.
        return {"name": "oblivious", "params": {"values": 1}}
    balancer = case.option("load_balancing_algo", "mixed")
    if balancer not in LOAD_BALANCERS:
        raise SpecError("-load_balancing_algo", balancer, ", ".join(LOAD_BALANCERS), file=case.name)
    name = LOAD_BALANCERS[balancer]
    params: dict[str, str | float | bool] = {"values": paths}
    if name in ("bitmap", "uet_mixed"):
        params["timeout_blames"] = "first"
    if name == "reps" and "disable_trim" in case.options:
        # The program freezes at any timeout and aborts without trimming: none of its recorded runs had one.
        params["freezing"] = "idle_timeout"
    return {**fabric, "name": name, "params": params}
