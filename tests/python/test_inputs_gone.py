"""Kept results whose list of flows, or distribution of sizes, has been moved or deleted since the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main

SPEC = """
name = "listed"
[topology]
leaves = 2
spines = 2
hosts_per_leaf = 2
[[traffic]]
kind = "flows"
name = "mine"
file = "flows.csv"
[[traffic]]
kind = "poisson"
name = "drawn"
cdf_file = "sizes.cdf"
load = 0.2
load_of = "leaf_uplinks"
duration_us = 200
[[fault]]
kind = "down"
ends = ["leaf0", "spine1"]
at_us = 50
"""
FLOWS = "src,dst,size_bytes,start_ns\n0,2,400000,0\n1,2,300000,10\n2,3,100000,30\n1,3,500000,100\n"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "flows.csv").write_text(FLOWS)
    (tmp_path / "sizes.cdf").write_text("1000 0\n20000 1\n")
    sw.run(tmp_path / "spec.toml").write(tmp_path / "run")
    return tmp_path


def test_what_results_keep_needs_no_input(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list of slow flows, the fabric and its faults ended in an error about a file of the past."""
    run, told, drawn = str(kept / "run"), [], []
    for name in ("before", "after"):
        assert main(["explain", run]) == 0
        told.append(capsys.readouterr().out)
        assert main(["export", run, "--graphml", str(kept / name)]) == 0
        assert main(["plot", run, "--format", "png", "--out", str(kept / f"{name}_figures")]) == 0
        drawn.append(sorted(file.name for file in (kept / f"{name}_figures").iterdir()))
        capsys.readouterr()
        if name == "before":
            (kept / "flows.csv").rename(kept / "moved.csv")
            (kept / "sizes.cdf").unlink()
    assert told[0] == told[1]
    assert "topology.png" in drawn[0]
    assert drawn[0] == drawn[1]
    assert (kept / "before").read_bytes() == (kept / "after").read_bytes()


@pytest.mark.parametrize("words", [["explain", "--flow", "1"], ["explain", "--hurt"]])
def test_what_must_run_again_says_which_file_it_needs(
    kept: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    digest = sw.Result.read(kept / "run").spec["traffic"][0]["file_digest"]
    command = [words[0], str(kept / "run"), *words[1:]]
    assert main(command) == 0
    (kept / "flows.csv").rename(kept / "moved.csv")
    capsys.readouterr()
    assert main(command) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert str(kept / "flows.csv") in error
    assert f"the same file (digest {digest}) is needed to run this again: put it back there" in error
    (kept / "moved.csv").rename(kept / "flows.csv")
    assert main(command) == 0


def test_a_page_without_its_input_shows_the_rest(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kept / "sizes.cdf").unlink()
    assert main(["report", str(kept / "run"), "--out", str(kept / "page.html")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sizes.cdf" in out
    assert "put it back there" in out
    assert "Completion times" in (kept / "page.html").read_text()


def test_a_spec_never_run_says_no_more_than_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    assert main(["run", str(tmp_path / "spec.toml")]) == 2
    assert "digest" not in capsys.readouterr().err
