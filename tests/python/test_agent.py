"""``spinewise agent`` becomes the agent's program, with the words it was given."""

import os
from pathlib import Path

import pytest

from spinewise.cli import main


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands for the agent."""
    path = tmp_path / "spinewise-agent"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("SPINEWISE_AGENT", str(path))
    return path


@pytest.mark.parametrize(
    ("deed", "option", "value"),
    [
        ("run", "--config", "a.json"),
        ("check", "--config", "b.json"),
        ("status", "--socket", "/run/c"),
        ("metrics", "--socket", "d"),
    ],
)
def test_words_are_handed_on(
    program: Path, monkeypatch: pytest.MonkeyPatch, deed: str, option: str, value: str
) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, words: became.append([path, *words[1:]]))
    main(["agent", deed, option, value])
    assert became == [[str(program), deed, option, value]]


def test_without_the_program_it_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SPINEWISE_AGENT", str(tmp_path / "nowhere"))
    assert main(["agent", "status", "--socket", "x"]) == 2
    assert "make agent" in capsys.readouterr().err


def test_the_unit_of_systemd_starts_what_there_is() -> None:
    unit = (Path(__file__).parents[2] / "crates/agent/systemd/spinewise-agent.service").read_text()
    starts = [line.split("=", 1)[1].split() for line in unit.splitlines() if line.startswith("ExecStart")]
    # What is refused is not tried again: systemd looks at the exit of this program only, and not at one before it.
    assert [words[1:3] for words in starts] == [["run", "--config"]]
    assert "RestartPreventExitStatus=2" in unit
    assert "StartLimitIntervalSec=0" in unit
    assert all(word in unit for word in ("CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_PERFMON"))
    # Labs have /run/spinewise, and systemd removes the folder of a unit that stops.
    assert "RuntimeDirectory=spinewise-agent\n" in unit
    assert "LogsDirectory=spinewise-agent\n" in unit
