"""Flows whose bytes are counted by subflow: what `explain` tells of their packets is told of the right ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

import spinewise
from spinewise.explanation import again, choices, explain, parts, resent, story
from spinewise.explanation.losses import Losses
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

# Four hosts send to one in another rack, over shallow buffers.
BASE = {
    "topology": {
        "leaves": 2,
        "spines": 4,
        "hosts_per_leaf": 4,
        "host_rate_gbps": 10,
        "fabric_rate_gbps": 10,
        "host_delay_ns": 1000,
        "fabric_delay_ns": 1000,
    },
    "traffic": [
        {
            "kind": "flows",
            "list": [{"src": 4 + n, "dst": 0, "size_bytes": 300_000, "start_ns": 0} for n in range(4)],
        }
    ],
    "metrics": {"capture": {"at": ["host4", "host5", "host6", "host7"]}},
}
ONE_PATH = BASE | {"preset": "datacenter", "switch": {"buffer_bytes": 30_000}}
MPTCP = ONE_PATH | {"transport": {"kind": "mptcp", "subflows": 4}}
SPLIT = BASE | {
    "preset": "dcqcn-paper",
    "transport": {"queue_pairs": 4, "queue_pair_use": "split", "recovery": "irn"},
    "switch": {"pfc": False, "buffer_bytes": 72_000, "ecn_min_bytes": 20_000, "ecn_max_bytes": 25_000},
}
PACKET_NS = 8 / 10


def told(spec: Mapping[str, object]) -> tuple[Result, int, explain.Story]:
    """A traced run, the flow that sent most again, and its story."""
    run = spinewise.run(spec, trace=[0, 1, 2, 3])
    rows = run.flows.to_pylist()
    flow = max(rows, key=lambda row: row["retransmits"])["flow"]
    return run, flow, explain.story(run, flow)


def came(run: Result, flow: int) -> dict[tuple[int, int], list[float]]:
    """When the data packets of a flow had come to the leaf of its sender, µs, by subflow and number."""
    assert run.packets is not None
    found = defaultdict(list)
    for one in run.packets.to_pylist():
        if one["flow"] == flow and one["kind"] == "data" and one["outbound"]:
            at = one["time_ps"] / 1e6 + one["wire_bytes"] * PACKET_NS / 1e3 + 1.0
            found[one["subflow"], one["seq"]].append(at)
    return found


def older(run: Result) -> Result:
    """A run whose trace does not have subflows."""
    assert run.trace is not None
    assert run.losses is not None
    return replace(run, trace=run.trace.drop_columns(["subflow"]), losses=run.losses.drop_columns(["subflow"]))


@pytest.mark.parametrize(
    ("spec", "words"),
    [(ONE_PATH, ""), (MPTCP, " of subflow "), (SPLIT, " of queue pair ")],
    ids=["one", "mptcp", "split"],
)
def test_retransmissions_are_paired_with_packets_of_the_same_subflow(spec: Mapping[str, object], words: str) -> None:
    run, flow, found = told(spec)
    sent = came(run, flow)
    assert run.losses is not None
    lost = [
        (one["subflow"], one["seq"], one["time_ps"] / 1e6)
        for one in run.losses.to_pylist()
        if one["flow"] == flow and one["kind"] == "data"
    ]
    assert len(found.again) > 20
    for one in found.again:
        pairs = pairwise(sent[one.subflow, one.seq])
        assert any((then, now) == pytest.approx((one.before_us, one.time_us)) for then, now in pairs)
        was_lost = any(key[:2] == (one.subflow, one.seq) and one.before_us <= key[2] <= one.time_us for key in lost)
        assert was_lost == (one.lost is not None)
    subflows = {one.subflow for one in found.again}
    assert subflows <= {1, 2, 3, 4} and len(subflows) > 1 if words else subflows == {0}
    again = next(line for line in story.tell(found).splitlines() if " went again " in line)
    assert words in again
    assert words or " of " not in again


def test_an_older_trace_tells_of_retransmissions_of_flows_with_one_path_alone() -> None:
    run, flow, found = told(ONE_PATH)
    assert explain.story(older(run), flow).again == found.again
    for spec in (MPTCP, SPLIT):
        run, flow, found = told(spec)
        before = explain.story(older(run), flow)
        assert found.again
        assert not before.again
        assert before.lost == found.lost
        assert before.moves_in_all == found.moves_in_all
        assert Losses(run, flow).apart
        assert not Losses(older(run), flow).apart


@pytest.mark.parametrize("spec", [MPTCP, SPLIT], ids=["mptcp", "split"])
def test_waits_of_subflows_are_those_at_the_ports_of_their_packets(spec: Mapping[str, object]) -> None:
    """Every port on the paths was captured, so no wait is left without a place."""
    run, flow, _ = told(spec)
    spent = parts.Accounts(again.repeated(run, [flow], [flow], "A")).spent(flow)
    assert spent is not None
    assert spent.exact
    assert sum(spent.us.values()) == pytest.approx(run.flows.to_pylist()[flow]["fct_ps"] / 1e6)
    for waited, places in ((parts.QUEUES, spent.queues), (parts.ACKS, spent.ack_queues)):
        known = sum(us for link, us in places.items() if link != parts.ELSEWHERE)
        assert known == pytest.approx(spent.us[waited], abs=0.01)


def test_the_packet_before_a_move_is_of_the_same_subflow() -> None:
    scheme = {"name": "letflow", "params": {"flowlet_gap_us": 20}}
    run, flow, found = told(MPTCP | {"scheme": scheme})
    assert run.trace is not None
    of = choices.Choices(run.trace, flow, subflows=True)
    assert len(found.moves) > 3
    for move in found.moves:
        at = next(
            k for k in range(len(of)) if (of.time[k], of.seq[k], of.device[k]) == (move.time_us, move.seq, "leaf1")
        )
        earlier = [
            time for time, subflow in zip(of.time[:at], of.subflow[:at], strict=True) if subflow == of.subflow[at]
        ]
        assert move.silent_us == pytest.approx(move.time_us - earlier[-1])
        assert earlier[-1] < move.time_us - 20.0


def test_a_timer_of_a_subflow_is_told_while_others_go_on() -> None:
    """The time since the previous packet of its subflow counts, not that since the flow's."""
    run, flow, found = told(MPTCP)
    assert run.trace is not None
    of = choices.Choices(run.trace, flow, subflows=True)
    losses = Losses(run, flow)
    assert resent.sent_again(of, run, losses) == found.again
    least_us = float(str(run.spec["transport"]["min_rto_us"]))
    waits = [one for one in found.again if one.timeout]
    last: dict[int, float] = {}
    expected = 0
    for subflow, time, is_again in zip(of.subflow, of.time, of.again, strict=True):
        expected += bool(is_again and time - last.get(subflow, time) >= resent.NEARLY * least_us)
        last[subflow] = float(time)
    assert len(waits) == expected > 0
    for one in waits:
        assert one.others_went_on == (one.silent_us < resent.NEARLY * least_us)
    assert numbers(run.flows, "timeouts")[flow] > 0
