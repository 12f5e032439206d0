"""The story of flows in runs in which links break: where they went, what was lost, and by which fault."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

import spinewise
from samples import LOST_ACKS
from spinewise.core import registry
from spinewise.explanation import breaks, choices, explain, losses, story
from spinewise.page import flows as of_page
from spinewise.page.packed import Block
from spinewise.runs.result import Result
from spinewise.shapes import Spec

# The uplink that goes is the first of its leaf: the places of all others in the list of candidates change.
SPEC: Spec = {
    "seed": 2,
    "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 25, "fabric_rate_gbps": 50,
                 "host_delay_ns": 500, "fabric_delay_ns": 500},
    "transport": {"kind": "dctcp", "min_rto_us": 1000, "initial_rto_us": 1000},
    "traffic": [{"kind": "flows", "list": [
        {"src": n % 4, "dst": 4 + n % 4, "size_bytes": 500_000} for n in range(12)
    ]}],
    "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 120, "until_us": 2500}],
    "detection": {"carrier_us": 50, "control_plane_us": 100},
    "metrics": {"capture": {"at": ["leaf0"]}},
}  # fmt: skip
FLOWS = range(12)
OVER_VALUES = {"oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc", "uno", "mprdma_reuse"}
AT_SWITCHES = [
    entry["name"] for entry in registry()["schemes"] if entry["site"] == "switch" and entry["name"] != "lbsp"
]


def spec(name: str, **others: object) -> Spec:
    """The spec under a scheme; over Ultra Ethernet where the scheme is at home there."""
    made = SPEC | {"scheme": {"name": name}} | others
    if name in OVER_VALUES:
        made = {key: value for key, value in made.items() if key != "transport"} | {"preset": "uet-htsim"}
    return made  # type: ignore[return-value]


def caught(result: Result, flow: int) -> Counter[tuple[int, str]]:
    """The data packets of a flow that left leaf0 upwards, by first byte and uplink, by the capture."""
    assert result.packets is not None
    rows = result.packets.select(["flow", "interface", "outbound", "kind", "seq"]).to_pylist()
    return Counter(
        (row["seq"], row["interface"])
        for row in rows
        if row["flow"] == flow
        and row["outbound"]
        and row["kind"] == "data"
        and row["interface"].startswith("leaf0->spine")
    )


def chosen(result: Result, flow: int, device: str) -> list[tuple[int, str]]:
    """The same by the trace, in the order of choices."""
    assert result.trace is not None
    found = choices.Choices(result.trace, flow)
    here = [at for at in range(len(found)) if found.device[at] == device]
    return [(int(found.seq[at]), found.links[int(found.chosen[at])][0]) for at in here]


@pytest.mark.parametrize("scheme", AT_SWITCHES)
def test_moves_of_schemes_at_switches_are_those_of_the_capture(scheme: str) -> None:
    result = spinewise.run(spec(scheme), trace=FLOWS)
    moved = off = 0
    for flow in FLOWS:
        told, went = explain.story(result, flow), chosen(result, flow, "leaf0")
        assert Counter(went) == caught(result, flow), f"flow {flow}"
        ways = [name for name, _ in groupby(link for _, link in went)]
        at_leaf = [move for move in told.moves if move.device == "leaf0"]
        assert [move.new.links[0] for move in at_leaf] == ways[1:]
        assert [move.old.links[0] for move in at_leaf if move.old] == ways[:-1]
        packets = {one.name: one.packets for one in told.shares if one.device == "leaf0" and one.packets}
        assert packets == Counter(f"via {link.partition('->')[2]}" for _, link in went)
        moved += len(at_leaf)
        gone = [move for move in at_leaf if move.old and not move.old.open]
        assert all(move.old and move.old.links[0] == "leaf0->spine0" for move in gone)
        assert all(move.escaped and "it paid: nothing got through" in story.verdict(move) for move in gone)
        assert told.summary["moves_off_dead_paths"] == len(gone)
        assert int(told.summary["moves_that_paid"] or 0) >= len(gone)
        off += len(gone)
    assert moved
    # Luopan has taken all flows off spine0 by then.
    assert off or scheme == "luopan", "the flows over spine0 must leave it"


@pytest.mark.parametrize("scheme", ["presto", "clove", "flowbender", "reps", "uno"])
def test_paths_of_schemes_at_hosts_are_those_of_the_capture(scheme: str) -> None:
    """As a host chooses, routes may change before its leaf has the packet: a few differ."""
    result = spinewise.run(spec(scheme), trace=FLOWS)
    for flow, row in enumerate(result.flows.to_pylist()):
        went, wire = chosen(result, flow, f"host{row['src']}"), caught(result, flow)
        assert went
        up = Counter((seq, link) for seq, link in went)
        assert sum(((up - wire) + (wire - up)).values()) <= 0.02 * len(went) + 8
        moves = explain.story(result, flow).moves
        ways = [name for name, _ in groupby(link for _, link in went)]
        assert [move.new.links[0] for move in moves] == ways[1:]
        assert [move.old.links[0] for move in moves if move.old] == ways[:-1]


def test_a_way_that_is_kept_while_switches_go_round_a_fault_is_told_as_such() -> None:
    sticky = spec("flowbender", scheme={"name": "flowbender", "params": {"t": 1.0, "on_timeout": False}})
    result = spinewise.run(sticky, trace=FLOWS)
    told = [explain.story(result, flow) for flow in FLOWS]
    carried = [(one, move) for one in told for move in one.moves if move.by_routes]
    assert carried, "a tag that named spine0 is hashed anew"
    for one, move in carried:
        assert move.old is not None
        assert move.old.name != move.new.name
        assert move.gain_us is None
        text = story.tell(one, everything=True)
        assert "chose as before, but the switches moved it from the path" in text
        assert "more by switches" in text


@pytest.mark.parametrize("scheme", ["letflow", "ecmp"])
def test_acknowledgements_without_a_way_are_the_cause_of_a_timeout(scheme: str) -> None:
    result = spinewise.run(LOST_ACKS | {"scheme": {"name": scheme}}, trace=range(12))
    slow = [row["flow"] for row in result.flows.to_pylist() if row["timeouts"]]
    assert slow
    for flow in slow:
        told = explain.story(result, flow)
        (one,) = [again for again in told.again if again.timeout]
        assert one.lost is None
        (acks,) = one.acks
        assert (acks.kind, acks.fate, acks.device) == ("ack", "no way on", "spine1")
        sender = f"leaf{int(told.flow['dst']) // 2}"
        assert acks.link == f"{sender}->spine1"
        text = story.tell(told)
        assert f"had no onward route at spine1, where {sender} had sent them" in text
        assert f"leaf0–spine1 was down from 100.0 µs on; {sender} used other routes from 1.2" in text
        assert "so one was late" not in text
        assert told.faults == ["leaf0–spine1 was down from 100.0 µs on"]
        shown = of_page.path(result, flow, 0, {}, Block())
        assert any("had no onward route at spine1" in line for line in shown.why), shown.why


def test_faults_beside_a_stall_that_they_did_not_cause_are_told_too() -> None:
    """Packets find no room while a link elsewhere is slow."""
    lossy = LOST_ACKS | {
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8},
        "scheme": {"name": "rps"},
        "switch": {"buffer_bytes": 40_000},
        "transport": {"recovery": "newreno", "min_rto_us": 10_000, "initial_rto_us": 10_000},
        "traffic": [{"kind": "incast", "receiver": 0, "senders": 15, "size_bytes": 60_000}],
        "fault": [{"kind": "rate", "ends": ["leaf1", "spine1"], "at_us": 0, "until_us": 90_000, "rate_gbps": 5}],
    }
    plain = spinewise.run(lossy)
    slow = next(row["flow"] for row in plain.flows.to_pylist() if row["timeouts"] and row["src"] >= 8)
    told = explain.story(spinewise.run(lossy, trace=[slow]), slow)
    wait = next(one for one in told.again if one.timeout)
    assert wait.faults == ("leaf1–spine1 ran at 5 Gbit/s from the start to 90.00 ms",)
    if wait.lost is not None:
        assert wait.lost.faults == ()
    assert "meanwhile leaf1–spine1 ran at 5 Gbit/s from the start to 90.00 ms" in story.tell(told)


def test_leaving_a_slowed_link_is_judged_by_what_it_would_have_cost() -> None:
    slow = spec(
        "drill",
        fault=[{"kind": "rate", "ends": ["leaf0", "spine0"], "at_us": 50, "until_us": 5000, "rate_gbps": 1}],
    )
    result = spinewise.run(slow, trace=[0])
    moves = explain.story(result, 0).moves
    off = [
        move
        for move in moves
        if move.time_us > 50
        and move.old
        and move.old.links[0] == "leaf0->spine0"
        and move.new.links[0] != "leaf0->spine0"
    ]
    assert off
    # A full packet takes 12 us at 1 Gbit/s, and 0.24 us at 50.
    assert all(move.gain_us is not None and move.gain_us > 10.0 for move in off if move.seq < 490_000)
    assert all("it paid" in story.verdict(move) for move in off if move.seq < 490_000)
    assert all(move.faults == ("leaf0–spine0 ran at 1 Gbit/s from 50.00 µs to 5.000 ms",) for move in off)


def test_losses_are_kept_with_the_run(tmp_path: Path) -> None:
    result = spinewise.run(LOST_ACKS, trace=range(12))
    result.write(tmp_path / "run")
    kept = Result.read(tmp_path / "run")
    assert kept.losses is not None
    assert result.losses is not None
    assert kept.losses.equals(result.losses)
    assert (kept.losses.schema.field("time_ps").metadata or {})[b"unit"] == b"ps"
    assert kept.losses.num_rows == result.report["counters"]["unroutable"]
    (tmp_path / "run" / "losses.parquet").unlink()
    older = Result.read(tmp_path / "run")
    again = explain.traced(older, 0, "run")
    assert again.losses is not None, "a trace of an older version is made again"
    assert losses.Losses(older, 0).all() == []


def test_a_move_into_a_dead_path_cost_and_both_paths_are_told() -> None:
    """Until a leaf has found that its uplink is down, a scheme may move a flow there."""
    late = spec("rps", detection={"carrier_us": 400, "control_plane_us": 100})
    result = spinewise.run(late, trace=FLOWS)
    moves = [move for flow in FLOWS for move in explain.story(result, flow).moves if move.device == "leaf0"]
    into = [move for move in moves if move.old and move.old.open and not move.new.open]
    assert into
    for move in into:
        assert move.new.links == ["leaf0->spine0", *move.new.links[1:]]
        assert move.gain_us is None
        text = "\n".join(story.one_move(move, {}, hashed=False))
        assert "so:   it cost: nothing got through on the new path" in text
        assert "then: leaf0–spine0 was down from 120.0 µs to 2.500 ms" in text
        assert f"{move.old.name if move.old else ''}: " in text.split("true:")[1]
        assert "via spine0: nothing got through, because leaf0->spine0 was down" in text


def test_a_loss_is_laid_to_what_broke_on_its_way_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch that was down elsewhere was named, as it touches the device too and held at the time.

    The way on was looked for with each packet, which took half a minute in a fabric of 8192 hosts.
    """
    fabric: Spec = {
        "topology": {"kind": "fat_tree", "k": 4, "host_rate_gbps": 25, "fabric_rate_gbps": 25},
        # From pod 0 into pod 0, past aggregation0, which had not believed yet that the link of leaf1 was up again.
        "traffic": [{"kind": "flows", "list": [
            {"src": n % 2, "dst": 2 + n % 2, "size_bytes": 1000, "start_ns": 155_000 + 500 * n} for n in range(40)
        ]}],
        "fault": [
            {"kind": "down", "switch": "core0", "at_us": 60, "until_us": 4000},
            {"kind": "down", "ends": ["leaf1", "aggregation0"], "at_us": 50, "until_us": 150},
        ],
        "detection": {"carrier_us": 50, "control_plane_us": 1000},
    }  # fmt: skip
    result = spinewise.run(fabric, trace=range(40))
    lost = [one for flow in range(40) for one in losses.Losses(result, flow).all() if one.fate == losses.NO_WAY]
    assert lost
    for one in lost:
        assert one.faults == ("aggregation0–leaf1 was down from 50.00 µs to 150.0 µs",), str(one)
    looked: list[str] = []

    def onward(result: Result, device: str, host: str) -> frozenset[str]:
        looked.append(device)
        return breaks.onward(result, device, host)

    monkeypatch.setattr(losses, "onward", onward)
    for flow in range(40):
        mine = losses.Losses(result, flow)
        looked.clear()
        assert mine.all() == mine.all()
        assert len(looked) == len({one.device for one in mine.all() if one.fate == losses.NO_WAY})
