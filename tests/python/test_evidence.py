"""Evidence that is kept: what is written of runs, that it says the same when it is read, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sample_papers
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.reproduction import choice, evidence, files, keeping, suite
from spinewise.reproduction.experiment import Effort, Timeline
from spinewise.reproduction.reproduce import Reproduction
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from spinewise.sweeps.sweep import sweep


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with papers, and the evidence of both of their experiments in "kept"."""
    place = tmp_path_factory.mktemp("evidence")
    papers = sample_papers.written(place / "papers")
    words = ["--papers", str(papers), "--store", str(place / "store"), "--out", str(place / "out"), "--jobs", "2"]
    assert main(["reproduce", "all", *words, "--keep", str(place / "kept")]) == 0
    return place


def done_of(place: Path, name: str) -> tuple[suite.Part, Reproduction]:
    (part,) = suite.planned(choice.choose(place / "papers", name), Effort.FULL)
    with store.opened(place / "store") as ledger:
        swept = suite.run([part], ledger, engine=Local(1))
        return part, suite.judged_part(part, swept)


def test_evidence_says_what_the_runs_said(folder: Path) -> None:
    part, done = done_of(folder, "tiny-1")
    kept = evidence.read(folder / "kept", "tiny-1")
    assert kept is not None
    assert kept.provenance == done.provenance
    assert evidence.judged_again(kept, part.experiment).checks == kept.checks
    assert evidence.text_of(kept) == (folder / "kept" / "tiny-1" / "evidence.json").read_text()
    assert {check.key: check.verdict for check in kept.checks} == done.verdicts
    assert len(kept.runs) == len(part.runs) == 40
    for run, wanted, found in zip(kept.runs, part.runs, done.measured.measurements, strict=True):
        assert (run.measurement.run.variant, run.measurement.run.seed) == (wanted.variant, wanted.seed)
        assert found.outcome_hash.startswith(run.outcome)
        assert run.measurement.values["mean_fct_s"] == found.values["mean_fct_s"]
        assert run.packet_hops > 0


def test_forms_made_again_replace_their_runs_alone(folder: Path, tmp_path: Path) -> None:
    """An engine that only some forms notice: their runs are made again, and the others stay as they were."""
    kept = tmp_path / "kept"
    shutil.copytree(folder / "kept", kept)
    part, _ = done_of(folder, "tiny-1")
    before = evidence.read(kept, "tiny-1")
    assert before is not None
    # As if the engine had given other numbers, of both forms.
    table = pq.read_table(kept / "tiny-1" / evidence.RUNS)
    at = table.column_names.index("value.mean_fct_s")
    pq.write_table(
        table.set_column(at, "value.mean_fct_s", pa.array([2.0] * table.num_rows)), kept / "tiny-1" / evidence.RUNS
    )
    forms = {(run.variant, run.curve) for run in part.runs}
    longer = {form for form in forms if form[0] == "longer"}
    with store.opened(tmp_path / "store") as ledger:
        tasks = [task for run, task in zip(part.runs, part.tasks, strict=True) if run.variant == "longer"]
        keeping.keep_forms(part, sweep(tasks, ledger, engine=Local(1)), kept, longer)
        with pytest.raises(SpecError, match="forms whose runs are all there"):
            keeping.keep_forms(part, sweep(tasks, ledger, engine=Local(1)), kept, forms - longer)
    now = evidence.read(kept, "tiny-1")
    assert now is not None
    assert now.lines.keys() == before.lines.keys()
    for old, new in zip(before.runs, now.runs, strict=True):
        mean = old.measurement.values["mean_fct_s"] if old.measurement.run.variant == "longer" else 2.0
        assert new.measurement.values["mean_fct_s"] == mean
        assert (new.measurement.run, new.spec, new.outcome) == (old.measurement.run, old.spec, old.outcome)
    assert now.provenance.earlier == (before.provenance.engine,)
    assert "some forms" in now.provenance.line
    # Flows take less than 1 s in one form only, by these numbers.
    assert [check.verdict == old.verdict for check, old in zip(now.checks, before.checks, strict=True)].count(False) > 0


def test_figures_are_drawn_from_evidence_as_from_runs(folder: Path) -> None:
    part, done = done_of(folder, "tiny-1")
    kept = evidence.read(folder / "kept", "tiny-1")
    assert kept is not None
    again = kept.reproduction(part.experiment)
    assert files.variants(again) == files.variants(done) == ["as printed", "longer"]
    for panel in part.experiment.panels:
        one, other = (files.drawn(panel, each.measured.within(panel.variant)) for each in (done, again))
        assert [curve.label for curve in one.curves] == [curve.label for curve in other.curves]
        for here, there in zip(one.curves, other.curves, strict=True):
            assert list(there.x) == pytest.approx(list(here.x), rel=1e-6)
            assert [point.mean for point in there.y] == pytest.approx([point.mean for point in here.y], rel=1e-6)


def test_adding_one_leaves_the_others_alone(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "kept" / "tiny-2").iterdir()}
    part, done = done_of(folder, "tiny-1")
    with store.opened(folder / "store") as ledger:
        keeping.keep(part, done, ledger, folder / "kept")
    assert {path: path.stat().st_mtime_ns for path in (folder / "kept" / "tiny-2").iterdir()} == before
    assert {path.name for path in (folder / "kept" / "tiny-1").iterdir()} == {
        "evidence.json", "runs.parquet", "lines.parquet",
    }  # fmt: skip


def test_a_quick_run_and_an_incomplete_experiment_are_no_evidence(folder: Path) -> None:
    part, done = done_of(folder, "tiny-1")
    for unfit in (replace(done, effort=Effort.QUICK), replace(done, lacking={"longer": 1})):
        with pytest.raises(SpecError) as caught, store.opened(folder / "store") as ledger:
            keeping.keep(part, unfit, ledger, folder / "none")
        assert caught.value.key == "--keep"
    assert not (folder / "none").exists()


def test_keep_refuses_quick_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--papers", str(folder / "papers"), "--store", str(folder / "store"), "--out", str(folder / "new")]
    assert main(["reproduce", "all", *words, "--quick", "--keep", str(folder / "none")]) == 2
    assert "--keep" in capsys.readouterr().err
    assert not (folder / "new").exists()


def test_what_the_store_has_is_reported_without_a_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--papers", str(folder / "papers"), "--stored", "--force", "--out", str(tmp_path / "out")]
    assert main(["reproduce", "all", *words, "--store", str(folder / "store")]) == 0
    assert "80 runs · run on" in capsys.readouterr().out
    assert main(["reproduce", "all", *words, "--store", str(tmp_path / "store")]) == 3
    assert "tiny-1: 20 runs of as printed; 20 runs of longer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found | {"format": "spinewise-evidence-2"}, "spinewise-evidence-1"),
        (lambda found: found | {"checks": [{}]}, "KeyError: 'status'"),
        (lambda found: found | {"provenance": None}, "TypeError"),
    ],
)
def test_damaged_evidence_is_told_as_such(folder: Path, tmp_path: Path, change: object, said: str) -> None:
    assert callable(change)
    found = json.loads((folder / "kept" / "tiny-1" / "evidence.json").read_text())
    (tmp_path / "tiny-1").mkdir()
    (tmp_path / "tiny-1" / "evidence.json").write_text(json.dumps(change(found)))
    with pytest.raises(SpecError) as caught:
        evidence.read(tmp_path, "tiny-1")
    assert said in str(caught.value)


def test_a_damaged_table_is_told_as_such(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny-1").mkdir()
    text = (folder / "kept" / "tiny-1" / "evidence.json").read_text()
    (tmp_path / "tiny-1" / "evidence.json").write_text(text)
    (tmp_path / "tiny-1" / "runs.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SpecError, match="what `--keep` has written"):
        evidence.read(tmp_path, "tiny-1")


def test_what_was_never_kept_is_nothing(tmp_path: Path) -> None:
    assert evidence.read(tmp_path, "tiny-1") is None


def test_a_thinned_line_keeps_its_peaks() -> None:
    times = np.arange(10_000) / 1e6
    values = np.sin(times * 1e4)
    values[4321], values[5000:5100] = 7.0, np.nan
    line = keeping.thinned(Timeline(times, values))
    assert len(line.time_s) <= keeping.POINTS
    assert np.nanmax(line.value) == 7.0
    assert np.nanmin(line.value) == np.nanmin(values)
    assert np.all(np.diff(line.time_s) > 0)
    short = Timeline(times[:10], values[:10])
    assert keeping.thinned(short) is short
