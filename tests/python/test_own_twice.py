"""A scheme written in Python under which no two runs are alike: whoever runs one again says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main

UNLIKE = """import random
import spinewise as sw


class Rolls(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header):
        return random.randrange(len(cx.view.candidates))
"""
SAYS = "take chance from cx.rng alone, keep what changes in rows alone"


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(core, "OWN_SCHEMES", {})
    (tmp_path / "rolls.py").write_text(UNLIKE)
    return ["--scheme-file", f"{tmp_path / 'rolls.py'}:Rolls"]


def words(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def test_a_trace_of_it_is_refused_in_words(
    tmp_path: Path, tiny: Path, code: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    assert main(["run", str(tiny), *code, "--out", run]) == 0
    capsys.readouterr()
    assert main(["explain", run, "--flow", "0", *code]) == 2
    said = words(capsys.readouterr().err)
    assert "value Rolls allowed a scheme under which a run always comes out the same" in said
    assert SAYS in said
    assert "Traceback" not in said
    with pytest.raises(sw.SpecError, match=SAYS):
        sw.run(sw.Result.read(run).spec, trace=[0])


def test_a_page_is_made_without_what_would_be_run_again(
    tmp_path: Path, tiny: Path, code: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run, page = str(tmp_path / "run"), tmp_path / "page.html"
    assert main(["run", str(tiny), *code, "--out", run]) == 0
    capsys.readouterr()
    assert main(["report", run, "--out", str(page), *code]) == 0
    told = words("".join(capsys.readouterr()))
    assert "Links over time are not shown: it cannot be repeated: scheme = Rolls" in told
    assert page.exists()


def test_a_capture_of_it_is_refused_in_words(
    tmp_path: Path, tiny: Path, code: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = str(tmp_path / "run"), tmp_path / "x.pcapng"
    assert main(["run", str(tiny), *code, "--out", run]) == 0
    capsys.readouterr()
    assert main(["export", run, "--capture", "leaf0", "--pcapng", str(file), *code]) == 2
    said = words(capsys.readouterr().err)
    assert "it comes to another outcome: either no two runs under Rolls are alike" in said
    assert SAYS in said
    assert not file.exists()
