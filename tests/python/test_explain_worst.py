"""Which flows `explain` offers to tell of: the slowest, those with timeouts, those that faults hurt most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spinewise
from samples import LOST_ACKS
from spinewise.cli import main


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_without_a_flow_the_slowest_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    result = spinewise.run(LOST_ACKS)
    result.write(folder)
    code, out, _ = run(capsys, "explain", folder)
    assert code == 0
    rows = result.flows.to_pylist()
    worst = max(rows, key=lambda row: row["slowdown"])
    assert f"{worst['flow']:>6}  " in out.splitlines()[1]
    assert "1 timeout;" in out.splitlines()[1]
    assert f"spinewise explain {folder} --flow {worst['flow']}" in out
    assert "--hurt" in out
    code, out, _ = run(capsys, "explain", folder, "--json")
    told = json.loads(out)
    assert [one["slowdown"] for one in told["slowest"]] == sorted(
        (one["slowdown"] for one in told["slowest"]), reverse=True
    )
    assert told["slowest"][0]["flow"] == worst["flow"]


def test_the_slowest_of_an_entry_and_of_a_size_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"small": 10_000, "large": 400_000}
    traffic = [{"kind": "permutation", "name": name, "size_bytes": size} for name, size in sizes.items()]
    result = spinewise.run({"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}, "traffic": traffic})
    folder = result.write(tmp_path / "run")

    def listed(*options: str) -> set[str]:
        code, out, _ = run(capsys, "explain", folder, "--json", *options)
        assert code == 0
        return {one["traffic"] for one in json.loads(out)["slowest"]}

    assert listed() == {"small", "large"}
    assert (listed("--entry", "large"), listed("--class", "short")) == ({"large"}, {"small"})
    _, out, _ = run(capsys, "explain", folder, "--entry", "large", "--class", "short")
    assert (
        out
        == "No flow of size class short of large between two racks has sent anything: there are no paths to explain.\n"
    )
    code, _, err = run(capsys, "explain", folder, "--entry", "lrage")
    assert (code, "allowed  small, large" in err) == (2, True)
    code, _, err = run(capsys, "explain", folder, "--flow", "0", "--entry", "large")
    assert (code, "a list of slow flows" in err) == (2, True)


ONE_SPINE = {
    "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1},
    "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 30_000, "start_ns": 0}]}],
}


def test_a_flow_with_one_path_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list offers what can be told of it: what it waited for, as it had nothing to choose."""
    spinewise.run(ONE_SPINE).write(tmp_path / "run")
    code, out, _ = run(capsys, "explain", tmp_path / "run")
    assert code == 0
    asked = [str(tmp_path / "run")] * 2
    assert f"spinewise explain {' '.join(asked)} --flow 0" in out
    assert run(capsys, "explain", *asked, "--flow", "0")[1].startswith("Flow 0 took ")
    code, _, err = run(capsys, "explain", tmp_path / "run", "--flow", "0")
    assert code == 2
    assert "a flow that had more than one path" in err
    assert "this one had a single path throughout; flow 0 arrived after" in " ".join(err.split())
    assert "`explain RUN RUN --flow N` tells what it waited for" in " ".join(err.split())


def test_a_flow_that_has_not_arrived_is_told_so_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratio alone, 0.6, read as if it had been fast."""
    spinewise.run(ONE_SPINE | {"run": {"stop": "time", "until_us": 10}}).write(tmp_path / "run")
    _, out, _ = run(capsys, "explain", tmp_path / "run")
    assert "  0  not arrived after 10.00 µs, 0." in out


def test_whom_the_faults_hurt_is_listed_with_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    result = spinewise.run(LOST_ACKS)
    result.write(folder)
    code, out, _ = run(capsys, "explain", folder, "--hurt")
    assert code == 0
    hurt = {row["flow"] for row in result.flows.to_pylist() if row["timeouts"]}
    assert hurt
    assert f"{len(hurt)} of 12 flows between racks took more than a tenth longer" in out
    assert out.count("had no onward route at spine1") == min(len(hurt), 8)
    code, out, _ = run(capsys, "explain", folder, "--hurt", "--json")
    told = json.loads(out)
    assert {one["flow"]["flow"] for one in told["worst"]} <= hurt
    assert all(one["flow"]["took_us"] > 5000 > 10 * one["without_us"] for one in told["worst"])
    for args in (["--hurt", "--flow", "1"], ["--flow", "99"]):
        assert run(capsys, "explain", folder, *args)[0] == 2
    spinewise.run({key: value for key, value in LOST_ACKS.items() if key not in ("fault", "detection")}).write(
        tmp_path / "whole"
    )
    code, _, err = run(capsys, "explain", tmp_path / "whole", "--hurt")
    assert code == 2
    assert "a run with faults" in err
    code, out, _ = run(capsys, "explain", tmp_path / "whole")
    assert code == 0
    assert "--hurt" not in out


def test_flows_that_lost_packets_to_the_faults_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a link with chance losses, it told of eight flows that had never met it, and guessed why."""
    folder = tmp_path / "run"
    spec = {
        "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 6},
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 6000}],
        "fault": [{"kind": "loss", "ends": ["leaf0", "spine0"], "probability": 0.004, "at_us": 0}],
    }
    spinewise.run(spec).write(folder)
    code, out, _ = run(capsys, "explain", folder, "--hurt", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["worst"]
    assert all("leaf0->spine0" in one["why"] or "spine0->leaf0" in one["why"] for one in told["worst"])
    assert {one["why"] for one in told["others"]} <= {"it met other queues, as other flows sent at other times"}
    assert len(told["worst"]) + len(told["others"]) <= 8
    assert told["sooner"] > 0
    _, out, _ = run(capsys, "explain", folder, "--hurt")
    assert f"and {told['sooner']} more than a tenth less" in out
    assert out.index("lost packets to the faults") < out.index(f"--flow {told['worst'][0]['flow']['flow']}")
