"""What labs measure as results, studies and agents, as far as it needs no privilege."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

import spinewise as sw
from lab_cases import SPEC, lines, planned
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.lab import (
    carry,
    drawn,
    holes,
    machine,
    outcome,
    plan,
    sampler,
    seen,
    sensed,
    steer,
    study,
    traffic,
)
from spinewise.lab.sampler import Count
from spinewise.measures.tables import numbers
from spinewise.scenarios import spec_path
from spinewise.specs.spec import load, resolve
from spinewise.specs.variants import parse_list


def carried(flows: list[drawn.Flow], lost: int) -> carry.Carried:
    info = {"packets": 9, "retransmits": 2, "timeouts": 1, "dsack_dups": 1, "delivered_ce": 0, "min_rtt_us": 120}
    sent, came = {}, {}
    for flow in flows:
        begun = flow.start_ns + 5_000
        sent[flow.number] = carry.Sent(begun, begun + 3_000_000, late=False, info=info)
        came[flow.number] = carry.Received(begun + 2_000_000, 0, 4)
    came[lost] = carry.Received(0, 500, 0)
    return carry.Carried(sent, came, {"host0": 0.5}, 400_000_000)


def test_what_was_measured_becomes_results_that_are_read_and_shown(tmp_path: Path) -> None:
    made = planned()
    simulated = drawn.simulated(made, made.spec)
    flows = drawn.flows_of(simulated)
    counts = {port.link: Count(100, 100 * 1_014, 1, 0) for port in made.ports}
    came = carried(flows, lost=2)
    measured = outcome.Measured(came, counts, {}, simulated.series, 0.4, 0.25, "reno", "the kernel", ("a note",))
    result = outcome.result_of(made, simulated, measured)
    result.write(tmp_path / "run")
    again = sw.Result.read(tmp_path / "run")
    every = again.summary().of("all")
    assert (every.flows, every.unfinished) == (len(flows), 1)
    assert every.fct_s.mean == pytest.approx(0.002)
    assert numbers(again.flows, "sender_fct_ps")[0] == 3_000_000_000
    assert again.report["traffic_hash"] == simulated.report["traffic_hash"]
    assert again.report["outcome_hash"] != simulated.report["outcome_hash"]
    link = next(link for link in again.report["links"] if link["name"] == "leaf0->spine1")
    assert link["bytes"] == 100_000
    assert link["utilisation"] == pytest.approx(100_000 * 8 / (12_500_000 * 0.4))
    assert again.summary().packets.timeouts == len(flows)
    assert again.report["linux"]["base_rtt_us"] == 120
    assert again.report["linux"]["start_lag_p99_us"] == pytest.approx(5, rel=1e-3)
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    assert "measured on Linux" in (tmp_path / "page.html").read_text()


def test_what_linux_keeps_no_record_of_is_told_as_the_simulators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = planned(scheme={"name": "presto"})
    simulated = drawn.simulated(made, made.spec)
    flows = drawn.flows_of(simulated)
    measured = outcome.Measured(carried(flows, lost=0), {}, {}, simulated.series, 0.4, 0.25, "reno", "agents", ())
    outcome.result_of(made, simulated, measured).write(tmp_path / "run")
    assert main(["explain", str(tmp_path / "run"), "--flow", "1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("On Linux flow 1 arrived after 2")
    assert "the simulator's run of the same flows" in told
    assert main(["export", str(tmp_path / "run"), "--pcapng", str(tmp_path / "x"), "--capture", "host0"]) == 2
    assert "measured on Linux" in capsys.readouterr().err


def test_a_traffic_process_carries_flows_over_sockets_of_this_machine() -> None:
    """Both ends in one process, over loopback: no namespace is needed for what it does with sockets."""
    size = 3_000_000
    orders = {
        "address": "127.0.0.1",
        "congestion": "reno",
        "ahead_ns": 50_000_000,
        "sends": [[7, "127.0.0.1", free_port(), size, 0], [8, "127.0.0.1", free_port(), 1, 10_000_000]],
    }
    sends = orders["sends"]
    assert isinstance(sends, list)
    orders["receives"] = [[row[0], "127.0.0.1", row[2], row[3]] for row in sends]
    script = str(Path(traffic.__file__))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(orders) + "\n")
        process.stdin.flush()
        port = json.loads(process.stdout.readline())["port"]
        epoch = time.monotonic_ns() + 100_000_000
        go = {"ports": {"127.0.0.1": port}, "epoch_ns": epoch, "end_ns": epoch + 20_000_000_000}
        process.stdin.write(json.dumps(go) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(10) == 0
    received = {row[0]: row for row in answer["received"]}
    for flow, began, done, late, info in answer["sent"]:
        arrived = received[flow][1]
        assert epoch <= began < arrived <= done
        assert not late
        assert info["packets"] >= 1
        assert received[flow][2] == 0, "nothing is missing"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_traffic_process_ends_when_its_input_is_closed() -> None:
    script = str(Path(traffic.__file__))
    orders = {"address": "127.0.0.1", "congestion": "reno", "ahead_ns": 0, "sends": [],
              "receives": [[0, "127.0.0.1", 9, 5]]}  # fmt: skip
    go = {"ports": {}, "epoch_ns": 0, "end_ns": time.monotonic_ns() + 60_000_000_000}
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", script],
        input=f"{json.dumps(orders)}\n{json.dumps(go)}\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0
    assert time.monotonic() - begun < 20


def test_lab_plan_is_shown_without_privilege(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "plan", "lab_slow_uplink", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["factor"] == 1
    assert len(told["namespaces"]) == 10
    assert main(["lab", "plan", "lab_slow_uplink"]) == 0
    assert "10.10.0.2/24" in capsys.readouterr().out


def test_an_agent_is_told_its_hosts_racks_rates_and_scheme(tmp_path: Path) -> None:
    made = planned(scheme={"name": "presto"})
    assert made.agents
    assert not planned().agents
    assert plan.plan_of(resolve(deepcopy(SPEC)), steering="always").agents
    told = steer.config(made, "host3", tmp_path)
    assert told["host"] == 3
    assert told["hosts"][3] == {"address": "10.11.1.2", "rack": 1}  # type: ignore[index]
    assert told["scheme"]["name"] == "presto"  # type: ignore[index]
    assert told["health"] == {"enabled": False}
    watched = plan.plan_of(resolve(deepcopy(SPEC)), steering="watched")
    queues = {port.link: port.queue_bytes * 8e3 / port.rate_bps for port in watched.ports}
    longest = 2 * (queues["leaf0->spine1"] + queues["leaf0->host0"])
    assert watched.silent_ms == pytest.approx(longest, abs=1)
    assert steer.config(watched, "host0", tmp_path)["health"] == {"enabled": True, "silent_ms": watched.silent_ms}
    # Full packets of 1500 bytes over 100, 50, 50 and 100 Mbps take 720 us; 64 bytes back 30.72 us.
    delays = 2 * sum(float(made.spec["topology"][key]) for key in ("host_delay_ns", "fabric_delay_ns")) / 1e3
    assert told["told"]["base_one_way_us"] == pytest.approx(720 + delays)  # type: ignore[index]
    assert told["told"]["base_rtt_us"] == pytest.approx(750.72 + 2 * delays)  # type: ignore[index]


def agent(folder: Path, body: str) -> str:
    """A program in place of the agent."""
    program = folder / "agent"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_what_an_agent_refuses_is_refused_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(scheme={"name": "drb"})
    monkeypatch.setenv(steer.VARIABLE, agent(tmp_path, "echo 'no such half' >&2; exit 2"))
    with pytest.raises(SpecError, match="no such half") as refused:
        steer.checked(made)
    assert refused.value.key == "scheme.name"
    monkeypatch.setenv(steer.VARIABLE, agent(tmp_path, "exit 0"))
    steer.checked(made)
    monkeypatch.setenv(steer.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(SpecError, match="make agent"):
        steer.checked(made)


def test_nobody_else_prepares_the_folder_of_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    program = f'stat -c "%a %n" "$(dirname "$3")" >> {told}'
    monkeypatch.setenv(steer.VARIABLE, agent(tmp_path, program))
    steer.checked(planned())
    steer.checked(planned())
    (mode, one), (_, other) = (line.split() for line in told.read_text().splitlines())
    assert mode == "700"
    assert one != other
    assert not Path(one).exists()


def test_ports_mark_where_the_transport_hears_it() -> None:
    made = planned(transport={"kind": "ecn"}, switch={"ecn_threshold_bytes": 15_000, "ecn_threshold_us": 0})
    assert made.marks
    assert not planned().marks
    assert "ipv4/tcp_ecn 1" in lines(made, "set", "host0")
    assert "ipv4/tcp_ecn 2" in lines(planned(), "set", "host0")
    ports = steer.marked_ports(made)
    assert {above for *_, above in ports} == {15_000}
    assert {link for _, _, link, _ in ports} == {port.link for port in made.ports if port.node not in made.hosts}
    assert steer.marked_ports(planned(switch={"ecn_threshold_bytes": 15_000})) == []
    packets = planned(transport={"kind": "ecn"}, switch={"ecn_threshold_packets": 10})
    assert {above for *_, above in steer.marked_ports(packets)} == {10 * (packets.mtu + 14)}
    # A threshold of 0 marks nothing, and the program takes none.
    for none in ({"ecn_threshold_packets": 0}, {"ecn_threshold_bytes": 0, "ecn_threshold_us": 0}):
        assert steer.marked_ports(planned(transport={"kind": "ecn"}, switch=none)) == []


@pytest.mark.parametrize(
    ("built", "words"),
    [
        ("CONFIG_TCP_CONG_DCTCP=m", "modprobe tcp_dctcp"),
        ("# CONFIG_TCP_CONG_DCTCP is not set", "was built without it (CONFIG_TCP_CONG_DCTCP is not set)"),
        (None, "does not offer it"),
    ],
)
def test_dctcp_is_taken_where_the_kernel_has_it_and_refused_in_words_where_not(
    built: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(transport={"kind": "dctcp"})
    assert made.marks
    monkeypatch.setattr(machine, "CONFIG", tmp_path / "config.gz")
    if built is not None:
        with gzip.open(tmp_path / "config.gz", "wt") as stream:
            stream.write(f"CONFIG_TCP_CONG_CUBIC=y\n{built}\n")
    monkeypatch.setattr(machine, "looked_at", lambda: machine.Machine(frozenset(), frozenset({"reno", "cubic"})))
    with pytest.raises(SpecError, match=re.escape(words)):
        machine.check_congestion("dctcp")
    monkeypatch.setattr(machine, "looked_at", lambda: machine.Machine(frozenset(), frozenset({"reno", "dctcp"})))
    machine.check_congestion("dctcp")


def test_checks_of_commands_that_were_killed_are_swept_and_others_are_not() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"spinewise.trial.{pid}" for pid in (ended.pid, os.getpid())]
    assert machine.left_over([*names, "spinewise-a-lab.host0", "spinewise.trial.x"]) == names[:1]


def test_points_that_agents_record_join_the_series(tmp_path: Path) -> None:
    made = planned(scheme={"name": "elab"})
    simulated = drawn.simulated(made, made.spec)
    steering = steer.Steering(agent(tmp_path, 'echo \'{"counters": {"foreign": 2}, "peers": []}\''), tmp_path, {})
    lines_ = [
        {"t_ns": 1_500_000, "series": "seen", "value": 12.5},
        {"t_ns": 2_000_000, "event": "path_dead", "host": 4, "way": 1},
    ]
    cut = '{"t_ns": 3'
    steering.record("host1").write_text("\n".join([*map(json.dumps, lines_), cut]))
    found = sensed.read(made, steering, 1_000_000)
    assert found.agents["host1"]["counters"] == {"foreign": 2}
    assert found.agents["host1"]["met"] == [{"at_s": 0.001, "event": "path_dead", "host": 4, "way": 1}]
    came = carried(drawn.flows_of(simulated), lost=0)
    measured = outcome.Measured(came, {}, {}, simulated.series, 0.4, 0.2, "reno", "agents", (), {}, found)
    result = outcome.result_of(made, simulated, measured)
    assert study.Fabric.of(made, result).dead_at_s == [0.001]
    assert study.Fabric.of(made, simulated).dead_at_s == []
    at, values = result.series_of("elab.seen", "host1")
    assert (at.tolist(), values.tolist()) == ([0.0005], [12.5])


def test_netlink_attributes_are_taken_apart_and_padded() -> None:
    basic = struct.pack("=QI", 5_000_000_000, 77)
    queue = struct.pack("=IIIII", 3, 4_500, 9, 0, 1)
    inner = b"".join(
        struct.pack("=HH", 4 + len(data), kind) + data
        for kind, data in ((sampler.STATS_BASIC, basic), (sampler.STATS_QUEUE, queue))
    )
    body = struct.pack("=HH", 8, sampler.TCA_KIND) + b"tbf\0" + struct.pack("=HH", 7, 99) + b"abc\0"
    body += struct.pack("=HH", 4 + len(inner), 0x8000 | sampler.TCA_STATS2) + inner
    told = sampler.attributes(body)
    assert sampler.text(told[sampler.TCA_KIND]) == "tbf"
    assert told[99] == b"abc"
    count = sampler.count_of(sampler.attributes(told[sampler.TCA_STATS2]))
    assert count == Count(77, 5_000_000_000, 9, 4_500)
    assert Count(5, 10, 2, 1).since(Count(2**32 - 5, 4, 1, 8)) == Count(10, 6, 1, 1)


def study_of(linux: dict[str, list[float]], simulated: dict[str, list[float]]) -> study.Study:
    """A study of runs that end after these seconds, one a seed."""
    made = planned()
    result = drawn.simulated(made, made.spec)
    found = study.cell(("", None, 1), result, None)

    def compared(times: dict[str, list[float]], where: str) -> sw.Comparison:
        cells = []
        for label, seconds in times.items():
            for seed, mean in enumerate(seconds, 1):
                classes = [replace(one, fct_s=replace(one.fct_s, mean=mean, p99=mean)) for one in found.summary.classes]
                summary = replace(found.summary, classes=classes)
                cells.append(replace(found, label=f"{label} ({where})", seed=seed, summary=summary))
        variants = parse_list(",".join(times), [])
        return study.compared(made.spec, variants, list(range(1, len(next(iter(times.values()))) + 1)), cells, where)

    return study.Study(compared(linux, study.LINUX), compared(simulated, study.SIMULATED))


def test_a_study_tells_which_pairs_both_order_alike() -> None:
    told = study_of(
        {"ecmp": [4.0, 4.1, 4.2], "wcmp": [2.0, 2.1, 2.2], "rps": [1.0, 4.0, 9.0]},
        {"ecmp": [3.0, 3.1, 3.2], "wcmp": [1.0, 1.1, 1.2], "rps": [5.0, 5.1, 5.2]},
    )
    order = told.orders()[0]
    assert order.simulated == ["wcmp (simulated)", "ecmp (simulated)", "rps (simulated)"]
    assert order.linux[0] == "wcmp (Linux)"
    # ecmp above wcmp in both; what rps is, Linux does not tell.
    assert (order.agreeing, order.opposed, order.linux_only, order.simulated_only, order.pairs) == (1, 0, 0, 2, 3)
    assert told.both.labels[:2] == ["ecmp (simulated)", "ecmp (Linux)"]
    opposed = study_of({"ecmp": [4.0, 4.1], "wcmp": [2.0, 2.1]}, {"ecmp": [1.0, 1.1], "wcmp": [2.0, 2.1]})
    assert opposed.orders()[0].opposed == 1


def test_what_a_scheme_saw_stands_beside_the_paths_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = planned(scheme={"name": "elab", "params": {"record_rates": True}}, metrics={"series_interval_us": 50_000})
    assert {(one.source, one.target, one.spine, one.rate_bps) for one in seen.paths(made)} >= {
        ("leaf0", "leaf1", "spine1", 12_500_000),
        ("leaf1", "leaf0", "spine0", 50_000_000),
        ("leaf2", "leaf1", "spine1", 50_000_000),
    }
    assert not any({one.source, one.target} & {"leaf2"} and one.spine == "spine0" for one in seen.paths(made))
    result = sw.run(made.spec)
    result.write(tmp_path / "run")
    found = {(one.series, one.host): one for one in seen.seen(result)}
    rate = found["elab.b0", "host0"]
    assert rate.values > 0
    assert 0 < rate.p10 <= rate.p50 <= rate.p90
    assert main(["lab", "sensed", str(tmp_path / "run")]) == 0
    assert "12.5 Mbps" in capsys.readouterr().out


def test_a_black_hole_is_left_when_its_links_are_quiet_and_goodput_is_that_of_the_hosts_links() -> None:
    given = load(spec_path("lab_black_hole"))
    made = plan.plan_of(resolve(given))
    simulated = drawn.simulated(made, made.spec)
    found = holes.hole_of(made, simulated)
    assert found is not None
    # Flows keep their paths: those through spine2 stall, and those of the other spines take what hosts can send.
    assert found.left_s < 1.0
    assert 0.5 < found.kept < 0.95
    assert holes.hole_of(planned(), simulated) is None
    # A link to the spine that is in use to the end.
    code, entity = simulated.code("series_names", "link_utilisation"), simulated.code("entity_names", "leaf0->spine2")
    busy = [
        0.5 if (row["series"], row["entity"]) == (code, entity) else row["value"]
        for row in simulated.series.to_pylist()
    ]
    used = outcome.replaced(simulated.series, {"value": busy})
    never = holes.hole_of(made, replace(simulated, series=used))
    assert never is not None
    assert math.isinf(never.left_s)


def test_the_runs_of_a_study_are_interleaved_and_each_scheme_begins_in_turn() -> None:
    spec = deepcopy(SPEC)
    runs = study.planned(spec, parse_list("ecmp,wcmp", []), [1, 2], study.Labs())
    assert [(label, seed) for label, _, seed in runs] == [("ecmp", 1), ("wcmp", 1), ("wcmp", 2), ("ecmp", 2)]
    assert not any(run.plan.agents for run in runs.values())
    both = study.planned(spec, parse_list("ecmp,presto", []), [1], study.Labs())
    assert [(run.plan.agents, run.plan.silent_ms) for run in both.values()] == [(True, 0)] * 2
    watched = study.planned(spec, parse_list("ecmp,presto", []), [1], study.Labs(steering="watched"))
    assert all(run.plan.silent_ms > 0 for run in watched.values())
    with pytest.raises(SpecError, match="scheme conga"):
        study.planned(spec, parse_list("ecmp,conga", []), [1], study.Labs())


def test_two_plans_of_one_fabric_build_the_same() -> None:
    from spinewise.lab.build import same_fabric

    made = planned()
    other = planned(traffic=[{"kind": "permutation", "size_bytes": 1_000}])
    assert same_fabric(made, other)
    assert not same_fabric(made, planned(switch={"buffer_bytes": 3_000}))
    assert not same_fabric(made, planned(scheme={"name": "txrehash"}))
    assert same_fabric(made, planned(seed=9))
    assert not same_fabric(made, replace(made, mtu=9_000))
    marking = [planned(transport={"kind": "ecn"}, switch={"ecn_threshold_packets": many}) for many in (10, 10, 20)]
    assert same_fabric(*marking[:2])
    assert not same_fabric(*marking[1:]), "another threshold"


KEPT = sorted((Path(__file__).parents[2] / "docs/real-hosts").glob("*/order.txt"))


def test_the_tables_of_the_page_are_the_kept_ones() -> None:
    page = (Path(__file__).parents[2] / "docs/real-hosts.md").read_text()
    shown = re.findall(r"<!-- kept: (\w+) -->\n```text\n(.*?)```", page, re.DOTALL)
    assert dict(shown) == {file.parent.name: file.read_text() for file in KEPT}
    assert len(shown) >= 2
    for file in KEPT:
        record = json.loads((file.parent / "lab.json").read_text())
        assert all(row["seeds"] >= 5 for row in record["rows"] if row["mean"] is not None)
