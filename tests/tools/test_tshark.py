"""What tshark reads in captures of ours: no complaint, and the same counts. `make test-tools` runs these."""

from __future__ import annotations

import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import spinewise
from capture_cases import CASES, spec
from spinewise.exports import capture
from spinewise.runs.result import Result

CHECKED = [f"{name}_checksum:TRUE" for name in ("ip.check", "tcp.check", "udp.check")]
TCP = ("linux", "newreno", "handshake", "sack", "mptcp", "loss", "slow", "hermes", "probes")
# Fast, spurious and plain retransmissions have the field retransmission, but for some versions: all are asked for.
AGAIN = ("tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission")
GOOD, UNVERIFIED = "1", "2"
DISORDER = "tcp.analysis.out_of_order"
PORTS = {"capture": {"at": ["host0", "host4", "host5"]}}
# Drops, and no duplicate acknowledgement counts: all is sent again by the timer, long after a round trip.
TIMEOUTS = spec(
    transport={"kind": "newreno", "dupack_threshold": 0, "handshake": True, "initial_window_segments": 4},
    scheme={"name": "ecmp"},
    switch={"buffer_bytes": 9_000},
    metrics=PORTS,
)
# Spraying over paths with queues, no loss.
SPRAYED = spec(transport={"kind": "newreno", "dupack_threshold": 0, "handshake": True}, metrics=PORTS)


@cache
def ran(case: str) -> Result:
    return spinewise.run(CASES[case])


def written(result: Result, folder: Path, snap_bytes: int = 0, ports: list[str] | None = None) -> Path:
    path = folder / "a.pcapng"
    path.write_bytes(b"".join(capture.blocks(result if ports is None else capture.only(result, ports), snap_bytes)))
    return path


def tshark(path: Path, shown: str, fields: tuple[str, ...] = ("frame.number",), prefer: str = "") -> list[list[str]]:
    """The fields of the frames that a display filter shows."""
    words = ["tshark", "-r", str(path), "-Y", shown, "-T", "fields"]
    words += [word for option in [*CHECKED, *([prefer] if prefer else [])] for word in ("-o", option)]
    words += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def bad(path: Path) -> list[list[str]]:
    wrong = " || ".join(f"{name}.checksum.status == 0" for name in ("ip", "tcp", "udp"))
    return tshark(path, f"_ws.malformed || _ws.short || _ws.expert.severity == error || {wrong}")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("snap_bytes", [0, 128])
def test_nothing_is_malformed(case: str, snap_bytes: int, tmp_path: Path) -> None:
    path = written(ran(case), tmp_path, snap_bytes)
    assert bad(path) == []
    rows = ran(case).packets
    assert rows is not None
    fields = (
        "frame.interface_name",
        "frame.time_epoch",
        "frame.protocols",
        "ip.checksum.status",
        "tcp.checksum.status",
    )
    found = tshark(path, "frame", fields)
    assert [row[0] for row in found] == rows["interface"].to_pylist()
    # tshark keeps nanoseconds.
    assert [round(float(row[1]) * 1e9) for row in found] == [ps // 1000 for ps in rows["time_ps"].to_pylist()]
    assert {row[3] for row in found if ":ip:" in row[2]} == {GOOD}
    # Of a frame that is cut off, the sum is not known.
    known = {GOOD, UNVERIFIED} if snap_bytes else {GOOD}
    assert {row[4] for row in found if ":tcp" in row[2]} <= known


def test_a_wrong_checksum_would_be_found(tmp_path: Path) -> None:
    path = written(ran("linux"), tmp_path)
    data = bytearray(path.read_bytes())
    at = data.index(b"\x08\x00\x45") + 2 + 30
    data[at] ^= 1
    path.write_bytes(data)
    assert len(bad(path)) == 1


def counted(path: Path, host: int, prefer: str = "") -> Counter[str]:
    """Segments with data that host `host` sent or got, by what tshark takes them for."""
    who = f"10.0.0.{host + 1}"
    fields = ("ip.src", "ip.dst", "tcp.len", "tcp.nxtseq", *AGAIN, DISORDER)
    found: Counter[str] = Counter()
    newest: Counter[str] = Counter()
    for src, dst, length, end, *marks in tshark(path, f"tcp.len > 0 && ip.addr == {who}", fields, prefer):
        key = f"{src} {dst}"
        kind = "again" if any(marks[:3]) else "disorder" if marks[3] else "new"
        # A copy of the newest segment arrives after no later byte.
        found["copies"] += kind == "again" and int(end) == newest[key]
        found[kind] += int(length) > 0
        newest[key] = max(newest[key], int(end))
    return found


@pytest.mark.parametrize("case", [case for case in TCP if case != "mptcp"])
def test_retransmissions_at_the_sender_are_as_many(case: str, tmp_path: Path) -> None:
    """Nothing overtakes anything before the NIC: what is not new there is sent again, however tshark calls it."""
    found = counted(written(ran(case), tmp_path, ports=["host0->leaf0"]), 0)
    flow = ran(case).flows.to_pylist()[0]
    assert found["again"] + found["disorder"] == flow["retransmits"]
    assert found["new"] == flow["packets"] - flow["retransmits"]


def of_host(result: Result, host: int, column: str) -> int:
    return sum(flow[column] for flow in result.flows.to_pylist() if flow["dst"] == host and flow["tcp"])


@pytest.mark.parametrize("case", [case for case in TCP if case not in ("mptcp", "probes", "hermes")])
@pytest.mark.parametrize("host", [4, 5])
def test_disorder_at_the_receiver_is_as_much(case: str, host: int, tmp_path: Path) -> None:
    found = counted(written(ran(case), tmp_path, ports=[f"leaf1->host{host}"]), host)
    assert found["again"] + found["disorder"] - found["copies"] == of_host(ran(case), host, "out_of_order") > 0


def test_where_timers_alone_send_again_tshark_says_retransmission(tmp_path: Path) -> None:
    result = spinewise.run(TIMEOUTS)
    found = counted(written(result, tmp_path, ports=["host0->leaf0"]), 0)
    flow = result.flows.to_pylist()[0]
    assert flow["timeouts"] > 0
    assert flow["fast_retransmits"] == 0
    assert (found["again"], found["disorder"]) == (flow["retransmits"], 0)


@pytest.mark.parametrize("host", [4, 5])
def test_where_nothing_is_lost_tshark_says_out_of_order(host: int, tmp_path: Path) -> None:
    """By its own rule: unless duplicate acknowledgements let it think of a fast retransmission first, so not that."""
    result = spinewise.run(SPRAYED)
    path = written(result, tmp_path, ports=[f"host{host}->leaf1"])
    found = counted(path, host, "tcp.fastrt_supersedes_ooo:FALSE")
    assert result.report["totals"]["retransmits"] == 0
    assert (found["disorder"], found["again"]) == (of_host(result, host, "out_of_order"), 0)


def protocols(path: Path) -> set[str]:
    return {name for row in tshark(path, "frame", ("frame.protocols",)) for name in row[0].split(":")}


def test_protocols_are_those_meant(tmp_path: Path) -> None:
    meant: dict[str, Any] = {
        "linux": {"eth", "ethertype", "ip", "tcp", "udp", "data"},
        "mptcp": {"eth", "ethertype", "ip", "tcp", "udp", "data", "mptcp"},
        "probes": {"eth", "ethertype", "ip", "tcp", "udp", "data"},
        "irn": {"eth", "ethertype", "ip", "udp", "data", "infiniband"},
        "lossless": {"eth", "ethertype", "ip", "udp", "data", "infiniband", "macc"},
    }
    for case, names in meant.items():
        assert protocols(written(ran(case), tmp_path)) == names, case


def test_subflows_join_their_connection(tmp_path: Path) -> None:
    path = written(ran("mptcp"), tmp_path, ports=["host0->leaf0"])
    rows = tshark(path, "mptcp", ("mptcp.stream", "tcp.stream"))
    # The first SYN has no key yet.
    assert [row[0] for row in rows] == ["", *["0"] * (len(rows) - 1)]
    assert {row[1] for row in rows} == {"0", "1", "2"}
    numbers = [int(row[0]) for row in tshark(path, "mptcp.dss.dsn && tcp.len > 0", ("mptcp.dss.dsn",))]
    assert min(numbers) == 1
    assert max(numbers) < ran("mptcp").flows.to_pylist()[0]["size_bytes"]


def test_queue_pairs_and_flow_control_are_read(tmp_path: Path) -> None:
    flow = ran("irn").flows.to_pylist()[0]
    path = written(ran("irn"), tmp_path, ports=["host0->leaf0"])
    fields = ("infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.aeth.syndrome.error_code")
    rows = tshark(path, "infiniband", fields)
    data = [int(row[1]) for row in rows if int(row[0]) != 0x11]
    assert sorted(set(data)) == list(range(-(-flow["size_bytes"] // 1000)))
    assert len(data) - len(set(data)) == flow["retransmits"]
    assert sum(row[2] != "" for row in rows) == flow["nacks"]
    table = ran("lossless").packets
    assert table is not None
    pauses = sum(kind == "pause" for kind in table["kind"].to_pylist())
    assert len(tshark(written(ran("lossless"), tmp_path), "macc.opcode == 0x0101")) == pauses > 0
