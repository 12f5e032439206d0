"""Completion, as a real bash asks for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spinewise
from spinewise.cli import main

# What bash does at a TAB: it splits the line, calls the function, and takes what that leaves in COMPREPLY.
AT_TAB = r"""
eval "$(spinewise completions bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
read -ra COMP_WORDS <<<"$1"
if [[ $1 == *' ' ]]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
found=$(complete -p spinewise); found=${found#*-F }
"${found%% *}" spinewise
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with the command of this checkout."""
    folder = tmp_path_factory.mktemp("bin")
    package = Path(spinewise.__file__).parents[1]
    command = folder / "spinewise"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m spinewise "$@"\n')
    command.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("spinewise compl", {"completions"}),
        ("spinewise compare x.toml --sch", {"--schemes", "--scheme-file"}),
        ("spinewise compare x.toml --schemes ecmp,letf", {"ecmp,letflow"}),
        ("spinewise schemes conw", {"conweave"}),
        ("spinewise transports rd", {"rdma"}),
        ("spinewise new --transport ", {"tcp", "rdma", "uet"}),
        ("spinewise new --workload all_", {"all_reduce", "all_to_all"}),
        ("spinewise run x.toml --set transport.min_r", {"transport.min_rto_us="}),
        ("spinewise schema st", {"study"}),
    ],
)
def test_bash_is_offered_what_fits(path: str, line: str, offered: set[str]) -> None:
    bash = shutil.which("bash")
    assert bash, "bash is a part of every machine that builds this"
    done = subprocess.run(
        [bash, "--norc", "-c", AT_TAB, "bash", line], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert {word.strip() for word in done.stdout.splitlines() if word.strip()} == offered


@pytest.mark.parametrize(("shell", "mark"), [("bash", "complete "), ("zsh", "compdef"), ("fish", "complete --command")])
def test_each_shell_has_a_script(shell: str, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completions", shell]) == 0
    script = capsys.readouterr().out
    assert mark in script
    assert "spinewise" in script


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completions", "tcsh"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err
