"""Files that a study names are relative to its own folder, wherever they are named and wherever it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.page import source
from spinewise.page.of_study import read_study
from spinewise.studies import file
from spinewise.studies.study import Study

HEAD = "src,dst,size_bytes,start_ns\n"
TOPOLOGY = "topology = { leaves = 2, spines = 2, hosts_per_leaf = 2 }\n"
INSIDE = f"[study]\nseeds = 1\n[study.spec]\n{TOPOLOGY}"
FILES = {
    "spec": INSIDE + 'traffic = [{ kind = "flows", file = "flows.csv" }]\n',
    "key": INSIDE + 'traffic = [{ kind = "flows" }]\n[grid]\n"traffic[0].file" = ["flows.csv"]\n',
    "entry": INSIDE + '[grid]\n"traffic[0]" = [{ kind = "flows", file = "flows.csv" }]\n',
    "entries": INSIDE + '[grid]\ntraffic = [[{ kind = "flows", file = "flows.csv" }]]\n',
}


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study; the current folder has another file of the same name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows.csv").write_text(HEAD + "1,3,999999,0\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "flows.csv").write_text(HEAD + "0,2,20000,0\n")
    return tmp_path / "mine"


@pytest.mark.parametrize("where", FILES)
def test_files_are_those_beside_the_study(apart: Path, where: str) -> None:
    """Named inside a study, they were those of the current folder: another file, or none."""
    (apart / "study.toml").write_text(FILES[where])
    (cell,) = Study.of(file.read("mine/study.toml")).cells
    assert cell.spec["traffic"][0]["file"] == str(apart / "flows.csv")
    assert "flows.csv" not in str(list(cell.label.values())) or str(apart) not in str(cell.label)


def test_overrides_name_files_of_the_current_folder(apart: Path) -> None:
    """As they do for a spec."""
    (apart / "study.toml").write_text(FILES["spec"])
    (cell,) = Study.of(file.read("mine/study.toml", ["traffic[0].file=flows.csv"])).cells
    assert Path(cell.spec["traffic"][0]["file"]).resolve() == apart.parent / "flows.csv"


def test_a_page_shows_the_study_that_was_swept(apart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the overrides of `sweep`, it has other runs or none; with them it is the same."""
    (apart / "study.toml").write_text(FILES["spec"])
    study, store = str(apart / "study.toml"), str(tmp_path / "store")
    changes = ["--set", "topology.spines=3", "--until-ci", "50%"]
    assert main(["sweep", study, "--store", store, *changes]) == 0
    assert read_study(study, store).left == 1
    assert [len(ones) for ones in read_study(study, store, (), ["topology.spines=3"], 0.5).repeats] == [5]
    page = str(tmp_path / "page.html")
    assert main(["report", study, "--store", store, "--out", page, *changes]) == 0
    assert source.read(study, source.OfStudy(store, (), ["topology.spines=3"], 0.5)).found.left == 0  # type: ignore[union-attr]
    capsys.readouterr()


@pytest.mark.parametrize("change", [["--set", "seed=2"], ["--until-ci", "2%"]])
def test_only_a_study_is_changed_for_a_page(
    tiny: Path, tmp_path: Path, change: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tiny), "--out", str(tmp_path / "run")]) == 0
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html"), *change]) == 2
    assert "allowed  only a study (STUDY.toml)" in capsys.readouterr().err


def test_runs_of_another_engine_are_counted_by_a_sweep_too(
    apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a page counted them; from Python there were none."""
    (apart / "study.toml").write_text(FILES["spec"])
    sw.sweep("mine/study.toml", store=tmp_path / "store")
    monkeypatch.setattr(core, "engine_digest", lambda: "ab" * 32)
    assert sw.sweep("mine/study.toml", store=tmp_path / "store").of_other_engines == 1
