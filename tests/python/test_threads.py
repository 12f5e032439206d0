"""Runs that several threads work at."""

from __future__ import annotations

from typing import Any

import pytest

import samples
import spinewise as sw
from outcomes.grid import grid
from outcomes.table import recorded
from spinewise import core
from spinewise.cli import main
from spinewise.core import Progress
from spinewise.runs.result import Result

EVERY = 26
"""Of the grid of outcomes; `python -m outcomes check --threads N` does it all."""


def ran(spec: Any, threads: int, progress: Any = None) -> Result:
    """A run at which threads work however many processors there are and however busy these are."""
    resolved = sw.resolve(spec)
    return Result.from_outcome(resolved, core.run(resolved, progress, threads=threads, when="always"))


@pytest.mark.parametrize("threads", [2, 3])
def test_outcomes_do_not_depend_on_how_many_threads_there_are(threads: int) -> None:
    then, parted = recorded(), 0
    for name, spec in list(grid())[threads::EVERY]:
        report = ran(spec, threads).report
        assert report["outcome_hash"] == then[name], name
        parted += not any(warning["code"] == "one_thread" for warning in report["warnings"])
    assert parted > 50


@pytest.mark.parametrize("threads", [0, -1, 1.5, 1025, "all", None])
def test_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(sw.SpecError, match=r"threads = .*: allowed is a whole number, 1 to 1024"):
        sw.run(samples.TINY_SPEC, threads=threads)


def test_what_is_traced_is_one_threads(capsys: Any, tmp_path: Any) -> None:
    with pytest.raises(sw.SpecError, match=r"threads = 2: allowed is 1 together with trace"):
        sw.run(samples.TINY_SPEC, threads=2, trace=[0])
    spec = tmp_path / "spec.toml"
    spec.write_text(samples.TINY_TOML)
    assert main(["run", str(spec), "--threads", "2", "--trace", "0", "--out", str(tmp_path / "out")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "key --threads value 2 allowed 1 together with trace" in told
    assert not (tmp_path / "out").exists()


def test_a_run_that_cannot_be_parted_says_why() -> None:
    told = ran({**samples.TINY_SPEC, "run": {"engine": "events"}}, 2).summary().warnings
    assert [str(one.text) for one in told if one.code == "one_thread"] == [
        "One thread made this run, because the engine of events has no windows."
    ]
    assert not [one for one in ran(samples.TINY_SPEC, 2).summary().warnings if one.code == "one_thread"]


def test_an_exception_of_the_progress_call_ends_all_threads() -> None:
    class Enough(Exception):  # noqa: N818 - a name for a test
        pass

    def watch(progress: Progress) -> None:
        if progress.packet_hops:
            raise Enough

    traffic = [{**samples.TINY_SPEC["traffic"][0], "duration_us": 3_000_000}]
    with pytest.raises(Enough):
        ran({**samples.TINY_SPEC, "traffic": traffic}, 2, watch)
