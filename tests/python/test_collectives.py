"""Rounds of collective operations: times and bandwidths by hand, and why a round was late."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spinewise import Result, compare, run
from spinewise.comparison.rounds import rounds_table
from spinewise.measures.collectives import Collectives, algbw, busbw
from spinewise.measures.stragglers import Straggler, straggler
from spinewise.show import run_tables

# Four hosts in one rack, 8 Gbps: a byte takes 1 ns on each of two links, whose delay is 1 us.
RACK: dict[str, Any] = {
    "topology": {
        "leaves": 1, "spines": 1, "hosts_per_leaf": 4, "host_rate_gbps": 8, "fabric_rate_gbps": 8,
        "host_delay_ns": 1000, "fabric_delay_ns": 1000,
    },
    "transport": {"mss_bytes": 1000, "header_bytes": 50, "ack_bytes": 50, "initial_window_segments": 10},
}  # fmt: skip


def simulate(*traffic: dict[str, Any], **changes: Any) -> Result:
    return run({**RACK, "traffic": list(traffic), **changes})


def test_bandwidths_are_those_of_the_definitions() -> None:
    # 1 GB in 10 ms: 100 GB/s; of an all-reduce of 8 hosts 2 * 7 / 8 of the data crosses each link.
    assert algbw(10**9, 0.01) == pytest.approx(100.0)
    assert busbw("all_reduce", 8, 10**9, 0.01) == pytest.approx(175.0)
    assert busbw("all_to_all", 8, 10**9, 0.01) == pytest.approx(87.5)
    assert busbw("incast", 5, 10**9, 0.01) == busbw("rpc", 5, 10**9, 0.01) == pytest.approx(80.0)
    assert busbw("permutation", 8, 10**9, 0.01) == pytest.approx(100.0)
    assert math.isnan(busbw("flows", 8, 10**9, 0.01))
    assert math.isnan(algbw(0, 0.01))
    assert math.isnan(algbw(5, math.nan))


def test_a_ring_has_the_time_of_its_recursion() -> None:
    # Four chunks of one packet: each of 6 steps takes 1.05 us on each of two links and 2 us on the way, and but for the
    # last a host sends an acknowledgement of 50 ns before it goes on.
    found = simulate({"kind": "all_reduce", "name": "gradients", "size_bytes": 4000, "start_us": 5})
    (one,) = found.rounds.rounds
    time_us = 6 * (2 * 1.05 + 2.0) + 5 * 0.05
    assert (one.name, one.kind, one.round, one.ranks, one.flows, one.bytes) == (
        "gradients",
        "all_reduce",
        1,
        4,
        24,
        24000,
    )
    assert one.start_s == pytest.approx(5e-6)
    assert one.time_s == pytest.approx(time_us * 1e-6)
    assert [step.step for step in one.steps] == [1, 2, 3, 4, 5, 6]
    assert one.steps[2].time_s == pytest.approx(4.15e-6)
    assert one.steps[-1].end_s == one.end_s
    assert one.algbw_gbyte_per_s == pytest.approx(4000 / (time_us * 1e3))
    assert one.busbw_gbyte_per_s == pytest.approx(1.5 * 4000 / (time_us * 1e3))
    (job,) = found.rounds.jobs
    assert (job.name, job.rounds, job.unfinished, job.groups, job.slowest) == ("gradients", 1, 0, 1, one)
    assert job.mean_s == job.max_s == job.total_s == one.time_s
    why = found.rounds.straggler(one)
    assert why is not None
    assert [late.step for late in why.chain] == [1, 2, 3, 4, 5, 6], "each waited for the one before"
    assert why.last.flow == one.last_flow
    assert why.last.after_s + why.last.time_s == pytest.approx(one.time_s)


def test_groups_and_rounds_make_one_job() -> None:
    found = simulate(
        {"kind": "all_to_all", "pair_bytes": 3000, "hosts": [[0, 1], [2, 3]], "rounds": 3, "gap_us": 10},
        {"kind": "incast", "receiver": 0, "senders": [1, 2], "size_bytes": 500, "start_us": 900},
    )
    job, incast = found.rounds.jobs
    assert (job.name, job.groups, job.rounds, job.ranks, job.message_bytes) == ("all_to_all", 2, 6, 2, 6000)
    assert [(one.round, one.group) for one in found.rounds.of("all_to_all")] == [
        (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1),
    ]  # fmt: skip
    assert job.total_s > 3 * job.mean_s
    assert job.busbw_gbyte_per_s == pytest.approx(3000 / job.mean_s / 1e9)
    assert (incast.kind, incast.ranks, incast.message_bytes) == ("incast", 3, 1500)
    assert 0.0 < incast.busbw_gbyte_per_s < 1.0, "no more than the receiver's link, 1 GB/s"


@pytest.mark.parametrize(
    ("traffic", "title", "row"),
    [
        ({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 30_000},
         "1 round of incast, 3 senders, 30.0 kB each", ("4", "30.0 kB")),
        ({"kind": "rpc", "fan_in": 1, "size_bytes": 5000, "requests": 2},
         "2 rounds of rpc, 1 sender, 5.00 kB each", ("2", "5.00 kB")),
        ({"kind": "all_to_all", "pair_bytes": 50_000, "hosts": [[0, 1], [2, 3, 1]], "rounds": 2},
         "2 rounds of all_to_all in each of 2 groups of 2 to 3 hosts", ("2 to 3 x 2", "–")),
        ({"kind": "all_to_all", "pair_bytes": 50_000, "hosts": [[0, 1], [2, 3]]},
         "1 round of all_to_all in each of 2 groups of 2 hosts, 50.0 kB to each other", ("2 x 2", "50.0 kB")),
        ({"kind": "all_reduce", "size_bytes": 6000, "hosts": [[0, 1], [2, 3, 1]]},
         "1 round of all_reduce in each of 2 groups of 2 to 3 hosts, 6.00 kB each", ("2 to 3 x 2", "6.00 kB")),
        ({"kind": "permutation", "size_bytes": 7000, "inter_rack": False},
         "1 round of permutation, 4 hosts, 7.00 kB each", ("4", "7.00 kB")),
        ({"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 100}], "rounds": 2},
         "2 rounds of flows, 2 hosts", ("2", "–")),
    ],
)  # fmt: skip
def test_who_sends_how_much_is_told_as_it_is(traffic: dict[str, Any], title: str, row: tuple[str, str]) -> None:
    """Three senders of 30 kB were "4 hosts, 120 kB each", and groups of two and of three "3 hosts, 150 kB each"."""
    found = simulate(traffic)
    (job,) = found.rounds.jobs
    assert job.title == title
    (line,) = run_tables.rounds_table(found).lines
    assert line.cells[2:4] == row
    both = compare({**RACK, "traffic": [traffic]}, "ecmp", seeds=1, jobs=1)
    assert rounds_table(both, job.name).heading == f"{job.name}: {title}"


def test_an_incast_that_loses_packets_tells_its_timeout() -> None:
    incast = {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 60_000}
    found = simulate(incast, switch={"buffer_packets": 4, "ecn_threshold_packets": 0}, seed=3)
    (one,) = found.rounds.rounds
    why = found.rounds.straggler(one)
    assert one.steps == ()
    assert why is not None
    assert len(why.chain) == 1
    row = next(row for row in found.flows.to_pylist() if row["flow"] == one.last_flow)
    assert row["retransmits"] > 0
    assert any("sent again" in reason for reason in why.cause.reasons)
    assert str(why).startswith(f"flow {one.last_flow} (host {row['src']} to 0) arrived last, ")
    assert " over its ideal: " in str(why)


def test_what_is_unfinished_has_no_time_and_is_the_slowest() -> None:
    traffic = {"kind": "all_reduce", "size_bytes": 400_000, "rounds": 2}
    found = simulate(traffic, run={"until_us": 900})
    first, second = found.rounds.rounds
    assert first.finished
    assert not second.finished
    assert math.isnan(second.time_s)
    assert math.isnan(second.busbw_gbyte_per_s)
    (job,) = found.rounds.jobs
    assert (job.rounds, job.unfinished, job.slowest) == (2, 1, second)
    assert job.mean_s == first.time_s
    assert math.isnan(job.total_s)
    assert "had not finished" in str(found.rounds.straggler(second))


def test_results_keep_rounds(tmp_path: Path) -> None:
    found = simulate(
        {"kind": "rpc", "fan_in": 2, "size_bytes": 5000, "request_bytes": 100, "requests": 2, "period_us": 90}
    )
    again = Result.read(found.write(tmp_path / "run"))
    assert found.collectives is not None
    assert again.collectives is not None
    assert again.collectives.equals(found.collectives)
    assert again.rounds.rounds == found.rounds.rounds
    assert [len(one.steps) for one in again.rounds.rounds] == [2, 2]
    assert all((field.metadata or {})[b"meaning"] for field in again.collectives.schema)


def test_without_rows_there_are_times_but_no_reasons() -> None:
    found = simulate(
        {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 500}, metrics={"keep_flows_up_to": 2}
    )
    assert found.flows.num_rows == 0
    (one,) = found.rounds.rounds
    assert one.finished
    assert found.rounds.straggler(one) is None
    none = simulate({"kind": "all_reduce", "size_bytes": 500}, metrics={"keep_flows_up_to": 2})
    assert none.rounds.rounds == []
    assert none.rounds.jobs == []
    assert Collectives(None, none.flows, []).rounds == []


def row(flow: int, step: int, ends: tuple[int, int], times_us: tuple[int, int], **more: Any) -> dict[str, Any]:
    """A flow of a round: from and to, start and completion time."""
    counts = ("timeouts", "retransmits", "spurious_retransmits", "marks", "cnps", "out_of_order", "path_changes")
    (src, dst), (start, fct) = ends, times_us
    times = {"start_ps": start * 10**6, "fct_ps": fct * 10**6, "sender_fct_ps": 0, "ideal_fct_ps": 5 * 10**6}
    plain = {"flow": flow, "src": src, "dst": dst, "step": step, "finished": True, "packets": 10, "cut_off": False}
    return plain | times | dict.fromkeys(counts, 0) | more


def late(*rows: dict[str, Any]) -> Straggler:
    last = max(rows, key=lambda one: one["start_ps"] + one["fct_ps"])
    in_order = sorted(rows, key=lambda one: one["step"])
    return straggler({name: np.array([one[name] for one in in_order]) for name in rows[0]}, last["flow"], 0.0)


def test_the_cause_may_lie_before_the_straggler() -> None:
    # Host 1's first step meets a timeout; what host 2 sends on waits for it, and so does what host 0 sends then.
    why = late(
        row(0, 1, (0, 1), (0, 6)),
        row(1, 1, (1, 2), (0, 900), timeouts=1, retransmits=3),
        row(2, 1, (2, 0), (0, 6)),
        row(3, 2, (1, 2), (6, 7)),
        row(4, 2, (2, 0), (900, 6)),
        row(5, 3, (0, 1), (906, 8), marks=5),
    )
    assert [one.flow for one in why.chain] == [1, 4, 5]
    assert (why.last.flow, why.cause.flow) == (5, 1)
    assert why.cause.reasons == ("1 timeout", "3 packets sent again")
    assert why.cause.excess_s == pytest.approx(895e-6)
    assert why.excess_s == pytest.approx(899e-6)
    assert str(why) == (
        "flow 5 (host 0 to 1, step 3) arrived last, 914.0 µs after the round began; it waited for 2 before it, "
        "899.0 µs over their ideals in all; the longest delay was at flow 1 (host 1 to 2, step 1): 895.0 µs over its "
        "ideal: 1 timeout, 3 packets sent again"
    )


def test_an_acknowledgement_may_be_waited_for_too() -> None:
    why = late(row(0, 1, (0, 1), (0, 6), sender_fct_ps=9 * 10**6), row(1, 2, (0, 2), (9, 6)))
    assert [one.flow for one in why.chain] == [0, 1]


def test_reasons_are_told_by_their_gravity() -> None:
    slow = row(2, 0, (0, 1), (0, 90), ideal_fct_ps=20 * 10**6, marks=4, out_of_order=1, path_changes=2, retransmits=1,
               spurious_retransmits=1)  # fmt: skip
    why = late(row(0, 0, (2, 1), (0, 6)), row(1, 0, (3, 1), (0, 6)), slow)
    assert why.cause.reasons == (
        "1 packet sent again, 1 for nothing",
        "alone it would take 4.0 times as long as others of its step",
        "40% of its packets marked",
        "1 packet out of order",
        "2 path changes",
    )
    plain = late(row(0, 0, (2, 1), (3, 9)))
    assert str(plain) == (
        "flow 0 (host 2 to 1) arrived last, 12.00 µs after the round began; the first of them began 3.000 µs late: "
        "4.000 µs over its ideal: queues, without loss or mark"
    )
