"""Small runs whose packets are captured: one for each kind of packet that there is."""

from __future__ import annotations

from typing import Any

FABRIC = {
    "kind": "leaf_spine",
    "leaves": 2,
    "spines": 4,
    "hosts_per_leaf": 4,
    "host_rate_gbps": 10,
    "fabric_rate_gbps": 10,
    "host_delay_ns": 1000,
    "fabric_delay_ns": 1000,
}
# Two of the four go to one host.
FLOWS = [{"src": n, "dst": 4 + n // 2, "size_bytes": 200_001 + 1000 * n, "start_ns": 500 * n} for n in range(4)]
INCAST = [{"src": n, "dst": 4, "size_bytes": 300_000, "start_ns": 0} for n in (0, 1, 2, 3, 5, 6, 7)]
UDP = {"kind": "udp", "src": 5, "dst": 1, "schedule": [{"at_us": 0, "rate_gbps": 1}], "end_us": 100}
SMALL = {"buffer_bytes": 40_000}


def spec(**tables: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "preset": "datacenter",
        "topology": FABRIC,
        "scheme": {"name": "rps"},
        "traffic": [{"kind": "flows", "list": FLOWS}, UDP],
        "metrics": {"capture": {"at": ["host0", "leaf0-spine1", "leaf1"]}},
    }
    return base | tables


LOSSLESS = {"switch": {"buffer_bytes": 500_000}, "traffic": [{"kind": "flows", "list": INCAST}]}
CASES: dict[str, dict[str, Any]] = {
    "linux": spec(preset="linux"),
    "newreno": spec(transport={"kind": "newreno"}, switch=SMALL),
    "handshake": spec(preset="ns3-hermes"),
    "sack": spec(transport={"kind": "ecn", "recovery": "sack", "handshake": True}, switch=SMALL),
    "mptcp": spec(
        transport={"kind": "mptcp", "recovery": "sack", "handshake": True, "subflows": 3},
        scheme={"name": "ecmp"},
        switch=SMALL,
    ),
    "probes": spec(scheme={"name": "elab"}),
    "hermes": spec(preset="ns3-hermes", scheme={"name": "hermes"}),
    "conweave": spec(preset="selb", scheme={"name": "conweave"}),
    "irn": spec(preset="selb", transport={"kind": "rdma", "recovery": "irn"}, switch={"pfc": False}),
    "lossless": spec(preset="selb", **LOSSLESS),
    "split": spec(
        preset="selb",
        transport={"kind": "rdma", "recovery": "irn", "queue_pairs": 3, "queue_pair_use": "split"},
        switch={"pfc": False},
    ),
    "uet": spec(
        preset="uet",
        scheme={"name": "reps"},
        traffic=[{"kind": "flows", "list": INCAST}],
        switch={"buffer_bytes": 60_000},
    ),
    "loss": spec(fault=[{"kind": "loss", "ends": ["leaf0", "spine1"], "probability": 0.05, "at_us": 0}]),
    "slow": spec(fault=[{"kind": "rate", "ends": ["leaf0", "spine1"], "rate_gbps": 1, "at_us": 50, "until_us": 150}]),
}


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """The same run without a capture."""
    return {key: value for key, value in given.items() if key != "metrics"}
