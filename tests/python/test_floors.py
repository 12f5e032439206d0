"""The Rust crates are graphs without circles, and ARCHITECTURE.md draws their floors as they are."""

from __future__ import annotations

from graphlib import CycleError
from pathlib import Path

import pytest

import floors
from floors import CRATES, Storey, storeys


def storey_id(storey: Storey) -> str:
    return "::".join(storey.folder)


@pytest.mark.parametrize("crate", CRATES)
def test_no_module_stands_on_itself_by_way_of_others(crate: str) -> None:
    found = storeys(CRATES[crate])
    assert {module for floor in found[0].floors() for module in floor} == set(found[0].stands_on)
    for storey in found:
        try:
            storey.floors()
        except CycleError as error:
            raise AssertionError(f"{crate} {storey_id(storey)}: a circle {' -> '.join(error.args[1])}") from None


def test_no_scheme_imports_another() -> None:
    found = {storey.folder: storey.stands_on for storey in storeys(CRATES["policy"])}
    schemes = found[("schemes",)]
    assert len(schemes) > 20
    assert {scheme: others for scheme, others in schemes.items() if others} == {}, "what they share: edge/, fabric/"
    assert [room for room, others in found[()].items() if "schemes" in others] == []


def test_architecture_draws_the_floors() -> None:
    page = floors.PAGE.read_text()
    assert floors.with_floors(page) == page, "run `python tests/python/floors.py --write`"


def crate(folder: Path, files: dict[str, str]) -> list[Storey]:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return storeys(folder)


def test_a_circle_is_found_wherever_it_hides(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::{b::{self, Thing}, c as other};\n",
        "b.rs": "mod inner;\n// use crate::a;\n#[cfg(test)]\nmod tests { use crate::a; }\n",
        "b/inner.rs": "fn f() { super::super::c::g() }\n",
        "c.rs": "pub fn g() {}\n",
    }
    found = crate(tmp_path, files)
    assert found[0].stands_on == {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert found[0].floors() == [["c"], ["b"], ["a"]]
    with pytest.raises(CycleError):
        crate(tmp_path, {"c.rs": "pub fn g() { let _: crate::a::T; }\n"})[0].floors()


def test_a_file_for_tests_alone_does_not_count(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\n",
        "a.rs": "#[cfg(test)]\nmod life;\n",
        "a/life.rs": "use crate::b;\n",
        "b.rs": "use crate::a;\n",
    }
    assert crate(tmp_path, files)[0].stands_on == {"a": set(), "b": {"a"}}
