"""The JSON Schemas: what they accept and refuse, beside what the engine does."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import spinewise as sw
from fuzz import mutate
from samples import TINY_TOML
from spinewise import core, schemas
from spinewise.cli import main
from spinewise.docs.schemas import texts
from spinewise.errors import SpecError
from spinewise.schemas.spec import EITHER, SELECTORS, entries, spec_schema
from spinewise.schemas.study import study_schema
from spinewise.specs.spec import BESIDE_THE_RUN, as_spec

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "scenarios").glob("*.toml"))
VALIDATOR = jsonschema.Draft7Validator(json.loads(schemas.path("spec").read_text()))

FAT_TREE = """
[topology]
kind = "fat_tree"
k = 4
override = [{ core = [0, 1], rate_gbps = 5 }, { host = 3, up = true }]
[transport]
kind = "rdma"
recovery = "irn"
[switch]
model = "shared_buffer"
[scheme]
name = "presto"
fabric = "ecmp"
[[traffic]]
kind = "incast"
receiver = 0
senders = [4, 5]
size_bytes = 1000
[[fault]]
kind = "loss"
ends = ["leaf0", "aggregation0"]
at_us = 1
probability = 0.5
[metrics]
size_classes = [{ name = "small", below_bytes = 1000 }]
"""

GRAPH = """
[topology]
kind = "links"
hosts = 2
switches = 2
links = [[0, 2, 10, 100], [1, 3, 10, 100], { a = 2, b = 3, rate_gbps = 10, delay_ns = 5 }]
[scheme]
name = "letflow"
params = { flowlet_gap_us = 100 }
[[traffic]]
kind = "udp"
src = 0
dst = 1
schedule = [{ at_us = 0, rate_gbps = 1 }]
end_us = 10
[[traffic]]
kind = "flows"
list = [{ src = 0, dst = 1, size_bytes = 100 }]
"""

BASES = {"tiny": TINY_TOML, "fat-tree": FAT_TREE, "graph": GRAPH}


def refused(spec: Mapping[str, object]) -> list[str]:
    """What the schema says against a spec."""
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(spec)]


def engine_refuses(spec: dict[str, Any]) -> bool:
    """Whether the engine refuses it."""
    try:
        sw.resolve(as_spec(spec))
    except SpecError:
        return True
    return False


def tables(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every table of a spec."""
    if isinstance(node, dict):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from tables(value, (*path, key))


def without_null(node: Any) -> Any:
    """As TOML can say it: null counts as not given."""
    if isinstance(node, dict):
        return {key: without_null(value) for key, value in node.items() if value is not None}
    return [without_null(item) for item in node] if isinstance(node, list) else node


def at(spec: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        spec = spec[step]
    return spec


@pytest.mark.parametrize("kind", schemas.KINDS)
def test_schemas_are_schemas_and_installed_as_they_are_made(kind: str) -> None:
    made = spec_schema() if kind == "spec" else study_schema()
    jsonschema.Draft7Validator.check_schema(made)
    assert json.loads(schemas.path(kind).read_text()) == made
    assert (ROOT / next(path for path in texts() if path.stem == kind)).read_text() == schemas.path(kind).read_text()


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_scenario_passes(path: Path) -> None:
    assert refused(tomllib.loads(path.read_text())) == []


def test_a_resolved_spec_passes() -> None:
    for text in BASES.values():
        assert refused(sw.resolve(tomllib.loads(text))) == []


def test_studies_pass_and_wrong_ones_do_not() -> None:
    validator = jsonschema.Draft7Validator(study_schema())
    study = tomllib.loads((ROOT / "examples" / "study.toml").read_text())
    assert validator.is_valid(study)
    assert validator.is_valid(study | {"study": {"spec": tomllib.loads(TINY_TOML)}})
    wrongs: list[dict[str, Any]] = [
        {"gird": {}},
        {"study": {}},
        {"study": {"spec": {"topology": {"leafs": 2}, "traffic": []}}},
        {"grid": {"schemes": "ecmp"}},
        {"grid": {"faults": [{"fault": []}]}},
        {"stop": {"min_seeds": 9}},
        {"keep": {"flows": "yes"}},
    ]
    for wrong in wrongs:
        assert not validator.is_valid(study | wrong), wrong


@pytest.mark.parametrize("name", BASES)
def test_what_is_spoilt_is_refused_by_both(name: str) -> None:
    base = tomllib.loads(BASES[name])
    assert not engine_refuses(base)
    assert refused(base) == []
    tried = 0
    wrongs: list[Any] = [[[[]]], {"no": "such"}, "no such word", -1]
    for path in tables(base):
        unknown = deepcopy(base)
        at(unknown, path)["no_such_key"] = 1
        assert engine_refuses(unknown), path
        assert refused(unknown), path
        for key in at(base, path):
            for wrong in wrongs:
                spoilt = deepcopy(base)
                at(spoilt, path)[key] = wrong
                if refused(spoilt):
                    assert engine_refuses(spoilt), (path, key, wrong)
                    tried += 1
                else:
                    # The schema cannot know which names, numbers and files fit together.
                    assert isinstance(wrong, str) or engine_refuses(spoilt) or wrong == {"no": "such"}, (path, key)
    assert tried > 50


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[topology]\nkind = "fat_tree"\nspines = 2', "$.topology"),
        ("[topology]\nk = 4", "$.topology"),
        ("[topology]\nleaves = 0", "$.topology.leaves"),
        ('[topology]\nfile = "x"\nhosts = 2', "$.topology"),
        ('[transport]\nkind = "rdma"\nmin_rto_us = 5', "$.transport"),
        ('[scheme]\nname = "ecmq"', "$.scheme.name"),
        ('[scheme]\nname = "letflow"\nparams = { gap = 5 }', "$.scheme.params"),
        ("[scheme]\nparams = { flowlet_gap_us = 5 }", "$.scheme.params"),
        ('preset = "windows"', "$.preset"),
        ("[compare]\nseeds = 0", "$.compare.seeds"),
    ],
)
def test_the_wrong_table_or_key_is_named(text: str, path: str) -> None:
    spec = tomllib.loads(text) | {"traffic": tomllib.loads(TINY_TOML)["traffic"]}
    assert path in [error.json_path for error in VALIDATOR.iter_errors(spec)]


def test_random_specs_that_the_engine_takes_pass() -> None:
    taken = 0
    for number in range(1500):
        spec = without_null(mutate.spec(3, number))
        if not engine_refuses(spec):
            taken += 1
            assert refused(spec) == [], (number, spec)
    assert taken > 300


def test_keys_that_the_engine_tells_in_words_alone_are_all_known() -> None:
    silent = {param["name"] for entry in entries("spec").values() for param in entry["params"] if not param["schema"]}
    assert silent == set(EITHER)


def test_selectors_are_those_that_take_lists() -> None:
    listed = {"leaf": [0, 1], "spine": [0], "link": [0]}
    sw.resolve({"topology": {"override": [listed | {"rate_gbps": 1}]}} | {"traffic": _traffic()})
    tree = {"kind": "fat_tree", "override": [{"aggregation": [0, 1], "up": True}, {"core": [0], "up": True}]}
    sw.resolve({"topology": tree, "traffic": _traffic()})
    assert {"aggregation", "core", "host", *listed} == set(SELECTORS)


def _traffic() -> list[dict[str, Any]]:
    traffic: list[dict[str, Any]] = tomllib.loads(TINY_TOML)["traffic"]
    return traffic


def test_every_key_explains_itself_to_editors() -> None:
    properties = spec_schema()["properties"]
    assert isinstance(properties, dict)
    leaves: Any = properties["topology"]
    text = leaves["properties"]["host_rate_gbps"]["description"]
    assert "Unit: Gbps." in text
    assert "Default: 10." in text
    assert set(BESIDE_THE_RUN) < set(properties)
    schemes: Any = properties["scheme"]
    named = schemes["properties"]["name"]["anyOf"][0]
    assert named["enum"] == [entry["name"] for entry in core.registry()["schemes"]]
    assert all(named["x-taplo"]["docs"]["enumValues"])


def test_the_command_prints_it_or_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Spinewise spec"
    assert main(["schema", "study", "--path"]) == 0
    assert json.loads(Path(capsys.readouterr().out.strip()).read_text())["title"] == "Spinewise study"
    assert main(["schema", "sepc"]) == 2
    assert 'did you mean "spec"?' in capsys.readouterr().err
