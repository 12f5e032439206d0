"""Specs that name files of other simulators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.interop import embed, topology
from spinewise.interop.text import InteropWarning
from spinewise.shapes import Spec
from spinewise.specs import spec
from test_interop_files import FLOWS, TOPOLOGY

SPEC = '[topology]\nhosts_per_leaf = 4\n[[traffic]]\nkind = "flows"\nfile = "flow.txt"\n'


def expanded(given: Mapping[str, object]) -> Spec:
    tables = spec.as_tables(given)
    embed.expand(tables)
    return spec.as_spec(tables)


def engine_has_links() -> bool:
    return any(kind["name"] == "links" for kind in core.registry()["topologies"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flow.txt").write_text("2\n1 4 3 1000 0.000000027\n2 5 3 7 0.000001\n")
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_a_flow_list_beside_the_spec_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = spec.resolve(spec.load(folder / "spec.toml"))
    listed = resolved["traffic"][0]["list"]
    assert [(flow["src"], flow["dst"], flow["size_bytes"], flow["start_ns"]) for flow in listed] == [
        (1, 4, 1000, 27), (2, 5, 7, 1000),
    ]  # fmt: skip
    assert spec.resolve(resolved) == resolved
    assert main(["run", str(folder / "spec.toml")]) == 0
    assert "2" in capsys.readouterr().out


def test_the_spec_counts_by_what_the_file_says(folder: Path) -> None:
    before = spec.spec_hash(spec.resolve(folder / "spec.toml"))
    flow_file = folder / "flow.txt"
    flow_file.write_text(flow_file.read_text().replace("1000 0", "1001 0"))
    os.utime(flow_file, ns=(1, 1))
    assert spec.spec_hash(spec.resolve(folder / "spec.toml")) != before


def test_a_size_of_zero_warns_and_the_command_line_says_so_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flow.txt").write_text(FLOWS)
    with pytest.warns(InteropWarning, match="line 3: size 0 taken as 1"):
        spec.resolve(folder / "spec.toml")
    assert main(["compare", str(folder / "spec.toml"), "--schemes", "ecmp,rps", "--seeds", "2", "--json"]) == 0
    assert capsys.readouterr().err.count("size 0 taken as 1") == 1


def test_bad_files_are_named_with_their_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "flow.txt").write_text("3\n1 4 3 1000 0.1\n")
    assert main(["validate", str(folder / "spec.toml")]) == 2
    err = capsys.readouterr().err
    assert "flow.txt" in err
    assert "line 1, number of flows" in err
    assert "the last is line 2" in err


def test_the_format_may_be_given(folder: Path) -> None:
    csv = folder / "f.csv"
    csv.write_text("src,dst,size_bytes,start_ns\n0,5,1,0\n")
    entry = {"kind": "flows", "file": str(csv)}
    assert expanded({"traffic": [{**entry, "format": "csv"}]})["traffic"] == [entry]
    assert expanded({"traffic": [entry]})["traffic"] == [entry]
    with pytest.raises(SpecError) as caught:
        expanded({"traffic": [{**entry, "format": "hpcc"}]})
    assert caught.value.file == str(csv)
    with pytest.raises(SpecError) as caught:
        expanded({"traffic": [{**entry, "format": "hpc"}]})
    assert caught.value.key == "traffic[0].format"
    assert 'did you mean "hpcc"?' in str(caught.value.hint)


def test_flows_of_several_priority_groups_become_an_entry_each(folder: Path) -> None:
    path = folder / "flow.txt"
    path.write_text("3\n0 4 3 10 0\n1 5 1 20 0\n2 6 3 30 0\n")
    made = expanded({"traffic": [{"kind": "flows", "file": str(path), "x": 1}, {"kind": "incast"}]})["traffic"]
    assert [(entry.get("priority"), entry.get("x")) for entry in made] == [(0, 1), (1, 1), (None, None)]
    assert [[flow["size_bytes"] for flow in entry.get("list", [])] for entry in made] == [[20], [10, 30], []]


def test_groups_of_a_named_entry_have_names_and_no_priority_of_their_own(folder: Path) -> None:
    path = folder / "flow.txt"
    path.write_text("2\n0 4 3 10 0\n1 5 1 20 0\n")
    entry = {"kind": "flows", "file": str(path), "name": "web"}
    made = expanded({"traffic": [entry]})["traffic"]
    assert [(one["name"], one["priority"]) for one in made] == [("web-0", 0), ("web-1", 1)]
    with pytest.raises(SpecError, match=r"several priority groups \(1, 3\)") as caught:
        expanded({"traffic": [entry | {"priority": 5}]})
    assert caught.value.key == "traffic[0].priority"
    path.write_text("1\n0 4 3 10 0\n")
    (only,) = expanded({"traffic": [entry | {"priority": 5}]})["traffic"]
    assert (only["name"], only["priority"]) == ("web", 5)


def test_flows_beside_an_imported_topology_name_the_nodes_of_its_file(folder: Path) -> None:
    found = topology.read(folder / "topology.txt")
    given = {
        "topology": found.table(),
        "traffic": [{"kind": "flows", "file": str(folder / "flow.txt")}],
        "import": {"topology": "topology.txt", "nodes": found.nodes},
    }
    named = [(flow["src"], flow["dst"]) for flow in spec.resolve(given)["traffic"][0]["list"]]
    assert named == [(0, 2), (1, 3)], "as with topology.file"
    with pytest.raises(SpecError, match="as many as") as caught:
        spec.resolve(given | {"import": {"nodes": [0, 1, 2]}})
    assert caught.value.key == "import.nodes"


def test_a_topology_file_becomes_links_and_numbers_the_hosts_of_flow_lists(folder: Path) -> None:
    (folder / "spec.toml").write_text(SPEC.replace("hosts_per_leaf = 4", 'file = "topology.txt"'))
    with pytest.warns(InteropWarning, match="hosts get the first numbers"):
        made = expanded(spec.load(folder / "spec.toml"))
    assert made["topology"]["kind"] == "links"
    assert made["topology"]["hosts"] == 4
    assert made["topology"]["links"][0] == [0, 4, 10, 1000]
    assert "file" not in made["topology"]
    assert [(flow["src"], flow["dst"]) for flow in made["traffic"][0]["list"]] == [(0, 2), (1, 3)]
    if engine_has_links():
        with pytest.warns(InteropWarning):
            resolved = spec.resolve(folder / "spec.toml")
        assert resolved["topology"]["links"] == made["topology"]["links"]
        assert all(core.run(resolved)["flows"]["finished"][1])


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"links": []}, "topology.links"),
        ({"kind": "leaf_spine"}, "topology.kind"),
        ({"format": "csv"}, "topology.format"),
        ({"file": "none.txt"}, "topology.file"),
    ],
)
def test_a_topology_file_and_other_keys_that_contradict_it(folder: Path, keys: dict[str, Any], key: str) -> None:
    table = {"file": str(folder / "topology.txt"), **keys}
    with pytest.raises(SpecError) as caught:
        expanded({"topology": table})
    assert caught.value.key == key


def test_where_an_imported_topology_comes_from_is_no_part_of_the_run(tiny: Path) -> None:
    plain = spec.load(tiny)
    assert spec.resolve({**plain, "import": {"nodes": [1, 0]}}) == spec.resolve(plain)
