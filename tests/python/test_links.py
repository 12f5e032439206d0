"""Links as reports and specs tell of them: the hottest, the longest queues, the fabric as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

import spinewise as sw
from spinewise import SpecError, core
from spinewise.measures.links import hottest
from spinewise.measures.report import Link, QueueBytes
from spinewise.page import of_run
from spinewise.show import run_tables


def link(name: str, use: float, longest: int, queue: QueueBytes | None = None) -> Link:
    return {
        "name": name, "fabric": True, "rate_bps": 10**10, "packets": 9, "bytes": 9000, "utilisation": use,
        "use_max": None if queue is None else 1.0, "longest_queue_bytes": longest, "queue_bytes": queue, "marks": 1,
        "drops": 2, "dropped_bytes": 2000, "lost": 0, "paused_ps": 0, "pauses": 0,
    }  # fmt: skip


def lengths(p99: int, most: int) -> QueueBytes:
    return {"mean": 1.5, "p50": 0, "p95": 0, "p99": p99, "max": most}


def names(links: list[Any]) -> list[str]:
    return [link.name for link in links]


def test_the_hottest_links_come_first_and_idle_ones_not_at_all() -> None:
    found = hottest([link("a", 0.1, 5), link("b", 0.0, 0), link("c", 0.5, 0), link("d", 0.1, 9)])
    assert names(found.links) == ["c", "a", "d"]
    assert names(found.queues) == ["d", "a"]
    assert found.queues[0].queue_p99_bytes is None
    assert names(hottest([link("a", 0.1, 5), link("c", 0.5, 7)], 1).links) == ["c"]
    assert hottest([]) == type(found)([], [])


def test_a_queue_that_is_long_most_of_the_time_goes_before_one_that_was_long_once() -> None:
    found = hottest([link("once", 0.1, 900, lengths(0, 900)), link("often", 0.1, 300, lengths(250, 310))])
    assert names(found.queues) == ["often", "once"]
    assert (found.queues[0].longest_queue_bytes, found.queues[0].max_use) == (310, 1.0)


def test_the_report_of_a_run_has_what_is_needed() -> None:
    incast = {"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 30_000}
    spec: dict[str, Any] = {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}, "traffic": [incast]}
    for facts in (False, True):
        spec["metrics"] = {"facts": facts, "sample_interval_us": 5}
        report = json.loads(core.run(core.resolve(spec))["report"])
        found = hottest(report["links"])
        assert found.links[0].name == found.queues[0].name == "leaf0->host0"
        assert (found.links[0].max_use is not None) == facts


def test_the_fabric_is_told_with_names_and_faults() -> None:
    spec: dict[str, Any] = {
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1},
        "traffic": [{"kind": "permutation", "size_bytes": 1000}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 5, "until_us": 6}],
    }
    fabric = core.topology(spec)
    assert [node["name"] for node in fabric["nodes"]] == ["host0", "host1", "leaf0", "leaf1", "spine0", "spine1"]
    assert fabric["faults"][0]["intervals"] == [[5_000_000, 6_000_000]]
    assert {link["from"] for link in fabric["links"] if link["to"] == "spine0"} == {"leaf0", "leaf1"}
    spec["fault"][0]["ends"] = ["leaf0", "spin1"]
    with pytest.raises(SpecError, match="did you mean"):
        core.topology(spec)


def test_trims_are_told_by_tier() -> None:
    spec: dict[str, object] = {
        "preset": "uet",
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
        "scheme": {"name": "ecmp"},
        "switch": {"buffer_bytes": 20_000, "control_bytes": 256},
        "traffic": [
            {"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 300_000},
            {"kind": "permutation", "size_bytes": 500_000, "inter_rack": True},
        ],
    }
    result = sw.run(spec)
    summary = result.summary()
    by_tier = {tier["tier"]: (tier["trimmed"], tier["headers_lost"]) for tier in summary.links}
    counters = result.report["counters"]
    # Ports count what they cut; the run counts the headers that went on.
    assert sum(one[1] for one in by_tier.values()) == counters["headers_lost"] > 0
    assert sum(one[0] for one in by_tier.values()) == counters["trimmed"]["packets"] + counters["headers_lost"]
    assert by_tier["host->leaf"] == (0, 0)
    assert by_tier["leaf->host"][0] > by_tier["leaf->spine"][0] > 0
    shown = run_tables.link_table(summary)
    assert {"trimmed", "headers lost"} <= set(shown.right)
    told = " ".join(of_run.lost(summary).more)
    assert f"leaf->host {by_tier['leaf->host'][0]:,}" in told
    assert f"headers lost: {counters['headers_lost']:,}" in told
    # Where nothing is trimmed nothing is said of it.
    plain = sw.run({"topology": spec["topology"], "traffic": spec["traffic"]}).summary()
    assert not any("trimmed" in line for line in of_run.lost(plain).more)
