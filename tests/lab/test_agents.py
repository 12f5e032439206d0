"""Schemes at hosts, closed loop: agents in the namespaces of a lab. They need root and `make agent`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import spinewise
from spinewise.lab import build, state, steer

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


def agents() -> list[int]:
    """The agents that run in the lab."""
    inside = [pid for namespace in state.namespaces(NAME) for pid in state.processes(namespace)]
    return [pid for pid in inside if steer.is_agent(pid)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_agents_of_a_run_that_was_stopped_do_not_hinder_the_next(number: signal.Signals, tmp_path: Path) -> None:
    # Under nohup it is ignored, and so it would be by what is started here.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    lab = [sys.executable, "-m", "spinewise", "lab"]
    subprocess.run([*lab, "up", "lab_slow_uplink", "--agents", "--name", NAME], check=True, capture_output=True)
    words = ["run", "lab_slow_uplink", "--agents", "--name", NAME]
    begun = subprocess.Popen([*lab, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(agents()) < 4:
        assert time.monotonic() < until
        assert begun.poll() is None
        time.sleep(0.05)
    begun.send_signal(number)
    begun.wait(30)
    assert len(agents()) == (4 if number == signal.SIGKILL else 0)
    run("--agents", "--out", str(tmp_path / "run"))
    assert spinewise.Result.read(tmp_path / "run").summary().of("all").flows > 0
    assert agents() == []


def study(*words: str) -> list[str]:
    """The command of a study of the black hole under two schemes."""
    schemes = "presto,pdlb:period_us=5000@pdlb"
    more = ["--health", "--seeds", "1", "--schemes", schemes, "--name", NAME, *words]
    return [sys.executable, "-m", "spinewise", "lab", "study", "lab_black_hole", *more]


def met(runs: Path, label: str) -> str:
    """What the agents of a run on Linux have met, for whoever reads that it was not as it should be."""
    (run,) = runs.glob(label.replace(" (Linux)", "-Linux-*"))
    agents = json.loads((run / "run.json").read_text())["report"]["linux"]["agents"]
    return "\n".join(f"{host}: {event}" for host, told in agents.items() for event in told.get("met", []))


def test_a_black_hole_is_found_and_nothing_else_is_blamed(tmp_path: Path) -> None:
    subprocess.run(study("--out", str(tmp_path / "study")), check=True, capture_output=True, timeout=180)
    record = json.loads((tmp_path / "study/lab.json").read_text())
    for label in ("presto (Linux)", "pdlb (Linux)"):
        (one,) = record["fabrics"][label]
        assert one["alarms"] == 0
        assert one["ended"] == []
        # Four agents, two peers each, one path of four: each is given up once, after the hole has opened.
        assert len(one["dead_at_s"]) == 8, met(tmp_path / "study/runs", label)
        assert all(4.0 < at < 8.0 for at in one["dead_at_s"])
    assert (tmp_path / "study/goodput.png").stat().st_size > 10_000
    assert set(json.loads((tmp_path / "study/goodput.json").read_text())) == set(record["fabrics"])


def test_what_schemes_hold_of_paths_is_set_beside_the_truth(tmp_path: Path) -> None:
    words = ["--schemes", "meet:flowlet_gap_us=4000:t_update_us=5000:t_probe_us=5000@meet", "--name", NAME]
    command = [sys.executable, "-m", "spinewise", "lab", "sight", "lab_slow_uplink", *SHORT, *words]
    subprocess.run([*command, "--out", str(tmp_path / "out")], check=True, capture_output=True, timeout=120)
    found = json.loads((tmp_path / "out/agreement.json").read_text())["meet"]
    for side in ("Linux", "simulated"):
        assert found[side]["values"] > 100
        assert found[side]["rho"] > 0.2
    assert (tmp_path / "out/meet.png").stat().st_size > 10_000


def test_costs_are_measured_with_agents_and_without(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spinewise", "lab", "cost", "--rounds", "1", "--seconds", "1"]
    subprocess.run([*command, "--out", str(tmp_path / "out")], check=True, capture_output=True, timeout=120)
    cases = json.loads((tmp_path / "out/cost.json").read_text())["cases"]
    assert [(case["offload"], case["paths_by"]) for case in cases] == [
        (True, "the kernel"), (True, "agents"), (False, "the kernel"), (False, "agents"),
    ]  # fmt: skip
    by = {(case["offload"], case["paths_by"]): case for case in cases}
    assert all(case["gbps"][0] > 0.05 for case in cases)
    assert by[True, "the kernel"]["gbps"] > by[False, "the kernel"]["gbps"]
    for offload in (True, False):
        assert all(50 < ns < 100_000 for ns in by[offload, "agents"]["program_ns"].values())
    assert not [name for name in os.listdir("/run/netns") if name.startswith("spinewise-cost-")]
