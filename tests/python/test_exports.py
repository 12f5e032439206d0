"""Traces for Perfetto, GraphML and lines of htsim: read by their own schemas and readers."""

from __future__ import annotations

import io
import json
import re
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import spinewise
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.exports import graphml, htsim, perfetto
from spinewise.exports.lanes import laid_out
from spinewise.figures import of_run
from spinewise.figures import steps as figures_steps
from spinewise.measures.entries import begun
from spinewise.page import rounds as rounds_of_page
from spinewise.runs.result import Result

SPEC: dict[str, Any] = {
    "preset": "linux",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "parallel_links": 2},
    "scheme": {"name": "conga"},
    "traffic": [
        {"kind": "all_reduce", "name": "training", "hosts": "all", "size_bytes": 400_000, "rounds": 2},
        {"kind": "incast", "receiver": 0, "senders": 4, "size_bytes": 30_000, "repeat": 3, "period_us": 50},
        {"kind": "udp", "src": 5, "dst": 1, "schedule": [{"at_us": 0, "rate_gbps": 1}], "end_us": 100},
    ],
    "metrics": {"series_interval_us": 10, "series_links": "all"},
    "fault": [
        {"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 20, "until_us": 60},
        {"kind": "flap", "ends": ["leaf1", "spine0"], "link": 0, "at_us": 100, "period_us": 20, "down_us": 5,
         "until_us": 200},
    ],
}  # fmt: skip
# The same, cut off while flows and a fault are under way.
CUT = SPEC | {"run": {"stop": "time", "until_us": 125}}


@cache
def ran() -> Result:
    return spinewise.run(SPEC)


@cache
def cut() -> Result:
    return spinewise.run(CUT)


# One round of a ring of which the second half never begins.
NEVER = SPEC | {
    "traffic": [{"kind": "all_reduce", "name": "training", "hosts": "all", "size_bytes": 400_000, "rounds": 2}],
    "fault": [],
    "run": {"stop": "time", "until_us": 60},
}


class Read:
    """A trace as Perfetto's own classes read it: tracks by identifier, events by track."""

    def __init__(self, result: Result) -> None:
        self.counted = perfetto.Counted()
        trace = Trace.FromString(b"".join(perfetto.pieces(result, self.counted)))
        self.tracks: dict[int, Any] = {}
        self.events: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            else:
                assert packet.track_event.track_uuid in self.tracks, "a track is described before its events"
                self.events[packet.track_event.track_uuid].append((packet.timestamp, packet.track_event))

    def path(self, track: int) -> list[str]:
        described = self.tracks[track]
        name = described.process.process_name or described.name
        return [*(self.path(described.parent_uuid) if described.parent_uuid else []), name]

    def slices(self, process: str) -> list[tuple[list[str], str, int, int, dict[str, Any]]]:
        """Of a process: track, name, begin, end and arguments. Slices of a track must not overlap."""
        found = []
        for track, events in self.events.items():
            path, open_ = self.path(track), None
            if path[0] != process:
                continue
            assert [at for at, _ in events] == sorted(at for at, _ in events)
            for at, event in events:
                if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                    assert open_ is None, "a slice begins before the one before has ended"
                    open_ = at, event
                elif event.type == TrackEvent.TYPE_SLICE_END:
                    assert open_ is not None
                    found.append((path, open_[1].name, open_[0], at, arguments(open_[1])))
                    open_ = None
            assert open_ is None
        return found


def arguments(event: Any) -> dict[str, Any]:
    return {one.name: getattr(one, one.WhichOneof("value")) for one in event.debug_annotations}


@pytest.mark.parametrize("result", [ran, cut])
def test_flows_are_slices_of_their_hosts(result: Any) -> None:
    read, stop = Read(result()), result().report["stop_ps"]
    began = begun(result().flows, result().spec)
    flows = zip(result().flows.to_pylist(), began, strict=True)
    rows = {row["flow"]: row for row, has in flows if has and row["start_ps"] < stop}
    found = read.slices("flows")
    assert len(found) == len(rows) == read.counted.flows
    for path, name, begin, end, about in found:
        flow = rows.pop(int(name.split()[1]))
        assert path == ["flows", f"host{flow['src']}"]
        assert name.endswith(f"to host{flow['dst']}")
        last = flow["start_ps"] + flow["fct_ps"] if flow["finished"] else stop
        assert (begin, end) == (flow["start_ps"] // 1000, last // 1000)
        assert about["finished"] == flow["finished"] == ("fct_us" in about)
        assert about["retransmits"] == flow["retransmits"]
        assert about["size_bytes"] == flow["size_bytes"]
    assert not rows
    assert any(row["finished"] for row in result().flows.to_pylist())


def test_rounds_and_steps_are_slices() -> None:
    read = Read(ran())
    found = read.slices("rounds")
    rounds = {(one.name, one.group, one.round): one for one in ran().rounds.rounds}
    assert sum(path[-1] == "rounds" for path, *_ in found) == len(rounds) == read.counted.rounds
    for path, name, begin, end, about in found:
        entry, group = path[1].rsplit(", group ", 1)
        one = rounds[entry, int(group), int(name.split()[-1])]
        if path[-1] == "rounds":
            assert (begin, end) == (int(one.start_s * 1e9 + 1e-4), int(one.end_s * 1e9 + 1e-4))
            assert about["ranks"] == one.ranks
        else:
            step = one.steps[int(name.split()[1]) - 1]
            assert about["last_flow"] == step.last_flow
            assert begin == int(step.start_s * 1e9 + 1e-4)
    assert {path[1] for path, *_ in found} >= {"training, group 0"}


def test_quantities_are_counters_that_hold_from_the_beginning_of_an_interval() -> None:
    read = Read(ran())
    counters = {tuple(read.path(track)): track for track, told in read.tracks.items() if told.HasField("counter")}
    track = counters["quantities", "leaf0->spine0#0", "link_utilisation"]
    times, values = ran().series_of("link_utilisation", "leaf0->spine0#0")
    events = [(at, event.double_counter_value) for at, event in read.events[track]]
    assert events[:-1] == [(round(t * 1e9) - 10_000, v) for t, v in zip(times, values, strict=True)]
    assert events[-1] == (round(times[-1] * 1e9), 0.0)
    assert read.tracks[counters["quantities", "leaf0->spine0#0", "link_queue_bytes"]].counter.unit == 3
    assert read.counted.points == ran().series.num_rows


def test_where_an_interval_had_nothing_a_quantity_is_zero() -> None:
    marks = list(perfetto.steps_of("link_marks", [10, 20, 50], [3.0, 4.0, 5.0], 10))
    assert marks == [(0, 3.0), (10, 4.0), (20, 0.0), (40, 5.0), (50, 0.0)]
    assert list(perfetto.steps_of("conga.rate", [10, 50], [3.0, 5.0], 10)) == [(10, 3.0), (50, 5.0)]


def test_faults_are_slices_and_instants() -> None:
    read = Read(cut())
    slices = read.slices("faults")
    assert Counter(path[-1] for path, *_ in slices) == {"down": 1, "flap": 2}
    down = next(one for one in slices if one[0][-1] == "down")
    assert down[1:4] == ("down: leaf0->spine1#0 and 3 more", 20_000, 60_000)
    moments = [events for track, events in read.events.items() if read.path(track)[-1] == "begin and end"]
    told = [(at, event.name.rsplit(" ", 1)[1]) for at, event in moments[0]]
    assert told == [(20_000, "begins"), (60_000, "ends"), *[(at * 1000, word) for at, word in
                    ((100, "begins"), (105, "ends"), (120, "begins"))]]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=40))
def test_rows_hold_what_does_not_overlap_and_are_few(given_: list[tuple[int, int]]) -> None:
    intervals = [(begin, begin + length, n) for n, (begin, length) in enumerate(given_)]
    found = list(laid_out(intervals))
    assert sorted(what for *_, what in found) == list(range(len(intervals)))
    rows: dict[int, int] = {}
    for row, begin, end, _ in found:
        assert rows.get(row, 0) <= begin
        rows[row] = end
    at_once = [sum(b <= begin < e or (b == begin == e) for b, e, _ in intervals) for begin, *_ in intervals]
    assert len(rows) <= max(at_once, default=0)


LINE = re.compile(
    r"Flow Uec_(\d+)_(\d+) flowId (\d+) uecSrc (\d+) finished at ([0-9.]+) total messages 1 total packets (\d+)"
    r" RTS 0 total bytes (\d+)"
)
SUMS = re.compile(
    r"New: (\d+) Rtx: (\d+) RTS: (\d+) Bounced: (\d+) ACKs: (\d+) NACKs: (\d+) Pulls: (\d+) sleek_pkts: (\d+)"
)


@pytest.mark.parametrize("result", [ran, cut])
def test_lines_of_htsim_are_what_its_scripts_look_for(result: Any) -> None:
    *flows, last = htsim.lines(result())
    rows = {row["flow"]: row for row in result().flows.to_pylist() if row["sender_fct_ps"]}
    times = []
    for line in flows:
        found = LINE.fullmatch(line)
        assert found
        row = rows.pop(int(found[3]))
        assert (int(found[1]), int(found[2]), int(found[7])) == (row["src"], row["dst"], row["size_bytes"])
        assert round(float(found[5]) * 1e6) == row["start_ps"] + row["sender_fct_ps"]
        assert int(found[6]) == row["packets"] - row["retransmits"] == -(-row["size_bytes"] // 1460)
        times.append(float(found[5]))
    assert not rows
    assert times == sorted(times)
    sums = SUMS.fullmatch(last)
    assert sums
    totals = result().report["totals"]
    assert [int(one) for one in sums.groups()[:4]] == [
        totals["sent"] - totals["retransmits"],
        totals["retransmits"],
        0,
        0,
    ]


def test_one_flow_ends_as_worked_out_by_hand() -> None:
    """2 MB over 4 links of 100 Gbps and 1 µs: packets of 4150 B, 64 of them header, and an acknowledgement of 64 B."""
    packets, last = 489, 2_000_000 - 489 * 4086 + 64
    sent = (packets * 4150 + last) * 80 + 3 * last * 80
    there = max(sent, (packets + 3) * 4150 * 80 + last * 80)
    spec = {
        "preset": "datacenter",
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "transport": {"kind": "newreno", "mss_bytes": 4086, "header_bytes": 64, "ack_bytes": 64,
                      "initial_window_segments": 1000},
        "switch": {"buffer_packets": 1000},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 2_000_000, "start_ns": 0}]}],
    }  # fmt: skip
    line, sums = htsim.lines(spinewise.run(spec))
    expected = there + 4 * 1_000_000 + 4 * (1_000_000 + 64 * 80)
    assert f" finished at {htsim.microseconds(expected)} " in line
    assert "total packets 490 " in line
    assert sums == "New: 490 Rtx: 0 RTS: 0 Bounced: 0 ACKs: 490 NACKs: 0 Pulls: 0 sleek_pkts: 0"


def test_networkx_reads_the_fabric() -> None:
    document, nodes, edges = graphml.text(ran())
    graph = networkx.read_graphml(io.BytesIO(document))
    assert graph.is_directed()
    assert graph.is_multigraph()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, edges) == (12, 2 * (8 + 2 * 2 * 2))
    assert graph.nodes["host5"] == {"label": "host5", "tier": "host", "position": 5, "leaf": "leaf1"}
    report = {link["name"]: link for link in ran().report["links"]}
    for source, target, name, about in graph.edges(keys=True, data=True):
        assert name.startswith(f"{source}->{target}")
        assert about["packets"] == report[name]["packets"]
        assert about["rate_bps"] == report[name]["rate_bps"]
        assert about["utilisation"] == report[name]["utilisation"]
        assert about["up"] is True
    assert graph.edges["leaf0", "spine1", "leaf0->spine1#1"]["faults"] == "down 20 to 60 us"
    assert graph.edges["host0", "leaf0", "host0->leaf0"].get("faults") in (None, "")
    assert networkx.shortest_path_length(graph, "host0", "host7") == 4


def test_graphml_declares_what_it_uses() -> None:
    """What its schema asks for: keys come first, ids are unique, edges have ends, data has a declared key."""
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.fromstring(graphml.text(cut())[0])
    children = [child.tag.removeprefix(space) for child in root]
    assert root.tag == f"{space}graphml"
    assert children == ["key"] * (len(children) - 1) + ["graph"]
    keys = {key.attrib["id"]: key.attrib for key in root.iter(f"{space}key")}
    assert len(keys) == len(children) - 1
    assert {key["attr.type"] for key in keys.values()} == {"string", "boolean", "long", "double"}
    (graph,) = root.iter(f"{space}graph")
    assert graph.attrib["edgedefault"] == "directed"
    nodes = [node.attrib["id"] for node in graph.iter(f"{space}node")]
    assert len(set(nodes)) == len(nodes)
    for kind in ("node", "edge"):
        for element in graph.iter(f"{space}{kind}"):
            assert all(keys[data.attrib["key"]]["for"] == kind for data in element)
    for edge in graph.iter(f"{space}edge"):
        assert {edge.attrib["source"], edge.attrib["target"]} <= set(nodes)


def test_export_writes_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran().write(tmp_path / "run")
    files = {option: str(tmp_path / f"a.{option}") for option in ("perfetto", "graphml", "fct", "pcapng")}
    words = [word for option, name in files.items() for word in (f"--{option}", name)]
    words = ["export", str(tmp_path / "run"), *words, "--format", "htsim", "--capture", "host0"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {option: told[option] for option in files} == files
    assert told["nodes"] == 12
    assert told["edges"] == 32
    assert told["points"] == ran().series.num_rows
    assert told["flows"] == len(Path(files["fct"]).read_text().splitlines()) - 1
    assert main(words) == 2
    assert "a file that does not exist yet" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert f"{files['graphml']}: 12 nodes, 32 edges" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--fct", "F", "--format", "htsim", "--later-ns", "5"], "--later-ns"),
        (["--fct", "F", "--format", "htsim", "--topology", "T"], "--topology"),
        (["--graphml", "F", "--format", "htsim"], "together with --fct"),
        (["--fct", "F", "--format", "ns4"], "ns3"),
        (["--graphml", "."], "this is a folder"),
    ],
)
def test_export_refuses_what_does_not_fit(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran().write("run")
    assert main(["export", "run", *words]) == 2
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_without_its_package_a_trace_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran().write(tmp_path / "run")
    for name in ("spinewise.exports.perfetto", "spinewise.exports.tracks"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delattr(spinewise.exports, "perfetto", raising=False)
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace.perfetto_trace_pb2", None)
    assert main(["export", str(tmp_path / "run"), "--perfetto", str(tmp_path / "a")]) == 2
    assert "pip install 'spinewise[perfetto]'" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_runs_without_rows_of_flows_are_refused() -> None:
    result = spinewise.run(SPEC | {"metrics": {"keep_flows_up_to": 1}})
    for export in (lambda: htsim.lines(result), lambda: list(perfetto.pieces(result, perfetto.Counted()))):
        with pytest.raises(SpecError, match="a run without a row per flow"):
            export()


def test_what_has_not_begun_is_no_slice() -> None:
    result = spinewise.run(NEVER)
    began = begun(result.flows, result.spec)
    rounds = result.rounds.rounds
    assert 0 < began.sum() < len(began)
    assert [one.begun for one in rounds] == [True, False]
    steps = [step for one in rounds for step in one.steps]
    assert 0 < sum(step.begun for step in steps) < len(rounds[0].steps)
    read = Read(result)
    assert (read.counted.flows, read.counted.rounds) == (began.sum(), 1)
    bars = figures_steps.bars_of(rounds)
    assert [step.step for _, step in bars] == list(range(1, len(bars) + 1))
    (axes,) = of_run.KINDS["steps"].draw(result).axes
    last = axes.patches[-1]
    assert isinstance(last, Rectangle)
    assert last.get_x() + last.get_width() == pytest.approx(60.0), "a step under way lasts to the end of the run"
    (chart,) = rounds_of_page.charts([("a run", result)])
    assert [len(track) for _, track in chart.tracks] == [len(bars)]
