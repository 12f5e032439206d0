"""Labs on this machine: they need root. `make test-lab` runs these, and fails where it cannot."""

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
from spinewise.lab import build, state

SOURCES = str(Path(spinewise.__file__).parents[1])
SPEC = """
name = "NAME"
preset = "linux"
[topology]
leaves = 2
spines = 2
hosts_per_leaf = 1
host_rate_gbps = 0.05
fabric_rate_gbps = 0.025
host_delay_ns = 10_000
fabric_delay_ns = 10_000
[transport]
kind = "newreno"
[[traffic]]
kind = "permutation"
size_bytes = 400_000
[run]
until_us = 3_000_000
"""
DATA = 400_000 + 277 * 52
"""Bytes that a flow takes with its headers, when nothing is sent again."""
ONE, TWO = f"test-{os.getpid()}-one", f"test-{os.getpid()}-two"


def spinewise_lab(*words: object, code: int = 0) -> dict[str, object]:
    """A deed of ``spinewise lab`` as JSON; it must end with this exit code."""
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    return found if isinstance(found, dict) else {"labs": found}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "spinewise", "lab", *map(str, words), "--json"]


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "one.toml"
    path.write_text(SPEC.replace("NAME", ONE))
    yield path
    for name in (ONE, TWO):
        build.remove(name)


def outside() -> str:
    """The interfaces and routes of the machine itself."""
    shown = (["ip", "-o", "link"], ["ip", "route"], ["ip", "-o", "addr"])
    return "".join(subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in shown)


def test_up_run_down_and_nothing_is_seen_outside(spec: Path, tmp_path: Path) -> None:
    before = outside()
    up = spinewise_lab("up", spec)
    assert outside() == before
    assert sorted(state.namespaces(ONE)) == sorted(up["namespaces"])  # type: ignore[call-overload]
    record = spinewise_lab("run", spec, "--out", tmp_path / "run")
    result = spinewise.Result.read(tmp_path / "run")
    every = result.summary().of("all")
    assert (every.flows, every.unfinished) == (2, 0)
    # 400 kB at 25 Mbps take 0.13 s, with headers; a lone flow on each path is not far from that.
    assert 0.128 < every.fct_s.mean < 0.5
    assert (result.flows["sender_fct_ps"].to_numpy() >= result.flows["fct_ps"].to_numpy()).all()
    assert record["traffic_hash"] == spinewise.run(result.spec).report["traffic_hash"]
    carried = {link["name"]: link["bytes"] for link in result.report["links"]}
    assert DATA <= carried["host0->leaf0"] < 2 * DATA
    assert spinewise_lab("down", "--name", ONE)["namespaces"] == 6
    assert state.namespaces(ONE) == []
    assert outside() == before


def test_a_run_without_a_lab_builds_one_for_the_time(spec: Path) -> None:
    record = spinewise_lab("run", spec)
    assert record["report"]["linux"]["factor"] == 1  # type: ignore[index]
    assert state.namespaces(ONE) == []


def test_links_are_looked_at_over_time_and_a_study_keeps_both_sides(spec: Path, tmp_path: Path) -> None:
    series = ("--set", "metrics.series_interval_us=20_000", "--set", "metrics.series_links=all")
    spinewise_lab("study", spec, *series, "--schemes", "ecmp,wcmp", "--seeds", 1, "--out", tmp_path / "study")
    both = spinewise.read(tmp_path / "study")
    assert isinstance(both, spinewise.Comparison)
    assert both.labels == ["ecmp (simulated)", "ecmp (Linux)", "wcmp (simulated)", "wcmp (Linux)"]
    assert both.paired
    run = spinewise.Result.read(tmp_path / "study" / str(both.at("wcmp (Linux)", None)[0].folder))
    at, used = run.series_of("link_utilisation", "host0->leaf0")
    assert len(at) > 5
    assert 0.4 < used.max() <= 1.0
    link = next(one for one in run.report["links"] if one["name"] == "host0->leaf0")
    # What was in use over time is what was carried in all.
    assert float((used * 0.02 * 50e6 / 8).sum()) == pytest.approx(link["bytes"], rel=0.15)


def test_a_name_in_use_is_refused_and_the_lab_is_left_alone(spec: Path) -> None:
    spinewise_lab("up", spec)
    there = state.namespaces(ONE)
    told = spinewise_lab("up", spec, code=2)
    assert told["error"]["key"] == "--name"  # type: ignore[index]
    other = spinewise_lab("run", spec, "--set", "topology.spines=3", code=2)
    assert "same fabric" in other["error"]["allowed"]  # type: ignore[index]
    assert state.namespaces(ONE) == there


def test_a_lab_killed_as_it_was_built_is_cleaned_up_by_the_next_up_or_down(spec: Path) -> None:
    for following in ("up", "down"):
        begun = subprocess.Popen(command("up", spec), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not state.namespaces(ONE):
            assert begun.poll() is None, "it was built before it could be killed"
            time.sleep(0.002)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        assert state.read(ONE) is None
        assert [lab.state for lab in build.status() if lab.name == ONE] == ["left over"]
        spinewise_lab(following, *([spec] if following == "up" else ["--name", ONE]))
        if following == "up":
            assert [lab.state for lab in build.status() if lab.name == ONE] == ["up"]
            spinewise_lab("down", "--name", ONE)
        assert state.namespaces(ONE) == []


def test_a_run_that_is_killed_leaves_no_process_and_a_lab_that_runs_again(spec: Path) -> None:
    spinewise_lab("up", spec)
    long = ("--set", "traffic[0].size_bytes=9_000_000")
    begun = subprocess.Popen(command("run", spec, *long), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not any(state.processes(name) for name in state.namespaces(ONE)):
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(1.5)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    until = time.monotonic() + 5
    while any(state.processes(name) for name in state.namespaces(ONE)):
        assert time.monotonic() < until, "traffic goes on without its run"
        time.sleep(0.05)
    record = spinewise_lab("run", spec)
    assert record["summary"]["classes"][-1]["unfinished"] == 0  # type: ignore[index]


def test_a_lab_of_a_run_that_was_killed_is_built_anew_by_the_next_up_or_run(spec: Path) -> None:
    for following in ("up", "run"):
        begun = subprocess.Popen(command("run", spec), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while state.read(ONE) is None:
            assert begun.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        assert [lab.state for lab in build.status() if lab.name == ONE] == ["in use"]
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        assert [lab.state for lab in build.status() if lab.name == ONE] == ["left over"]
        spinewise_lab(following, spec, "--set", "topology.spines=3")
        if following == "up":
            assert [lab.state for lab in build.status() if lab.name == ONE] == ["up"]
            spinewise_lab("down", "--name", ONE)
        assert state.namespaces(ONE) == []


def test_two_labs_of_one_spec_do_not_meet(spec: Path) -> None:
    spinewise_lab("up", spec)
    spinewise_lab("up", spec, "--name", TWO)
    # The same addresses are in both, and none of one is heard in the other.
    runs = [subprocess.Popen(command("run", spec, "--name", name), stdout=subprocess.PIPE) for name in (ONE, TWO)]
    for run in runs:
        out, _ = run.communicate(timeout=120)
        assert run.returncode == 0
        record = json.loads(out)
        assert record["summary"]["classes"][-1]["unfinished"] == 0
        carried = {link["name"]: link["bytes"] for link in record["report"]["links"]}
        assert DATA <= carried["host0->leaf0"] < 2 * DATA
    spinewise_lab("down", "--name", ONE)
    assert len(state.namespaces(TWO)) == 6


def test_a_fault_happens_at_its_time_and_the_lab_is_whole_again(spec: Path) -> None:
    with spec.open("a") as file:
        file.write('[[fault]]\nkind = "black_hole"\nswitch = "spine0"\nfraction = 1.0\nat_us = 50_000\n')
        file.write('until_us = 2_000_000\n[[fault]]\nkind = "black_hole"\nswitch = "spine1"\nfraction = 1.0\n')
        file.write("at_us = 50_000\nuntil_us = 2_000_000\n")
    spinewise_lab("up", spec)
    for _ in range(2):
        record = spinewise_lab("run", spec)
        mean = record["summary"]["classes"][-1]["fct_s"]["mean"]  # type: ignore[index]
        # Nothing got through for 1.95 s.
        assert mean is None or mean > 1.9


def test_without_privilege_it_is_refused_before_anything_is_changed(spec: Path) -> None:
    words = ["setpriv", "--reuid=65534", "--clear-groups", *command("up", "lab_slow_uplink", "--name", ONE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "HOME": "/tmp"})
    assert done.returncode == 2, done.stderr
    assert "no privilege" in done.stdout
    assert state.namespaces(ONE) == []
