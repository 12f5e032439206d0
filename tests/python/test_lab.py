"""Labs as far as they need no privilege: plans, refusals, commands, and results made of what was measured."""

from __future__ import annotations

import json
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
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.lab import breaking, carry, commands, drawn, outcome, plan, sampler, scale, sensed, steer, study, traffic
from spinewise.lab.sampler import Count
from spinewise.measures.tables import numbers
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse_list

SPEC: Spec = {
    "name": "A lab",
    "preset": "linux",
    "topology": {
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "host_rate_gbps": 0.1,
        "fabric_rate_gbps": 0.05,
        "override": [{"leaf": 0, "spine": 1, "rate_gbps": 0.0125}, {"leaf": 2, "spine": 0, "up": False}],
    },
    "transport": {"kind": "newreno"},
    "traffic": [
        {"kind": "poisson", "cdf": "web_search", "load": 0.3, "load_of": "leaf_uplinks", "duration_us": 2_000_000}
    ],
}


def planned(**tables: object) -> plan.Plan:
    spec = deepcopy(SPEC)
    spec.update(tables)  # type: ignore[typeddict-item]
    return plan.plan_of(resolve(spec))


def lines(made: plan.Plan, program: str, node: str) -> list[str]:
    batches = commands.building(made, frozenset(commands.OPTIONAL))
    return [line for batch in batches if (batch.program, batch.node) == (program, node) for line in batch.lines]


def test_every_link_of_the_simulator_has_a_port_with_its_rate() -> None:
    made = planned()
    rates = {link["name"]: link["rate_bps"] for link in made.fabric["links"]}
    assert {port.link: port.rate_bps for port in made.ports} == rates
    assert len({port.address for port in made.ports}) == len({(p.node, p.device) for p in made.ports}) == len(rates)
    assert made.name == "a-lab"
    assert made.factor == 1
    assert [made.address(n) for n in (0, 1, 5)] == ["10.10.0.2", "10.10.1.2", "10.12.1.2"]


def test_queues_are_those_of_the_spec() -> None:
    made = planned(switch={"buffer_bytes": 20_000, "buffer_us": 1_000})
    queues = {port.link: port.queue_bytes for port in made.ports}
    assert queues["leaf1->spine0"] == 20_000 + 50_000_000 // 8 // 1_000
    assert queues["spine1->leaf0"] == 20_000 + 12_500_000 // 8 // 1_000
    assert queues["host0->leaf0"] == plan.HOST_QUEUE_BYTES


def test_routes_use_every_shortest_way_that_works() -> None:
    made = planned()
    assert lines(made, "ip", "leaf0")[-2:] == [
        "route replace 10.11.0.0/16 nexthop via 172.16.0.1 dev s0 weight 1 nexthop via 172.16.0.7 dev s1 weight 1",
        # spine0 has no link to leaf2
        "route replace 10.12.0.0/16 nexthop via 172.16.0.7 dev s1 weight 1",
    ]
    assert not any("10.12.0.0/16" in line for line in lines(made, "ip", "spine0"))
    down = [line for line in lines(made, "ip", "leaf2") if "dev s0" in line and line.endswith("down")]
    assert len(down) == 1


def test_weights_of_wcmp_are_what_each_way_can_carry() -> None:
    made = planned(scheme={"name": "wcmp"})
    assert lines(made, "ip", "leaf0")[-2].endswith("dev s0 weight 128 nexthop via 172.16.0.7 dev s1 weight 32")
    # From leaf1 the slow link of leaf0 lies behind spine1.
    assert "dev s0 weight 128 nexthop via 172.16.0.9 dev s1 weight 32" in lines(made, "ip", "leaf1")[-2]


def test_cables_are_made_inside_and_token_buckets_have_rates_and_limits() -> None:
    made = planned()
    # Whatever runs on the machine itself makes namespaces and nothing else.
    outside = [batch for batch in commands.building(made, frozenset()) if batch.node is None]
    assert [line.split()[:2] for batch in outside for line in batch.lines] == [["netns", "add"]] * len(made.nodes)
    assert "link add s0 type veth peer name l1 netns spinewise-a-lab.spine0" in lines(made, "ip", "leaf1")
    bucket = next(line for line in lines(made, "tc", "leaf0") if "dev s1" in line)
    limit = next(port.queue_bytes for port in made.ports if port.link == "leaf0->spine1")
    assert bucket == f"qdisc add dev s1 root tbf rate 12500000bit burst 3228 limit {limit}"


def test_switches_hash_ports_each_with_a_seed_of_its_own_and_hosts_keep_their_hash() -> None:
    made = planned()
    values = {node: dict(line.split(" ", 1) for line in lines(made, "set", node)) for node in made.nodes}
    seeds = {values[node][commands.HASH_SEED] for node in (*made.leaves, *made.spines)}
    assert len(seeds) == len(made.leaves) + len(made.spines)
    assert all(values[node]["ipv4/fib_multipath_hash_policy"] == "1" for node in made.leaves)
    assert all(values[node][commands.TXREHASH] == "0" for node in made.hosts)
    other = plan.plan_of(resolve(deepcopy(SPEC) | {"scheme": {"name": "ecmp", "hash_salt": 7}}))
    assert commands.hash_seed(other, "leaf0") != commands.hash_seed(made, "leaf0")
    none = [line for b in commands.building(made, frozenset()) if b.program == "set" for line in b.lines]
    assert not any(name in line for line in none for name in commands.OPTIONAL)


def test_the_hosts_route_says_what_the_spec_says_of_the_transport() -> None:
    made = planned(transport={"kind": "cubic", "mss_bytes": 1000, "initial_window_segments": 4, "min_rto_us": 12_000})
    route = lines(made, "ip", "host3")[-1]
    for words in ("via 10.11.1.1", "mtu 1040 advmss 1000", "initcwnd 4", "rto_min 12ms", "quickack 1"):
        assert words in route
    assert made.fabric_mtu == 1140
    late = planned(transport={"kind": "cubic", "delayed_ack_segments": 2})
    assert "quickack" not in lines(late, "ip", "host3")[-1]


def test_parallel_cables_have_devices_of_their_own() -> None:
    made = planned(topology={"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "parallel_links": 2,
                             "host_rate_gbps": 0.1, "fabric_rate_gbps": 0.1})  # fmt: skip
    assert [port.device for port in made.ports if port.node == "leaf1"] == ["h0", "s0", "s0p1", "s1", "s1p1"]
    assert lines(made, "ip", "leaf0")[-1].count("nexthop") == 4
    assert lines(made, "ip", "spine1")[-1].count("nexthop") == 2


def test_the_factor_brings_the_fastest_link_into_range_and_keeps_the_flows() -> None:
    fast = deepcopy(SPEC)
    fast["topology"] |= {"host_rate_gbps": 10, "fabric_rate_gbps": 5, "override": []}
    fast["traffic"][0]["duration_us"] = 4_000
    given = resolve(fast)
    made = plan.plan_of(given)
    assert made.factor == 50
    assert max(port.rate_bps for port in made.ports) == scale.FASTEST_BPS
    assert made.spec["transport"]["min_rto_us"] == 50 * float(given["transport"]["min_rto_us"])
    there, here = sw.run(given), drawn.simulated(made, made.spec)
    assert numbers(there.flows, "size_bytes").tolist() == numbers(here.flows, "size_bytes").tolist()
    stretched = [at * 50 for at in numbers(there.flows, "start_ps").tolist()]
    assert numbers(here.flows, "start_ps").tolist() == pytest.approx(stretched, rel=1e-6)


def test_flows_of_a_pair_have_ports_of_their_own() -> None:
    made = planned()
    flows = drawn.flows_of(drawn.simulated(made, made.spec))
    assert len({(flow.source, flow.target, flow.port) for flow in flows}) == len(flows) > 5


REDUCE = {"kind": "all_reduce", "size_bytes": 10_000}
UDP = {"kind": "udp", "src": 0, "dst": 3, "schedule": [{"at_us": 0, "rate_gbps": 0.01}]}
REFUSED: dict[str, tuple[dict[str, object], str, str]] = {
    "rdma": ({"preset": "conweave", "transport": {"kind": "rdma"}}, "transport.kind", "NICs"),
    "dctcp": ({"transport": {"kind": "dctcp"}}, "transport.kind", "DCTCP"),
    "conga": ({"scheme": {"name": "conga"}}, "scheme.name", "switches"),
    "swift": ({"transport": {"kind": "swift"}}, "transport.kind", "congestion control"),
    "three tiers": ({"topology": {"kind": "fat_tree", "k": 4}}, "topology.kind", "two tiers"),
    "flows that wait": (
        {"traffic": [{"kind": "all_reduce", "size_bytes": 10_000}]},
        "traffic[0].kind",
        "wait for each other",
    ),
    "udp": (
        {"traffic": [{"kind": "udp", "src": 0, "dst": 3, "schedule": [{"at_us": 0, "rate_gbps": 0.01}]}]},
        "traffic[0].kind",
        "TCP alone",
    ),
    "jumbo": ({"transport": {"kind": "newreno", "mss_bytes": 20_000}}, "transport.mss_bytes", ""),
    "too many nodes": ({"topology": {"leaves": 8, "spines": 8, "hosts_per_leaf": 8}}, "topology", "namespace"),
    "loss": (
        {"fault": [{"kind": "loss", "ends": ["leaf0", "spine0"], "at_us": 0, "probability": 0.1}]},
        "fault[0].kind",
        "netem",
    ),
    "half a black hole": (
        {"fault": [{"kind": "black_hole", "switch": "spine1", "at_us": 0, "fraction": 0.5}]},
        "fault[0].fraction",
        "swallows all",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_built_is_refused_in_words(case: str) -> None:
    tables, key, words = REFUSED[case]
    spec: dict[str, object] = deepcopy({**SPEC, **tables})
    if case == "rdma":
        spec.pop("preset")
    with pytest.raises(SpecError) as refused:
        plan.plan_of(resolve(spec))
    assert refused.value.key == key
    assert words in (refused.value.hint or "")
    assert "lab" in refused.value.allowed


def test_a_factor_too_small_and_a_run_too_long_or_too_busy_are_refused() -> None:
    fast = resolve(deepcopy(SPEC) | {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}})
    with pytest.raises(SpecError, match="factor"):
        plan.plan_of(fast, factor=2)
    made = planned()
    with pytest.raises(SpecError, match="seconds are real"):
        drawn.simulated(made, {**made.spec, "run": {**made.spec["run"], "until_us": 1e9}})
    busy = planned(traffic=[{"kind": "poisson", "cdf": "web_search", "load": 0.9, "duration_us": 4_000_000}],
                   topology={"leaves": 2, "spines": 8, "hosts_per_leaf": 8, "host_rate_gbps": 0.2,
                             "fabric_rate_gbps": 0.2})  # fmt: skip
    with pytest.raises(SpecError, match="links a second"):
        drawn.simulated(busy, busy.spec)


@pytest.mark.parametrize("name", ["", "Lab", "a.b", "a/b", "-a", "x" * 33])
def test_a_name_has_no_dot_so_no_two_labs_share_a_prefix(name: str) -> None:
    with pytest.raises(SpecError, match="--name"):
        plan.plan_of(resolve(deepcopy(SPEC)), name)


FAULTS = [
    {"kind": "black_hole", "switch": "spine1", "at_us": 100_000, "until_us": 300_000, "fraction": 1.0},
    {"kind": "rate", "ends": ["leaf0", "spine0"], "direction": "forward", "at_us": 50_000, "rate_gbps": 0.01},
    {"kind": "down", "ends": ["leaf1", "spine0"], "at_us": 200_000, "until_us": 250_000},
]


def test_faults_are_deeds_at_their_times() -> None:
    done = breaking.deeds(planned(fault=FAULTS))
    assert [deed.at_ns // 1_000 for deed in done] == [50_000, 100_000, 200_000, 250_000, 300_000]
    rate, hole, down, up, whole = ([line for batch in deed.batches for line in batch.lines] for deed in done)
    assert rate == [line for line in rate if "change dev s0" in line and "rate 10000000bit" in line]
    assert len(rate) == 1
    assert hole == [f"route replace blackhole 10.{10 + leaf}.0.0/16" for leaf in range(3)]
    assert whole[0].startswith("route replace 10.10.0.0/16 nexthop via")
    assert down == ["link set dev s0 down"]
    assert up[0] == "link set dev s0 up"
    assert any("10.11.0.0/16" in line for line in up), "the spine's route is put back"


def test_a_fault_of_one_direction_alone_is_refused() -> None:
    fault = [{"kind": "down", "ends": ["leaf1", "spine0"], "direction": "forward", "at_us": 1, "until_us": 2}]
    with pytest.raises(SpecError, match="both ways"):
        breaking.deeds(planned(fault=fault))


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


def test_a_run_of_linux_is_not_made_again_by_the_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = planned()
    simulated = drawn.simulated(made, made.spec)
    flows = drawn.flows_of(simulated)
    measured = outcome.Measured(carried(flows, lost=0), {}, {}, simulated.series, 0.4, 0.25, "reno", "the kernel", ())
    outcome.result_of(made, simulated, measured).write(tmp_path / "run")
    assert main(["explain", str(tmp_path / "run"), "--flow", "1"]) == 2
    told = capsys.readouterr().err
    assert "flow 1 arrived after 2" in told
    assert "measured on Linux" in told
    assert main(["export", str(tmp_path / "run"), "--pcapng", str(tmp_path / "x"), "--capture", "host0"]) == 2


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


def test_ports_mark_where_the_transport_hears_it() -> None:
    made = planned(transport={"kind": "ecn"}, switch={"ecn_threshold_bytes": 15_000, "ecn_threshold_us": 0})
    assert made.marks
    assert not planned().marks
    assert "ipv4/tcp_ecn 1" in lines(made, "set", "host0")
    assert "ipv4/tcp_ecn 2" in lines(planned(), "set", "host0")
    ports = steer.marked_ports(made)
    assert {above for *_, above in ports} == {15_000}
    assert {link for _, _, link, _ in ports} == {port.link for port in made.ports if port.node not in made.hosts}


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


def test_the_runs_of_a_study_are_interleaved_and_each_scheme_begins_in_turn() -> None:
    spec = deepcopy(SPEC)
    runs = study.planned(spec, parse_list("ecmp,wcmp", []), [1, 2], study.Labs())
    assert [(label, seed) for label, _, seed in runs] == [("ecmp", 1), ("wcmp", 1), ("wcmp", 2), ("ecmp", 2)]
    with pytest.raises(SpecError, match="scheme conga"):
        study.planned(spec, parse_list("ecmp,conga", []), [1], study.Labs())


def test_two_plans_of_one_fabric_build_the_same() -> None:
    from spinewise.lab.build import same_fabric

    made = planned()
    other = planned(traffic=[{"kind": "permutation", "size_bytes": 1_000}])
    assert same_fabric(made, other)
    assert not same_fabric(made, planned(switch={"buffer_bytes": 3_000}))
    assert not same_fabric(made, replace(made, mtu=9_000))
