from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from spinewise import core
from spinewise.docs import __main__ as command
from spinewise.docs import pages as docs


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["docs", *args])
    return command.main()


def test_every_column_has_its_place_unit_and_meaning() -> None:
    page = docs.results_page()
    described = core.columns()
    for column in [*described["flows"], *described["series"]]:
        assert f"| `{column['name']}` | {column['dtype']} |" in page
        assert column["meaning"]


def test_pages_are_written_once_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[2]
    for part in ("README.md", "python", "crates"):
        (tmp_path / part).symlink_to(root / part)
    (tmp_path / "docs").mkdir()
    for kept in ("agreement.md", "agreement.json"):
        shutil.copy(root / "docs" / kept, tmp_path / "docs" / kept)
    folder = ("--root", str(tmp_path))
    assert run(monkeypatch, "--check", *folder) == 1
    assert "make docs" in capsys.readouterr().err
    assert run(monkeypatch, *folder) == 0
    assert run(monkeypatch, "--check", *folder) == 0
    (tmp_path / "docs" / "results.md").write_text("edited by hand")
    assert run(monkeypatch, "--check", *folder) == 1


@pytest.mark.parametrize("name", docs.PAGES)
def test_tables_are_not_broken(name: str) -> None:
    widths: list[int] = []
    for line in docs.PAGES[name]().splitlines():
        if not line.startswith("|"):
            widths.clear()
            continue
        widths.append(line.replace("\\|", "").count("|"))
        assert widths[-1] == widths[0], line
