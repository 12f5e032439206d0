"""Errors about a spec or study file say where the key stands, as file:line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.specs.lines import lines, located
from spinewise.studies.file import read
from spinewise.studies.study import Study

TEXT = '''# a comment
name = "run"
seed = 1

[topology]
leaves = 2
spines = 2

[[topology.override]]
leaf = 0
rate_gbps = 5

[[topology.override]]
leaf = 1
"rate_gbps" = 2

[transport]
kind = "dctcp"

[scheme]
name = "letflow"
params.flowlet_gap_us = 100

[[traffic]]
kind = "poisson"
cdf = "web_search"
load = 0.3
duration_us = 10

[[traffic]]
kind = "flows"
list = [
  { src = 0, dst = 2, size_bytes = 1000 },
  { src = 1, dst = 3, size_bytes = 2000 },
]

[compare]
schemes = ["ecmp"]

[bounds]
"all.unfinished" = [0, 0]

[import]
note = """
[topology]
leaves = 0
"""
after = { of = { it = 1 } }
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("name", 2),
        ("topology", 5),
        ("topology.leaves", 6),
        ("topology.override", 9),
        ("topology.override[0]", 9),
        ("topology.override[0].rate_gbps", 11),
        ("topology.override[1]", 13),
        ("topology.override[1].rate_gbps", 15),
        ("scheme.params", 22),
        ("scheme.params.flowlet_gap_us", 22),
        ("traffic", 24),
        ("traffic[1]", 30),
        ("traffic[1].list", 32),
        ("traffic[1].list[0].size_bytes", 33),
        ("traffic[1].list[1]", 34),
        ("traffic[1].list[1].size_bytes", 34),
        ("bounds.all.unfinished", 41),
        ("import.note", 44),
        ("import.after", 48),
        ("import.after.of.it", 48),
    ],
)
def test_every_kind_of_key_has_its_line(path: str, line: int) -> None:
    assert dict(core.toml_lines(TEXT))[path] == line


def test_line_ends_of_windows_and_letters_of_several_bytes_do_not_shift_lines() -> None:
    known = dict(core.toml_lines('# über\r\n\r\na = "é"\r\n[b]\r\nc = 1'))
    assert known == {"a": 3, "b": 4, "b.c": 5}


def test_what_is_no_toml_has_no_lines() -> None:
    assert core.toml_lines("a = ") == []


@pytest.mark.parametrize(
    ("wrong", "right", "key", "line"),
    [
        ("leaves = 2", "leaves = 0", "topology.leaves", 6),
        ("spines = 2", "spine = 2", "topology.spine", 7),
        ('"rate_gbps" = 2', '"rate_gbps" = "fast"', "topology.override[1].rate_gbps", 15),
        ("params.flowlet_gap_us = 100", "params.flowlet_gap_us = -1", "scheme.params.flowlet_gap_us", 22),
        ("load = 0.3", "load = -0.3", "traffic[0].load", 27),
        # A key that is missing has the line of its table.
        ('kind = "poisson"\n', "", "traffic[0].kind", 24),
        ("size_bytes = 2000 }", "size_bytes = 0 }", "traffic[1].list[1].size_bytes", 34),
        ('schemes = ["ecmp"]', 'schemes = "ecmp"', "compare.schemes", 38),
        ('"all.unfinished" = [0, 0]', '"all.unfinished" = [1, 0]', "bounds.all.unfinished", 41),
    ],
)
def test_a_refused_key_is_found(tmp_path: Path, wrong: str, right: str, key: str, line: int) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(TEXT.replace(wrong, right))
    assert path.read_text() != TEXT
    with pytest.raises(SpecError) as caught:
        sw.run(path)
    error = caught.value
    assert (error.key, error.file, error.line) == (key, str(path), line)
    assert error.one_line().startswith(f"{path}:{line}: {key} = ")
    assert pickle.loads(pickle.dumps(error)).line == line


def test_an_entry_that_an_option_has_added_has_no_line(tmp_path: Path) -> None:
    """The line of the list's first entry was named, which is not to blame."""
    (tmp_path / "spec.toml").write_text('[[traffic]]\nkind = "permutation"\n')
    error = located(SpecError("traffic[1].kind", None, "a kind"), tmp_path / "spec.toml")
    assert error.line is None
    error = located(SpecError("traffic[0].size_bytes", None, "a size"), tmp_path / "spec.toml")
    assert error.line == 1


def test_text_that_is_no_toml_has_the_line_where_reading_stopped(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text("[topology]\nleaves = 2\nspines = \n")
    with pytest.raises(SpecError) as caught:
        sw.resolve(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3)


def test_the_command_line_says_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(TEXT.replace("leaves = 2", "leaves = 0"))
    for command in ("run", "validate", "compare"):
        assert main([command, str(path)]) == 2
        assert f"bad input in {path}:6\n" in capsys.readouterr().err
    assert main(["run", str(path), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["file"], error["line"]) == (str(path), 6)


@pytest.mark.parametrize("override", ["topology.leaves=0", "topology={leaves = 0}"])
def test_an_override_names_itself(tmp_path: Path, override: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(TEXT)
    assert main(["validate", str(path), "--set", override]) == 2
    err = capsys.readouterr().err
    assert "--set topology.leaves" in err
    assert str(path) not in err


def test_a_dict_has_no_file() -> None:
    with pytest.raises(SpecError) as caught:
        sw.resolve({"topology": {"leaves": 0}, "traffic": []})
    assert (caught.value.file, caught.value.line) == (None, None)


def test_an_error_of_another_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(TEXT)
    other = SpecError("topology.leaves", 0, "more", file="flows.csv", line=7)
    assert located(other, path).place == "flows.csv:7"
    assert located(SpecError("--out", 0, "more"), path).place is None
    assert located(SpecError("topology.leaves", 0, "more"), tmp_path / "none.toml").place == f"{tmp_path}/none.toml"
    assert lines(path)["name"] == 2


STUDY = """[study]
name = "gaps"
spec = "fabric.toml"
seeds = 2

[grid]
schemes = ["ecmp"]
"topology.spines" = [2, 3]
"""


@pytest.mark.parametrize(
    ("study", "spec", "place"),
    [
        (("seeds = 2", "seeds = 0"), ("", ""), "study.toml:4"),
        (('spines" = [2, 3]', 'spines" = [2, 0]'), ("", ""), "study.toml:8"),
        (("", ""), ("load = 0.3", "load = -1"), "fabric.toml:27"),
        (("seeds = 2", "seeds = "), ("", ""), "study.toml:4"),
    ],
)
def test_a_study_blames_itself_or_its_spec(
    tmp_path: Path, study: tuple[str, str], spec: tuple[str, str], place: str
) -> None:
    (tmp_path / "fabric.toml").write_text(TEXT.replace(*spec) if spec[0] else TEXT)
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(*study) if study[0] else STUDY)
    with pytest.raises(SpecError) as caught:
        Study.of(read(path))
    assert caught.value.place == str(tmp_path / place)
