"""Jobs have a completion time: rounds in what `run` and `compare` print, answer and write."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import spinewise as sw
from spinewise.comparison import answers, report
from spinewise.comparison.verdict import verdicts
from spinewise.show import run_tables

JOB: dict[str, Any] = {
    "name": "job",
    "preset": "selb",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "traffic": [
        {"kind": "all_reduce", "size_bytes": 400_000, "rounds": 2},
        {"kind": "all_to_all", "size_bytes": 400_000},
    ],
}
ONE = JOB | {"traffic": JOB["traffic"][:1]}
BURST = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8},
    "switch": {"buffer_bytes": 40_000},
    "transport": {"recovery": "newreno", "min_rto_us": 10_000, "initial_rto_us": 10_000},
    "traffic": [{"kind": "incast", "receiver": 0, "senders": 15, "size_bytes": 60_000}],
}


def test_an_incast_says_what_of_its_message_is_sent() -> None:
    """32 senders of 1 MB showed 33 hosts and a message of 33 MB."""
    burst = {"kind": "incast", "name": "burst", "receiver": 0, "senders": 15, "size_bytes": 60_000}
    result = sw.run(BURST | {"traffic": [burst]})
    assert run_tables.message_lines(result) == [
        "burst: the message is 16 answers, as nccl-tests count a gather, that of the receiver with them; 15 are sent,"
        " 900 kB"
    ]
    assert run_tables.message_lines(sw.run(ONE)) == []
    assert "; 15 are sent, 900 kB" in " ".join(text_of(run_tables.run_report(result)).split())


def text_of(what: Any, width: int = 118) -> str:
    out = Console(width=width, file=StringIO())
    out.print(what)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def words(what: Any) -> str:
    return " ".join(text_of(what).split())


@pytest.fixture(scope="module")
def comparison() -> sw.Comparison:
    return sw.compare(JOB, "ecmp,rps", seeds=2)


def test_run_tells_of_rounds_and_stragglers() -> None:
    result = sw.run(JOB)
    jobs = {job.name: job for job in result.rounds.jobs}
    text = text_of(run_tables.run_report(result))
    for part in ("Rounds:", "algbw", "busbw", "max time", "all_to_all", "slowest round", "steps:", "arrived last"):
        assert part in text, text
    row = next(line.split() for line in text.split("Rounds:")[1].splitlines() if line.split()[:1] == ["all_reduce"])
    assert row[1:3] == ["all_reduce", "8"]
    assert f"{jobs['all_reduce'].busbw_gbyte_per_s:.4f} GB/s" in text
    assert " long " not in text, "no flow is in it"
    assert "–" not in text.split("Links over")[0]


def test_the_record_of_a_run_has_its_jobs(tmp_path: Path) -> None:
    result = sw.run(JOB)
    result.write(tmp_path / "out")
    jobs = json.loads((tmp_path / "out" / "run.json").read_text())["jobs"]
    assert [job["name"] for job in jobs] == ["all_reduce", "all_to_all"]
    assert jobs[0]["total_s"] == result.rounds.jobs[0].total_s
    assert "arrived last" in jobs[0]["straggler"]
    assert jobs[0]["slowest"]["steps"] == []


def test_run_without_rounds_says_nothing_of_them() -> None:
    flows = {"kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 1000}
    assert "Rounds:" not in text_of(run_tables.run_report(sw.run(JOB | {"traffic": [flows]})))


def test_a_comparison_compares_jobs(comparison: sw.Comparison) -> None:
    assert comparison.with_jobs == ["all_reduce", "all_to_all"]
    runs = [
        sw.run(JOB | {"scheme": {"name": name}}, seed=seed) for name in ("ecmp", "rps") for seed in comparison.seeds
    ]
    totals = [next(job for job in run.rounds.jobs if job.name == "all_reduce").total_s for run in runs]
    found = comparison.job("rps", None, "all_reduce", "total_s")
    assert found.mean == pytest.approx(sum(totals[2:]) / 2)
    change = comparison.job_difference("rps", None, "all_reduce", "total_s")
    assert change.mean == pytest.approx(sum(totals[2:]) / sum(totals[:2]) - 1)
    with pytest.raises(KeyError, match="traffic 'web' has no rounds; these have some: all_reduce, all_to_all"):
        comparison.job("rps", None, "web", "total_s")
    with pytest.raises(KeyError, match="no number 'busbw' of rounds; there are"):
        comparison.job("rps", None, "all_reduce", "busbw")


def test_the_verdict_says_which_scheme_ends_the_job_first(comparison: sw.Comparison) -> None:
    found = {one.question.entry: one for one in verdicts(comparison)}
    assert list(found) == ["all_reduce", "all_to_all"]
    for entry, one in found.items():
        means = {label: comparison.job(label, None, str(entry), "total_s").mean for label in comparison.labels}
        assert one.best == min(means, key=lambda label: means[label])
        assert one.value.mean == min(means.values())
    said = words(answers.answers(comparison))
    assert "all_reduce, time until the job is done:" in said
    assert "short flows" not in said
    text = text_of(report.comparison_report(comparison), 80)
    assert "all_reduce: 2 rounds of all_reduce, 8 hosts, 400 kB each" in text
    assert "busbw [GB/s]" in text
    assert "whole job [" in text
    assert "FCT" not in text, "of flows that wait for each other it says little; --by both has it"
    assert "all_reduce: FCT" in text_of(report.comparison_report(comparison, "both"))
    assert max(map(len, text.splitlines())) <= 80


def test_an_only_job_is_asked_about_too() -> None:
    found = verdicts(sw.compare(ONE, "ecmp,rps", seeds=1))
    assert [one.question.words for one in found] == ["time until the job is done"]


def test_an_incast_that_waits_for_timeouts_is_told_so() -> None:
    found = sw.compare(BURST, "ecmp,rps,drill", seeds=2)
    (one,) = verdicts(found)
    assert one.question.words == "time of a round"
    assert [why.fact for why in one.why][:1] == ["timeouts"]
    said = words(answers.answers(found))
    assert "under every scheme flows wait for a timeout of at least 10 ms" in said
    assert "most drops are at leaf0->host0, where no scheme has a choice" in said


def test_jobs_are_kept_and_read_back(comparison: sw.Comparison, tmp_path: Path) -> None:
    sw.write(comparison, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "compare.json").read_text())
    rows = {(row["scheme"], row["entry"], row["metric"]): row["mean"] for row in record["jobs"]}
    expected = comparison.job("ecmp", None, "all_to_all", "busbw_gbyte_per_s").mean
    assert rows["ecmp", "all_to_all", "busbw_gbyte_per_s"] == expected
    again = sw.read(tmp_path / "out")
    assert isinstance(again, sw.Comparison)
    assert again.cells[0].jobs == comparison.cells[0].jobs
    assert words(report.comparison_report(again)) == words(report.comparison_report(comparison))
