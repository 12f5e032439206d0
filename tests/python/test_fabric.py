"""How large a fabric is and how much oversubscribed, as commands tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.measures.fabric import size_of

FOUR = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
TREE = {"kind": "fat_tree", "k": 4}
PAIR = {"kind": "links", "hosts": 2, "switches": 1, "links": [[0, 2, 10, 500], [1, 2, 10, 500]]}
BOTH = {
    **PAIR,
    "hosts": 3,
    "switches": 2,
    "links": [*([host, 3, 10, 0.5] for host in (0, 1)), [2, 4, 10, 1], [3, 4, 5, 1]],
}


def slow(gbps: float, **where: Any) -> dict[str, Any]:
    return {"override": [where | {"rate_gbps": gbps}]}


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        (FOUR, "8 hosts, 2 leaves, hosts to uplinks 2:1"),
        (FOUR | {"hosts_per_leaf": 1}, "2 hosts, 2 leaves, hosts to uplinks 1:2"),
        (FOUR | {"host_rate_gbps": 25_000}, "8 hosts, 2 leaves, hosts to uplinks 5,000:1"),
        (FOUR | {"parallel_links": 2}, "8 hosts, 2 leaves, hosts to uplinks 1:1"),
        (FOUR | slow(6, leaf=1, spine=0), "8 hosts, 2 leaves, hosts to uplinks 2.5:1 at leaf1, the worst"),
        (FOUR | slow(6, leaf=1, direction="down"), "8 hosts, 2 leaves, hosts to uplinks 3.33:1 at leaf1, the worst"),
        (FOUR | {"override": [{"spine": 0, "up": False}]}, "8 hosts, 2 leaves, hosts to uplinks 4:1"),
        (TREE, "16 hosts, 8 leaves, hosts to uplinks 1:1"),
        ({"kind": "fat_tree", "k": 16, "hosts_per_leaf": 16}, "2,048 hosts, 128 leaves, hosts to uplinks 2:1"),
        (TREE | {"core_rate_gbps": 5}, "16 hosts, 8 leaves, hosts to uplinks 2:1 at the pods"),
        (TREE | slow(5, aggregation=3, core=2), "16 hosts, 8 leaves, hosts to uplinks 1.14:1 at pod1, the worst"),
        (PAIR, "2 hosts, 1 leaf"),
        (BOTH, "3 hosts, 2 leaves, hosts to uplinks 4:1 at switch3, the worst"),
    ],
)  # fmt: skip
def test_the_ratio_is_that_of_the_worst_cut(fabric: dict[str, Any], told: str) -> None:
    spec = {"topology": fabric, "traffic": [{"kind": "permutation", "size_bytes": 1, "inter_rack": False}]}
    assert str(size_of(core.topology(spec))) == told


def test_validate_and_run_say_it(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = f"fabric: {sw.validate(tiny).fabric}\n"
    for command in ("validate", "run"):
        assert main([command, str(tiny)]) == 0
        assert told in capsys.readouterr().out
    assert main(["validate", str(tiny), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["fabric"]
    assert list(found) == ["hosts", "leaves", "oversubscription", "at"]
    assert found["hosts"] > 0
