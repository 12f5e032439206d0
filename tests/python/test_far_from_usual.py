"""Sizes and changes of routes far from the usual: each met a wrong result once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import spinewise
from spinewise.errors import SpecError

UPLINKS = "leaf0->spine"


def sent(spec: Mapping[str, object], links: str = UPLINKS) -> list[int]:
    """Packets that each of these links has carried."""
    return [one["packets"] for one in spinewise.run(spec).report["links"] if one["name"].startswith(links)]


def udp(src: int, dst: int, gbps: float, end_us: float, **more: object) -> dict[str, object]:
    """A source of constant rate."""
    rate = [{"rate_gbps": gbps}]
    return {"kind": "udp", "src": src, "dst": dst, "packet_bytes": 1000, "schedule": rate, "end_us": end_us, **more}


def down(until_us: float, at_us: float = 0.001, **where: object) -> dict[str, object]:
    """What is down for a while."""
    return {"kind": "down", "at_us": at_us, "until_us": until_us, **where}


def test_a_queue_of_megabytes_is_as_long_on_a_line_that_a_fault_names() -> None:
    """A wait of more than 2.3 MB once wrapped there: QDAPS took the longest queue for the shortest."""
    spec = {
        "preset": "datacenter",
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 16},
        "switch": {"buffer_bytes": 20_000_000, "ecn_threshold_bytes": 0},
        "scheme": {"name": "qdaps"},
        "run": {"stop": "time", "until_us": 60_000},
        "traffic": [
            {"kind": "udp", "src": n, "dst": 16 + n, "packet_bytes": 1500, "size_bytes": 3_000_000,
             "schedule": [{"rate_gbps": 8}]}
            for n in range(16)
        ],
    }  # fmt: skip
    later = {"kind": "rate", "ends": ["leaf0", "spine0"], "at_us": 50_000, "until_us": 55_000, "rate_gbps": 5}
    assert sent(spec) == sent({**spec, "fault": [later]})


def test_wcmp_makes_its_group_anew_where_one_uplink_takes_the_place_of_another() -> None:
    """As many uplinks as before, and not the same."""
    spec = {
        "preset": "datacenter",
        "topology": {
            "leaves": 2, "spines": 3, "hosts_per_leaf": 64, "host_rate_gbps": 1, "fabric_rate_gbps": 10,
            "override": [{"spine": 0, "rate_gbps": 40}],
        },
        "scheme": {"name": "wcmp"},
        "detection": {"mode": "oracle"},
        "run": {"stop": "time", "until_us": 30_000},
        "traffic": [udp(n, 64 + n, 0.2, 30_000) for n in range(64)],
        "fault": [down(5000, ends=["leaf0", "spine0"]), down(100_000, 5000, ends=["leaf0", "spine1"])],
    }  # fmt: skip
    fast, _, slow = sent(spec)
    assert fast > 1.5 * slow, "four times the rate for five sixths of the time"


def test_resilient_hashing_has_members_behind_a_thousand_hosts() -> None:
    flows = [{"src": n, "dst": 1023 + n, "size_bytes": 20_000} for n in range(300)]
    spec = {
        "preset": "datacenter",
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 1023, "host_rate_gbps": 1, "fabric_rate_gbps": 400},
        "scheme": {"name": "resilient"},
        "traffic": [{"kind": "flows", "list": flows}],
    }
    packets = sent(spec)
    assert min(packets) > 0.5 * max(packets), "all four uplinks"


def test_lbsp_knows_its_own_dead_link_however_many_others_are_dead() -> None:
    cores = [{"kind": "down", "switch": f"core{8 + n}", "at_us": 10} for n in range(10)]
    spec = {
        "preset": "datacenter",
        "topology": {"kind": "fat_tree", "k": 16},
        "scheme": {"name": "lbsp"},
        "fault": [*cores, down(9000, 2999, ends=["leaf0", "aggregation0"])],
        "detection": {"mode": "hello", "hello_interval_us": 50, "hello_dead_count": 2},
        "run": {"stop": "time", "until_us": 3500},
        "traffic": [udp(n, 512 + 8 * n, 1, 3500) for n in range(8)],
    }  # fmt: skip
    assert spinewise.run(spec).report["counters"]["unroutable"] == 0


def test_round_robin_by_destination_has_a_list_of_the_uplinks_there_are() -> None:
    spec = {
        "preset": "datacenter",
        "topology": {"kind": "fat_tree", "k": 8, "host_rate_gbps": 1, "fabric_rate_gbps": 10, "core_rate_gbps": 10},
        "scheme": {"name": "round_robin", "params": {"lists": "destination", "reshuffle_rounds": 0}},
        "run": {"stop": "time", "until_us": 20_000},
        "traffic": [udp(n, 64 + n, 0.5, 20_000) for n in range(16)],
        "fault": [down(2000, ends=["aggregation0", "core0"], direction="forward")],
        "detection": {"mode": "oracle"},
    }
    packets = sent(spec, "aggregation0->core")
    assert max(packets) < 1.3 * min(packets)


def test_an_epoch_of_more_than_half_a_second_ends_as_others_do() -> None:
    """SELB's header has times modulo 1.1 s: a packet is compared with the newest of its flow, not the epoch's first."""
    quiet, rest = 0.56, 0.06
    competing = []
    for n in (1, 2):
        steps = []
        for burst in range(3):
            start = int(quiet * 1e6) + burst * 20_000 + n * 3000
            steps += [{"at_us": start, "rate_gbps": 0.6}, {"at_us": start + 6000, "rate_gbps": 0}]
        competing.append(udp(n, 4 + n, 0.6, 1e6 * (quiet + rest)) | {"schedule": steps})
    long = {"kind": "udp", "src": 0, "dst": 4, "packet_bytes": 1000, "schedule": [{"rate_gbps": 0.5}],
            "size_bytes": int((quiet + rest) * 0.5e9 / 8)}  # fmt: skip
    links = {"host_rate_gbps": 1, "fabric_rate_gbps": 1, "host_delay_ns": 1000, "fabric_delay_ns": 1000}
    spec = {
        "preset": "selb",
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, **links},
        "scheme": {"name": "selb", "params": {"k": 2}},
        "traffic": [long, *competing],
    }
    result = spinewise.run(spec)
    times = {name: len(result.series_of(name)[0]) for name in ("selb.clears", "selb.reroutes", "selb.out_of_order")}
    assert times["selb.reroutes"] > 100
    assert times["selb.clears"] == times["selb.reroutes"], "the last leaf has seen the end of each epoch"
    assert times["selb.out_of_order"] == 0


def test_a_flow_of_more_packets_than_there_are_numbers_is_refused() -> None:
    spec = {
        "preset": "uet",
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1},
        "transport": {"mss_bytes": 1},
        "scheme": {"name": "reps"},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 5_000_000_000}]}],
    }
    with pytest.raises(SpecError, match="at most 4294967294 bytes"):
        spinewise.run(spec)


def test_swift_below_the_round_trip_of_the_empty_fabric_is_warned_of() -> None:
    def codes(delay_ns: int) -> list[str]:
        topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "fabric_delay_ns": delay_ns}
        flow = {"src": 0, "dst": 3, "size_bytes": 20_000}
        traffic = [{"kind": "flows", "list": [flow]}]
        result = spinewise.run({"topology": topology, "transport": {"kind": "swift"}, "traffic": traffic})
        return [one["code"] for one in result.report["warnings"]]

    assert codes(1000) == []
    assert codes(20_000) == ["target_below_round_trip"]


def test_a_fixed_timeout_below_the_round_trip_of_the_empty_fabric_is_warned_of() -> None:
    def told(delay_ns: int, more: Mapping[str, object]) -> tuple[list[str], int]:
        links = {"host_rate_gbps": 100, "fabric_rate_gbps": 100, "host_delay_ns": delay_ns, "fabric_delay_ns": delay_ns}
        topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, **links}
        traffic = [{"kind": "flows", "list": [{"src": 0, "dst": 3, "size_bytes": 100_000}]}]
        result = spinewise.run({"topology": topology, "traffic": traffic, "run": {"until_us": 1e6}, **more})
        codes = [one["code"] for one in result.report["warnings"]]
        return codes, int(result.flows["retransmits"][0].as_py())

    lossless = {"transport": {"kind": "rdma"}, "switch": {"model": "shared_buffer", "pfc": True}}
    assert told(1000, lossless) == ([], 0)
    codes, again = told(600_000, lossless)
    assert (codes, again > 0) == (["timeout_below_round_trip"], True)
    irn = {"transport": {"kind": "rdma", "recovery": "irn"}, "switch": {"model": "shared_buffer"}}
    assert told(1000, irn)[0] == []
    assert told(50_000, irn)[0] == ["timeout_below_round_trip"]
    ultra = {"preset": "uet", "scheme": {"name": "reps"}}
    assert told(600_000, ultra)[0] == [], "it follows the fabric"
    assert told(600_000, {**ultra, "transport": {"rto_us": 100}})[0] == ["timeout_below_round_trip"]


def test_a_threshold_in_packets_is_as_long_as_its_packets_in_an_automatic_gap() -> None:
    def gap(mss: int) -> float:
        switch = {"buffer_packets": 1000, "ecn_threshold_packets": 100}
        scheme = {"name": "letflow", "params": {"flowlet_gap_us": "auto"}}
        flow = {"src": 0, "dst": 3, "size_bytes": 1000}
        topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_delay_ns": 0, "fabric_delay_ns": 0}
        spec = {"topology": topology, "transport": {"mss_bytes": mss}, "switch": switch, "scheme": scheme}
        resolved = spinewise.resolve({**spec, "traffic": [{"kind": "flows", "list": [flow]}]})
        return float(resolved["scheme"]["params"]["flowlet_gap_us"])

    assert gap(8960) == pytest.approx(6 * gap(1460), rel=0.02)


def test_over_ultra_ethernet_a_slow_path_is_waited_for() -> None:
    """The timeout knew nothing of overrides: with one spine 300 µs away, answers by it came too late, each of them."""

    def retried(preset: str, delay_ns: int) -> tuple[float, int, bool]:
        fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "override": [{"spine": 1, "delay_ns": delay_ns}]}
        flows = [{"src": src, "dst": 4 + src, "size_bytes": 200_000} for src in range(4)]
        spec = {"preset": preset, "topology": fabric, "transport": {"kind": "uet"}, "scheme": {"name": "oblivious"}}
        result = spinewise.run({**spec, "traffic": [{"kind": "flows", "list": flows}]})
        assert not result.report["warnings"]
        transport = result.spec["transport"]
        return (
            float(transport["rto_us"]),
            int(result.report["totals"]["timeouts"]),
            transport["nscc_base_rtt_from_trims"],
        )

    near, far = retried("uet-htsim", 1000), retried("uet-htsim", 300_000)
    assert far[0] - near[0] == pytest.approx(4 * 299)
    # Receivers answer several packets at once: now and then one waits for others that come by the long path.
    assert near[1] == 0
    assert far[1] < 5
    assert [retried(preset, 1000)[2] for preset in ("uet-htsim", "uet", "linux")] == [True, False, False]


def far_racks(delay_ns: int, rate_gbps: float = 10) -> dict[str, float]:
    """Two racks of four hosts, with links of this delay and rate."""
    delays = {"host_delay_ns": delay_ns, "fabric_delay_ns": delay_ns}
    rates = {"host_rate_gbps": rate_gbps, "fabric_rate_gbps": rate_gbps}
    return {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, **delays, **rates}


def test_a_question_of_hedera_that_is_open_is_waited_for() -> None:
    """A period shorter than the reports take asked anew each time, and placed nothing."""
    flows = [{"src": src, "dst": 4 + src, "size_bytes": 5_000_000} for src in range(4)]
    spec = {
        "topology": far_racks(12_500),
        "scheme": {"name": "hedera", "params": {"interval_ms": 0.05}},
        "traffic": [{"kind": "flows", "list": flows}],
    }
    result = spinewise.run(spec)
    times, placed = result.series_of("hedera.placed")
    assert placed.max() == 2, "one of the rate of a link on each spine"
    assert len(times) > 10


@pytest.mark.parametrize(
    ("scheme", "least_us"), [("mrc", 100), ("hopper", 1_000), ("hermes", 10_000), ("elab", 10_000)]
)
def test_probes_are_given_up_no_sooner_than_they_can_be_answered(scheme: str, least_us: float) -> None:
    def given_up(delay_ns: int) -> float:
        traffic = [{"kind": "flows", "list": [{"src": 0, "dst": 4, "size_bytes": 1000}]}]
        resolved = spinewise.resolve({"topology": far_racks(delay_ns), "scheme": {"name": scheme}, "traffic": traffic})
        return float(resolved["scheme"]["params"]["probe_give_up_us"])

    assert given_up(100) == least_us
    # A round trip crosses eight links.
    assert given_up(2_000_000) == pytest.approx(5 * 8 * 2_000, rel=0.01)


def test_probes_that_take_much_of_slow_links_are_warned_of() -> None:
    def codes(rate_gbps: float) -> list[str]:
        flow = {"src": 0, "dst": 4, "size_bytes": 100_000}
        topology, traffic = far_racks(1000, rate_gbps), [{"kind": "flows", "list": [flow]}]
        result = spinewise.run({"topology": topology, "scheme": {"name": "hula"}, "traffic": traffic})
        return [one["code"] for one in result.report["warnings"]]

    assert codes(10) == []
    assert codes(0.01) == ["much_own_traffic"]


def test_what_a_fabric_makes_of_auto_is_told_where_it_is_refused() -> None:
    traffic = [{"kind": "flows", "list": [{"src": 0, "dst": 4, "size_bytes": 1000}]}]
    with pytest.raises(SpecError) as refused:
        spinewise.resolve({"topology": far_racks(9_000_000_000_000), "traffic": traffic})
    assert refused.value.key == "transport.min_rto_us"
    assert '"auto" gives this value in this fabric' in str(refused.value.hint)


def test_a_slow_link_that_is_crossed_once_makes_a_round_trip_longer_once() -> None:
    """The longest delay was charged to every link of a path, there and back."""

    def rto_us(**override: object) -> float:
        fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "override": [{"delay_ns": 1_001_000, **override}]}
        flow = {"src": 0, "dst": 4, "size_bytes": 1000}
        spec = {"preset": "uet", "topology": fabric, "scheme": {"name": "reps"}}
        resolved = spinewise.resolve({**spec, "traffic": [{"kind": "flows", "list": [flow]}]})
        return float(resolved["transport"]["rto_us"])

    plain = rto_us(leaf=0, spine=0, delay_ns=1000)
    one_way = {"leaf": 0, "spine": 0, "direction": "up"}
    assert rto_us(**one_way) - plain == pytest.approx(1000)
    assert rto_us(leaf=0, spine=0) - plain == pytest.approx(2000)
    assert rto_us(host=3) - plain == pytest.approx(2000)
    assert rto_us(spine=1) - plain == pytest.approx(4000)


def test_a_flow_is_large_by_its_rate_also_where_reports_are_slow() -> None:
    """A question that is open for several periods counts the bytes of all of them."""

    def elephants(rate_gbps: float) -> float:
        links = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10}
        udp = {"kind": "udp", "src": 0, "dst": 2, "schedule": [{"rate_gbps": rate_gbps}], "end_us": 50_000}
        params = {"interval_ms": 1, "report_timeout_us": 100_000}
        spec = {
            "topology": {**links, "fabric_delay_ns": 1_500_000},
            "scheme": {"name": "hedera", "params": params},
            "traffic": [udp],
        }
        return float(spinewise.run(spec).series_of("hedera.elephants")[1].max())

    assert elephants(0.5) == 0, "a twentieth of the link"
    assert elephants(2) == 1
