"""Connection matrices and topologies of htsim."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import htsim_cm, htsim_topo
from spinewise.interop.dag import Dag, Operation
from spinewise.interop.flows import FlowList
from spinewise.interop.htsim_cm import Reading

FABRIC = {"leaves": 4, "spines": 2, "hosts_per_leaf": 4}


def write(folder: Path, text: str, name: str = "x.cm") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def permutation(hosts: int, size: int = 2_000_000) -> str:
    """Every host sends to the one five places on, as gen_permutation.py of htsim writes such files."""
    lines = [f"{host}->{(host + 5) % hosts} id {host + 1} start 0 size {size}" for host in range(hosts)]
    return "\n".join([f"Nodes {hosts}", f"Connections {hosts}", *lines]) + "\n"


def serial(hosts: int, size: int) -> str:
    """Each host sends to the next hosts one after the other, by one-shot triggers, as gen_serial_alltoall.py does."""
    lines: list[str] = []
    trigger = 0
    for host in range(hosts):
        for step in range(1, hosts):
            start = "start 0"
            if step > 1:
                trigger += 1
                start = f"trigger {trigger}"
            done = f" send_done_trigger {trigger + 1}" if step < hosts - 1 else ""
            lines.append(f"{host}->{(host + step) % hosts} id {len(lines) + 1} {start} size {size}{done}")
    triggers = [f"trigger id {n + 1} oneshot" for n in range(trigger)]
    head = [f"Nodes {hosts}", f"Connections {len(lines)}", f"Triggers {trigger}"]
    return "\n".join([*head, *lines, *triggers]) + "\n"


def dag_of(folder: Path, text: str, **reading: Any) -> Dag:
    found = htsim_cm.read(write(folder, text), Reading(**reading))
    assert isinstance(found, Dag)
    return found


def run(folder: Path, dag: Dag) -> sw.Result:
    out = folder / "ops.csv"
    out.write_text(dag.csv())
    result = sw.run({"topology": FABRIC, "traffic": [{"kind": "dag", "file": str(out)}]})
    told = result.report["operations"][0]
    assert told["ended"] == told["operations"] == len(dag.operations)
    return result


def times(result: sw.Result) -> dict[tuple[int, int, int], tuple[int, int, int]]:
    """Start, arrival and acknowledgement by source, destination and size."""
    rows = result.flows.to_pylist()
    return {
        (row["src"], row["dst"], row["size_bytes"]): (
            row["start_ps"],
            row["start_ps"] + row["fct_ps"],
            row["start_ps"] + row["sender_fct_ps"],
        )
        for row in rows
    }


def test_a_matrix_without_triggers_is_a_list_of_flows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # perm_16n_16c_2MB.cm of Broadcom/csg-htsim: 16 nodes, 16 connections of 2,000,000 bytes at 0, each host once at
    # either end.
    out = tmp_path / "flows.csv"
    assert main(["import", "htsim-cm", str(write(tmp_path, permutation(16))), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["flows"], record["bytes"], record["last_start_ps"]) == (16, 32_000_000, 0)
    assert record["toml"].startswith('[[traffic]]\nkind = "flows"\n')
    result = sw.run({"topology": FABRIC, "traffic": [{"kind": "flows", "file": str(out)}]})
    assert (result.report["flows"], result.report["finished"]) == (16, 16)


def test_starts_have_the_unit_that_is_said(tmp_path: Path) -> None:
    text = "Nodes 4\nConnections 2\n# first\n0->1 start 0.000000 size 7 prio 2\n1->2 id 9 start 2.5 size 8\n"
    for unit, ps in (("us", 2_500_000), ("ns", 2_500)):
        found = htsim_cm.read(write(tmp_path, text), Reading(unit))  # type: ignore[arg-type]
        assert isinstance(found, FlowList)
        assert [(flow.start_ps, flow.pg) for flow in found.flows] == [(0, 2), (ps, 0)]
    with pytest.raises(
        sw.SpecError, match=r"--start-unit = .nothing.: allowed is us, ns or ps, since line 5 starts at 2\.5"
    ):
        htsim_cm.read(write(tmp_path, text), Reading())
    with pytest.raises(sw.SpecError, match=r"line 5, start = 2.5: allowed is a whole number of picoseconds"):
        htsim_cm.read(write(tmp_path, text), Reading("ps"))


def test_picoseconds_where_microseconds_were_meant_are_noticed(tmp_path: Path) -> None:
    text = "Nodes 4\nConnections 2\n0->1 start 0 size 7\n1->2 start 5000000000 size 8\n"
    with pytest.raises(sw.SpecError) as caught:
        htsim_cm.read(write(tmp_path, text), Reading("us"))
    assert "line 4, start = 5000000000: allowed is at most 1 s; with --start-unit us this is 5000 s" in str(
        caught.value
    )
    assert "5 ms with --start-unit ps" in str(caught.value)
    assert isinstance(htsim_cm.read(write(tmp_path, text), Reading("ps")), FlowList)
    assert isinstance(htsim_cm.read(write(tmp_path, text), Reading("us", longest_s=5000)), FlowList)


def test_a_chain_of_triggers_starts_each_when_the_one_before_is_done(tmp_path: Path) -> None:
    text = (
        "Nodes 16\nConnections 3\nTriggers 2\n2->11 id 1 start 3 size 20000 send_done_trigger 1\n"
        "2->4 id 2 trigger 1 size 30000 recv_done_trigger 2\n4->7 id 3 trigger 2 size 500\n"
        "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
    )
    dag = dag_of(tmp_path, text, start_unit="us")
    assert dag.operations[2] == Operation("c2", 2, "send", 4, 30000, requires=["t1"])
    assert dag.notes == []
    found = times(run(tmp_path, dag))
    first, second, third = found[2, 11, 20000], found[2, 4, 30000], found[4, 7, 500]
    assert (first[0], second[0], third[0]) == (3_000_000, first[2], second[1])


def test_news_of_a_trigger_goes_to_other_hosts_in_a_message(tmp_path: Path) -> None:
    text = (
        "Nodes 16\nConnections 3\nTriggers 1\n0->15 id 1 start 0 size 4097 recv_done_trigger 1\n"
        "3->0 id 2 trigger 1 size 2048\n3->1 id 3 trigger 1 size 1024\ntrigger id 1 oneshot\n"
    )
    dag = dag_of(tmp_path, text, notice_bytes=100)
    assert "messages of 100 bytes carry them there, 1 in all" in dag.notes[0]
    found = times(run(tmp_path, dag))
    arrival, notice = found[0, 15, 4097][1], found[15, 3, 100]
    assert notice[0] == arrival
    assert found[3, 0, 2048][0] == found[3, 1, 1024][0] == notice[1]


def test_a_barrier_waits_for_as_many_as_it_counts_and_a_multishot_goes_one_by_one(tmp_path: Path) -> None:
    head = "Nodes 16\nConnections 5\nTriggers 1\n"
    sends = "".join(f"0->{to} start 0 size {20_000 * to} send_done_trigger 4\n" for to in (4, 8, 12))
    text = f"{head}{sends}0->1 id 8 trigger 4 size 5\n0->2 id 9 trigger 4 size 6\n"
    found = times(run(tmp_path, dag_of(tmp_path, text + "trigger id 4 barrier count 2\n")))
    done = sorted(found[0, to, 20_000 * to][2] for to in (4, 8, 12))
    assert found[0, 1, 5][0] == found[0, 2, 6][0] == done[1]
    found = times(run(tmp_path, dag_of(tmp_path, text + "trigger id 4 multishot\n")))
    done = sorted(found[0, to, 20_000 * to][2] for to in (4, 8, 12))
    assert (found[0, 1, 5][0], found[0, 2, 6][0]) == (done[0], done[1])


def test_a_serial_all_to_all_by_triggers_imports_and_runs(tmp_path: Path) -> None:
    dag = dag_of(tmp_path, serial(16, 10_000))
    assert (dag.count("send"), dag.size_bytes, dag.notes) == (240, 2_400_000, [])
    result = run(tmp_path, dag)
    found = times(result)
    for host in range(16):
        mine = [found[host, (host + step) % 16, 10_000] for step in range(1, 16)]
        assert all(after[0] == before[2] for before, after in pairwise(mine))


def test_connections_without_end_need_one(tmp_path: Path) -> None:
    # EXAMPLES/collateral/incast.cm of Broadcom/csg-htsim: 64 connections to host 0, all of size 0, without ids.
    text = "Nodes 432\nConnections 64\n" + "".join(f"{368 + n}->0 start 0.000000 size 0\n" for n in range(64))
    with pytest.raises(sw.SpecError, match=r"line 3, size = 0: .*--endless-bytes"):
        htsim_cm.read(write(tmp_path, text), Reading())
    found = htsim_cm.read(write(tmp_path, text), Reading(endless_bytes=9))
    assert isinstance(found, FlowList)
    assert ({flow.size_bytes for flow in found.flows}, len(found.flows)) == ({9}, 64)
    assert found.notes == [f"{tmp_path / 'x.cm'}: 64 connections without end get 9 bytes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Nodes 4\nConnections 2\n0->1 start 0 size 5\n",
            "Connections = 2: allowed is 1, as many as there are (is the",
        ),
        ("Nodes 4\nConnections 1\nTriggers 1\n0->1 start 0 size 5\n", "Triggers = 1: allowed is 0"),
        ("Nodes 4\nConnections 1\n0->4 start 0 size 5\n", "line 3, dst = 0->4: allowed is a host from 0 to 3"),
        ("Nodes 4\nConnections 1\n1->1 start 0 size 5\n", "line 3, dst = 1: allowed is another host than src"),
        ("Nodes 4\nConnections 1\n0->1 star 0 size 5\n", "line 3, all = star: allowed is id, start, trigger"),
        ("Nodes 4\nConnections 1\n0->1 size 5\n", "line 3, start, trigger = neither: allowed is one of the two"),
        ("Nodes 4\nConnections 1\n0->1 start 0 trigger 3 size 5\n", "line 3, start, trigger = both"),
        ("Nodes 4\nConnections 1\n0->1 start 0\n", "line 3, size = (nothing)"),
        ("Nodes 4\nConnections 1\n0->1 start\n", "line 3, start = (nothing)"),
        (
            "Nodes 4\nConnections 1\n0->1 trigger 3 size 5\n",
            "line 3, trigger = 3: allowed is a trigger of this file: none",
        ),
        (
            "Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 3 size 5\ntrigger id 3 onshot\n",
            "line 5, trigger = onshot: allowed is oneshot, multishot or barrier count N",
        ),
        (
            "Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 3 size 5\ntrigger id 3 oneshot\n",
            "line 5, trigger = 3, which is fired 0 times: allowed is a trigger that is fired 1 times",
        ),
        (
            "Nodes 4\nConnections 2\nTriggers 2\n0->1 id 1 start 0 size 5\n0->2 id 1 trigger 1 size 5\n"
            "trigger id 1 oneshot\ntrigger id 2 oneshot\n",
            "line 5, id = 1: allowed is each id once; line 4 has it",
        ),
        ("num_ranks 2\n", "it looks like a GOAL schedule: `spinewise import goal`"),
        ("3\n0 1 3 100 2\n", "it looks like a flow list of HPCC or ConWeave"),
    ],
)
def test_bad_matrices_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        htsim_cm.read(write(tmp_path, text), Reading())
    assert message in str(caught.value)


def topo(nodes: int, pod: int, *tiers: str) -> str:
    head = f"# a fabric\nNodes {nodes}\nTiers {len(tiers)}\nPodsize {pod}\n"
    return head + "".join(f"\nTier {n}\n" + tier.replace(", ", "\n") + "\n" for n, tier in enumerate(tiers))


# As fat_tree_1024.topo, leaf_spine_tiny.topo and zrs.topo of Broadcom/csg-htsim.
BASE = "Downlink_speed_Gbps 100, Radix_Down {}, Radix_Up {}, Downlink_Latency_ns 1000, Switch_Latency_ns 0"
TOP = "downlink_speed_gbps 100, RADIX_DOWN {}, Downlink_Latency_ns {}, Bundle {}"


def test_a_fat_tree_of_1024_hosts(tmp_path: Path) -> None:
    text = topo(1024, 64, BASE.format(8, 8) + ", Oversubscribed 1", BASE.format(8, 8), TOP.format(16, 1000, 1))
    found = htsim_topo.read(write(tmp_path, text, "x.topo"))
    assert (found.fabric.kind, found.fabric.hosts, found.notes) == ("fat_tree", 1024, [])
    assert list(found.fabric.counts.values()) == [16, 8, 8, 8, 8]


def test_a_leaf_spine_of_htsim_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = topo(32, 32, BASE.format(8, 2) + ", Oversubscribed 4", TOP.format(4, 1000, 1))
    out = tmp_path / "spec.toml"
    assert main(["import", "htsim-topo", str(write(tmp_path, text, "x.topo")), "--out", str(out)]) == 0
    assert "32 hosts: a leaf-spine of 4 leaves with 8 hosts each and 2 spines" in capsys.readouterr().out
    out.write_text(out.read_text() + '\n[[traffic]]\nkind = "permutation"\nsize_bytes = 5000\n')
    result = sw.run(out)
    assert (result.report["flows"], result.report["finished"]) == (32, 32)
    assert result.spec["topology"]["host_rate_gbps"] == 100


def test_bundles(tmp_path: Path) -> None:
    two = topo(32, 32, BASE.format(8, 4), TOP.format(8, 1000, 2))
    counts = htsim_topo.read(write(tmp_path, two, "x.topo")).fabric.counts
    assert counts == {"leaves": 4, "spines": 2, "hosts_per_leaf": 8, "parallel_links": 2}
    three = topo(432, 36, BASE.format(6, 6), BASE.format(6, 6), TOP.format(36, 600_000, 3))
    found = htsim_topo.read(write(tmp_path, three, "x.topo"))
    assert (found.fabric.counts["pods"], found.fabric.counts["cores_per_aggregation"]) == (12, 6)
    assert "each core with bundles of 3 links becomes 3 cores" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (topo(32, 16, BASE.format(8, 2), TOP.format(4, 1000, 1)), "Podsize = 16: allowed is Nodes, 32, with two tiers"),
        (
            topo(32, 32, BASE.format(7, 2), TOP.format(4, 1000, 1)),
            "Radix_Down of tier 0 = 7: allowed is a divisor of 32",
        ),
        (
            topo(32, 32, BASE.format(8, 2), TOP.format(2, 1000, 1)),
            "Bundle of tier 1 = 1: allowed is links from each of",
        ),
        (
            topo(32, 32, BASE.format(8, 2) + ", Radx 3", TOP.format(4, 1, 1)),
            "all = Radx: allowed is downlink_speed_gbps",
        ),
        (topo(32, 32, BASE.format(8, 2) + ", Oversubscribed 2", TOP.format(4, 1, 1)), "Oversubscribed = 2"),
        (topo(32, 32, BASE.format(8, 2)), "Tiers = 1: allowed is 2 or 3"),
        (
            topo(32, 32, BASE.format(8, 2), "Downlink_speed_Gbps 0, Radix_Down 4, Downlink_Latency_ns 1"),
            "line 14, Downlink_speed_Gbps = 0: allowed is a rate above 0",
        ),
        (topo(32, 32, BASE.format(0.5, 2), TOP.format(4, 1, 1)), "line 8, Radix_Down = 0.5: allowed is a whole number"),
        (
            topo(32, 32, BASE.format(8, 2), TOP.format(4, "1e30", 1)),
            "line 16, Downlink_Latency_ns = 1e30: allowed is a number of nanoseconds from 0 to 9000000000000",
        ),
        (
            topo(32, 32, BASE.format(8, "1e30"), TOP.format(4, 1, 1)),
            "line 9, Radix_Up = 1e30: allowed is a whole number from 1 to 4096 (it makes spines = 1e+30)",
        ),
        (
            topo(2000, 10, BASE.format(5, 2), BASE.format(2, 1), TOP.format(200, 1, 1)),
            "line 2, Nodes = 2000: allowed is a whole number from 1 to 128 (it makes pods = 200)",
        ),
        (topo(10**12, 10**12, BASE.format(8, 2), TOP.format(4, 1, 1)), "line 2, Nodes = 1000000000000: allowed is at"),
        (topo(32, 32, BASE.format(8, 2), "Radix_Down 4"), 'Tier 1 = (nothing): allowed is a line "Downlink_Speed_Gbps'),
        ("Nodes 4\nConnections 1\n0->1 start 0 size 5\n", "it looks like an htsim connection matrix"),
        ("34 8 2 16 96 H20\n1 2\n", "a key and its value"),
    ],
)
def test_bad_topologies_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        htsim_topo.read(write(tmp_path, text, "x.topo"))
    assert message in str(caught.value)
