"""What stands beside a run in its spec file, and what `--set` makes of lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.shapes import Spec
from spinewise.specs.spec import apply_override


@pytest.mark.parametrize(
    ("override", "key", "allowed"),
    [
        ("compare.seeds=x", "compare.seeds", "a list or a number"),
        ("compare.sceds=3", "compare.sceds", "schemes, loads or seeds"),
        ("compare=3", "compare", "a table with schemes"),
        ("bounds.x=1", "bounds.x", "the least and the most"),
        ('bounds.x=["a", 1]', "bounds.x", "the least and the most"),
        ("bounds.x=[2, 1]", "bounds.x", "the least first"),
        ("bounds=1", "bounds", "a table of bounds"),
    ],
)
def test_tables_beside_the_run_are_checked_by_every_command(
    override: str, key: str, allowed: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("run", "validate"):
        assert main([command, str(tiny), "--set", override]) == 2
        err = capsys.readouterr().err
        assert key in err
        assert allowed in " ".join(err.split())


def changed(spec: dict[str, Any], *overrides: str) -> dict[str, Any]:
    for override in overrides:
        apply_override(spec, override)
    return spec


def test_set_adds_the_next_item_of_a_list() -> None:
    fresh = changed({}, "topology.override[0].leaf=1", "topology.override[0].up=false", "topology.override[1].leaf=2")
    assert fresh == {"topology": {"override": [{"leaf": 1, "up": False}, {"leaf": 2}]}}
    assert changed({"traffic": [{"load": 0.1}]}, "traffic[0].load=0.2", "traffic[1].kind=udp") == {
        "traffic": [{"load": 0.2}, {"kind": "udp"}]
    }
    assert changed({"a": [1]}, "a[1]=2", "a[0]=3") == {"a": [3, 2]}
    assert changed({}, "a.0.b=1") == {"a": {"0": {"b": 1}}}
    for wrong in ("traffic[1].load=1", "traffic[-1].load=1", "traffic[0]x=1", "[0]=1"):
        with pytest.raises(sw.SpecError):
            changed({"name": "x"}, wrong)
    with pytest.raises(sw.SpecError) as told:
        changed({"traffic": [{}]}, "traffic[5].load=1")
    assert told.value.value == "1"
    assert told.value.allowed == "an index from 0 to 1 (1 adds an item), not 5"


def test_a_selector_of_an_override_may_be_a_list(tiny: Path) -> None:
    def links(override: Any) -> dict[str, float]:
        found = sw.run(sw.load(tiny) | {"topology": {"leaves": 3, "hosts_per_leaf": 2, "override": override}})
        return {link["name"]: link["bytes"] for link in found.report["links"]}

    one_by_one = [{"spine": 1, "leaf": leaf, "rate_gbps": 4} for leaf in (0, 2)]
    assert links([{"spine": 1, "leaf": [0, 2], "rate_gbps": 4}]) == links(one_by_one)
    resolved = sw.resolve(sw.load(tiny) | {"topology": {"override": [{"leaf": [0, 1], "spine": [0], "delay_ns": 9}]}})
    assert [(one["leaf"], one["spine"]) for one in resolved["topology"]["override"]] == [(0, 0), (1, 0)]
    assert sw.resolve(resolved) == resolved
    for wrong, key in (([], "topology.override[0].leaf"), ([0, 9], "topology.override[0].leaf")):
        with pytest.raises(sw.SpecError) as told:
            sw.resolve(sw.load(tiny) | {"topology": {"override": [{"leaf": wrong, "up": False}]}})
        assert told.value.key == key


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("entry", [{"kind": "flows", "file": ""}, {"kind": "poisson", "cdf_file": "", "load": 0.1}])
def test_files_without_an_end_are_refused(device: str, entry: dict[str, Any]) -> None:
    key = "file" if "file" in entry else "cdf_file"
    with pytest.raises(sw.SpecError) as told:
        sw.resolve({"traffic": [entry | {key: device} | ({} if key == "file" else {"duration_us": 10})]})
    assert told.value.key == f"traffic[0].{key}"


def test_a_distribution_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text("\ufeff0 0\n1000 1\n")
    entry = {"kind": "poisson", "cdf_file": str(path), "load": 0.1, "duration_us": 100}
    assert sw.resolve({"traffic": [entry]})["traffic"][0]["cdf_file"] == str(path)


def test_bounds_of_numbers_are_both_told() -> None:
    wrong: tuple[tuple[Spec, str], ...] = (
        ({"seed": -1}, "a whole number from 0 to 18446744073709551615"),
        ({"run": {"grid_ns": 1e-9}}, "a number of nanoseconds from 0.001 to 9000000000000"),
        ({"topology": {"host_rate_gbps": 0}}, "a rate in Gbps from 0.000000001 to 100000, a whole number of bits"),
    )
    for plain, allowed in wrong:
        with pytest.raises(sw.SpecError) as told:
            sw.resolve({**plain, "traffic": [{"kind": "permutation", "size_bytes": 1}]})
        assert allowed in told.value.allowed
    with pytest.raises(sw.SpecError) as told:
        sw.resolve({"traffic": [{"kind": "permutation", "size_bytes": 10**18}]})
    assert told.value.allowed == "a whole number from 1 to 9007199254740991"
