"""The scenarios that come with the package: listed, printed, copied, and run by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.scenarios import first_sentence, scenarios, spec_path

ROOT = Path(__file__).parents[2]


def test_the_folder_of_a_checkout_is_that_of_the_package() -> None:
    assert (ROOT / "scenarios").resolve() == scenarios()[0].path.parent.resolve()


def test_they_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "incast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"].startswith("#")
    assert main(["scenarios", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"demo", "web_and_incast", "rdma_incast"} <= {one["name"] for one in told}
    assert all(20 < len(one["about"]) < 250 for one in told)
    assert main(["scenarios"]) == 0
    assert "demo_selb" in capsys.readouterr().out


def test_one_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "demo"]) == 0
    assert capsys.readouterr().out == (ROOT / "scenarios" / "demo.toml").read_text()
    assert main(["scenarios", "dmeo"]) == 2
    assert 'did you mean "demo"?' in capsys.readouterr().err


def test_all_are_copied_into_a_new_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine"
    assert main(["scenarios", "--copy", str(target)]) == 0
    assert sorted(path.name for path in target.iterdir()) == [one.path.name for one in scenarios()]
    (target / "demo.toml").write_text("changed")
    assert main(["scenarios", "--copy", str(target)]) == 2
    assert "--copy" in capsys.readouterr().err
    assert (target / "demo.toml").read_text() == "changed"


def test_a_name_stands_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "one_udp_flow", "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert ran["outcome_hash"] == sw.run(ROOT / "scenarios" / "one_udp_flow.toml").report["outcome_hash"]
    assert main(["run", "one_upd_flow"]) == 2
    capsys.readouterr()


def test_a_name_stands_for_its_file_in_python_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sw.resolve("one_udp_flow") == sw.resolve(ROOT / "scenarios" / "one_udp_flow.toml")
    (tmp_path / "one_udp_flow").write_text('traffic = [{kind = "permutation", size_bytes = 1000}]')
    assert sw.resolve("one_udp_flow")["traffic"][0]["kind"] == "permutation"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("dmeo", 'did you mean "demo"?'),
        ("scenarios/demo.toml", 'the scenario "demo" comes with Spinewise'),
        ("demo.toml", 'the scenario "demo" comes with Spinewise'),
        ("nothing_like_any.toml", "No such file"),
        ("demo/", "No such file"),
    ],
)
def test_a_file_that_is_not_there_leads_to_the_scenario_that_was_meant(
    given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", given]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert f"value    {given}\n" in err


def test_a_file_goes_before_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(spec_path("demo")).is_file()
    (tmp_path / "demo").write_text("")
    assert spec_path("demo") == "demo"
    assert spec_path("../demo") == "../demo"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# One. Two.\nname = 1", "One"),
        ("# One thing\n# and more: `do it`.\n", "One thing and more"),
        ("name = 1", ""),
    ],
)
def test_the_first_sentence_of_a_comment(text: str, said: str) -> None:
    assert first_sentence(text) == said
