"""What a finished run says of itself: tails that are timers, parameters that nothing called for."""

from __future__ import annotations

import re
from typing import Any

import pytest

import samples
import spinewise as sw
from spinewise import core
from spinewise.measures import afterwards
from spinewise.measures.facts import Facts
from spinewise.measures.summary import summarise
from spinewise.specs.spec import as_spec

TRANSPORT = {"kind": "dctcp", "min_rto_us": 10_000, "rto_tick_us": 0}
QUEUES = {"ecn_threshold_bytes": 97_500}
MANY = 20_000


def codes(
    fct_us: list[float],
    timeouts: list[int],
    *,
    marks: int = 1,
    packets: int = 100,
    report: dict[str, Any] | None = None,
    **spec: Any,
) -> list[tuple[str, str | None]]:
    """Codes and keys of the warnings of a run with one entry of these short flows."""
    flows = len(fct_us)
    columns = {
        "size_bytes": [1000] * flows,
        "fct_ps": [round(us * 1e6) for us in fct_us],
        "timeouts": timeouts,
        "marks": [marks] * flows,
        "packets": [packets] * flows,
    }
    result = samples.result(**columns)
    result.report.update(report or {})  # type: ignore[typeddict-item]
    whole = {"transport": TRANSPORT, "switch": QUEUES, "traffic": [{"kind": "poisson", "name": "web"}]} | spec
    whole["metrics"] = {"size_classes": samples.CLASSES}
    if "entry" not in result.flows.column_names:
        result.report["entries"] = []
    found = summarise(result.flows, result.report, as_spec(whole)).warnings
    return [(one.code, one.key) for one in found]


TAIL = ("tail_is_timeout", "transport.min_rto_us")


def test_a_tail_that_is_the_timeout_is_told() -> None:
    assert codes([200.0] * 90 + [10_190.0] * 10, [0] * 90 + [1] * 10) == [TAIL]


def test_a_tail_is_the_timeout_of_the_entrys_own_transport() -> None:
    own: dict[str, Any] = {
        "transport": {"kind": "rdma", "rto_us": 4000},
        "traffic": [{"kind": "poisson", "transport": TRANSPORT}],
    }
    key = "traffic[0].transport.min_rto_us"
    assert codes([200.0] * 90 + [10_190.0] * 10, [0] * 90 + [1] * 10, **own) == [("tail_is_timeout", key)]


def test_a_tail_of_one_percentile_is_one() -> None:
    result = samples.result(
        fct_ps=[2 * 10**8] * 980 + [10_190 * 10**6] * 20, timeouts=[0] * 980 + [1] * 20,
        size_bytes=[1000] * 1000, packets=[100] * 1000, marks=[1] * 1000,
    )  # fmt: skip
    metrics = {"size_classes": samples.CLASSES}
    spec = {
        "transport": TRANSPORT,
        "switch": QUEUES,
        "traffic": [{"kind": "poisson", "name": "web"}],
        "metrics": metrics,
    }
    result.report["entries"] = []
    (found,) = summarise(result.flows, result.report, as_spec(spec)).warnings
    assert "p99 of short flows" in found.text
    assert ") is this timeout of 10.00 ms" in found.text
    assert found.text.endswith("cannot change it.")


def test_a_timeout_that_ticks_may_be_a_tick_late() -> None:
    late = [200.0] * 90 + [11_300.0] * 10
    assert codes(late, [0] * 90 + [1] * 10) == []
    assert codes(late, [0] * 90 + [1] * 10, transport=TRANSPORT | {"rto_tick_us": 1000}) == [TAIL]


@pytest.mark.parametrize(
    ("fct_us", "timeouts"),
    [
        ([200.0] * 90 + [10_190.0] * 10, [0] * 100),
        ([200.0] * 90 + [13_000.0] * 10, [0] * 90 + [1] * 10),
        ([9_000.0] * 90 + [10_190.0] * 10, [0] * 90 + [1] * 10),
    ],
    ids=["no timeout", "longer than one", "most flows take as long"],
)
def test_other_tails_are_their_own(fct_us: list[float], timeouts: list[int]) -> None:
    assert codes(fct_us, timeouts) == []


def test_a_tail_in_which_too_few_flows_met_a_timeout_is_no_timeout() -> None:
    """Any timeouts in the entry were enough, those of other flows, too; a least timeout may lie below the tick."""
    ticking = TRANSPORT | {"min_rto_us": 200, "rto_tick_us": 1000}
    tail = [50.0] * 900 + [250.0] * 100
    assert codes(tail, [0] * 960 + [1] * 40, transport=ticking) == []
    assert codes(tail, [0] * 940 + [1] * 60, transport=ticking) == [TAIL]
    assert codes(tail, [1] * 200 + [0] * 800, transport=ticking) == []


def test_a_threshold_that_marked_nothing_is_told_of_runs_of_some_length() -> None:
    assert codes([200.0], [0], marks=0, packets=MANY) == [("no_mark_seen", "switch.ecn_threshold_bytes")]
    assert codes([200.0], [0], marks=0, packets=10) == []
    assert codes([200.0], [0], marks=0, packets=MANY, switch={"ecn_threshold_bytes": 0}) == []
    deaf, hears = TRANSPORT | {"kind": "cubic"}, TRANSPORT | {"kind": "cubic", "cubic_ecn": True}
    assert codes([200.0], [0], marks=0, packets=MANY, transport=TRANSPORT | {"kind": "newreno"}) == []
    assert codes([200.0], [0], marks=0, packets=MANY, transport=deaf) == []
    told = ("no_mark_seen", "switch.ecn_threshold_bytes")
    assert codes([200.0], [0], marks=0, packets=MANY, transport=hears) == [told]


@pytest.mark.parametrize(
    "transport",
    [
        {"kind": "dctcp"},
        {"kind": "ecn"},
        {"kind": "newreno"},
        {"kind": "cubic"},
        {"kind": "cubic", "cubic_ecn": True},
        {"kind": "swift"},
        {"kind": "mptcp"},
        {"kind": "uet"},
    ],
    ids=str,
)
def test_transports_read_marks_as_the_engine_sends_them(transport: dict[str, object]) -> None:
    """The packets of a transport that reads no marks cannot be marked; those of others are, as six senders meet."""
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100}
    burst = {"kind": "incast", "receiver": 0, "senders": 6, "size_bytes": 2_000_000}
    switch = {} if transport["kind"] == "uet" else {"buffer_bytes": 1_000_000, "ecn_threshold_bytes": 100_000}
    preset = "uet" if transport["kind"] == "uet" else "datacenter"
    ran = sw.run({"preset": preset, "topology": fabric, "transport": transport, "switch": switch, "traffic": [burst]})
    assert (ran.summary().packets.marks > 0) == afterwards.reads_marks(ran.spec["transport"])


def congested(control: str) -> sw.Result:
    """Six queue pairs into one host, with a queue from which on all packets are marked."""
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100}
    burst = {"kind": "incast", "receiver": 0, "senders": 6, "size_bytes": 2_000_000}
    transport = {"kind": "rdma", "congestion_control": control}
    return sw.run(
        {"topology": fabric, "transport": transport, "switch": {"ecn_max_bytes": 200_000}, "traffic": [burst]}
    )


RDMA = '[transport] kind = "rdma", '


@pytest.mark.parametrize("control", [one["name"] for one in core.registry()["transports"] if RDMA in one["use"]])
def test_controls_that_read_no_marks_are_not_told_of_them(control: str) -> None:
    """HPCC and TIMELY were told that no queue had grown so long, whatever had waited."""
    ran = congested(control)
    assert max(link["longest_queue_bytes"] for link in ran.report["links"]) > 200_000
    marked = afterwards.reads_marks({"kind": "rdma", "congestion_control": control})
    assert (ran.summary().packets.marks > 0) == marked == (control == "dcqcn")
    assert "no_mark_seen" not in {one.code for one in ran.summary().warnings}


@pytest.mark.parametrize(
    ("switch", "queue_bytes", "said"),
    [
        ({"ecn_threshold_bytes": 50_000, "ecn_threshold_us": 4}, 100_000, "no queue grew so long"),
        (
            {"ecn_threshold_bytes": 50_000, "ecn_threshold_us": 4},
            100_001,
            "up to 100 kB waited for leaf0->host1",
        ),
        ({"ecn_min_bytes": 10, "ecn_max_bytes": 400_000}, 400_001, "up to 400 kB waited for leaf0->host1"),
        ({"ecn_threshold_packets": 65}, 10**9, "no queue grew so long"),
    ],
)
def test_a_queue_that_was_longer_than_the_threshold_is_named(
    switch: dict[str, Any], queue_bytes: int, said: str
) -> None:
    """Of 100 Gbps, 4 us are 50 kB."""
    link = {"name": "leaf0->host1", "rate_bps": 100e9, "longest_queue_bytes": queue_bytes}
    report = samples.report(links=[link | {"longest_queue_bytes": 9}, link])
    given = as_spec({"transport": TRANSPORT, "switch": switch})
    [told] = afterwards.never_used(Facts(marks=0), report, given)
    assert (told.code, said in told.text) == ("no_mark_seen", True)


def test_flow_control_that_paused_nothing_is_told() -> None:
    lossless = {"pfc": True, "ecn_max_bytes": 400_000}
    assert codes([200.0], [0], packets=MANY, switch=lossless) == [("no_pause_seen", "switch.pfc")]
    paused = samples.report()["counters"] | {"pause_frames": {"packets": 3, "bytes": 129}}
    assert codes([200.0], [0], packets=MANY, switch=lossless, report={"counters": paused}) == []


def test_a_scheme_that_moved_nothing_is_told() -> None:
    still = {"totals": {"reroutes": 0, "path_changes": 0}}
    told = [("no_reroute_seen", "scheme.params")]
    assert codes([200.0], [0], packets=MANY, scheme={"name": "letflow"}, report=still) == told
    assert codes([200.0], [0], packets=MANY, scheme={"name": "ecmp"}, report=still) == []
    for moved in ({"reroutes": 4, "path_changes": 0}, {"reroutes": 0, "path_changes": 2}, {}):
        assert codes([200.0], [0], packets=MANY, scheme={"name": "letflow"}, report={"totals": moved}) == []


def test_moves_behind_the_first_leaf_are_not_denied() -> None:
    """An aggregation switch moved flows off a dead link, and the run was told that no flow had moved."""
    broken = {"kind": "down", "ends": ["aggregation0", "core0"], "at_us": 200}
    ran = sw.run(
        {
            "topology": {"kind": "fat_tree", "k": 4, "cores_per_aggregation": 3},
            "scheme": {"name": "resilient"},
            "traffic": [{"kind": "permutation", "size_bytes": 1_000_000}],
            "fault": [broken],
            "detection": {"carrier_us": 10, "control_plane_us": 20},
            "metrics": {"facts": True},
        }
    )
    [told] = [one.text for one in ran.summary().warnings if one.code == "no_reroute_seen"]
    assert told.startswith(
        "Under resilient no flow left its first leaf by another uplink. Moves at the switches behind"
    )
    still = Facts(reroutes=0)
    for topology, denied in (({"leaves": 4}, True), ({"parallel_links": 2}, False), ({"kind": "links"}, False)):
        given = as_spec({"scheme": {"name": "letflow"}, "topology": topology})
        [told] = [one.text for one in afterwards.never_used(still, samples.report(totals={"path_changes": 0}), given)]
        assert told.startswith("letflow never moved a flow") == denied


def test_one_path_only_is_told() -> None:
    """Under one spine all schemes are alike, and it was said nowhere."""
    swap = {"name": "swap", "kind": "permutation", "size_bytes": 20_000}
    for spines, told in ((1, ["one_path"]), (2, [])):
        fabric = {"leaves": 2, "spines": spines, "hosts_per_leaf": 2}
        found = sw.run({"topology": fabric, "traffic": [swap]}).summary().warnings
        assert [one.code for one in found if one.code == "one_path"] == told


SWAP = {"kind": "permutation", "size_bytes": 20_000}
WITHIN = [SWAP | {"kind": "all_to_all", "hosts": [0, 1, 2, 3]}]
DEAD = [{"kind": "down", "switch": f"spine{spine}", "at_us": 0, "may_cut_off": True} for spine in range(4)]


def test_udp_sources_are_no_flows_that_had_not_finished() -> None:
    """Runs with faults counted them among those that had not, and not among the flows: 2 of 1."""
    spec: dict[str, Any] = {
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 3},
        "traffic": [
            {
                "kind": "flows",
                "list": [{"src": 0, "dst": 3, "size_bytes": 10**8}, {"src": 1, "dst": 4, "size_bytes": 9}],
            },
            {"kind": "udp", "src": 0, "dst": 4, "schedule": [{"at_us": 0, "rate_gbps": 2}], "end_us": 100},
        ],
        "run": {"until_us": 1000},
        "fault": [{"kind": "loss", "ends": ["leaf0", "spine0"], "probability": 0.01, "at_us": 1}],
    }
    result = sw.run(spec)
    assert result.report["unfinished"] == {"cut_off": 0, "out_of_time": 1}
    (told,) = (one.text for one in result.summary().warnings if one.code == "ended_early")
    assert "1 of 2 flows had not finished" in told
    without_rows = sw.run({**spec, "metrics": {"keep_flows_up_to": 0}})
    assert {one.title().partition(", simulated")[0] for one in (result, without_rows)} == {
        "run: ecmp, seed 1, 2 flows (1 unfinished), 1 UDP source"
    }


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"run": {"until_us": 1e-6}}, ["ended_early, before any packet arrived: 16 of 16 flows"]),
        ({"run": {"until_us": 20}}, ["ended_early: 16 of 16 flows"]),
        ({"run": {"until_us": 60_000}}, []),
        ({"run": {"until_us": 60_000, "stop": "time"}}, []),
        ({"run": {"until_us": 60_000}, "fault": DEAD}, []),
        ({"run": {"until_us": 10}, "traffic": WITHIN}, ["no_packet_in_fabric: No", "ended_early: "]),
    ],
    ids=["at once", "soon", "in time", "by the clock", "cut off", "within racks"],
)
def test_a_run_that_was_cut_short_says_so(spec: dict[str, Any], told: list[str]) -> None:
    """One that ended after a picosecond called its flows such as leave no rack."""
    fabric = {"leaves": 4, "spines": 4, "hosts_per_leaf": 4}
    found = sw.run({"topology": fabric, "traffic": [SWAP]} | spec).summary().warnings
    codes = ("no_packet_in_fabric", "ended_early")
    said = [f"{one.code}{one.text.partition(' us')[2] or f': {one.text}'}" for one in found if one.code in codes]
    assert len(said) == len(told)
    assert all(text.startswith(start) for text, start in zip(said, told, strict=True)), said


def test_what_had_no_time_to_finish_is_not_called_queued() -> None:
    ran = sw.run({"traffic": [SWAP], "run": {"until_us": 1e-6}})
    assert str(ran.rounds.straggler(ran.rounds.rounds[0])).endswith(" had not finished: it met no loss and no mark")


TRIANGLE = {
    "kind": "links", "hosts": 4, "switches": 3,
    "links": [[0, 4, 10, 500], [1, 4, 10, 500], [2, 5, 10, 500], [3, 5, 10, 500],
              [4, 5, 10, 500], [5, 6, 10, 500], [6, 4, 10, 500]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        ({"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "override": [{"spine": 1, "up": False}]}, True),
        ({"leaves": 1, "spines": 1, "hosts_per_leaf": 4}, False),
        ({"kind": "fat_tree", "k": 4}, False),
        (TRIANGLE, True),
        (TRIANGLE | {"routes": [[4, 2, 5], [4, 2, 6], [4, 3, 5], [4, 3, 6], [6, 2, 5], [6, 3, 5]]}, False),
    ],
    ids=["a dead spine", "one rack", "fat tree", "triangle", "static routes by two ways"],
)
def test_one_path_is_what_routes_leave(fabric: dict[str, Any], told: bool) -> None:
    traffic = {"kind": "permutation", "size_bytes": 20_000, "inter_rack": fabric.get("leaves") != 1}
    spec = {"topology": fabric, "traffic": [traffic]}
    assert ("one_path" in {one.code for one in sw.validate(spec).warnings}) == told


EXCHANGE: dict[str, Any] = {"name": "exchange", "kind": "all_to_all"}
IDLE: dict[str, Any] = {
    "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 400, "fabric_rate_gbps": 400,
                 "host_delay_ns": 1000, "fabric_delay_ns": 1000},
    "transport": {"kind": "uet"},
    "traffic": [EXCHANGE | {"size_bytes": 100_000}],
}  # fmt: skip


def idle(**changes: Any) -> list[str]:
    """What a run says of an idle fabric."""
    return [one.text for one in sw.run(IDLE | changes).summary().warnings if one.code == "idle_fabric"]


def test_rounds_of_latency_are_told() -> None:
    """All schemes came out alike on links that were used for 2 % of the time, and nobody said why."""
    (told,) = idle()
    assert re.match(r"Links between switches were hardly used, the busiest \(\S+\) for \d\.\d %", told)
    assert told.endswith("at this size they are latency, and more bytes would tell schemes apart.")
    assert idle(traffic=[EXCHANGE | {"size_bytes": 10_000_000}]) == []
    assert idle(run={"until_us": 50}) == []
    slow_start = {"kind": "dctcp", "initial_window_segments": 1}
    assert idle(transport=slow_start, traffic=[EXCHANGE | {"size_bytes": 400_000}]) == []


def test_each_round_is_set_against_its_own_ideal() -> None:
    """Pairs are done sooner than the bound of a large group, whose rounds a better scheme makes shorter by a third."""
    pairs = [[host, host + 8] for host in range(4)]
    large = [*range(4, 8), *range(12, 32)]
    groups = {"name": "g", "kind": "all_to_all", "hosts": [*pairs, large], "size_bytes": 120_000, "rounds": 3,
              "gap_us": 40_000, "order": "random"}  # fmt: skip
    fabric = {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 25, "fabric_rate_gbps": 10}
    result = sw.run({"topology": fabric, "scheme": {"name": "ecmp"}, "traffic": [groups]})
    assert [one.code for one in result.summary().warnings if one.code == "idle_fabric"] == []
    (job,) = result.rounds.jobs
    assert job.mean_s < job.ideal_s < job.max_s
    assert result.rounds.above_ideal["g"] > 0.2


def test_flows_as_fast_as_alone_are_told() -> None:
    few = {"name": "copy", "kind": "flows", "list": [{"src": 0, "dst": 5, "size_bytes": 1_000_000}]}
    (told,) = idle(traffic=[few], run={"until_us": 2000, "stop": "time"})
    assert ", and flows took at most " in told
    assert told.endswith(": more of them would tell schemes apart.")
