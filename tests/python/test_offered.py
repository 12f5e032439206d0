"""Offered loads, as `run`, `validate` and `compare` tell them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main as spinewise
from spinewise.comparison import figures, report, tables
from spinewise.comparison.happened import happened_table
from spinewise.comparison.loads import total, words
from spinewise.page import of_comparison
from spinewise.runs.jobs import Silent
from spinewise.shapes import Spec, Traffic
from spinewise.show import offered
from test_verdict import words as text_of

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


def poisson(name: str, **keys: object) -> dict[str, object]:
    return {"name": name, "kind": "poisson", "cdf": "web_search", "load": 0.1, "duration_us": 400, **keys}


BOTH: dict[str, object] = {**FABRIC, "name": "both", "traffic": [poisson("web"), poisson("logs")]}


@pytest.fixture(scope="module")
def both() -> sw.Comparison:
    return sw.compare(BOTH, "ecmp,rps", loads=[0.3, 0.5], seeds=1, jobs=1)


def test_a_load_of_each_of_several_entries_is_never_told_as_that_of_all(both: sw.Comparison) -> None:
    """Headings, tables and axes said "load 0.3" of 0.6 in all; the truth was in the last lines."""
    said = text_of(report.comparison_report(both))
    assert "at load 0.3 of each entry (0.6 in all)" in said
    assert "at load 0.5 of each entry (1 in all)" in said
    for grid in (*tables.scope_tables(both, "web"), happened_table(both)):
        assert grid.left[0] == "load each (all)"
        assert [line.cells[0].removesuffix(" !") for line in grid.lines] == ["0.3 (0.6)", "", "0.5 (1)", ""]
    drawn = figures.figures(both)["fct"]
    assert {axes.get_xlabel() for axes in drawn.axes} == {"offered load of each entry"}
    assert "Load of each entry (of all): 0.3 (0.6), 0.5 (1)." in " ".join(drawn.get_supxlabel().split())
    assert "load each (all) 0.3 (0.6)" in of_comparison.subtitle(both)
    assert "loads 0.3 of each entry (0.6 in all), 0.5 of each entry (1 in all), 1 seed" in repr(both)
    assert ">load each (all)</th>" in both._repr_html_()


def test_a_load_of_one_entry_is_told_as_before() -> None:
    found = sw.compare({**BOTH, "traffic": [poisson("web"), RING]}, "ecmp,rps", loads=[0.3], seeds=1, jobs=1)
    assert tables.load_head(found) == "load"
    assert tables.load_name(found, 0.3).removesuffix(" !") == "0.3"
    assert total(found.spec, 0.3) is None


@pytest.mark.parametrize("keys", [{"duration_us": 900}, {"load_of": "host_links"}])
def test_loads_that_do_not_add_up_have_no_total(keys: dict[str, object]) -> None:
    spec = sw.validate({**BOTH, "traffic": [poisson("web"), poisson("logs", **keys)]}).spec
    assert (total(spec, 0.5), words(spec, 0.5)) == (None, "0.5 of each entry")


def test_a_total_of_one_or_more_is_warned_of_before_the_first_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Watched(Silent):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def warned(self, line: str) -> None:
            self.seen.append(line)

        def started(self, number: int) -> None:
            self.seen.append("started")

    watched = Watched()
    sw.compare(BOTH, "ecmp", loads=[0.3, 0.5, 0.6], seeds=1, jobs=1, monitor=watched)
    assert watched.seen == [
        "warning: --loads: each of web and logs gets the load, so 0.5 is 1 in all and 0.6 is 1.2 in all. At 1 or more"
        " the results depend on how long the run lasts.",
        *["started"] * 3,
    ]
    sw.compare(BOTH, "ecmp", loads=[0.4], seeds=1, jobs=1, monitor=(calm := Watched()))
    assert calm.seen == ["started"]
    spec = tmp_path / "both.toml"
    entry = '[[traffic]]\nname = "{}"\nkind = "poisson"\ncdf = "web_search"\nload = 0.1\nduration_us = 400\n'
    fabric = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n"
    spec.write_text(fabric + entry.format("web") + entry.format("logs"))
    assert spinewise(["compare", str(spec), "--schemes", "ecmp", "--loads", "0.5", "--seeds", "1", "--json"]) == 0
    assert "each of web and logs gets the load, so 0.5 is 1 in all." in " ".join(capsys.readouterr().err.split())


def test_timeouts_of_an_entry_are_called_so() -> None:
    """Beside "timeouts" a column was called "of storage"."""
    burst = {"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 60_000}
    tight = {**BOTH, "traffic": [poisson("web"), burst], "switch": {"buffer_packets": 8}}
    heads = happened_table(sw.compare(tight, "ecmp,rps", seeds=1, jobs=1)).right
    assert [head for head in heads if "timeouts" in head] == ["timeouts", "timeouts of web", "timeouts of incast"]
