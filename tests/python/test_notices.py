"""Warnings travel from the engine's report to the summary and the screen."""

from __future__ import annotations

import samples
from spinewise.measures.notices import Notice
from spinewise.measures.summary import summarise
from spinewise.replies import Warned
from spinewise.show import run_tables

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
    assert summary.as_dict()["warnings"] == [FLAP, ALONE]
    lines = run_tables.run_lines(result, summary)
    assert "warning: fault[1].until_us: The flap has no end." in lines
    assert "warning: The tail is a timeout." in lines


def test_a_report_of_an_older_run_has_none() -> None:
    result = samples.result(size_bytes=[1000])
    assert summarise(result.flows, result.report, {}, "nearest_rank").warnings == []
