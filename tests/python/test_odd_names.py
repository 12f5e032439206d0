"""Names of files that are not UTF-8 lose no results; names that no file can have are refused in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spinewise.cli import main
from spinewise.runs.result import Result

ODD = os.fsdecode(b"odd\xff")
LONG = "a" * 300
STUDY = '[study]\nspec = "tiny.toml"\nseeds = 1\n[grid]\nschemes = ["ecmp", "rps"]\n[keep]\nflows = true\n'


def test_a_folder_whose_name_is_not_utf_8_is_written_and_read(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run was made, and then lost."""
    run, page = str(tmp_path / ODD / "run"), str(tmp_path / "page.html")
    assert main(["run", str(tiny), "--out", run, "--json"]) == 0
    assert Result.read(run).flows.num_rows
    assert main(["plot", run, "cdf", "--json"]) == 0
    assert main(["plot", run, "cdf", "--force", "--json"]) == 0
    assert main(["report", run, "--no-rerun", "--out", page, "--json"]) == 0
    compared = str(tmp_path / ODD / "compared")
    assert main(["compare", str(tiny), "--schemes", "ecmp,rps", "--seeds", "1", "--out", compared, "--json"]) == 0
    assert main(["plot", compared, "cdf", "--json"]) == 0
    capsys.readouterr()


def test_a_store_whose_name_is_not_utf_8_is_kept_and_no_query_reads_it(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = tiny.parent / "study.toml", str(tmp_path / ODD)
    study.write_text(STUDY)
    assert main(["sweep", str(study), "--store", store, "--json"]) == 0
    assert main(["report", str(study), "--store", store, "--out", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(["query", "--store", store, "select 1"]) == 2
    assert "a store whose path is UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["run", LONG],
        ["plot", LONG],
        ["report", LONG, "--out", "page.html"],
        ["report", "page", "--out", LONG],
        ["query", "--store", LONG, "select 1"],
        ["reproduce", "list", "--papers", LONG],
    ],
)
def test_a_name_that_no_file_has_is_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A traceback was shown."""
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "  value    aaaaaaaa" in told
    assert "File name too long" in told
