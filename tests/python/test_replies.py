"""What the engine replies is what `spinewise.replies` and `spinewise.shapes` declare, key for key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, get_type_hints, is_typeddict

import pytest

import spinewise as sw
from samples import TINY_SPEC
from spinewise import core, replies
from spinewise.replies import Checked, Column, Fabric, Registry, Timed, WorkedOut
from spinewise.schemas.shapes import shapes
from spinewise.schemas.spec import spec_schema
from spinewise.shapes import Spec
from spinewise.specs.spec import worked_out
from test_schemas import BASES, SPECS
from typed import wrong

ROOT = Path(__file__).parents[2]


def test_the_registry() -> None:
    assert wrong(Registry, core.registry(), "registry") == []


def test_columns() -> None:
    described = dict(core.columns())
    names = described.pop("series_names")
    assert wrong(dict[str, list[Column]], described, "columns") == []
    assert {key for one in names for key in one} == {"name", "meaning"}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_resolved_spec_and_its_fabric(path: Path) -> None:
    assert wrong(Spec, sw.resolve(path), "spec") == []
    assert wrong(Fabric, core.topology(sw.resolve(path)), "fabric") == []
    assert wrong(list[WorkedOut], worked_out(path), "worked out") == []


@pytest.mark.parametrize("text", BASES.values(), ids=BASES)
def test_a_resolved_spec_of_every_kind(text: str) -> None:
    assert wrong(Spec, sw.resolve(tomllib.loads(text)), "spec") == []


def test_what_is_checked_before_a_run() -> None:
    assert wrong(Checked, core.validate(sw.resolve(TINY_SPEC)), "checked") == []


@pytest.mark.parametrize("only", ["", "decisions", "packet_size", "reference"])
def test_times(only: str) -> None:
    assert wrong(list[Timed], core.bench(only, rounds=1, share=0.0005), "times") == []


def test_a_key_that_may_be_missing_is_there_somewhere() -> None:
    met = keys_met(Registry, core.registry())
    for kind in (replies.Workload, replies.Transport):
        assert set(get_type_hints(kind)) <= met[kind.__name__]


def keys_met(kind: Any, value: Any) -> dict[str, set[str]]:
    """The keys that values of each type have."""
    found: dict[str, set[str]] = {}
    for part, hint in get_type_hints(kind).items():
        (item,) = hint.__args__
        if is_typeddict(item):
            found[item.__name__] = {key for one in value[part] for key in one}
    return found


def test_the_types_of_a_spec_are_those_of_the_registry() -> None:
    assert (ROOT / "python/spinewise/shapes.py").read_text() == shapes(spec_schema())
