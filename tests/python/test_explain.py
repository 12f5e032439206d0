"""The choice trace and its story: what is told, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise
from spinewise.cli import main
from spinewise.explanation import choices, explain, resent, story, told_apart, worst
from spinewise.explanation.differ import differ
from spinewise.explanation.pairs import Asked
from spinewise.measures import tables
from spinewise.shapes import Spec, Traffic

SPEC: Spec = {
    "preset": "datacenter",
    "topology": {"leaves": 2, "spines": 3, "hosts_per_leaf": 2, "override": [{"spine": 1, "rate_gbps": 2.0}]},
    "traffic": [
        {"kind": "flows", "list": [
            {"src": 0, "dst": 2, "size_bytes": 600_000, "start_ns": 0},
            {"src": 1, "dst": 3, "size_bytes": 600_000, "start_ns": 5_000},
            {"src": 0, "dst": 1, "size_bytes": 9_000, "start_ns": 9_000},
        ]},
    ],
}  # fmt: skip


def spec(scheme: str, **params: float | str) -> Spec:
    return {**SPEC, "scheme": {"name": scheme, "params": params}}


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run without a trace."""
    spinewise.run(spec("presto")).write(tmp_path / "run")
    return tmp_path / "run"


def test_a_trace_comes_with_units_and_does_not_change_the_run(tmp_path: Path) -> None:
    plain, traced = spinewise.run(spec("presto")), spinewise.run(spec("presto"), trace=[0, 1])
    assert plain.trace is None
    assert plain.report["outcome_hash"] == traced.report["outcome_hash"]
    assert plain.spec_hash == traced.spec_hash
    traced.write(tmp_path / "run")
    again = spinewise.Result.read(tmp_path / "run").trace
    assert again is not None
    assert traced.trace is not None
    assert again.equals(traced.trace)
    assert (again.schema.field("worse_ps").metadata or {})[b"unit"] == b"ps"
    assert (again.schema.field("presto.cell_size").metadata or {})[b"of"] == b"flow"
    first = again.slice(0, 3).to_pylist()
    assert [row["way"] for row in first] == [0, 1, 2]
    assert [row["links"][0] for row in first] == ["leaf0->spine0", "leaf0->spine1", "leaf0->spine2"]
    assert {row["state"][0] for row in first} == {"up"}
    assert {row["rule"] for row in first} == {"the flow's first packet: a path drawn at random"}


def test_the_story_counts_what_the_trace_holds() -> None:
    result = spinewise.run(spec("presto"), trace=[0])
    told = explain.story(result, 0)
    trace = result.trace
    assert trace is not None
    chosen = tables.numbers(trace, "chosen")
    worse = tables.numbers(trace, "worse_ps")[chosen] / 1e6
    ways = tables.numbers(trace, "way")[chosen]
    moved = np.flatnonzero(np.diff(ways)) + 1
    assert told.summary["packets"] == len(worse) == result.flows.to_pylist()[0]["packets"]
    assert told.summary["packets_on_the_best"] == np.mean(worse == 0.0)
    assert told.summary["mean_regret_of_packets_us"] == pytest.approx(worse.mean())
    assert told.moves_in_all == len(told.moves) == len(moved) > 5
    seq = tables.numbers(trace, "seq")[chosen]
    assert [move.seq for move in told.moves] == list(seq[moved])
    for move, at in zip(told.moves, moved, strict=True):
        assert move.saw["presto.cell_sent"] == 44
        assert move.old is not None
        assert move.gain_us is not None
        assert move.new.name == f"via spine{ways[at]}"
        assert move.old.name == f"via spine{ways[at - 1]}"
        took = [way.queueing_us + way.travel_us for way in (move.old, move.new)]
        assert move.gain_us == pytest.approx(took[0] - took[1])
        assert move.best.worse_us == 0.0
        # The slow spine costs 4.8 us more at each of its two links; the last packet is shorter.
        assert move.seq + 1460 > 600_000 or (move.new.travel_us - move.old.travel_us) in (
            0.0,
            pytest.approx(9.6),
            pytest.approx(-9.6),
        )
    assert sum(share.packets for share in told.shares) == len(worse)


def test_a_move_is_told_with_what_was_decided_before_it() -> None:
    """Behind a TAIL stands the packet that was sent as the TAIL, with what the scheme saw then."""
    traffic: list[Traffic] = [{"kind": "poisson", "cdf": "ali_storage", "load": 0.8, "duration_us": 300}]
    base: Spec = {
        "traffic": traffic,
        "preset": "selb",
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4},
        "scheme": {"name": "conweave"},
    }
    flows = spinewise.run(base).flows.to_pylist()
    across = [row["flow"] for row in flows if row["src"] // 4 != row["dst"] // 4]
    result = spinewise.run(base, trace=across)
    assert result.trace is not None
    asked = {int(flow) for flow in np.unique(tables.numbers(result.trace, "flow"))}
    moves = [move for flow in sorted(asked) for move in explain.story(result, flow).moves]
    behind = [move for move in moves if move.decided_us is not None]
    assert behind, "some flow is rerouted"
    for move in behind:
        assert move.rule is not None
        assert move.rule.startswith("no answer by the deadline")
        assert move.saw["conweave.late"] > 0.0
        assert move.decided_us is not None
        assert move.decided_us < move.time_us


def test_explain_runs_again_what_was_not_traced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", folder, "--flow", 0)
    assert code == 0
    for part in (
        "Flow 0 under presto", "600 kB from host 0 to host 2, by dctcp", "put its first packet on the path via spine",
        "why:  the flowcell is full: the next path in turn", "saw:  cell_sent 44 packets or bytes", "via spine1",
        "queued)", "the best", "of the packets left on a path that was best", "Terms:",
    ):  # fmt: skip
        assert part in out, f"{part}\n{out}"
    assert {path.name for path in folder.iterdir()} == {
        "run.json",
        "flows.parquet",
        "series.parquet",
        "collectives.parquet",
    }


def test_explain_as_json_and_of_some_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", folder, "--flow", 0, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["moves_in_all"] == len(told["moves"]) == told["summary"]["moves"]
    middle = told["moves"][3]["time_us"]
    _, out, _ = run(capsys, "explain", folder, "--flow", 0, "--json", "--from", middle, "--to", middle)
    assert [move["time_us"] for move in json.loads(out)["moves"]] == [middle]
    _, out, _ = run(capsys, "explain", folder, "--flow", 0, "--from", 1e9)
    assert "None of its moves falls within the requested time." in out


def test_many_moves_are_summed_up_unless_all_are_asked_for(tmp_path: Path) -> None:
    told = explain.story(spinewise.run(spec("rps"), trace=[0]), 0)
    assert told.moves_in_all > 100
    short, whole = story.tell(told), story.tell(told, everything=True)
    assert short.count("  why:") == 1 + 2 * story.EXTREMES
    assert whole.count("  why:") == 1 + told.moves_in_all


def test_a_trace_in_the_folder_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'scheme = {name = "drill"}\ntopology = {leaves = 2, spines = 2, hosts_per_leaf = 1}\n'
        'traffic = [{kind = "flows", list = [{src = 0, dst = 1, size_bytes = 50000, start_ns = 0}]}]\n'
    )
    code, _, err = run(capsys, "run", file, "--trace", "0")
    assert code == 2
    assert "together with --out" in err
    assert run(capsys, "run", file, "--trace", "0", "--out", tmp_path / "out")[0] == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    # Were it run again, this would be noticed.
    record["outcome_hash"] = "0" * 16
    (tmp_path / "out" / "run.json").write_text(json.dumps(record))
    code, out, err = run(capsys, "explain", tmp_path / "out", "--flow", 0)
    assert code == 0, err
    assert "under drill" in out


def change(folder: Path, **values: Any) -> None:
    record = json.loads((folder / "run.json").read_text()) | values
    (folder / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("flow", "words"),
    [(3, "0 to 2"), (2, "hosts 0 and 1 are both at leaf0"), (10**9, "0 to 2")],
)
def test_flows_that_cannot_be_told_of(folder: Path, capsys: pytest.CaptureFixture[str], flow: int, words: str) -> None:
    code, _, err = run(capsys, "explain", folder, "--flow", flow)
    assert code == 2
    assert "key      --flow" in err
    assert words in err


@pytest.mark.parametrize("scheme", ["ecmp", "wcmp", "resilient"])
def test_where_a_hash_puts_a_flow_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    spinewise.run(spec(scheme)).write(tmp_path / "run")
    code, out, _ = run(capsys, "explain", tmp_path / "run", "--flow", 0)
    assert code == 0
    for part in ("leaf0 put its first packet on the path via spine", "a hash of the header picks the same candidate",
                 "It never moved.", "a hash decides where they go; 0 moves"):  # fmt: skip
        assert part in out, out
    told = explain.story(spinewise.run(spec(scheme), trace=[0]), 0)
    assert told.hashed
    assert told.summary["decisions"] == 0
    assert [share.packets for share in told.shares if share.packets] == [told.flow["packets"]]


def test_a_flow_inside_a_rack_is_told_what_became_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain", folder, "--flow", 2)
    assert code == 2
    assert "flow 2 arrived after" in err
    assert "with 0 timeouts and 0 packets sent again" in " ".join(err.split())


def test_a_run_that_does_not_come_out_as_it_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder, outcome_hash="0" * 16, version="0.0.9")
    code, _, err = run(capsys, "explain", folder, "--flow", 0)
    assert code == 2
    assert "outcome_hash" in err
    assert "made by Spinewise 0.0.9" in err


@pytest.mark.parametrize("content", ["{}", "[]", '{"report": 1, "spec": {}}', "nonsense", None])
def test_a_folder_that_is_no_run(folder: Path, capsys: pytest.CaptureFixture[str], content: str | None) -> None:
    if content is None:
        (folder / "run.json").unlink()
    else:
        (folder / "run.json").write_text(content)
    code, _, err = run(capsys, "explain", folder, "--flow", 0)
    assert code == 2
    assert "run.json" in err


def test_numbers_of_flows_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for bad in (-1, 2**32, True, "0"):
        with pytest.raises(spinewise.SpecError, match="numbers of flows"):
            spinewise.run(spec("presto"), trace=[bad])  # type: ignore[list-item]
    with pytest.raises(spinewise.SpecError, match="0 to 2"):
        spinewise.run(spec("presto"), trace=[7])
    code, _, err = run(capsys, "explain", folder, "--flow", 0, "--from", 9, "--to", 8)
    assert code == 2
    assert "--to" in err
    for args in (["--flow", "x"], ["--flow", "-1"], ["--flow", "0", "--from", "-3"]):
        assert main(["explain", str(folder), *args]) == 2
        assert "explain" in capsys.readouterr().err


LOSSY = SPEC | {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8},
    "switch": {"buffer_bytes": 40_000},
    "scheme": {"name": "rps"},
    "transport": {"recovery": "newreno", "min_rto_us": 10_000, "initial_rto_us": 10_000},
    "traffic": [{"kind": "incast", "receiver": 0, "senders": 15, "size_bytes": 60_000}],
}


def test_a_slow_flow_is_told_what_held_it_up() -> None:
    plain = spinewise.run(LOSSY)
    slow = next(row["flow"] for row in plain.flows.to_pylist() if row["timeouts"] == 1 and row["src"] >= 8)
    result = spinewise.run(LOSSY, trace=[slow])
    told = explain.story(result, slow)
    facts = result.flows.to_pylist()[slow]
    assert len(told.again) == facts["retransmits"] > 0
    waits = [one for one in told.again if one.timeout]
    assert len(waits) == facts["timeouts"]
    assert 9_000 < waits[0].silent_us < facts["fct_ps"] / 1e6
    assert waits[0].lost is not None
    assert (waits[0].lost.fate, waits[0].lost.link) == ("no room", "leaf0->host0")
    assert waits[0].before_us < waits[0].lost.first_us < waits[0].time_us
    assert told.lost is not None
    assert (
        sum(one.packets for one in told.lost if one.kind == "data")
        == facts["retransmits"] - facts["spurious_retransmits"]
    )
    text = story.tell(told)
    for part in ("What held it up:", "it was silent: once for as long as a retransmission timeout", "went again 10.",
                 "it found no room at leaf0->host0", "What it lost:", "(traffic incast)", ", 1 timeout\n"):  # fmt: skip
        assert part in text, text
    assert "1 timeouts" not in text
    assert "0 of waiting" not in text


def test_a_timeout_after_the_flow_had_arrived_did_not_hold_it_up() -> None:
    """It said "for 10.00 ms of its 20.00 µs it was silent", and such flows were among those that waited."""
    mute: Spec = SPEC | {
        "transport": {"recovery": "newreno", "min_rto_us": 10_000, "initial_rto_us": 10_000},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 6000, "start_ns": 0}]}],
        "fault": [{"kind": "loss", "probability": 1.0, "ends": ["leaf0", "host0"], "direction": "forward",
                   "at_us": 0, "until_us": 5000}],
    }  # fmt: skip
    told = explain.story(spinewise.run(mute, trace=[0]), 0)
    assert told.flow["fct_us"] < 1000
    assert told.flow["timeouts"] >= 1
    text = story.tell(told)
    assert "What held it up" not in text
    assert "What did not hold it up:\n  its sender did not know that everything had arrived, and sent " in text
    assert "again, after a retransmission timeout" in text
    assert worst.slowest(spinewise.run(mute))[1] == []


def test_nothing_is_said_to_have_held_up_a_flow_that_sent_nothing_again() -> None:
    told = explain.story(spinewise.run(spec("letflow"), trace=[0]), 0)
    assert told.flow["retransmits"] == 0
    assert told.again == []
    text = story.tell(told)
    assert "held it up" not in text
    assert "0 of waiting" not in text
    assert "no wait (nothing queued)" in text


MIXED: Spec = {
    "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 25, "fabric_rate_gbps": 50},
    "switch": {"model": "shared_buffer", "priorities": 3},
    "transport": {"kind": "rdma"},
    "traffic": [
        {"name": "storage", "kind": "poisson", "cdf": "alistorage", "load": 0.3, "duration_us": 2500, "priority": 1},
        {"name": "web", "kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 2500, "priority": 2,
         "transport": {"kind": "dctcp"}},
    ],
}  # fmt: skip


def test_estimates_that_fall_short_of_what_a_flow_took_are_told() -> None:
    """A packet waited for 245 µs behind pauses and another priority, and 62 µs of waiting were all that was told."""
    result = spinewise.run(MIXED)
    sent, took = (tables.numbers(result.flows, name) for name in ("packets", "fct_ps"))
    slow = int(np.argmax(np.where((sent == 1) & (took > 0), took, 0)))
    result = spinewise.run(MIXED, trace=[slow])
    told = explain.story(result, slow)
    assert not told.again
    assert told.estimated_us is not None
    assert told.estimated_us < story.COVERED * told.flow["fct_us"]
    text = story.tell(told)
    assert (
        f"The estimates of waiting cover {story.us(told.estimated_us)} of its {story.us(told.flow['fct_us'])}" in text
    )
    assert f"Where it waited: spinewise explain RUN RUN --flow {slow} " in text
    assert "Terms:\n  true: " in text, "ECMP has no quantities, and estimates need to be explained all the same"
    found = differ(result, result, Asked(flow=slow), ("run", "run"))
    assert sum(part.a for part in found.parts) == pytest.approx(told.flow["fct_us"])
    first, table = told_apart.tell(found).split("\n\n")
    assert first == f"Flow {slow} took {story.us(told.flow['fct_us'])}."
    assert "\n  data waiting in queues  " in table
    assert "in all" in table
    assert "difference" not in table


def test_estimates_that_hold_are_told_alone() -> None:
    told = explain.story(spinewise.run(spec("letflow"), trace=[0]), 0)
    assert told.estimated_us is not None
    assert story.COVERED * told.flow["fct_us"] < told.estimated_us <= told.flow["fct_us"] + 1e-6
    assert "The estimates of waiting" not in story.tell(told)


def test_what_was_late_and_not_lost_is_not_called_lost() -> None:
    one = resent.Again(20.0, 5.0, 1460, 3.0, timeout=False, path=["leaf0->spine0"])
    assert "neither it nor an acknowledgement was lost, so one was late" in story.one_again(one, 0.0)


@pytest.mark.parametrize(
    "scheme", ["oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc", "uno", "mprdma_reuse"]
)
def test_values_that_hosts_choose_are_told_with_paths_and_trims(scheme: str) -> None:
    uet = {
        "preset": "uet-htsim",
        "seed": 2,
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "override": [{"spine": 1, "rate_gbps": 10}]},
        "scheme": {"name": scheme},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 800_000}]}],
    }  # fmt: skip
    told = explain.story(spinewise.run(uet, trace=[0]), 0)
    assert told.again
    assert {(one.lost.fate, one.lost.link) for one in told.again if one.lost} == {("trimmed", "leaf0->spine1")}
    assert told.lost is not None
    assert [(one.fate, one.link) for one in told.lost] == [("trimmed", "leaf0->spine1")]
    assert told.moves_in_all > 50, "packets go to and fro"
    text = story.tell(told)
    assert "it lost its payload at leaf0->spine1" in text
    assert "why:  " in text
    assert all(f"via spine{n}" in text for n in range(4))


def test_a_packet_that_no_path_was_left_for_is_told_so() -> None:
    """Its ends have noticed that a link is down, and no leaf has: a way over it leads to no path."""
    faulty = SPEC | {
        "scheme": {"name": "letflow"},
        "traffic": [{"kind": "flows", "list": [
            {"src": n % 2, "dst": 2 + n % 2, "size_bytes": 3_000, "start_ns": 300_000 + 4_000 * n} for n in range(6)
        ]}],
        "fault": [{"kind": "down", "ends": ["leaf1", "spine0"], "at_us": 0, "until_us": 30_000}],
        "detection": {"mode": "carrier"},
    }  # fmt: skip
    result = spinewise.run(faulty, trace=range(6))
    told = [explain.story(result, flow) for flow in range(6)]
    stray = [one for one in told if not one.first.new.open]
    assert stray, "one of six flows draws the dead uplink first"
    for one in stray:
        assert one.first.new.name == f"via spine0 {choices.NO_WAY_ON}"
        assert one.first.new.links == ["leaf0->spine0"]
        assert one.first.best.open
        assert one.summary["packets_on_dead_paths"]
        again = [each for each in one.again if each.path == ["leaf0->spine0"]]
        assert again
        assert all(each.lost and (each.lost.fate, each.lost.device) == ("no way on", "spine0") for each in again)
        assert (
            "it had no onward route at spine0, where leaf0 had sent it: leaf1–spine0 was down from the start to 30.00"
            " ms" in (story.tell(one))
        )


def test_over_ultra_ethernet_a_timeout_is_of_one_packet() -> None:
    broken = {
        "preset": "uet-htsim",
        "scheme": {"name": "reps"},
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 2_000_000}]}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 30}],
        "detection": {"mode": "never"},
    }
    result = spinewise.run(broken, trace=[0])
    told = explain.story(result, 0)
    waits = [one for one in told.again if one.timeout]
    assert len(waits) == result.flows.to_pylist()[0]["timeouts"] > 0
    # The timer is that of 29 packets of queue: 72.768 us.
    assert all(one.time_us - one.before_us > 72.7 for one in waits)
    assert "while others went on" in story.tell(told)
