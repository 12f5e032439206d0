"""What the engine reports is what its type says, and results tell of themselves in short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import samples
import spinewise as sw
from samples import TINY_SPEC, TWO_ENTRIES
from spinewise.measures import html
from spinewise.measures.report import Report
from typed import wrong

INCAST = {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 20_000}
RDMA = TINY_SPEC | {"preset": "selb", "traffic": [INCAST]}
BROKEN = TINY_SPEC | {
    "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 100, "until_us": 200}],
    "detection": {"mode": "carrier"},
}
JOB = TINY_SPEC | {"traffic": [{"kind": "all_reduce", "size_bytes": 10_000}]}
SAMPLED = TINY_SPEC | {"metrics": {"facts": True}}
HELD = TINY_SPEC | {"transport": {"resequencing": "on"}}
SPECS = {
    "plain": TINY_SPEC,
    "two": TWO_ENTRIES,
    "rdma": RDMA,
    "broken": BROKEN,
    "job": JOB,
    "sampled": SAMPLED,
    "held": HELD,
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_type_of_a_report_is_what_the_engine_tells(spec: dict[str, Any]) -> None:
    assert wrong(Report, sw.run(spec, trace=None).report, "report") == []


def test_a_traced_run_too() -> None:
    traced = sw.run(TINY_SPEC | {"scheme": {"name": "rps"}}, trace=[0])
    assert wrong(Report, traced.report, "report") == []
    assert traced.report["traced_flows"] == [0]


def test_a_key_more_or_less_or_of_another_type_would_be_found() -> None:
    report: Any = dict(sw.run(TINY_SPEC).report)
    changed = report | {"new": 1, "seed": "1", "counters": report["counters"] | {"acks": {"packets": 1}}}
    del changed["version"]
    found = wrong(Report, changed, "report")
    assert sorted(found) == [
        "report.counters.acks.bytes is missing", "report.new is in no type", "report.seed is '1', not int",
        "report.version is missing",
    ]  # fmt: skip


def test_results_are_shown_in_a_line() -> None:
    result = sw.run(TWO_ENTRIES)
    assert len(repr(result)) < 160
    assert repr(result).startswith("<Result of two: ecmp, seed 1, ")
    assert len(repr(result.summary())) < 160
    assert "poisson, incast" in repr(result.summary())
    assert repr(result.summary()) == str(result.summary())
    found = sw.compare(TWO_ENTRIES, "ecmp,rps", seeds=2)
    assert repr(found) == "<Comparison of ecmp, rps at the spec's load, 2 seeds; traffic poisson, incast>"
    assert len(repr(found.cells[0])) < 200


def test_notebooks_get_tables_in_which_nothing_is_markup() -> None:
    odd = TWO_ENTRIES | {"name": "<b>&"}
    result = sw.run(odd)
    found = result._repr_html_()
    assert "&lt;b&gt;&amp;" in found
    assert "<b>" not in found
    for part in ("poisson", "incast", "p99", "<table>"):
        assert part in found
    compared = sw.compare(odd, ["ecmp", "rps@<script>"], seeds=2)._repr_html_()
    assert "<script>" not in compared
    assert "&lt;script&gt;" in compared
    assert "incast p99 FCT" in compared
    assert "±" in compared
    assert html.table("", ["a"], [["<"]]).count("&lt;") == 1


def test_a_series_that_is_not_there_is_told_with_those_that_are() -> None:
    result = sw.run(TINY_SPEC | {"metrics": {"series_interval_us": 100}})
    with pytest.raises(KeyError, match="no series 'link_utilization' in this run; there are") as caught:
        result.series_of("link_utilization")
    assert "did you mean 'link_utilisation'?" in str(caught.value)
    assert "''" not in str(caught.value)
    assert "<" not in str(caught.value)
    with pytest.raises(KeyError, match="no entity 'leaf9'"):
        result.series_of("link_utilisation", "leaf9")
    with pytest.raises(KeyError, match="there are"):
        sw.run(TINY_SPEC).series_of("x")


def test_any_percentile() -> None:
    found = samples.result(fct_ps=[n * 10**6 for n in range(1, 1001)], size_bytes=[1] * 1000).summary().of("all").fct_s
    assert found.percentile(0.98) == pytest.approx(981e-6)
    assert found.get("p98") == found.percentile(0.98)
    assert found.get("p99.9") == found.p999
    assert getattr(found, "p12") == found.percentile(0.12)  # noqa: B009 - what a user writes, but types know nothing of it
    for name in ("p101", "max", "p", "px"):
        with pytest.raises(AttributeError, match=f"no '{name}'"):
            getattr(found, name)
    with pytest.raises(ValueError, match="from 0 to 1 in steps of a thousandth"):
        found.percentile(0.98765)


def test_tables_are_typed(tmp_path: Path) -> None:
    hints = sw.Result.__annotations__
    assert hints["flows"] == hints["series"] == "pa.Table"
    assert hints["report"] == "Report"
