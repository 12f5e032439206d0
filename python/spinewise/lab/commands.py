"""A plan as the commands that build it: batches for iproute2, and values below /proc/sys/net."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spinewise.lab.plan import Cable, Plan, Port, burst_bytes

SWITCH_SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/conf/all/ignore_routes_with_linkdown": "1",
    "ipv4/conf/default/ignore_routes_with_linkdown": "1",
    "ipv4/fib_multipath_hash_policy": "1",
    "ipv4/icmp_ratelimit": "0",
    "ipv4/icmp_errors_use_inbound_ifaddr": "1",
}
"""Addresses and ports choose the path; a probe that ends here is answered from the address of the port it came by."""
HOST_SETTINGS = {
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/icmp_ratelimit": "0",
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/tcp_rmem": "4096 1048576 33554432",
    "ipv4/tcp_wmem": "4096 262144 4194304",
    "ipv4/ip_local_port_range": "61000 65000",
}
"""Flows do not learn from earlier ones, nor wait for the receiver's window."""
HASH_SEED = "ipv4/fib_multipath_hash_seed"
TXREHASH = "core/txrehash"
ANSWERS = {"ipv4/icmp_msgs_per_sec": "1000000", "ipv4/icmp_msgs_burst": "100000"}
"""Settings that let all probes that end on the way be answered, however many hosts look for paths at the same time."""
OPTIONAL = (HASH_SEED, TXREHASH, *ANSWERS)
"""Settings that older kernels lack; a lab works without them, and reports it."""


@dataclass(frozen=True)
class Batch:
    """Lines for one program in one namespace; `node` is None for the machine itself."""

    program: str
    node: str | None
    lines: tuple[str, ...]


def building(plan: Plan, settings: frozenset[str]) -> list[Batch]:
    """The batches that build a lab, in order; `settings` are those of `OPTIONAL` that the kernel has."""
    batches = [Batch("ip", None, tuple(f"netns add {plan.namespace(node)}" for node in plan.nodes))]
    batches += [Batch("set", node, tuple(values(plan, node, settings))) for node in plan.nodes]
    batches += [
        Batch("ip", node, tuple(joined(plan, cable) for cable in found))
        for node in plan.nodes
        if (found := [cable for cable in (*plan.edge, *plan.core) if cable.lower.node == node])
    ]
    for node in plan.nodes:
        ports = [port for port in plan.ports if port.node == node]
        batches.append(Batch("ip", node, tuple(line for port in ports for line in raised(plan, port))))
        batches.append(Batch("tc", node, tuple(bucket(plan, port, "add", port.rate_bps) for port in ports)))
    return batches + [Batch("ip", node, tuple(routes(plan, node))) for node in plan.nodes]


def values(plan: Plan, node: str, settings: frozenset[str]) -> Iterator[str]:
    """The values below /proc/sys/net of a node."""
    found = dict(HOST_SETTINGS if node in plan.hosts else SWITCH_SETTINGS)
    if node in plan.hosts:
        # 2, the kernel's default: accepted, but not requested.
        found["ipv4/tcp_ecn"] = "1" if plan.marks else "2"
    found |= {name: value for name, value in ANSWERS.items() if name in settings}
    if node in plan.hosts and TXREHASH in settings:
        # A flow keeps its path through timeouts, as under the simulator's ECMP, unless this is the scheme.
        found[TXREHASH] = "1" if plan.spec["scheme"]["name"] == "txrehash" else "0"
    if node not in plan.hosts and HASH_SEED in settings:
        found[HASH_SEED] = str(hash_seed(plan, node))
    return (f"{name} {value}" for name, value in found.items())


def hash_seed(plan: Plan, node: str) -> int:
    """A separate seed for the hash of each switch: with one for all, two tiers would polarise."""
    salt = int(plan.spec.get("scheme", {}).get("hash_salt", 0))
    place = plan.nodes.index(node)
    mixed = (int(plan.spec["seed"]) * 0x9E3779B1 + salt * 0x85EBCA6B + place * 0xC2B2AE35) & 0xFFFFFFFF
    return mixed or 1


def joined(plan: Plan, cable: Cable) -> str:
    """A cable, created inside: it is never visible outside the lab."""
    low, high = cable.ports
    return f"link add {low.device} type veth peer name {high.device} netns {plan.namespace(high.node)}"


def raised(plan: Plan, port: Port) -> Iterator[str]:
    """An interface with its address, up unless the spec has its link down."""
    is_down = any(port in cable.ports for cable in plan.core if not cable.up)
    yield f"addr add {port.address} dev {port.device}"
    # TCP hands over one segment at a time, so that a packet is what the fabric queues and a scheme steers.
    segments = " gso_max_segs 1" if port.node in plan.hosts else ""
    yield f"link set dev {port.device} mtu {plan.fabric_mtu}{segments} {'down' if is_down else 'up'}"


def bucket(plan: Plan, port: Port, verb: str, rate_bps: int) -> str:
    """The token bucket of a port, and its queue limit."""
    limit = max(port.queue_bytes, burst_bytes(plan.fabric_mtu))
    return (
        f"qdisc {verb} dev {port.device} root tbf rate {rate_bps}bit burst {burst_bytes(plan.fabric_mtu)} limit {limit}"
    )


def routes(plan: Plan, node: str) -> Iterator[str]:
    """The routes of a node."""
    if node in plan.hosts:
        yield host_route(plan, node)
        return
    for leaf in plan.leaves:
        hops = next_hops(plan, node, leaf)
        if leaf == node or not hops:
            continue
        weights = shares(plan, hops, leaf) if plan.spec["scheme"]["name"] == "wcmp" else [1] * len(hops)
        way = " ".join(
            f"nexthop via {peer.ip} dev {own.device} weight {weight}"
            for (own, peer), weight in zip(hops, weights, strict=True)
        )
        yield f"route replace {plan.subnet(leaf)} {way}"


def host_route(plan: Plan, host: str) -> str:
    """The route of a host to everything, with the transport settings of the spec."""
    leaf = plan.edge[plan.hosts.index(host)].upper
    transport = plan.spec["transport"]
    least = max(1, round(float(transport["min_rto_us"]) / 1000))
    words = [
        f"route replace default via {leaf.ip} dev eth0 mtu {plan.mtu} advmss {transport['mss_bytes']}",
        f"initcwnd {transport['initial_window_segments']} initrwnd {INITIAL_RWND} rto_min {least}ms",
    ]
    if transport.get("delayed_ack_segments") == 1:
        words.append("quickack 1")
    return " ".join(words)


INITIAL_RWND = 64
"""Segments that a receiver offers at first: more than any initial window."""


def shares(plan: Plan, hops: list[tuple[Port, Port]], leaf: str) -> list[int]:
    """Weights of next hops by their capacity: the port's own rate, or that of the next switch to the leaf if lower."""
    onward = {
        node: sum(cable.upper.rate_bps for cable in plan.core if (cable.upper.node, cable.lower.node) == (node, leaf))
        for node in plan.spines
    }
    rates = [min(own.rate_bps, onward.get(peer.node, own.rate_bps)) for own, peer in hops]
    return [max(1, round(MOST_WEIGHT * rate / max(rates))) for rate in rates]


MOST_WEIGHT = 128
"""The largest weight of a next hop; the kernel accepts up to 256."""


def next_hops(plan: Plan, node: str, leaf: str) -> list[tuple[Port, Port]]:
    """Own port and the other end's for each shortest path to a leaf, over links that work from the start."""
    working = [cable for cable in plan.core if cable.up]
    if node in plan.spines:
        return [(cable.upper, cable.lower) for cable in working if (cable.upper.node, cable.lower.node) == (node, leaf)]
    serving = {cable.upper.node for cable in working if cable.lower.node == leaf}
    return [(cable.lower, cable.upper) for cable in working if cable.lower.node == node and cable.upper.node in serving]
