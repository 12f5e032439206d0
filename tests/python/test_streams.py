"""What is printed: names as they stand, and no traceback wherever it goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spinewise
from samples import TINY_TOML
from spinewise.cli import main
from spinewise.show import style

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(spinewise.__file__).parents[1])}
ODD = "a[/b] [red]x[/red] :smile: $x$ [v2]"
SHORT = ["--set", "traffic[0].duration_us=500"]


def shell(line: str, *args: object) -> subprocess.CompletedProcess[str]:
    """A line of shell in which `S` is the command."""
    command = f'S() {{ {sys.executable} -m spinewise "$@"; }}; {line}'
    words = ["bash", "-c", command, "bash", *map(str, args)]
    return subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)


def test_markup_in_names_is_printed_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--out 'a[/b]'` ended in a traceback after the run, and `res[v2]` lost its brackets."""
    name = ODD.replace("/", "|")
    spec = tmp_path / f"{name}.toml"
    spec.write_text(TINY_TOML.replace('"tiny"', f'"{name}"'))
    out = tmp_path / ODD
    assert main(["run", str(spec), *SHORT, "--out", str(out)]) == 0
    assert f"results in {out}" in " ".join(capsys.readouterr().out.split("\n")).replace("  ", " ")
    assert (out / "run.json").is_file()
    assert main(["validate", str(spec)]) == 0
    assert f"{name}.toml: valid" in capsys.readouterr().out


def test_labels_are_shown_as_they_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In tables, in files and in figures; a label with an underscore before it had no line in the legend."""
    spec = tmp_path / "spec.toml"
    spec.write_text(TINY_TOML)
    labels = ["[/b] :smile:", r"$\frac$", "_hidden", "a|b"]
    schemes = ",".join(f"rps@{label}" for label in labels)
    args = ["compare", str(spec), *SHORT, "--schemes", schemes, "--seeds", "1", "--loads", "0.3", "--out"]
    assert main([*args, str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    table = (tmp_path / "out" / "table.txt").read_text()
    for label in labels:
        assert label in printed
        assert label in table


def test_formulas_are_left_to_the_axes() -> None:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    made = Figure()
    axes = made.subplots()
    axes.set_yscale("log")
    axes.set_title(r"$\frac$")
    axes.set_xticks([0, 1], [r"$\bad{$", "b"])
    style.as_they_stand(made)
    made.draw_without_rendering()
    shown = {text.get_text(): text.get_parse_math() for text in made.findobj(Text) if isinstance(text, Text)}
    assert shown[r"$\frac$"] is False
    assert shown[r"$\bad{$"] is False
    assert shown[r"$\mathdefault{10^{0}}$"] is True


@pytest.mark.parametrize("command", ["run", "run --json", "compare --schemes ecmp,rps --seeds 1", "validate", "--help"])
def test_a_full_disk_behind_standard_output_is_said(tiny: Path, command: str) -> None:
    first, *rest = command.split()
    words = "" if first == "--help" else '"$1" --set traffic[0].duration_us=500'
    done = shell(f"S {first} {words} {' '.join(rest)} > /dev/full", tiny)
    assert done.returncode == 2, done.stderr
    assert "standard output" in done.stderr
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["run", "run --json", "run --seed x", "schemes"])
def test_closed_streams_are_no_defect(tiny: Path, closing: str, command: str) -> None:
    """`run --json >&-` ended in a traceback."""
    first, *rest = command.split()
    words = "" if first == "schemes" else '"$1" --set traffic[0].duration_us=500'
    done = shell(f"S {first} {words} {' '.join(rest)} {closing}", tiny)
    assert done.returncode == (2 if "x" in rest else 0)
    assert "Traceback" not in done.stderr + done.stdout
    if "2>&-" not in closing and ">&-" in closing:
        assert "standard output is closed" in done.stderr
    if closing == "2>&-":
        assert "bad input" not in done.stdout


def test_results_are_whole_with_closed_streams(tiny: Path, tmp_path: Path) -> None:
    """The first file that was opened got the number of standard output."""
    done = shell('S run "$1" --set traffic[0].duration_us=500 --out "$2" <&- >&- 2>&-', tiny, tmp_path / "out")
    assert done.returncode == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["format"] == "spinewise-run-1"


@pytest.mark.parametrize("target", ["/dev/full", "&-"])
def test_a_run_does_not_end_for_its_progress(tiny: Path, tmp_path: Path, target: str) -> None:
    done = shell(f'S run "$1" --set traffic[0].duration_us=500 --out "$2" 2>{target}', tiny, tmp_path / "out")
    assert done.returncode == 0
    assert (tmp_path / "out" / "run.json").is_file()
    assert shell(f'S run "$1" --seed x 2>{target}', tiny).returncode == 2


@pytest.mark.parametrize("command", ["schemes", "--help", "run --help", "schemes --json"])
def test_a_closed_pipe_is_no_error(command: str) -> None:
    done = shell(f"S {command} | true; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode == 0


def test_names_that_are_no_utf8_are_printed(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.toml"
    with open(name, "w") as stream:
        stream.write(TINY_TOML)
    done = shell("S validate \"$1\"/$'\\xff'.toml", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "valid" in done.stdout
    done = shell("PYTHONIOENCODING=ascii S schemes", tmp_path)
    assert done.returncode == 0, done.stderr
