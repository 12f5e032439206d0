"""Schemes that only test the engine stand in no list of what there is to choose from; specs take them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import samples
import spinewise as sw
from spinewise import core
from spinewise.advice.candidates import sheets
from spinewise.cli import completions, main
from spinewise.resilience.study import every_scheme

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_no_list_names_schemes_that_test_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes"]) == 0
    text = capsys.readouterr().out
    assert main(["schemes", "--json"]) == 0
    listed = [one["name"] for one in json.loads(capsys.readouterr().out)]
    everything = [entry["name"] for entry in core.registry()["schemes"]]
    assert [*listed, "loopback_host", "loopback_switch"] == everything
    assert "letflow" in text
    assert "loopback" not in text
    assert [one.name for one in sw.schemes()] == listed
    assert completions.names("schemes") == listed
    assert list(sheets()) == listed
    assert every_scheme()[: len(listed)] == listed
    heads = [line for line in (DOCS / "registry.md").read_text().splitlines() if line.startswith("### ")]
    assert "### `letflow`" in heads
    assert not [head for head in heads if "loopback" in head]


def test_a_wrong_name_is_answered_by_schemes_to_choose_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.toml").write_text(samples.TINY_TOML)
    for words in (["compare", str(tmp_path / "tiny.toml"), "--schemes", "ecmp,nothing"], ["schemes", "nothing"]):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert "mprdma_reuse" in error
        assert "loopback" not in error


def test_they_can_be_run_and_shown_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.toml").write_text(samples.TINY_TOML)
    assert main(["run", str(tmp_path / "tiny.toml"), "--set", "scheme.name=loopback_switch"]) == 0
    assert main(["schemes", "loopback_host"]) == 0
    assert "a test of the simulator, not a load balancer" in capsys.readouterr().out


def test_phrases_that_are_no_list_of_schemes_stay() -> None:
    for phrase in ('"drawn" or "its_value"', 'any scheme except "loopback_host"', "a number"):
        assert core.without_tests(phrase) == phrase
    assert core.without_tests('"ecmp", "rps" or "loopback_host"') == '"ecmp" or "rps"'
    assert core.without_tests('"ecmp" or "loopback_host"') == '"ecmp"'
