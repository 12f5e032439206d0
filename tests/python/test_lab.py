"""Labs as far as they need no privilege: plans, refusals, commands."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest

import spinewise as sw
from lab_cases import SPEC, lines, planned
from spinewise import core
from spinewise.errors import SpecError
from spinewise.lab import (
    breaking,
    commands,
    drawn,
    plan,
    scale,
)
from spinewise.measures.tables import numbers
from spinewise.specs.spec import resolve


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


def test_queues_in_packets_hold_as_many_full_packets() -> None:
    made = planned(switch={"buffer_packets": 100}, transport={"kind": "newreno", "mss_bytes": 1_000})
    # Payload, IPv4 and TCP, Ethernet: what a token bucket counts.
    assert {port.queue_bytes for port in made.ports if port.node not in made.hosts} == {100 * (1_000 + 40 + 14)}


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
    assert f"{commands.TXREHASH} 1" in lines(planned(scheme={"name": "txrehash"}), "set", "host0")
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


def test_every_time_of_a_scheme_and_of_a_spec_is_scaled() -> None:
    """ELAB searched again, and a proxy of MEET failed, at the times of the spec."""
    times = re.compile(r"_(s|ms|us|ns|ps)$")
    registry = core.registry()
    things = [*registry["schemes"], *registry["transports"], *registry["workloads"], *registry["topologies"]]
    names = {param["name"] for thing in things for param in core.params_of(thing) if times.search(param["name"])}
    assert {"rediscover_ms", "proxy_fails_at_ms", "probe_interval_us"} <= names
    assert {name: scale.stretched(3, 10, name) for name in names} == dict.fromkeys(names, 30)
    params = {"rediscover_ms": 20, "dead_after_us": 1_000}
    made = scale.at_scale(resolve(deepcopy(SPEC) | {"scheme": {"name": "elab", "params": params}}), 10)
    assert {name: made["scheme"]["params"][name] for name in params} == {"rediscover_ms": 200, "dead_after_us": 10_000}


def test_flows_of_a_pair_have_ports_of_their_own() -> None:
    made = planned()
    flows = drawn.flows_of(drawn.simulated(made, made.spec))
    assert len({(flow.source, flow.target, flow.port) for flow in flows}) == len(flows) > 5


REDUCE = {"kind": "all_reduce", "size_bytes": 10_000}
UDP = {"kind": "udp", "src": 0, "dst": 3, "schedule": [{"at_us": 0, "rate_gbps": 0.01}]}
REFUSED: dict[str, tuple[dict[str, object], str, str]] = {
    "rdma": ({"preset": "conweave", "transport": {"kind": "rdma"}}, "transport.kind", "NICs"),
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
        "carries only TCP",
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
    again = {**SPEC, "traffic": [{"kind": "flows", "rounds": 2, "list": [{"src": 0, "dst": 3, "size_bytes": 9}]}]}
    with pytest.raises(SpecError, match="wait for each other"):
        plan.plan_of(resolve(again))
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


@pytest.mark.parametrize(("gbps", "factor"), [(25, 200), (50, 500), (100, 500), (400, 2_000), (100_000, 500_000)])
def test_usual_rates_leave_no_timeout_out_of_range(gbps: int, factor: int) -> None:
    """The longest retransmission timeout, which nobody had set, left the range of specs."""
    topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": gbps, "fabric_rate_gbps": gbps}
    made = plan.plan_of(resolve({"preset": "datacenter", "topology": topology, "traffic": FEW}))
    assert made.factor == factor
    assert made.spec["transport"]["max_rto_us"] == min(60e6 * factor, scale.LONGEST_US)


FEW = [{"kind": "flows", "list": [{"src": 0, "dst": 3, "size_bytes": 9}]}]


def test_a_fabric_that_is_too_large_is_told_so_first() -> None:
    """It was refused for a time that its factor had stretched."""
    topology = {"leaves": 4, "spines": 2, "hosts_per_leaf": 16}
    given = {"topology": topology, "traffic": FEW, "metrics": {"sample_interval_us": 1e8}}
    with pytest.raises(SpecError, match="at most 64 hosts and switches"):
        plan.plan_of(resolve(given))


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
        planned(fault=fault)


def test_what_a_run_could_not_do_is_refused_before_a_lab_is_built() -> None:
    with pytest.raises(SpecError, match="10000 and more at the lab's scale"):
        planned(metrics={"series_interval_us": 5_000})
    with pytest.raises(SpecError, match=r"fault\[0\].switch"):
        planned(fault=[{"kind": "black_hole", "switch": "leaf1", "at_us": 1, "fraction": 1.0}])
