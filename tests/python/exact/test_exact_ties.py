"""Packets that arrive at one instant by different ports: none is favoured, and luck does not repeat."""

from __future__ import annotations

import numpy as np
import pytest

from exact.engine import Spec, simulate

PACKETS = 8000


def two_into_one(fabric_gbps: float, source_gbps: float, room: int, seed: int) -> Spec:
    """Hosts 0 and 1 of one rack, in step, through the rack's one uplink to hosts 2 and 3."""
    source = {
        "kind": "udp",
        "packet_bytes": 1500,
        "size_bytes": 1500 * PACKETS,
        "schedule": [{"at_us": 0, "rate_gbps": source_gbps}],
    }
    return {
        "seed": seed,
        "preset": "datacenter",
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "fabric_rate_gbps": fabric_gbps},
        "switch": {"buffer_packets": room},
        "traffic": [{**source, "src": 0, "dst": 2}, {**source, "src": 1, "dst": 3}],
    }


@pytest.mark.parametrize(
    ("fabric_gbps", "source_gbps"),
    [
        pytest.param(10, 10, id="each instant two arrive and one leaves"),
        pytest.param(6, 6, id="slower"),
        pytest.param(10, 8, id="some instants find room for both"),
        pytest.param(3, 10, id="most are lost, and some instants find no room at all"),
    ],
)
@pytest.mark.parametrize("room", [1, 20])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_synchronised_sources_at_drop_tail_win_half_the_ties_each(
    fabric_gbps: float, source_gbps: float, room: int, seed: int
) -> None:
    outcome = simulate(two_into_one(fabric_gbps, source_gbps, room, seed))
    uplink = outcome.link("leaf0->spine0")
    got = [outcome.link(f"leaf1->host{host}")["packets"] for host in (2, 3)]
    assert uplink["drops"] > PACKETS // 5
    assert sum(got) + uplink["drops"] == 2 * PACKETS
    # An instant at which both were taken or both lost had no winner: wins are what the one has got more than those.
    lost = [PACKETS - packets for packets in got]
    assert 0.45 <= lost[0] / sum(lost) <= 0.55
    assert 0.45 <= got[0] / sum(got) <= 0.55


@pytest.mark.parametrize("period_ns", [10_000, 4096, 3200.001])
def test_the_winner_of_a_tie_is_drawn_afresh(period_ns: float) -> None:
    """One packet from each of two hosts at each of many instants: who is served first is a fair coin without memory."""
    rounds = 4000
    flows = [
        {"src": host, "dst": 2, "size_bytes": 1460, "start_ns": round(n * period_ns, 3)}
        for n in range(rounds)
        for host in (0, 1)
    ]
    spec = {
        "preset": "datacenter",
        "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": 3},
        "traffic": [{"kind": "flows", "list": flows}],
    }
    fct = np.asarray(simulate(spec).column("fct_ps")).reshape(rounds, 2)
    service, delay = 1_200_000, 1_000_000
    alone = 2 * (service + delay)
    assert set(fct.min(axis=1)) == {alone}, "the winner meets no queue"
    assert set(fct.max(axis=1)) == {alone + service}, "the loser waits for one packet"
    wins = (fct[:, 0] < fct[:, 1]).astype(float)
    assert 0.45 <= wins.mean() <= 0.55
    for lag in range(1, 9):
        correlation = np.corrcoef(wins[:-lag], wins[lag:])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(rounds), f"lag {lag}"
