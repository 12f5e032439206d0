"""A fabric whose spec names its nodes: every command works, whatever the names say, and shows them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import cast

import pytest

import spinewise
from spinewise import core
from spinewise.cli import main
from spinewise.explanation import choices
from spinewise.measures.nodes import NUMBERED, Nodes, ends
from spinewise.runs.result import Result
from spinewise.shapes import Spec

NAMES = ["gpu07", "gpu31", "localhost", "7", "host-tor", "spine-a", "spine-b", "tor 2"]
"""Hosts first. One switch looks like a host, and one host like a number."""
CABLES = [(0, 4), (1, 7), (2, 4), (3, 7), (4, 5), (4, 6), (7, 5), (7, 6)]
SPEC = f"""
preset = "datacenter"
[topology]
kind = "links"
hosts = 4
switches = 4
names = {json.dumps(NAMES)}
links = {json.dumps([[NAMES[a], NAMES[b], 10, 1000] for a, b in CABLES])}
[scheme]
name = "presto"
[[traffic]]
kind = "flows"
list = [{{src = 0, dst = 1, size_bytes = 600000}}, {{src = 2, dst = 3, size_bytes = 600000}}]
[[traffic]]
kind = "all_reduce"
size_bytes = 100000
[[traffic]]
kind = "incast"
receiver = 1
senders = 3
size_bytes = 300000
[[fault]]
kind = "down"
ends = ["host-tor", "spine-a"]
at_us = 200
until_us = 400
[metrics]
series_interval_us = 10
[metrics.capture]
at = ["gpu07", "spine-a->tor 2"]
max_packets = 50
[compare]
schemes = ["ecmp", "presto"]
seeds = 1
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The spec."""
    made = tmp_path_factory.mktemp("named") / "named.toml"
    made.write_text(SPEC)
    return made


@pytest.fixture(scope="module")
def result(file: Path) -> Result:
    """Its run."""
    return spinewise.run(cast(Spec, tomllib.loads(SPEC)), trace=[0])


@pytest.fixture(scope="module")
def folder(file: Path, result: Result) -> Path:
    """Its run, kept."""
    result.write(file.parent / "run")
    return file.parent / "run"


def said(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """What a command prints."""
    code = main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    assert code == 0, err
    return " ".join(out.split())


def test_names_tell_hosts_from_switches_only_by_their_place_in_the_list(result: Result) -> None:
    nodes = Nodes.of(result.spec)
    assert [nodes.is_host(name) for name in NAMES] == [True] * 4 + [False] * 4
    assert (nodes.host(3), nodes.said(1)) == ("7", "gpu31")
    assert nodes.tier("localhost->host-tor") == "host->switch"
    assert nodes.tier("host-tor->spine-a#1") == "switch->switch"
    assert nodes.leads_to_host("host-tor->localhost")
    assert not nodes.leads_to_host("spine-a->host-tor")
    assert ends("host-tor->spine-a#1") == ("host-tor", "spine-a")
    kinds = {node["name"]: node["tier"] for node in core.topology(result.spec)["nodes"]}
    assert [kinds[name] for name in NAMES] == ["host"] * 4 + ["leaf", "spine", "spine", "leaf"]


def test_without_names_nodes_are_called_as_the_engine_calls_them() -> None:
    assert Nodes.of({"traffic": []}) == NUMBERED
    assert (NUMBERED.host(3), NUMBERED.said(3)) == ("host3", "host 3")
    assert NUMBERED.tier("leaf0->spine3#1") == "leaf->spine"
    assert NUMBERED.leads_to_host("leaf0->host3")
    assert NUMBERED.between_switches("leaf0->spine3")


def test_a_resolved_spec_keeps_names_and_numbers_links(result: Result) -> None:
    topology = result.spec["topology"]
    assert topology["names"] == NAMES
    assert topology["links"][4] == [4, 5, 10, 1000]
    assert core.resolve(result.spec) == result.spec


def test_facts_of_a_run_tell_links_to_hosts_from_those_between_switches(result: Result) -> None:
    summary = result.summary()
    assert {tier["tier"]: tier["links"] for tier in summary.links} == {
        "switch->host": 4, "host->switch": 4, "switch->switch": 8,
    }  # fmt: skip
    hottest, edge = summary.facts.hottest, summary.facts.hottest_edge
    assert hottest is not None
    assert edge is not None
    assert set(ends(hottest.name)) <= set(NAMES[4:])
    assert edge.name == "tor 2->gpu31"


def test_run_shows_names(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "run", file, "--out", file.parent / "again")
    assert "tor 2->gpu31" in text
    assert "(gpu07 to gpu31)" in text, "the straggler of the incast"


def test_explain_shows_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "from localhost to 7, flows" in said(capsys, "explain", folder)
    story = said(capsys, "explain", folder, "--flow", 0)
    assert "600 kB from gpu07 to gpu31, by dctcp" in story
    assert "via spine-a" in story
    told = json.loads(said(capsys, "explain", folder, "--flow", 0, "--json"))
    assert (told["flow"]["src"], told["flow"]["src_name"], told["flow"]["dst_name"]) == (0, "gpu07", "gpu31")
    assert "host-tor–spine-a was down" in said(capsys, "explain", folder, "--hurt")


def test_choices_of_hosts_are_told_by_the_names_of_hosts(result: Result) -> None:
    assert result.trace is not None
    found = choices.Choices(result.trace, 0, nodes=Nodes.of(result.spec))
    assert {str(device) for device in found.device} == {"gpu07"}
    assert all(found.at_host(at) for at in range(len(found)))


def test_the_page_of_a_run_shows_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder.parent / "run.html"
    said(capsys, "report", folder, "--out", page)
    text = page.read_text()
    assert "gpu07 to gpu31" in text
    assert "host-tor" in text
    assert "Links to hosts are left out" not in text


def test_figures_of_a_run_are_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "plot", folder, "--format", "svg", "--out", folder.parent / "figures")
    assert any((folder.parent / "figures").glob("*.svg"))


def test_exports_show_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder.parent
    said(capsys, "export", folder, "--graphml", where / "run.graphml", "--perfetto", where / "run.perfetto",
         "--pcapng", where / "run.pcapng")  # fmt: skip
    assert 'target="host-tor"' in (where / "run.graphml").read_text()
    assert b"to gpu31" in (where / "run.perfetto").read_bytes()
    assert b"gpu07->host-tor" in (where / "run.pcapng").read_bytes()


def test_compare_takes_a_named_fabric(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "presto" in said(capsys, "compare", file, "--jobs", 1)


def test_resilience_takes_a_named_fabric(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "resilience", file, "--schemes", "ecmp", "--seeds", 1, "--jobs", 1)
    assert "ecmp" in text
