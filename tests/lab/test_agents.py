"""Schemes at hosts, closed loop: agents in the namespaces of a lab. They need root and `make agent`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import spinewise
from spinewise.lab import build

NAME = f"test-{os.getpid()}-agents"
SHORT = ("--set", "traffic[0].duration_us=1_500_000", "--set", "run.until_us=4_000_000")


@pytest.fixture(autouse=True)
def _no_lab_is_left() -> Iterator[None]:
    yield
    build.remove(NAME)


def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """``spinewise lab run`` of the slow uplink, for a short while."""
    command = [sys.executable, "-m", "spinewise", "lab", "run", "lab_slow_uplink", *SHORT, "--name", NAME, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("scheme", ["ecmp", "presto", "letflow", "clove", "meet", "elab"])
def test_flows_arrive_under_every_scheme_and_packets_go_through_the_tunnel(scheme: str, tmp_path: Path) -> None:
    run("--agents", "--set", f"scheme.name={scheme}", "--out", str(tmp_path / "run"))
    result = spinewise.Result.read(tmp_path / "run")
    every = result.summary().of("all")
    assert every.flows - every.unfinished >= 0.8 * every.flows > 0
    agents = result.report["linux"]["agents"]
    assert set(agents) == {"host0", "host1", "host2", "host3"}
    counts = [told["counters"] for told in agents.values()]
    for one in counts:
        assert isinstance(one, dict)
        assert one["malformed"] == one["foreign"] == 0
    tunnelled = sum(int(one["sent_tunnelled"]) for one in counts if isinstance(one, dict))
    assert tunnelled >= result.summary().packets.sent - 10 * every.flows


def test_presto_uses_all_four_paths_alike(tmp_path: Path) -> None:
    run("--set", "scheme.name=presto", "--set", "topology.override=[]", "--out", str(tmp_path / "run"))
    result = spinewise.Result.read(tmp_path / "run")
    up = [link["bytes"] for link in result.report["links"] if link["name"].startswith("leaf0->spine")]
    # Cells in turn. The other leaf sends more acknowledgements than data, and those go by the fabric's own hash.
    assert len(up) == 4
    assert min(up) > 0.75 * max(up)


def test_ports_mark_what_finds_a_long_queue(tmp_path: Path) -> None:
    run("--set", "transport.kind=ecn", "--out", str(tmp_path / "run"))
    result = spinewise.Result.read(tmp_path / "run")
    marked = {link["name"]: link["marks"] for link in result.report["links"]}
    assert sum(marked.values()) > 0
    assert result.summary().packets.marks > 0
    assert all(count == 0 for name, count in marked.items() if name.startswith("host"))


def test_what_agents_do_not_run_is_refused_before_a_lab_is_built() -> None:
    done = run("--set", "scheme.name=drb", "--json", code=2)
    assert json.loads(done.stdout)["error"]["key"].endswith("scheme.name")
