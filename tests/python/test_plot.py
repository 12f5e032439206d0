"""``spinewise plot``: what it replaces, and figures that need the run again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import spinewise
from spinewise.cli import main
from spinewise.figures import of_run
from spinewise.figures.kinds import UnfitError
from spinewise.measures.report import Report

FLOWS = "src,dst,size_bytes,start_ns\n0,2,200000,0\n1,3,100000,0\n"
FAULTY: dict[str, object] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 200_000}],
    "fault": [{"kind": "down", "switch": "spine0", "at_us": 5, "until_us": 50}],
    "metrics": {"series_interval_us": 20},
}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("out", ["run", "other", "run/../run"])
def test_figures_replace_no_other_results(tmp_path: Path, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --force they removed the run that they were drawn from."""
    for name in ("run", "other"):
        spinewise.run(FAULTY).write(tmp_path / name)
    before = files(tmp_path)
    assert main(["plot", str(tmp_path / "run"), "cdf", "--out", str(tmp_path / out), "--force"]) == 2
    assert "it has results of `spinewise run`" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_figures_replace_figures(tmp_path: Path) -> None:
    spinewise.run(FAULTY).write(tmp_path / "run")
    for kind in ("cdf", "links"):
        assert main(["plot", str(tmp_path / "run"), kind, "--force"]) == 0
    assert set(files(tmp_path / "run" / "figures")) == {"links.png", "links.svg", "plot.json"}
    spinewise.run(FAULTY).write(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "figures").exists()


def test_a_figure_named_twice_is_drawn_once(tmp_path: Path) -> None:
    spinewise.run(FAULTY).write(tmp_path / "run")
    assert main(["plot", str(tmp_path / "run"), "cdf", "cdf"]) == 0
    assert json.loads((tmp_path / "run" / "figures" / "plot.json").read_text())["figures"] == ["cdf.png", "cdf.svg"]


def test_a_run_of_linux_is_not_repeated_in_the_simulator() -> None:
    """The goodput of a run measured on Linux stood beside that of a simulated run."""
    result = spinewise.run(FAULTY)
    measured = replace(result, report=cast(Report, {**result.report, "linux": {}}))
    with pytest.raises(UnfitError, match="needs a run of the simulator"):
        of_run.around_faults(measured)


def test_a_run_that_cannot_be_repeated_has_its_other_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None was drawn, and the advice was an option that `plot` lacks."""
    (tmp_path / "flows.csv").write_text(FLOWS)
    spec = {**FAULTY, "traffic": [{"kind": "flows", "file": str(tmp_path / "flows.csv")}]}
    spinewise.run(spec).write(tmp_path / "run")
    (tmp_path / "flows.csv").unlink()
    assert main(["plot", str(tmp_path / "run")]) == 0
    assert "left out faults: needs the same run again without faults" in capsys.readouterr().out
    assert {"cdf.png", "links.png"} <= set(files(tmp_path / "run" / "figures"))
    assert main(["plot", str(tmp_path / "run"), "faults", "--force"]) == 2
    assert "traffic[0].file" in capsys.readouterr().err


def test_a_cut_table_of_a_comparison_is_named(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The record was blamed."""
    out = tmp_path / "compared"
    assert main(["compare", str(tiny), "--schemes", "ecmp,rps", "--seeds", "1", "--out", str(out)]) == 0
    (out / "curves.parquet").write_bytes((out / "curves.parquet").read_bytes()[:100])
    assert main(["plot", str(out)]) == 2
    assert f"bad input in {out / 'curves.parquet'}" in capsys.readouterr().err
