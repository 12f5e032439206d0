"""The ideal of a round: bounds by hand, and that no run beats them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import spinewise as sw
from spinewise.measures.collectives import Job
from spinewise.show import run_tables
from test_collectives import RACK, simulate


def ideal_us(traffic: dict[str, Any], **changes: Any) -> tuple[float, float]:
    """The ideal of the only round, and what it took, in microseconds."""
    job = job_of(traffic, **changes)
    return 1e6 * job.ideal_s, 1e6 * job.max_s


def job_of(traffic: dict[str, Any], **changes: Any) -> Job:
    (found,) = simulate(traffic, **changes).rounds.jobs
    return found


def test_an_incast_takes_the_link_of_its_receiver() -> None:
    # A packet of 550 bytes is sent in 550 ns and is 1 us on the way to the leaf; three of them leave one by one, 1 us.
    ideal, took = ideal_us({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 500})
    assert ideal == pytest.approx(0.55 + 1.0 + 3 * 0.55 + 1.0)
    assert took == pytest.approx(ideal)


def test_a_ring_takes_its_steps_one_by_one() -> None:
    ideal, took = ideal_us({"kind": "all_reduce", "size_bytes": 4000})
    assert ideal == pytest.approx(6 * (2 * 1.05 + 2.0))
    assert took == pytest.approx(ideal + 5 * 0.05), "a host sends an acknowledgement before it goes on"


def test_who_waits_for_an_acknowledgement_waits_for_its_way_back() -> None:
    # Each of three steps takes a packet of 1050 bytes; two wait for 50 bytes over two links, which takes 2.1 us.
    ideal, took = ideal_us({"kind": "all_to_all", "pair_bytes": 1000})
    assert ideal == pytest.approx(3 * (2 * 1.05 + 2.0) + 2 * (2 * 0.05 + 2.0))
    assert ideal <= took < 1.02 * ideal


def test_answers_come_behind_their_requests() -> None:
    # A request of 150 bytes takes 2.3 us, the first packet of an answer 3.05 us, and ten of them leave one by one.
    rpc = {"kind": "rpc", "fan_in": 2, "size_bytes": 5000, "request_bytes": 100, "requests": 1, "period_us": 90}
    ideal, took = ideal_us(rpc)
    assert ideal == pytest.approx(2.3 + 3.05 + 10 * 1.05)
    assert ideal <= took < 1.02 * ideal


def test_what_leaves_a_rack_takes_its_uplinks() -> None:
    """A permutation over uplinks of a quarter of what hosts send: no flow alone tells of it."""
    fabric = {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate_gbps": 8, "fabric_rate_gbps": 8}
    ideal, took = ideal_us({"kind": "permutation", "size_bytes": 100_000}, topology=fabric)
    assert 4 * 105.0 <= ideal <= took


KINDS: list[dict[str, Any]] = [
    {"kind": "all_reduce", "size_bytes": 60_000, "rounds": 2},
    {"kind": "all_to_all", "size_bytes": 60_000, "order": "random"},
    {"kind": "all_to_all", "size_bytes": 60_000, "concurrent": True},
    {"kind": "incast", "receiver": 0, "senders": 5, "size_bytes": 20_000, "repeat": 2, "period_us": 90},
    {"kind": "permutation", "size_bytes": 20_001},
    {"kind": "rpc", "fan_in": 3, "size_bytes": 5000, "request_bytes": 100, "requests": 3, "period_us": 50},
]
FABRICS: list[dict[str, Any]] = [
    {"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "override": [{"leaf": 0, "spine": 1, "rate_gbps": 3}]},
    {"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 3, "host_delay_ns": 0},
    {"kind": "fat_tree", "k": 4},
]


@pytest.mark.parametrize("traffic", KINDS, ids=lambda one: f"{one['kind']} {len(one)}")
@pytest.mark.parametrize("transport", ["dctcp", "rdma", "uet", "mptcp"])
def test_no_round_beats_its_ideal(traffic: dict[str, Any], transport: str) -> None:
    for fabric in FABRICS:
        for seed, scheme in enumerate(("ecmp", "rps"), 1):
            spec = {"topology": fabric, "transport": {"kind": transport}, "traffic": [traffic], "seed": seed}
            (job,) = sw.run(spec | {"scheme": {"name": scheme}}).rounds.jobs
            assert job.unfinished == 0
            assert 0.0 < job.ideal_s <= job.max_s


def test_the_table_of_rounds_has_it() -> None:
    found = simulate({"kind": "incast", "name": "burst", "receiver": 0, "senders": 3, "size_bytes": 500})
    table = run_tables.rounds_table(found)
    assert table.lines[0].cells[len(table.left) + table.right.index("ideal")] == "4.200 µs"


def test_where_nothing_comes_near_there_is_none() -> None:
    flows = {"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1000, "batch": 1}]}
    incast: dict[str, Any] = {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 500}
    assert math.isnan(job_of(flows).ideal_s)
    assert math.isnan(job_of(incast, metrics={"keep_flows_up_to": 2}).ideal_s)
    assert math.isnan(job_of(incast, metrics={"ideal": "best_path"}).ideal_s)
    assert math.isnan(job_of(incast, topology=RACK["topology"] | {"tx_time_rounding": "floor_1ns"}).ideal_s)
    assert math.isnan(job_of(incast, run={"until_us": 3}).ideal_s)
