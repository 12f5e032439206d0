"""What must not change a result does not: engine, length of windows, kind of ports, hooks called in vain."""

from __future__ import annotations

from typing import Any

import pytest

from exact.engine import Spec, simulate
from exact.test_exact_tcp import drawn
from exact.test_exact_ties import two_into_one

TUNINGS: dict[str, dict[str, Any]] = {
    "again": {},
    "event queue": {"engine": "events"},
    "windows a third as long": {"engine": "windows", "window_divisor": 3},
    "ports that commit at start": {"commit_at_start": True},
    "events, commit at start": {"engine": "events", "commit_at_start": True},
    "all hooks": {"all_hooks": True},
    "all at once": {"window_divisor": 3, "commit_at_start": True, "all_hooks": True},
}


def web_search(scheme: str, **transport: Any) -> Spec:
    """A small asymmetric fabric at a high load, with small buffers, so that much happens in a short time."""
    return {
        "preset": "datacenter",
        "topology": {
            "leaves": 3,
            "spines": 2,
            "hosts_per_leaf": 4,
            "fabric_rate_gbps": 10,
            "override": [{"leaf": 0, "spine": 1, "rate_gbps": 3}, {"leaf": 2, "spine": 0, "delay_ns": 300_000}],
        },
        "switch": {"buffer_packets": 60, "ecn_threshold_packets": 20},
        "transport": transport,
        "scheme": {"name": scheme},
        "metrics": {"series_interval_us": 100},
        "traffic": [
            {"kind": "poisson", "cdf": "web_search", "load": 0.8, "duration_us": 3000, "load_of": "leaf_uplinks"},
            {"kind": "incast", "receiver": 0, "senders": [4, 5, 6, 7, 8, 9, 10, 11], "size_bytes": 30_000},
            {
                "kind": "udp",
                "src": 1,
                "dst": 6,
                "size_bytes": 600_001,
                "schedule": [{"at_us": 0, "rate_gbps": 3}],
            },
        ],
        "run": {"until_us": 20_000},
    }


SPECS: dict[str, Spec] = {
    **{f"web search, {name}": web_search(name) for name in ("ecmp", "rps", "presto", "letflow", "conga", "pdlb")},
    "web search, newreno, delayed ACK": web_search("rps", kind="newreno", delayed_ack_segments=2),
    "marks at dequeue": {
        **web_search("ecmp"),
        "switch": {"buffer_bytes": 90_000, "ecn_threshold_bytes": 30_000, "ecn_at": "dequeue"},
    },
    "ties": two_into_one(10, 10, 5, 1),
    **{f"random pair {seed}": drawn(seed).spec() for seed in range(6)},
}


@pytest.mark.parametrize("name", SPECS)
def test_same_hash(name: str) -> None:
    first = simulate(SPECS[name])
    assert first.report["packet_hops"] > 0
    for tuning, values in TUNINGS.items():
        other = simulate(SPECS[name], **values)
        assert other.hash == first.hash, tuning
        assert all((other.flows[column] == first.flows[column]).all() for column in first.flows), tuning


def test_the_hash_tells_runs_apart() -> None:
    """It would be worth little otherwise: another seed, and a delay longer by a picosecond."""
    spec = SPECS["web search, ecmp"]
    longer = {**spec, "topology": {**spec["topology"], "host_delay_ns": 1000.001}}
    assert len({simulate(spec).hash, simulate({**spec, "seed": 2}).hash, simulate(longer).hash}) == 3
