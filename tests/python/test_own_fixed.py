"""The object of a scheme written in Python: it cannot be changed while it runs; and where commands find its class."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import spinewise as sw
from spinewise.advice.candidates import find
from spinewise.cli import main
from spinewise.own.fixed import fixed
from spinewise.own.load import load_scheme
from spinewise.runs.simulated import KEEPS_STATE
from spinewise.shapes import Spec

SMALL: dict[str, object] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 30_000}],
    "run": {"until_us": 100_000},
}
SPEC = '[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[[traffic]]\nkind = "permutation"\nsize_bytes = 9000\n'
FILE = '''
import spinewise as sw


class Mine(sw.SwitchScheme):
    """Takes one way."""

    name = "mine"
    way = sw.whole(0, 0, 1, "which")

    def pick(self, cx, flow, packet, header):
        return self.way
'''


class Table(sw.SwitchScheme):
    """Keeps a table on its object, in a list of lists, or reads one."""

    writes = sw.flag(default=True)

    def __init__(self) -> None:
        self.table = [[0, 1], [1, 0]]

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        if self.writes:
            self.table[1][0] = 1
        return int(self.table[0][packet.dst % 2])


class Ways(sw.SwitchScheme):
    """The ways of `Table`, without one."""

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return int(packet.dst % 2)


def test_state_in_a_container_of_the_object_is_refused_where_it_is_kept() -> None:
    with pytest.raises(sw.SchemeError, match=r"Table\.table cannot be changed while it runs") as failed:
        sw.run(SMALL, scheme=Table)
    assert failed.value.hook == "Table.pick"
    reads = {**SMALL, "scheme": {"name": "Table", "params": {"writes": False}}}
    outcomes = [sw.run(spec, scheme=scheme).report["outcome_hash"] for spec, scheme in ((reads, Table), (SMALL, Ways))]
    assert outcomes[0] == outcomes[1]


CHANGES: list[tuple[object, Callable[[Any], object]]] = [
    ([1], lambda one: one.append(2)),
    ([1], lambda one: one.__setitem__(0, 2)),
    ([[1]], lambda one: one[0].clear()),
    (([1],), lambda one: one[0].append(2)),
    ({1: 2}, lambda one: one.setdefault(3, 4)),
    ({1: {2: 3}}, lambda one: one[1].update({2: 4})),
    ({1}, lambda one: one.add(2)),
    (bytearray(b"x"), lambda one: one.extend(b"y")),
    (deque([1], 3), lambda one: one.appendleft(2)),
    (defaultdict(int, {1: 2}), lambda one: one[3]),
]


@pytest.mark.parametrize(("value", "change"), CHANGES)
def test_containers_are_equal_and_refuse_changes(value: Any, change: Callable[[Any], object]) -> None:
    made = fixed(value, "Mine.table")
    assert made == value
    assert isinstance(made, type(value))
    with pytest.raises(AttributeError, match=r"Mine\.table cannot be changed while it runs: all devices share"):
        change(made)
    assert made == value
    change(value)
    assert made != value


def test_arrays_become_read_only_and_other_values_stay() -> None:
    array = np.arange(3)
    made: Any = fixed(array, "Mine.table")
    with pytest.raises(ValueError, match="read-only"):
        made[0] = 1
    array[0] = 5
    assert fixed("text", "Mine.word") == "text"
    assert fixed(thing := object(), "Mine.thing") is thing


COUNTING = """
import spinewise as sw
import counts


class Default(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header, seen=[]):
        seen.append(packet.flow)
        return len(seen) % 2


class Module(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header):
        counts.made += 1
        return counts.made % 2


class Reads(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header, ways=(0, 1)):
        return ways[counts.made % 2]
"""


@pytest.mark.parametrize(
    ("name", "changed"),
    [("Default", "a default of Default.pick differs"), ("Module", "counts.made differs"), ("Reads", None)],
)
def test_state_outside_the_class_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: str | None
) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    (tmp_path / "counts.py").write_text("made = 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = sw.run(SMALL, scheme=load_scheme(f"{tmp_path / 'counting.py'}:{name}"))
    told = [one["text"] for one in result.report["warnings"] if one["code"] == KEEPS_STATE]
    assert [text.partition(" after the run")[0] for text in told] == ([changed] if changed else [])


def test_names_of_the_package_are_looked_up_once() -> None:
    assert sw.us is vars(sw)["us"]
    assert sw.ANY == vars(sw)["ANY"] == 65_535


def written(folder: Path) -> str:
    (folder / "mine.py").write_text(FILE)
    return f"{folder / 'mine.py'}:Mine"


def test_what_is_set_is_set_on_the_scheme_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    command = ["run", str(spec), "--scheme-file", written(tmp_path)]
    assert main(command) == 0
    assert "scheme mine · seed 1 · outcome hash" in capsys.readouterr().out
    assert main([*command, "--set", "scheme.name=mine", "--set", "scheme.params.way=1"]) == 0
    capsys.readouterr()
    for value in ("scheme.name=ecmp", "scheme.name=letflow"):
        assert main([*command, "--set", value]) == 2
        assert "a key of mine, which --scheme-file runs in place of" in capsys.readouterr().err
    # Without a scheme in the spec it is a parameter of the file's; with another one it would be dropped.
    assert main(["validate", *command[1:], "--set", "scheme.params.way=1"]) == 0
    spec.write_text(f'{spec.read_text()}[scheme]\nname = "ecmp"\n')
    assert main(["validate", *command[1:], "--set", "scheme.params.way=1"]) == 2
    assert "--set scheme.name=mine comes first" in capsys.readouterr().err


def test_a_study_may_vary_the_scheme_of_its_spec(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(f'{SPEC}[scheme]\nname = "mine"\n')
    study = tmp_path / "study.toml"
    study.write_text('[study]\nspec = "spec.toml"\nseeds = 1\n[grid]\n"scheme.params.way" = [0, 1]\n')
    with pytest.raises(sw.SpecError, match="scheme-file"):
        sw.sweep(study, store=tmp_path / "none")
    words = ["sweep", str(study), "--scheme-file", written(tmp_path), "--store", str(tmp_path / "kept"), "--jobs", "1"]
    assert main(words) == 0
    found = sw.query(tmp_path / "kept", "select variant from runs order by variant").to_pylist()
    assert [row["variant"] for row in found] == ["mine:way=0", "mine:way=1"]


def test_advice_may_keep_a_scheme_of_your_own() -> None:
    spec = cast(Spec, {**SMALL, "scheme": {"name": "Ways"}})
    with pytest.raises(sw.SpecError, match="scheme-file") as refused:
        find(spec, ("switches",), ["ecmp"])
    assert refused.value.key == "scheme.name"
    field = find(spec, ("switches",), ["ecmp", "drill"], [Ways])
    assert field.today == "Ways"
