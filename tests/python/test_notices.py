"""Warnings travel from the engine's report to the summary and the screen."""

from __future__ import annotations

from pathlib import Path

import samples
import spinewise as sw
from spinewise.comparison import tables
from spinewise.comparison.cells import Cell, Comparison
from spinewise.measures.notices import Notice
from spinewise.measures.summary import summarise
from spinewise.page import of_comparison
from spinewise.replies import Warned
from spinewise.show import run_tables
from spinewise.specs.variants import parse_list

FLAP: Warned = {"code": "flap_without_end", "key": "fault[1].until_us", "text": "The flap has no end."}
ALONE: Warned = {"code": "tail_is_timeout", "key": None, "text": "The tail is a timeout."}


def test_a_summary_has_the_warnings_of_the_report() -> None:
    result = samples.result(size_bytes=[1000])
    result.report["warnings"] = [FLAP, ALONE]
    summary = result.summary()
    assert summary.warnings == [
        Notice("flap_without_end", "fault[1].until_us", "The flap has no end."),
        Notice("tail_is_timeout", None, "The tail is a timeout."),
    ]
    assert summary.as_dict()["warnings"] == [one | {"entry": None, "size_class": None} for one in (FLAP, ALONE)]
    lines = run_tables.run_lines(result, summary)
    assert "warning: fault[1].until_us: The flap has no end." in lines
    assert "warning: The tail is a timeout." in lines


def tail(size_class: str, entry: str, text: str) -> Notice:
    return Notice("tail_is_timeout", "transport.min_rto_us", text, entry, size_class)


def test_runs_are_counted_by_the_flows_that_a_warning_is_of() -> None:
    """Two entries made one warning, which two of two runs had met: the second was hidden, and a run counted twice."""
    web, burst = tail("short", "web", "p99 of web."), tail("all", "burst", "p99 of burst.")
    said = "warning: transport.min_rto_us:"
    first, second = f"{said} p99 of web. (1 of 2 runs: a)", f"{said} p99 of burst. (1 of 2 runs: a)"
    assert tables.warned([("a", [web, burst]), ("b", [])]) == [first, second]
    again = tail("short", "web", "p95 and p99 of web.")
    assert tables.warned([("a", [web]), ("b", [again])]) == [f"{said} p99 of web. (numbers of the first run)"]
    other = tail("long", "web", "p99 of long.")
    assert tables.warned([("a", [web, other])]) == [f"{said} p99 of web.", f"{said} p99 of long."]
    assert tables.warned([("a", [Notice("x", None, "One."), Notice("x", None, "Two.")]), ("a", [])]) == [
        "warning: One. (1 of 2 runs: a)",
        "warning: Two. (1 of 2 runs: a)",
    ]


def late(label: str, *names: str) -> Cell:
    """A run of two entries, in which one in ten flows of these took a timeout more."""
    times = [200e6 if at < 90 or name not in names else 10_190e6 for name in ENTRIES for at in range(100)]
    made = samples.result(
        entry=[0] * 100 + [1] * 100, size_bytes=[1000] * 200, fct_ps=times, slowdown=[1.0] * 200,
        packets=[1] * 200, timeouts=[int(time > 1e9) for time in times],
    )  # fmt: skip
    made.spec["traffic"] = [{"kind": "poisson", "name": name} for name in ENTRIES]
    made.spec["transport"] = {"kind": "dctcp", "min_rto_us": 10_000}
    return Cell(label, None, 1, made.summary(), "00", "t", 1.0, 100)


ENTRIES = ("web", "burst")


def test_each_tail_that_is_a_timeout_is_told_in_a_comparison(tmp_path: Path) -> None:
    found = Comparison({"name": "x"}, parse_list("a,b"), [None], [1], [late("a", "web", "burst"), late("b", "burst")])
    web, burst = tables.warnings(found)
    assert "p95 and p99 of short flows of web" in web
    assert web.endswith("(1 of 2 runs: a)")
    assert "p95 and p99 of short flows of burst" in burst
    assert burst.endswith("cannot change them.")
    assert [line for line in of_comparison.reading(found) if line.startswith("warning")] == [web, burst]
    sw.write(found, tmp_path / "out")
    again = sw.read(tmp_path / "out")
    assert isinstance(again, sw.Comparison)
    assert tables.warnings(again) == [web, burst]


def test_a_report_of_an_older_run_has_none() -> None:
    result = samples.result(size_bytes=[1000])
    assert summarise(result.flows, result.report, {}, "nearest_rank").warnings == []


def test_columns_of_which_nothing_is_read_are_named(tmp_path: Path) -> None:
    """A `bach` in place of `batch` was passed over, and no batch had a time."""

    def told(header: str, values: str) -> list[str]:
        (tmp_path / "flows.csv").write_text(f"{header}\n{values}\n")
        spec = {"traffic": [{"kind": "flows", "file": str(tmp_path / "flows.csv")}]}
        found = [one.line() for one in sw.validate(spec).warnings if one.code == "columns_unread"]
        assert found == [one.line() for one in sw.run(spec).summary().warnings if one.code == "columns_unread"]
        return found

    read = "Only the columns src, dst, size_bytes, start_ns and batch are read; these are not:"
    of = "warning: traffic[0].file: "
    assert told("src,dst,size_bytes,start_ns,bach,weight", "0,5,9,0,1,2") == [
        f"{of}{read} `bach`, `weight`. Did you mean batch?"
    ]
    assert told("src,dst,size_bytes,start_ns,batch,weight", "0,5,9,0,1,2") == [f"{of}{read} `weight`."]
    # Of what other simulators and tables of results have besides nobody thinks so.
    assert told("src,dst,size_bytes,start_ns,pg,dport,slowdown", "0,5,9,0,3,100,1") == []
