from __future__ import annotations

import json
import math
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import samples
from spinewise import compare, run
from spinewise.cli import main
from spinewise.comparison.tables import warnings
from spinewise.errors import SpecError
from spinewise.measures import summary, tables
from spinewise.measures.plain import plain
from spinewise.runs.result import Result
from spinewise.show import run_tables, terminal


def test_columns_carry_unit_and_meaning_and_values() -> None:
    table = samples.flows(fct_ps=[1, 2**63], finished=[True, False], slowdown=[1.5, 2.5])
    field = table.schema.field("fct_ps")
    assert field.metadata == {b"unit": b"ps", b"meaning": b"its fct_ps"}
    assert str(field.type) == "uint64"
    assert tables.numbers(table, "fct_ps").tolist() == [1, 2**63]
    assert table.column("finished").to_pylist() == [True, False]
    assert table.column("slowdown").to_pylist() == [1.5, 2.5]


def test_the_engines_buffers_are_not_copied() -> None:
    data = np.arange(1000, dtype="<u8").tobytes()
    column = tables.array("u64", data)
    assert column.buffers()[1].address == np.frombuffer(data, dtype="<u8").ctypes.data


def test_no_flows_are_a_table_too() -> None:
    found = summary.summarise(samples.flows(fct_ps=[]), samples.report(), {})
    assert found.packets.sent == 0
    assert tables.table({}, samples.described({"a": "u8"})).num_rows == 0


def test_classes_count_every_flow_once_and_leave_unfinished_out_of_means() -> None:
    result = samples.result(
        size_bytes=[10, 99_999, 100_000, 10**7],
        fct_ps=[10**6, 3 * 10**6, 5 * 10**6, 0],
        finished=[True, True, True, False],
        slowdown=[1.0, 2.0, 3.0, 0.0],
    )
    found = result.summary()
    short, long, everything = found.classes
    assert [c.name for c in found.classes] == ["short", "long", "all"]
    assert (short.flows, short.unfinished, long.flows, long.unfinished) == (2, 0, 2, 1)
    assert short.fct_s.mean == pytest.approx(2e-6)
    assert long.fct_s.p99 == pytest.approx(5e-6)
    assert (everything.flows, everything.unfinished) == (4, 1)
    assert everything.slowdown.mean == pytest.approx(2.0)


def test_udp_sources_are_in_no_class() -> None:
    result = samples.result(size_bytes=[10, 10], tcp=[True, False], packets=[3, 100])
    found = result.summary()
    assert found.of("all").flows == 1
    assert found.packets.sent == 3


def test_ratios_are_over_packets_sent() -> None:
    found = samples.result(packets=[60, 40], out_of_order=[3, 2], dupack3_events=[1, 0]).summary().packets
    assert found is not None
    assert found.out_of_order_ratio == pytest.approx(0.05)
    assert found.dupack3_ratio == pytest.approx(0.01)
    none = samples.result(packets=[0]).summary().packets
    assert none is not None
    assert math.isnan(none.out_of_order_ratio)


def test_no_slowdown_of_a_histogram_is_below_one() -> None:
    """The bin of 1.000 begins below it."""
    bins = [[992, 900], [1024, 100]]
    assert summary.Distribution.of_histogram(None, bins, 1e-3).get("p5") < 1.0
    found = summary.Distribution.of_histogram(None, bins, 1e-3, least=1.0)
    assert found.get("p5") == 1.0
    assert found.p99 == pytest.approx(1.05, abs=0.005)


def test_slowdowns_against_the_best_path_may_be_below_one_without_rows_too() -> None:
    """Several paths together beat the best one: percentiles were all 1.0 where rows had 0.67 to 0.74."""
    spec = {
        "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 10},
        "transport": {"kind": "uet"},
        "scheme": {"name": "rps"},
        "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    }
    rows, bins = (
        run(spec | {"metrics": {"ideal": "best_path", "keep_flows_up_to": most}}).summary() for most in (1000, 0)
    )
    assert rows.of().slowdown.p999 < 0.9
    for exact, found in ((rows.of(), bins.of()), (rows.entries[0].of("all"), bins.entries[0].of("all"))):
        assert exact.slowdown.kept is not None
        assert found.slowdown.kept is not None
        assert np.abs(np.log(found.slowdown.kept / exact.slowdown.kept)).max() < np.log1p(1 / 32)


@pytest.mark.parametrize("value", [0.0321, 0.0635, 0.0649, 0.1, 0.5, 0.703, 0.9999])
def test_a_percentile_of_slowdowns_below_one_is_off_by_no_more_than_those_above(value: float) -> None:
    whole = int(value * 1000)
    width = 2 ** max(whole.bit_length() - 6, 0)
    found = summary.Distribution.of_histogram(None, [[whole // width * width, 1]], 1e-3)
    assert abs(found.p50 - value) < value / 32


def test_without_rows_the_histogram_stands_in() -> None:
    entry = {
        "name": "all",
        "flows": 1001,
        "finished": 1000,
        "mean_fct_ps": 4e6,
        "mean_slowdown": 2.0,
        "fct_ps_histogram": [[10**6, 500], [2 * 10**6, 480], [8 * 10**6, 20]],
        "slowdown_thousandths_histogram": [[1504, 1000]],
    }
    totals = {"sent": 3000, "retransmits": 30, "timeouts": 1, "out_of_order": 6, "dupack3_events": 3, "marks": 9}
    totals |= {"nacks": 4, "cnps": 5}
    report = samples.report(flows=1001, classes=[entry], totals=totals)
    found = summary.summarise(samples.flows(fct_ps=[]), report, {})
    everything = found.of("all")
    assert (found.packets.sent, found.packets.dupack3_ratio) == (3000, 0.001)
    assert (found.packets.nacks, found.packets.cnps) == (4, 5)
    assert (everything.flows, everything.unfinished) == (1001, 1)
    # Bins that begin at 2 and 8 million ps are 2^15 and 2^17 ps wide; 480 flows lie in the one, 20 in the other.
    first, second = 1 + 2**15 / 2e6, 1 + 2**17 / 8e6
    expected = [4e-6, 2e-6 * first ** (0.5 / 480), 2e-6 * first ** (450.5 / 480), 8e-6 * second ** (10.5 / 20)]
    assert list(plain(everything.fct_s).values()) == pytest.approx([*expected, 8e-6 * second ** (19.5 / 20)])
    assert everything.slowdown.p50 == pytest.approx(1.504 * (1.536 / 1.504) ** (500.5 / 1000))


def test_percentiles_without_rows_are_not_biased_and_say_that_they_are_estimates(tmp_path: Path) -> None:
    """They were the least values of bins: always too low, by 1.1 % in the mean here."""
    spec = samples.TINY_SPEC | {"traffic": [samples.TINY_SPEC["traffic"][0] | {"duration_us": 1_000_000}]}
    known, counted = (run(spec | {"metrics": {"keep_flows_up_to": most}}) for most in (10**6, 1))
    assert known.report["outcome_hash"] == counted.report["outcome_hash"]
    (rows, bins) = (made.summary() for made in (known, counted))
    for quantity in ("fct_s", "slowdown"):
        for name in ("all", "short", "long"):
            exact, found = (getattr(one.of(name), quantity) for one in (rows, bins))
            off = np.log(found.kept / exact.kept)
            assert np.abs(off).max() < np.log1p(1 / 32)
            assert np.abs(off).mean() < 0.005
            assert abs(off.mean()) < 0.0005
            assert found.mean == pytest.approx(exact.mean, rel=1e-9)
    told = [one.line() for one in bins.warnings if one.code == "percentiles_estimated"]
    assert len(told) == 1
    assert told[0].startswith("warning: metrics.keep_flows_up_to: The run had more flows than this: percentiles are")
    assert told[0] in run_tables.run_lines(counted, bins)
    assert not [one for one in rows.warnings if one.code == "percentiles_estimated"]
    both = compare(spec | {"metrics": {"keep_flows_up_to": 1}}, "ecmp,rps", seeds=1, jobs=1)
    assert warnings(both) == told
    cut = run(spec | {"metrics": {"keep_flows_up_to": 1}, "run": {"until_us": 1}})
    assert "percentiles_estimated" not in {one.code for one in cut.summary().warnings}, "there are none"


def test_percentiles_of_bins_as_far_apart_differ_by_where_in_them_they_lie() -> None:
    """Seeds whose bins were the same number apart had the same difference, and an interval of 0."""
    edges = [2**20, 2**20 + 2**15, 2**20 + 2**16]
    few, many = (list(zip(edges, counts, strict=True)) for counts in ([10, 30, 20], [10, 60, 20]))
    first, second = (summary.Distribution.of_histogram(None, bins, 1.0).p50 for bins in (few, many))
    assert edges[1] < second < first < edges[2]


@given(st.lists(st.integers(1, 50), min_size=1))
def test_a_histogram_of_exact_bins_gives_exact_percentiles(values: list[int]) -> None:
    bins = sorted({value: values.count(value) for value in values}.items())
    exact = summary.Distribution.of(values)
    binned = summary.Distribution.of_histogram(exact.mean, bins, 1.0)
    assert binned == exact


def test_a_deadlock_is_said_in_a_sentence() -> None:
    result = samples.result(size_bytes=[10], packets=[1])
    assert result.summary().deadlock == []
    assert not any("DEADLOCK" in line for line in run_tables.run_lines(result, result.summary()))
    result.report["deadlock"] = ["switch4->switch5", "switch5->switch4"]
    found = result.summary()
    assert found.deadlock == ["switch4->switch5", "switch5->switch4"]
    said = [line for line in run_tables.run_lines(result, found) if line.startswith("DEADLOCK")]
    assert len(said) == 1
    assert "wait for each other in a circle on switch4->switch5, switch5->switch4" in said[0]


def test_what_faults_came_to_is_told() -> None:
    whole = samples.result(size_bytes=[10], packets=[1])
    assert whole.summary().faults == {}
    assert "faults" not in printed(whole)
    spec = {
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1},
        "transport": {"min_rto_us": 1000},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 30_000}]}],
        "fault": [
            {"kind": "down", "ends": ["leaf0", "spine0"], "direction": "forward", "at_us": 0, "may_cut_off": True}
        ],
        "run": {"until_us": 50_000},
    }
    broken = run(spec)
    links = {link["name"]: link["lost"] for link in broken.report["links"]}
    found = broken.summary()
    assert links["leaf0->spine0"] == broken.report["counters"]["lost"]["packets"] == found.faults["lost"] > 0
    assert sum(links.values()) == found.faults["lost"]
    assert (found.faults["cut_off"], found.faults["out_of_time"]) == (1, 0)
    assert found.faults["unroutable"] == broken.report["counters"]["unroutable"] > 0
    said = printed(broken)
    assert f"faults: {found.faults['lost']:,} packets lost on links" in said
    assert "unfinished flows: 1 cut off, 0 out of time" in said
    assert next(line for line in said.splitlines() if "mean util." in line).split()[-2:] == ["lost", "marks"]


def test_a_report_tells_what_the_transport_can_tell() -> None:
    link: Any = {"name": "leaf0->spine0", "utilisation": 0.5, "drops": 0, "marks": 0, "longest_queue_bytes": 0}
    of_tcp = samples.result(packets=[100], dupack3_events=[2])
    of_tcp.report["links"] = [link | {"pauses": 0, "paused_ps": 0}]
    assert "3-dupACK events 2.00 %" in printed(of_tcp)
    assert "paused" not in printed(of_tcp)
    of_rdma = samples.result(packets=[100], nacks=[1234], cnps=[5])
    of_rdma.spec["transport"] = {"kind": "rdma"}
    of_rdma.report["links"] = [link | {"pauses": 3, "paused_ps": 2 * 10**9}]
    of_rdma.report["counters"]["pause_frames"] = {"packets": 6, "bytes": 258}
    said = printed(of_rdma)
    assert "NACKs 1,234 · CNPs 5" in said
    assert "dupACK" not in said
    assert "pause frames 258 B" in said
    row = next(line for line in said.splitlines() if "leaf->spine" in line)
    assert row.split()[-3:] == ["3", "2.000", "ms"]


def printed(result: Result) -> str:
    """A run's report as plain text."""
    out = Console(width=terminal.PLAIN_WIDTH, file=StringIO())
    out.print(run_tables.run_report(result))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_links_are_grouped_by_tier() -> None:
    def link(name: str, utilisation: float, drops: int, queue: int) -> Any:
        counts = {"drops": drops, "marks": 2, "longest_queue_bytes": queue, "pauses": drops, "paused_ps": 10 * queue}
        return {"name": name, "utilisation": utilisation, **counts}

    links = [
        link("leaf0->spine1#0", 0.5, 1, 10),
        link("leaf12->spine1#1", 1.0, 0, 20),
        link("host3->leaf0", 0.0, 0, 0),
    ]
    up, host = summary.link_tiers(links)
    assert (up["tier"], up["links"], up["drops"], up["marks"]) == ("leaf->spine", 2, 1, 4)
    assert (up["mean_utilisation"], up["max_utilisation"], up["longest_queue_bytes"]) == (0.75, 1.0, 20)
    assert (host["tier"], host["mean_utilisation"]) == ("host->leaf", 0.0)
    assert (up["pauses"], host["pauses"]) == (1, 0)
    assert up["paused_s"] == pytest.approx(3e-10)


def test_series_are_found_by_name() -> None:
    result = Result(
        spec={},
        flows=samples.flows(fct_ps=[]),
        series=samples.series([(10**12, 0, 0, 5.0), (2 * 10**12, 0, 1, 6.0), (3 * 10**12, 1, 0, 7.0)]),
        report=samples.report(series_names=["queue_bytes", "gran"], entity_names=["leaf0", "leaf1"]),
    )
    time_s, values = result.series_of("queue_bytes")
    assert (time_s.tolist(), values.tolist()) == ([1.0, 2.0], [5.0, 6.0])
    assert result.series_of("queue_bytes", "leaf1")[1].tolist() == [6.0]
    assert result.entities_of("queue_bytes") == ["leaf0", "leaf1"]
    with pytest.raises(KeyError, match="no_such"):
        result.series_of("no_such")


def test_a_folder_reads_back_as_it_was(tmp_path: Path) -> None:
    written = samples.result(size_bytes=[5, 6], fct_ps=[7, 8], slowdown=[1.0, 2.5])
    written.write(tmp_path / "out")
    read = Result.read(tmp_path / "out")
    assert read.flows.equals(written.flows)
    assert read.flows.schema.equals(written.flows.schema, check_metadata=True)
    assert read.spec == written.spec
    assert read.report == written.report
    assert read.spec_hash == written.spec_hash


def test_run_json_holds_what_identifies_a_run(tmp_path: Path) -> None:
    samples.result(size_bytes=[5]).write(tmp_path / "out")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    needed = {"spec", "spec_hash", "seed", "version", "wall_seconds", "events", "packet_hops", "outcome_hash"}
    assert needed <= set(record)
    assert record["summary"]["classes"][0]["fct_s"]["mean"] is not None
    assert record["summary"]["classes"][1]["fct_s"]["mean"] is None


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_what_is_no_results_folder_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(SpecError):
        Result.read(tmp_path)


def test_run_names_the_hottest_links_and_the_longest_queues() -> None:
    made = samples.result(packets=[1])

    def link(name: str, use: float, queue: int, **more: Any) -> Any:
        counts = {"drops": queue // 10, "marks": 0, "lost": 0, "pauses": 0, "paused_ps": 0}
        return {"name": name, "utilisation": use, "longest_queue_bytes": queue, **counts, **more}

    made.report["links"] = [link(f"leaf0->spine{n}", 0.1 * n, 0) for n in range(6)] + [link("leaf1->host9", 0.01, 5000)]
    rows = [line.split() for line in printed(made).split("Hottest links")[1].splitlines() if "->" in line]
    assert [row[0] for row in rows] == ["leaf0->spine5", "leaf0->spine4", "leaf0->spine3", "leaf1->host9"]
    assert rows[-1][-1] == "500"
    assert "max util." not in printed(made).split("Hottest links")[1], "it was not sampled"
    sampled = {"queue_bytes": {"mean": 1.0, "p50": 10, "p95": 20, "p99": 30, "max": 40}, "use_max": 0.97}
    made.report["links"].append(link("leaf2->spine2", 0.9, 40, rate_bps=10**10, **sampled))
    row = next(line for line in printed(made).splitlines() if "leaf2->spine2" in line)
    assert " ".join(row.split()) == "leaf2->spine2 10.0 Gbps 90.0 % 97.0 % 10 B 30 B 40 B 0 4"


def test_one_flow_is_no_flows(capsys: pytest.CaptureFixture[str]) -> None:
    assert "seed 1, 1 flow, simulated" in samples.result(size_bytes=[10]).title()
    one = run("one_udp_flow")
    assert "seed 1, 0 flows, 1 UDP source, simulated" in one.title()
    assert main(["validate", "one_udp_flow"]) == 0
    assert "\n1 flow of " in capsys.readouterr().out


def test_percentiles_of_a_few_flows_are_told() -> None:
    """The p99.9 of two flows stood in a table as if it were one."""
    few = samples.result(size_bytes=[10, 10**6] * 2, fct_ps=[10**6] * 4, slowdown=[1.0] * 4)
    (line,) = [one for one in run_tables.run_lines(few, few.summary()) if one.startswith("p99")]
    assert line.endswith("about the slowest of them: short (2), long (2), all (4)")
    many = samples.result(size_bytes=[10, 10**6] * 100, fct_ps=[10**6] * 200, slowdown=[1.0] * 200)
    assert not any(one.startswith("p99") for one in run_tables.run_lines(many, many.summary()))
