"""Offered loads, as `run` and `validate` tell them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main as spinewise
from spinewise.shapes import Spec, Traffic
from spinewise.show import offered

FABRIC: Spec = {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}}
WEB: Traffic = {"kind": "poisson", "cdf": "web_search", "load": 1.3, "duration_us": 5_000}
LATE: Traffic = {
    "kind": "flows",
    "list": [{"src": 0, "dst": 5, "size_bytes": 1000, "start_ns": start} for start in (0, 1_000_000_000)],
}
RING: Traffic = {"kind": "all_reduce", "size_bytes": 80_000, "name": "ring"}


def lines(*traffic: Traffic) -> list[str]:
    found = sw.validate({**FABRIC, "traffic": list(traffic), "run": {"until_us": 2_000_000}})
    return offered.lines(found.spec, found.loads)


def test_an_overload_is_told_before_the_run_and_not_hidden_by_what_comes_later() -> None:
    assert lines(WEB)[1] == "OVERLOADED: the results depend on how long the run lasts"
    assert lines(WEB, LATE)[1] == lines(WEB)[1]


def test_traffic_that_waits_for_other_traffic_is_named_beside_the_loads() -> None:
    (line,) = lines({**WEB, "load": 0.2}, RING)
    assert line.endswith("without ring, which has no rate of arrivals")
    assert lines(RING) == []
    once: Traffic = {"kind": "permutation", "size_bytes": 10_000_000, "name": "once"}
    (line,) = lines({**WEB, "load": 0.2}, once)
    assert line.endswith("without once, which has no rate of arrivals")


@pytest.mark.parametrize("repeat", [2, 3, 20])
def test_rounds_take_a_period_each(repeat: int) -> None:
    rounds: Traffic = {"kind": "permutation", "size_bytes": 250_000, "repeat": repeat, "period_us": 500}
    found = sw.validate({**FABRIC, "traffic": [rounds]}).loads
    assert found is not None
    # Eight hosts of 2 Mbit in 500 us, over two leaves of 20 Gbps.
    assert found["payload_of_nominal"] == pytest.approx(8 * 2e6 / 500e-6 / 40e9)
    assert not found["overloaded"]


def test_a_run_tells_what_validate_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec: Spec = {**FABRIC, "traffic": [{**WEB, "load": 0.4}, RING]}
    assert sw.run(spec).report["loads"] == sw.validate(spec).loads
    path = tmp_path / "a.toml"
    path.write_text('[[traffic]]\nkind = "poisson"\ncdf = "web_search"\nload = 0.4\nduration_us = 1000\n')
    assert spinewise(["validate", str(path)]) == 0
    assert "offered load: requested 0.4" in capsys.readouterr().out
    assert spinewise(["validate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["loads"]["without"] == []


def test_a_load_of_hosts_links_is_of_each_hosts_own() -> None:
    links = [[host, 4 + host // 2, 100 if host < 2 else 10, 1000] for host in range(4)]
    graph = {"kind": "links", "hosts": 4, "switches": 2, "links": [*links, [4, 5, 100, 1000]]}
    web = {**WEB, "load": 0.3, "load_of": "host_links", "pairs": "any", "duration_us": 100_000}
    flows = sw.run({"topology": graph, "traffic": [web], "run": {"until_us": 100_000}}).flows
    sent = dict.fromkeys(range(4), 0)
    for src, size in zip(flows["src"].to_pylist(), flows["size_bytes"].to_pylist(), strict=True):
        sent[src] += size
    fast, slow = (sum(sent[host] for host in hosts) * 8 / 0.1 / 2e9 for hosts in ((0, 1), (2, 3)))
    assert fast == pytest.approx(30, rel=0.4)
    assert slow == pytest.approx(3, rel=0.6)
