"""ARCHITECTURE.md: each file of its walks is there, and what is said to stand in a file does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"^(\d+)\. `([^`]+)` `(\w+)`: \S", re.MULTILINE)
WALK = re.compile(r"^\*\*One ([a-z]+)[^*]*\*\*", re.MULTILINE)
PAIR = re.compile(r"`((?:impl )?[A-Za-z_][\w:]*)`\s+in\s+`([\w/]+\.(?:rs|py))`")
SOURCES = [path for top in ("crates", "python") for kind in ("rs", "py") for path in (ROOT / top).rglob(f"*.{kind}")]
COUNT = re.compile(r"^\| (\w+) \| (\d+) \| \d+ \|", re.MULTILINE)


def section() -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return text.split("## A reader's walk\n", 1)[1].split("\n## ", 1)[0]


def walks() -> dict[str, list[tuple[str, str, str]]]:
    """The steps of each walk: number, file, name."""
    _, *parts = WALK.split(section())
    return {name: STEP.findall(steps) for name, steps in zip(parts[::2], parts[1::2], strict=True)}


STEPS = [(walk, file, name) for walk, steps in walks().items() for _, file, name in steps]


def test_there_are_four_and_each_is_numbered() -> None:
    found = walks()
    assert list(found) == ["packet", "spec", "parameter", "column"]
    for steps in found.values():
        assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert len(re.findall(r"^\d+\. ", section(), re.MULTILINE)) == len(STEPS), "a step of another form"


@pytest.mark.parametrize(("walk", "file", "name"), STEPS)
def test_what_is_named_is_declared_there(walk: str, file: str, name: str) -> None:
    text = (ROOT / file).read_text()
    declared = rf"\b(?:fn|struct|enum|trait|const|macro_rules!|def|class) {name}\b|^\s*{name}: "
    assert re.search(declared, text, re.MULTILINE), f"{walk}: {file} declares no {name}"


def test_the_files_are_counted() -> None:
    counted = {walk: int(count) for walk, count in COUNT.findall(section())}
    assert counted == {walk: len({file for _, file, _ in steps}) for walk, steps in walks().items()}


@pytest.mark.parametrize(("name", "file"), PAIR.findall((ROOT / "ARCHITECTURE.md").read_text()))
def test_what_is_said_to_stand_in_a_file_does(name: str, file: str) -> None:
    """`name` in `file`: a function, a type, an `Owner::name`, or an `impl Trait`."""
    places = [path for path in SOURCES if path.as_posix().endswith(f"/{file}")]
    assert places, f"no file {file}"
    *owners, last = re.split(r"::| ", name)
    wanted = [rf"\b(?:fn|struct|enum|trait|const|type|def|class) {last}\b|^\s*(?:pub )?{last}[,: {{(]"]
    if owners == ["impl"]:
        wanted = [rf"^impl\b.*\b{last}\b"]
    elif owners:
        wanted.append(rf"\b(?:impl|struct|enum|trait)\b.*\b{owners[0]}\b")
    texts = [path.read_text() for path in places]
    found = [all(re.search(pattern, text, re.MULTILINE) for pattern in wanted) for text in texts]
    assert any(found), f"{file} declares no {name}"
