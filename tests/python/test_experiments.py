"""Experiments of papers: the table of measurements, the checks of claims, the files they leave."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import spinewise as sw
from samples import TINY_SPEC
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.measures import stats
from spinewise.reproduction import claims, reproduce
from spinewise.reproduction.experiment import (
    Claim,
    Effort,
    Experiment,
    Measured,
    Measurement,
    Panel,
    Run,
    Status,
    Timeline,
    Verdict,
)
from spinewise.runs.result import Result
from spinewise.show import plot
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse

PAPERS = reproduce.OWN_PAPERS


def measured(points: Mapping[tuple[str, float], list[float]]) -> Measured:
    """Measurements of "y" by curve and x, one per seed."""
    return Measured(
        [
            Measurement(Run(curve, x, seed, {}), {"y": value}, "00", 0, False)
            for (curve, x), values in points.items()
            for seed, value in enumerate(values)
        ]
    )


LOW_HIGH = {("low", 1.0): [1.0, 10.0, 5.0], ("high", 1.0): [1.5, 10.6, 5.4]}


def test_a_paired_difference_decides_what_means_cannot() -> None:
    table = measured(LOW_HIGH)
    assert claims.lower(table, "low", ["high"], "y").status is Status.HOLDS
    assert claims.higher(table, "low", ["high"], "y").status is Status.FAILS
    assert claims.higher(table, "high", ["low"], "y").status is Status.HOLDS


def test_what_noise_hides_is_not_decided() -> None:
    table = measured({("a", 1.0): [1.0, 2.0, 3.0], ("b", 1.0): [2.0, 1.0, 3.1]})
    assert claims.lower(table, "a", ["b"], "y").status is Status.OPEN
    single = measured({("a", 1.0): [1.0], ("b", 1.0): [2.0]})
    assert claims.lower(single, "a", ["b"], "y").status is Status.UNTESTED


def test_one_contradiction_fails_a_statement() -> None:
    points = LOW_HIGH | {("low", 2.0): [9.0, 9.1, 9.2], ("high", 2.0): [1.0, 1.2, 1.1]}
    verdict = claims.lower(measured(points), "low", ["high"], "y")
    assert verdict.status is Status.FAILS
    assert [line.split(":")[0] for line in verdict.evidence] == ["yes", "NO"]
    assert claims.lower(measured(points), "low", ["high"], "y", [1.0]).status is Status.HOLDS


def test_differences_from_zero_are_decided_too() -> None:
    table = measured({("none", 1.0): [0.0, 0.0, 0.0], ("some", 1.0): [0.1, 0.2, 0.15]})
    assert claims.higher(table, "some", ["none"], "y").status is Status.HOLDS
    assert claims.zero(table, "none", "y").status is Status.HOLDS
    assert claims.zero(table, "some", "y").status is Status.FAILS
    assert claims.zero(table, "absent", "y").status is Status.UNTESTED


def test_growth_is_judged_step_by_step() -> None:
    rising = {("a", 1.0): [1.0, 5.0, 3.0], ("a", 2.0): [2.0, 6.1, 4.2], ("a", 3.0): [3.0, 7.0, 5.1]}
    assert claims.growing(measured(rising), "a", "y").status is Status.HOLDS
    assert claims.growing(measured({**rising, ("a", 3.0): [1.0, 5.0, 3.0]}), "a", "y").status is Status.FAILS


def test_limits() -> None:
    table = measured({("a", 0.0): [0.3, 0.31, 0.29]})
    assert claims.below_limit(table, "a", "y", 0.5, 0.0).status is Status.HOLDS
    assert claims.below_limit(table, "a", "y", 0.2, 0.0).status is Status.FAILS
    assert claims.below_limit(table, "a", "y", 0.3, 0.0).status is Status.OPEN


def test_nothing_measured_is_not_testable() -> None:
    assert claims.combined([]).status is Status.UNTESTED
    table = measured({("a", 0.0): [math.nan, math.nan], ("b", 0.0): [1.0, 1.0]})
    assert claims.lower(table, "a", ["b"], "y").status is Status.UNTESTED


def test_timelines_are_averaged_over_the_seeds_that_have_a_value() -> None:
    times = np.array([1.0, 2.0, 3.0])
    lines = [[1.0, math.nan, math.nan], [3.0, 5.0, math.nan]]
    table = Measured(
        [
            Measurement(Run("a", 0.0, seed, {}), {"y": Timeline(times, np.array(line))}, "00", 0, False)
            for seed, line in enumerate(lines)
        ]
    )
    line = table.timeline("a", "y")
    assert line.time_s.tolist() == [1.0, 2.0, 3.0]
    assert line.value[:2].tolist() == [2.0, 5.0]
    assert math.isnan(line.value[2])


def small_experiment() -> Experiment:
    def runs(effort: Effort) -> list[Run]:
        return [
            Run(name, 1.0, seed, parse(name).apply(TINY_SPEC))
            for seed in range(1, effort.choose(full=5, quick=3))
            for name in ("ecmp", "rps")
        ]

    def measure(_run: Run, result: Result) -> dict[str, float | Timeline]:
        packets = result.summary().packets
        assert packets is not None
        return {"out_of_order": packets.out_of_order_ratio}

    def ecmp_never(table: Measured) -> Verdict:
        return claims.zero(table, "ecmp", "out_of_order")

    return Experiment(
        id="tiny-1",
        figures=("1",),
        title="A tiny experiment",
        setup="tiny",
        runs=runs,
        measure=measure,
        panels=(Panel("1", "out_of_order", "reordering", "x", "%", 100.0),),
        claims=(Claim("T-1", "1", "ECMP never reorders", ecmp_never),),
    )


def test_an_experiment_runs_and_is_judged(tmp_path: Path) -> None:
    from spinewise.reproduction.files import write_files
    from spinewise.runs.folder import new_results

    done = reproduce.reproduce(small_experiment(), Effort.QUICK, jobs=2, store=tmp_path / "store")
    assert len(done.measured.measurements) == 4
    (kept,) = sw.query(tmp_path / "store", "from claims").to_pylist()
    verdict = done.verdicts["T-1"]
    assert (kept["claim"], kept["verdict"], kept["effort"]) == ("T-1", verdict.status.value, "quick")
    assert kept["evidence"] == "\n".join(verdict.evidence)
    assert done.verdicts["T-1"].status is Status.HOLDS
    with new_results(tmp_path / "out") as target:
        write_files(done, target)
    record = json.loads((tmp_path / "out" / "reproduce.json").read_text())
    assert record["claims"][0]["verdict"] == "direction: for"
    assert record["claims"][0]["status"] == "reproduced"
    assert "**direction: for**" in (tmp_path / "out" / "report.md").read_text()
    assert (tmp_path / "out" / "tiny-1.png").stat().st_size > 5_000


# The figure of a panel that the paper's figure has not.
BESIDE = "beside"


def test_every_listed_experiment_loads_and_its_specs_are_valid() -> None:
    entries = reproduce.listed(PAPERS)
    assert entries
    for entry in entries:
        experiment = reproduce.load_experiment(entry)
        assert experiment.id == entry.id
        assert experiment.figures == entry.figures
        drawn = {figure for panel in experiment.panels for figure in panel.figure.split(" and ")}
        assert drawn - {BESIDE} == set(entry.figures)
        keys = [claim.key for claim in experiment.claims]
        assert len(keys) == len(set(keys))
        seen = {json.dumps(run.spec, sort_keys=True): run.spec for run in experiment.runs(Effort.QUICK)}
        for spec in seen.values():
            resolve(spec)


@pytest.mark.parametrize("name", ["pdlb-7", "pdlb-7b", "pdlb-10c"])
def test_experiments_are_found_by_id_and_by_figure(name: str) -> None:
    assert reproduce.find(PAPERS, name).paper == "pdlb"


def test_an_unknown_figure_gets_the_nearest() -> None:
    with pytest.raises(SpecError) as caught:
        reproduce.find(PAPERS, "pdlb-7d")
    assert "pdlb-7" in str(caught.value.hint)


def test_the_papers_folder_is_found_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reproduce.papers_folder() == reproduce.papers_folder(str(PAPERS)) == PAPERS
    monkeypatch.setenv(reproduce.PAPERS_VARIABLE, str(tmp_path))
    with pytest.raises(SpecError) as caught:
        reproduce.papers_folder()
    assert (caught.value.key, caught.value.value) == (reproduce.PAPERS_VARIABLE, str(tmp_path))
    with pytest.raises(SpecError, match="--papers"):
        reproduce.papers_folder(str(tmp_path / "nowhere"))


def own_papers(folder: Path, module: str, **files: str) -> Path:
    """A folder of one's own with one experiment, in this module."""
    (folder / "inner").mkdir(parents=True)
    entry = f'[[paper]]\nkey = "own"\n[[paper.experiment]]\nid = "own-1"\nfigures = []\ntitle = ""\nmodule = {module}\n'
    (folder / reproduce.PAPERS_FILE).write_text(entry)
    for name, text in files.items():
        (folder / "inner" / f"{name}.py").write_text(text)
    return folder


def loaded(folder: Path) -> Experiment:
    return reproduce.load_experiment(reproduce.find(folder, "own-1"))


SMALL = "from dataclasses import replace\nfrom test_experiments import small_experiment\nfrom .words import TITLE\n"
SMALL += "EXPERIMENT = replace(small_experiment(), title=TITLE)\n"


def test_modules_of_a_folder_of_ones_own_import_each_other(tmp_path: Path) -> None:
    """Two folders with the same names do not get into each other's way, whatever the folders are called."""
    for name in ("json", "not an identifier"):
        files = {"figure": SMALL, "words": f"TITLE = {name!r}\n"}
        assert loaded(own_papers(tmp_path / name, '"inner.figure"', **files)).title == name
    assert json.loads("1") == 1


@pytest.mark.parametrize(
    ("module", "text", "said"),
    [
        ('"inner.figure"', "from . import absent\n", "ImportError"),
        ('"inner.figure"', "import\n", "SyntaxError"),
        ('"inner.figure"', "", "its EXPERIMENT is missing"),
        ('"inner.figure"', "EXPERIMENT = 3\n", "its EXPERIMENT is int"),
        ('"inner.absent"', "", "there is no such file"),
        ('"inner/figure.py"', "", "meet.fig06"),
        ('"..figure"', "", "meet.fig06"),
        ("3", "", "meet.fig06"),
    ],
)
def test_an_experiment_that_cannot_be_loaded_is_named(tmp_path: Path, module: str, text: str, said: str) -> None:
    folder = own_papers(tmp_path / "own", module, figure=text)
    with pytest.raises(SpecError) as caught:
        loaded(folder)
    assert caught.value.key == "module"
    assert said in str(caught.value)
    assert str(folder / reproduce.PAPERS_FILE) in str(caught.value)


def test_every_experiment_of_the_papers_can_be_loaded() -> None:
    for entry in reproduce.listed(PAPERS):
        assert reproduce.load_experiment(entry).id == entry.id


def test_listing_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list", "--papers", str(PAPERS)]) == 0
    assert "pdlb-10" in capsys.readouterr().out
    assert main(["reproduce", "list", "--papers", str(PAPERS), "--json"]) == 0
    assert {entry["id"] for entry in json.loads(capsys.readouterr().out)} >= {"pdlb-7", "pdlb-10"}
    assert main(["reproduce", "nothing", "--papers", str(PAPERS)]) == 2
    assert "pdlb-7" in capsys.readouterr().err


def drawn(panel: Panel, points: Mapping[tuple[str, float], list[float]]) -> plot.Panel:
    from spinewise.reproduction.files import drawn as fill

    return fill(panel, measured(points))


def test_a_panel_over_a_curve_shows_paired_ratios() -> None:
    points = {("ecmp", 1.0): [1.0, 2.0, 3.0], ("elab", 1.0): [0.5, 1.0, 1.5], ("elab", 2.0): [1.0, 1.0, 1.0]}
    made = drawn(Panel("9", "y", "t", "load", "times ECMP's", over="ecmp"), points)
    found = {curve.label: (curve.x, [(point.mean, point.n) for point in curve.y]) for curve in made.curves}
    # At 2 there is no ECMP to divide by.
    assert found == {"ecmp": ([1.0], [(1.0, 3)]), "elab": ([1.0], [(0.5, 3)])}
    change = stats.relative_difference(points["elab", 1.0], points["ecmp", 1.0])
    assert made.curves[1].y[0].half == pytest.approx(change.half)


def test_a_panel_has_words_on_its_axis_or_its_curves_side_by_side() -> None:
    points = {(name, x): [1.0, 2.0] for name in ("a", "b") for x in (0.0, 1.0)}
    words = Panel("6a", "y", "t", "", "ms", words=((0.0, "whole"), (1.0, "link down"), (2.0, "switch down")))
    assert drawn(words, points).words == {0.0: "whole", 1.0: "link down"}
    one = drawn(Panel("2", "y", "t", "", "ms", side_by_side=True, at=1.0), points)
    assert [(curve.label, list(curve.x), len(curve.y)) for curve in one.curves] == [("a", [0.0], 1), ("b", [1.0], 1)]
    beside = drawn(Panel("9", "y", "t", "", "ms", side_by_side=True), {("a", 0.0): [1.0, 2.0], ("b", 0.0): [3.0, 4.0]})
    assert beside.words == {0.0: "a", 1.0: "b"}
    assert [list(curve.x) for curve in beside.curves] == [[0.0], [1.0]]
