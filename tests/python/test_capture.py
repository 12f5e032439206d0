"""Captured packets, and their file: read by a reader of our own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pyarrow.compute as pc
import pytest

import spinewise
from capture_cases import CASES, plain, spec
from pcapng_file import Capture, Frame, check, read
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.exports import capture
from spinewise.exports.settings import FrameSettings
from spinewise.runs.result import Result
from spinewise.specs.spec import resolve


@cache
def ran(case: str) -> Result:
    return spinewise.run(CASES[case])


@cache
def file_of(case: str, snap_bytes: int = 0) -> Capture:
    return read(b"".join(capture.blocks(ran(case), snap_bytes)))


def packets_by_link(result: Result) -> dict[str, int]:
    return {link["name"]: link["packets"] for link in result.report["links"]}


@pytest.mark.parametrize("case", CASES)
def test_a_capture_changes_nothing_and_misses_nothing(case: str) -> None:
    result = ran(case)
    assert spinewise.run(plain(CASES[case])).report["outcome_hash"] == result.report["outcome_hash"]
    sent, table = packets_by_link(result), result.packets
    assert table is not None
    leaving = Counter(table.filter(table["outbound"]).column("interface").to_pylist())
    ports = [port["name"] for port in result.report["captured"]]
    assert {"host0->leaf0", "leaf0->spine1", "leaf1->host4", "leaf1->spine0"} < set(ports)
    assert {port: leaving[port] for port in ports} == {port: sent[port] for port in ports}
    assert table.num_rows == sum(port["packets"] for port in result.report["captured"])
    times = table["time_ps"].to_pylist()
    assert times == sorted(times)
    assert times[-1] <= result.report["stop_ps"]


def test_what_arrives_is_what_was_sent_and_not_lost() -> None:
    result = ran("loss")
    table = result.packets
    assert table is not None
    link = next(link for link in result.report["links"] if link["name"] == "leaf0->spine1")
    leaving = table.filter(pc.and_(table["outbound"], pc.equal(table["interface"].cast("string"), "leaf0->spine1")))
    assert 0 < link["lost"] == sum(leaving["lost"].to_pylist())
    comments = [frame.options.get(1) for frame in file_of("loss").at("leaf0->spine1")]
    assert comments.count(b"lost on the link") == link["lost"]


def test_a_packet_leaves_when_its_transmission_starts() -> None:
    """Through a link whose rate changes: 1500 B take 1.2 µs at 10 Gbps, and 12 µs at 1 Gbps."""
    table = ran("slow").packets
    assert table is not None
    rows = [row for row in table.to_pylist() if row["wire_bytes"] == 1500 and row["outbound"] and row["kind"] == "data"]
    first = next(row for row in rows if row["interface"] == "host0->leaf0")
    assert first["time_ps"] == first["stamp_ps"] == 0
    slow = [row["time_ps"] for row in rows if row["interface"] == "leaf0->spine1" and 60e6 < row["time_ps"] < 140e6]
    gaps = [later - earlier for earlier, later in itertools.pairwise(slow)]
    assert len(gaps) > 3
    assert min(gaps) == 12_000_000


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("snap_bytes", [0, 128])
def test_every_frame_is_right_by_its_own_formats(case: str, snap_bytes: int) -> None:
    found = file_of(case, snap_bytes)
    table = ran(case).packets
    assert table is not None
    assert [frame.time_ps for frame in found.frames] == table["time_ps"].to_pylist()
    assert [frame.options[2][0] for frame in found.frames] == [2 if out else 1 for out in table["outbound"].to_pylist()]
    for frame in found.frames:
        assert len(frame.kept) == (min(frame.length, snap_bytes) if snap_bytes else frame.length)
        check(frame)
    assert [one[2].decode() for one in found.interfaces] == [port["name"] for port in ran(case).report["captured"]]
    assert all(one[8] == (10**10).to_bytes(8, "little") and one[9] == b"\x0c" for one in found.interfaces[:1])
    assert found.names["10.0.0.1"] == "host0"
    assert found.names["172.16.0.1"] == "leaf0"


def of_tcp(frames: Iterable[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.protocol == 6]


def behind(frames: Iterable[Frame]) -> int:
    """Segments with data that had been there before: at the sender, those that are sent again."""
    furthest: dict[tuple[int, int], int] = {}
    many = 0
    for frame in of_tcp(frames):
        if frame.payload:
            many += frame.seq < furthest.get(frame.ports, 0)
            furthest[frame.ports] = max(furthest.get(frame.ports, 0), frame.seq + frame.payload)
    return many


def disordered(frames: Iterable[Frame]) -> int:
    """Segments that arrive after a later byte of their flow."""
    furthest: dict[tuple[int, int], int] = {}
    many = 0
    for frame in of_tcp(frames):
        if frame.payload:
            end = frame.seq + frame.payload
            many += end < furthest.get(frame.ports, 0)
            furthest[frame.ports] = max(furthest.get(frame.ports, 0), end)
    return many


@pytest.mark.parametrize("case", ["linux", "newreno", "handshake", "sack", "loss"])
def test_retransmissions_and_disorder_can_be_counted_in_the_file(case: str) -> None:
    result, found = ran(case), file_of(case)
    flows = result.flows.to_pylist()
    sent = [frame for frame in found.at("host0->leaf0") if frame.options[2][0] == 2]
    assert behind(sent) == flows[0]["retransmits"]
    for host in (4, 5):
        arrived = [frame for frame in found.at(f"leaf1->host{host}") if frame.options[2][0] == 2]
        assert (
            disordered(arrived)
            == sum(flow["out_of_order"] for flow in flows if flow["dst"] == host and flow["tcp"])
            > 0
        )


@pytest.mark.parametrize(
    ("transport", "asks"),
    [({"kind": "cubic"}, False), ({"kind": "cubic", "cubic_ecn": True}, True), ({"kind": "ecn"}, True)],
)
def test_a_connection_asks_for_ecn_where_its_transport_reacts_to_marks(
    transport: dict[str, object], asks: bool
) -> None:
    given = {"preset": "linux", "transport": transport, "traffic": [{"kind": "permutation", "size_bytes": 9}]}
    assert FrameSettings.of(resolve(given)["transport"], 4).ecn == asks


def test_a_connection_is_opened_and_closed_by_its_flags() -> None:
    frames = list(of_tcp(file_of("handshake").at("host0->leaf0")))
    flow = ran("handshake").flows.to_pylist()[0]
    syn, answer, third = frames[:3]
    assert [frame.flags & 0x3F for frame in (syn, answer, third)] == [2, 18, 16]
    assert (syn.seq, answer.seq, answer.ack, third.seq, third.ack) == (0, 0, 1, 1, 1)
    options = syn.tcp_options()
    assert int.from_bytes(options[2], "big") == 1400
    assert 3 in options
    assert 8 in options
    assert 4 not in options
    assert [frame.flags & 0xC0 for frame in (syn, answer)] == [0xC0, 0x40]
    last = frames[-1]
    assert (last.seq, last.ack, last.flags & 0x3F) == (flow["size_bytes"] + 2, 2, 16)
    closing = [frame for frame in frames if frame.flags & 1]
    assert {frame.seq + frame.payload for frame in closing if frame.payload} == {flow["size_bytes"] + 1}
    assert [(frame.seq, frame.ack) for frame in closing if not frame.payload] == [(1, flow["size_bytes"] + 2)]


def test_selective_acknowledgements_name_what_has_arrived() -> None:
    for case in ("sack", "linux"):
        with_blocks = [frame for frame in of_tcp(file_of(case).at("host0->leaf0")) if 5 in frame.tcp_options()]
        assert with_blocks
        table = ran(case).packets
        assert table is not None
        rows = [row for row in table.to_pylist() if row["interface"] == "host0->leaf0" and row["sack_from"]]
        for frame, row in zip(with_blocks, rows, strict=True):
            edges = [edge - 1 for pair in zip(row["sack_from"], row["sack_to"], strict=True) for edge in pair]
            data = frame.tcp_options()[5]
            told = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
            assert [edge + 2 for edge in edges] == told
            assert frame.ack == row["ack"] + 1


def test_subflows_have_ports_and_options_of_their_own() -> None:
    frames = of_tcp(file_of("mptcp").at("host0->leaf0"))
    opened = [frame for frame in frames if frame.flags & 2 and frame.options[2][0] == 2]
    assert len({frame.ports for frame in opened}) == 3
    assert sorted(len(frame.tcp_options()[30]) + 2 for frame in opened) == [4, 12, 12]
    data = [frame for frame in frames if frame.payload]
    assert all(frame.tcp_options()[30][0] >> 4 == 2 and len(frame.tcp_options()[30]) == 18 for frame in data)
    # The mapping is linear: data number less subflow number is the same throughout a run of segments.
    numbers = sorted({int.from_bytes(frame.tcp_options()[30][6:10], "big") for frame in data})
    assert numbers[1] - numbers[0] == frames[-1].payload or numbers[1] - numbers[0] == 1440


def test_queue_pairs_number_their_packets() -> None:
    result = ran("irn")
    flow = result.flows.to_pylist()[0]
    frames = [frame for frame in file_of("irn").at("host0->leaf0") if frame.protocol == 17 and frame.ports[1] == 4791]
    data = [frame.segment[8:] for frame in frames if frame.options[2][0] == 2]
    codes = Counter(header[0] for header in data)
    assert codes[6] >= 1
    assert codes[8] >= 1
    assert codes[10] == 0
    assert set(codes) <= {6, 7, 8}
    numbers = [int.from_bytes(header[9:12], "big") for header in data]
    assert sorted(set(numbers)) == list(range(-(-flow["size_bytes"] // 1000)))
    assert len(numbers) == flow["packets"]
    assert len(numbers) - len(set(numbers)) == flow["retransmits"]
    answers = [frame.segment[8:] for frame in frames if frame.options[2][0] == 1]
    assert {header[0] for header in answers} == {0x11}
    assert {header[12] for header in answers} <= {0x1F, 0x60}
    assert sum(header[12] == 0x60 for header in answers) == flow["nacks"]
    assert sum(header[4] == 0x40 for header in answers) == flow["cnps"]


def test_a_message_that_is_split_is_a_write_on_each_queue_pair() -> None:
    result = ran("split")
    flow = result.flows.to_pylist()[0]
    frames = [frame for frame in file_of("split").at("host0->leaf0") if frame.protocol == 17 and frame.ports[1] == 4791]
    data = [frame.segment[8:] for frame in frames if frame.options[2][0] == 2]
    # Bytes 5 to 7 of the header: the queue pair; the length of a WRITE stands behind address and key.
    opened = {int.from_bytes(header[5:8], "big"): header[24:28] for header in data if header[0] == 6}
    assert sorted(opened) == [256, 257, 258]
    lengths = [int.from_bytes(length, "big") for length in opened.values()]
    assert sum(lengths) == flow["size_bytes"]
    assert max(lengths) - min(lengths) <= 1
    assert len({frame.ports for frame in frames if frame.options[2][0] == 2}) == 3


def test_ultra_ethernet_is_named_and_travels_in_udp() -> None:
    result, frames = ran("uet"), file_of("uet").frames
    table = result.packets
    assert table is not None
    assert set(table["protocol"].to_pylist()) == {"uet"}
    assert {frame.protocol for frame in frames} == {17}
    rows = table.to_pylist()
    trimmed = [row for row in rows if row["trimmed"]]
    assert trimmed
    assert {(row["kind"], row["wire_bytes"]) for row in trimmed} == {("data", 64)}
    assert not any(row["cnp"] for row in rows), "a NACK that names the last hop is no congestion notification"
    nacks = [row for row in rows if row["nack"]]
    assert nacks
    assert all(row["kind"] == "ack" for row in nacks)
    blocks = [block for row in rows for block in zip(row["sack_from"], row["sack_to"], strict=True)]
    full = 4086
    assert blocks
    assert all(start % full == 0 and end % full == 0 and start < end for start, end in blocks)
    # What an answer says to be here has left its sender before.
    of_flow = {row["flow"]: row["size_bytes"] for row in rows}
    assert all(end <= -(-max(of_flow.values()) // full) * full for _, end in blocks)


def test_flow_control_is_told_in_quanta() -> None:
    result = ran("lossless")
    found = [frame for frame in file_of("lossless").frames if frame.protocol < 0]
    table = result.packets
    assert table is not None
    rows = [row for row in table.to_pylist() if row["kind"] == "pause"]
    assert len(found) == len(rows) > 0
    for frame, row in zip(found, rows, strict=True):
        assert frame.whole[14:18].hex() == "01010001", "priority 0 alone"
        quanta = int.from_bytes(frame.whole[18:20], "big")
        rate = 10**10
        assert quanta == min(65535, -(-row["pause_ps"] * rate // (512 * 10**12)))
    assert any(row["pause_ps"] == 0 for row in rows)
    assert any(row["pause_ps"] for row in rows)


def test_a_port_keeps_its_first_packets_and_says_so() -> None:
    given = spec(metrics={"capture": {"at": ["host0", "leaf1"], "max_packets": 100}})
    result, whole = spinewise.run(given), spinewise.run(spec(metrics={"capture": {"at": ["host0", "leaf1"]}}))
    table, all_rows = result.packets, whole.packets
    assert table is not None
    assert all_rows is not None
    warning = next(one for one in result.report["warnings"] if one["code"] == "capture_full")
    assert "kept the first 100 of" in warning["text"]
    assert warning["key"] == "metrics.capture.max_packets"
    for port, unbounded in zip(result.report["captured"], whole.report["captured"], strict=True):
        assert (port["packets"], port["kept"]) == (unbounded["packets"], min(100, unbounded["packets"]))
        mine, theirs = (
            one.filter(pc.equal(one["interface"].cast("string"), port["name"])) for one in (table, all_rows)
        )
        assert mine.equals(theirs.slice(0, port["kept"]))
        assert port["full_ps"] == (None if port["packets"] <= 100 else mine["time_ps"][-1].as_py())
    statistics = read(b"".join(capture.blocks(result))).statistics
    assert [int.from_bytes(statistics[n][5], "little") for n in range(len(result.report["captured"]))] == [
        port["packets"] - port["kept"] for port in result.report["captured"]
    ]


def test_a_span_of_time_is_captured() -> None:
    result = spinewise.run(spec(metrics={"capture": {"at": ["leaf0"], "from_us": 50, "to_us": 60}}))
    whole = spinewise.run(spec(metrics={"capture": {"at": ["leaf0"]}}))
    assert result.packets is not None
    assert whole.packets is not None
    times = [time for time in whole.packets["time_ps"].to_pylist() if 50_000_000 <= time < 60_000_000]
    assert result.packets["time_ps"].to_pylist() == times != []


@pytest.mark.parametrize(
    ("given", "key", "hint"),
    [
        ({"at": ["leaf0->spine9"]}, "metrics.capture.at[0]", 'did you mean "leaf0->spine0"?'),
        ({"at": ["host1", "hots3"]}, "metrics.capture.at[1]", 'did you mean "host3"?'),
        ({"at": []}, "metrics.capture.at", None),
        ({"at": [3]}, "metrics.capture.at", None),
        ({}, "metrics.capture.at", None),
        ({"at": ["host0"], "from_us": 5, "to_us": 5}, "metrics.capture.to_us", None),
        ({"at": ["host0"], "max_packets": 0}, "metrics.capture.max_packets", None),
        ({"at": ["host0"], "max_packet": 3}, "metrics.capture.max_packet", 'did you mean "max_packets"?'),
    ],
)
def test_what_cannot_be_captured_is_refused(given: dict[str, object], key: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        spinewise.run(spec(metrics={"capture": given}))
    assert (caught.value.key, caught.value.hint) == (key, hint)


def test_more_packets_than_memory_holds_are_refused() -> None:
    with pytest.raises(SpecError, match="or fewer ports: packets of 32 ports would need") as caught:
        names = [f"host{n}" for n in range(8)] + [f"leaf{n}" for n in range(2)] + [f"spine{n}" for n in range(4)]
        spinewise.run(spec(metrics={"capture": {"at": names, "max_packets": 100_000_000}}))
    assert caught.value.key == "metrics.capture.max_packets"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that captured nothing."""
    traffic = [{"kind": "flows", "list": [{"src": 0, "dst": 4, "size_bytes": 20_000, "start_ns": 0}]}]
    return spinewise.run(plain(spec(traffic=traffic))).write(tmp_path / "run")


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([str(word) for word in words]) == 2
    return capsys.readouterr().err


def test_packets_are_captured_by_an_option_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "run", tmp_path / "a.pcapng"
    scenario = Path(__file__).parents[2] / "scenarios/one_udp_flow.toml"
    assert main(["run", str(scenario), "--capture", "host0,leaf0-spine0", "--out", str(folder)]) == 0
    kept = Result.read(folder)
    assert kept.packets is not None
    assert kept.spec["metrics"]["capture"]["at"] == ["host0", "leaf0-spine0"]
    capsys.readouterr()
    assert main(["export", str(folder), "--pcapng", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["packets"] == kept.packets.num_rows == len(read(out.read_bytes()).frames) > 0
    assert (
        main(["export", str(folder), "--pcapng", str(out), "--capture", "host0", "--force", "--snap-bytes", "0"]) == 0
    )
    found = read(out.read_bytes())
    assert [one[2] for one in found.interfaces] == [b"host0->leaf0"]
    assert all(len(frame.kept) == frame.length for frame in found.frames)
    assert "together with --out" in refused(capsys, "run", scenario, "--capture", "host0")


def test_a_run_without_a_capture_is_made_once_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.with_name("a.pcapng")
    error = refused(capsys, "export", folder, "--pcapng", out)
    assert "a run that captured packets" in error
    assert "--capture host0,leaf0-spine1" in error
    assert not out.exists()
    assert main(["export", str(folder), "--pcapng", str(out), "--capture", "host4"]) == 0
    assert [one[2] for one in read(out.read_bytes()).interfaces] == [b"host4->leaf1"]
    error = refused(capsys, "export", folder, "--pcapng", out, "--capture", "leaf0->spine7", "--force")
    assert "--capture" in error
    assert "leaf0->spine0" in error
    assert "a file that does not exist yet" in refused(capsys, "export", folder, "--pcapng", out)
    assert "each with a FILE" in refused(capsys, "export", folder)
    assert "together with --pcapng" in refused(capsys, "export", folder, "--fct", out, "--capture", "host0")


def test_a_run_that_comes_out_otherwise_is_no_capture_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"outcome_hash": "', '"outcome_hash": "0'))
    error = refused(capsys, "export", folder, "--pcapng", folder.with_name("a"), "--capture", "host4")
    assert "comes to another outcome" in error


def test_a_full_disk_leaves_no_file(folder: Path) -> None:
    out = folder.with_name("a.pcapng")
    out.write_bytes(b"what was there")
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "from spinewise.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["export", str(folder), "--pcapng", str(out), "--capture", "leaf0", "--force"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--pcapng" in done.stderr
    assert "file size limit" in done.stderr
    assert sorted(path.name for path in folder.parent.iterdir()) == ["a.pcapng", "run"]
    assert out.read_bytes() == b"what was there"
