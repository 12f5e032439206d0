"""Options that contradict each other or do nothing are refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import sample_papers
from spinewise.cli import main

STUDY = '[study]\nspec = "tiny.toml"\nseeds = 1\n'


@pytest.fixture
def here(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, a study and papers, which is the current one."""
    monkeypatch.chdir(tiny.parent)
    (tiny.parent / "study.toml").write_text(STUDY)
    sample_papers.written(tiny.parent / "papers")
    (tiny.parent / "file").write_text("")
    return tiny.parent


COMPARE = "compare tiny.toml --schemes ecmp,rps --seeds 1"
RESILIENCE = "resilience --quick --schemes ecmp --faults link --fabrics leaf-spine"
REPRODUCE = "reproduce tiny-1 --papers papers"


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("run tiny.toml --force", ("--force", "together with --out")),
        (f"{COMPARE} --force", ("--force", "together with --out")),
        (f"{COMPARE} --out new --store new/store", ("--store", "outside new")),
        (f"{RESILIENCE} --out new --store new/store", ("--store", "outside new")),
        (f"{RESILIENCE} --out new --store new", ("--store", "outside new")),
        (f"{REPRODUCE} --quick --out new --store other/../new/store", ("--store", "outside new")),
        (
            f"{REPRODUCE} --quick --store results/reproduce/tiny-1/store",
            ("--store", "outside results/reproduce/tiny-1"),
        ),
        (f"{REPRODUCE} --keep file/evidence", ("--keep", "file is a file, not a folder")),
        (f"{REPRODUCE} --dry-run --address here:1", ("--address", "together with --engine ray")),
        ("sweep study.toml --dry-run --address here:1", ("--address", "together with --engine ray")),
        ("reproduce list --out new", ("--out", "nothing together with list")),
        ("reproduce list --keep new", ("--keep", "nothing together with list")),
        ("reproduce list --dry-run", ("--dry-run", "nothing together with list")),
        (f"{RESILIENCE} --set nonsense.key=1", ("--set", "only together with a spec")),
        ("resilience tiny.toml --quick --seeds 2", ("--quick", "with a spec it means one seed")),
    ],
)
def test_what_does_nothing_is_refused(
    here: Path, words: str, refused: tuple[str, str], runs: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    key, said = refused
    before = sorted(path.name for path in here.iterdir())
    assert main(words.split()) == 2
    told = capsys.readouterr().err
    assert f"  key      {key}\n" in told
    assert said in told
    assert not runs
    assert sorted(path.name for path in here.iterdir()) == before
