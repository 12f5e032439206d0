"""The walks of ARCHITECTURE.md: each file is there, and what is to be read in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"^(\d+)\. `([^`]+)` `(\w+)`: \S", re.MULTILINE)
WALK = re.compile(r"^\*\*One ([a-z]+)[^*]*\*\*", re.MULTILINE)
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
