"""The command line: output, exit codes, and one screen for bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spinewise
from spinewise import core
from spinewise.cli import main

SRC = str(Path(spinewise.__file__).parents[1])


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_run_prints_a_summary_and_keeps_results_when_asked(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "run", tiny, "--seed", 5)
    assert code == 0
    for word in ("short", "long", "all", "FCT", "slowdown", "p99.9", "unfinished", "seed 5"):
        assert word in out
    code, out, _ = run(capsys, "run", tiny, "--out", tmp_path / "out")
    assert code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "run.json", "flows.parquet", "series.parquet", "collectives.parquet",
    }  # fmt: skip
    again = spinewise.Result.read(tmp_path / "out")
    assert again.summary().of("all").flows == again.flows.num_rows > 0


def test_run_as_json(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "run", tiny, "--json", "--set", "seed=4")
    record = json.loads(out)
    assert code == 0
    assert record["seed"] == 4
    assert record["outcome_hash"] == spinewise.run(tiny, seed=4).report["outcome_hash"]


def test_compare_prints_tables_and_writes_figures(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("compare", tiny, "--schemes", "ecmp,rps", "--loads", "0.2,0.4", "--seeds", 2)
    code, out, _ = run(capsys, *args, "--out", tmp_path / "out")
    assert code == 0
    assert "vs ecmp" in out
    assert (tmp_path / "out" / "fct.png").stat().st_size > 10_000
    code, out, _ = run(capsys, *args, "--json")
    record = json.loads(out)
    assert code == 0
    assert len(record["cells"]) == 8
    assert record["paired"] is True


def test_validate(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "validate", tiny)
    assert code == 0
    assert "valid" in out
    code, out, _ = run(capsys, "validate", tiny, "--json")
    assert json.loads(out)["spec"]["topology"]["leaves"] == 2


@pytest.mark.parametrize("kind", ["schemes", "topologies", "workloads", "transports", "presets"])
def test_registries_list_and_show(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, kind, "--json")
    entries = json.loads(out)
    assert code == 0
    assert entries
    code, out, _ = run(capsys, kind)
    assert all(entry["name"] in out for entry in entries)
    code, out, _ = run(capsys, kind, entries[0]["name"])
    assert code == 0
    assert entries[0]["name"] in out


def test_bench_prints_a_line_per_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[object, ...]] = []
    record = {
        "name": "a_case",
        "hosts": 128,
        "packet_hops": 10**8,
        "seconds": 5.0,
        "packet_hops_per_s": 2e7,
        "events_per_packet_hop": 1.1,
        "reference_ns": 40.0,
        "ns_per_packet_hop": 50.0,
        "peak_rss_mb": 100.0,
    }

    def bench(*options: object) -> list[dict[str, object]]:
        asked.append(options)
        return [record]

    monkeypatch.setattr("spinewise.core.bench", bench)
    code, out, _ = run(capsys, "bench", "--only", "case", "--rounds", 2, "--share", 0.5)
    assert code == 0
    assert asked == [("case", 2, 0.5)]
    assert "a_case" in out
    assert "1.25" in out
    assert json.loads(run(capsys, "bench", "--json")[1]) == [record]


def test_bench_prints_decisions_in_a_table_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"pick_ns": 12.5, "egress_ns": None, "feedback_ns": 7.0, "tick_ns": 1234.0, "reference_ns": 30.0}
    record = {"name": "decisions_a_scheme_64", "scheme": "a_scheme", "paths": 64, **times}
    monkeypatch.setattr("spinewise.core.bench", lambda *_: [record])
    code, out, _ = run(capsys, "bench", "--only", "decisions")
    assert code == 0
    line = next(line for line in out.splitlines() if "a_scheme" in line)
    assert line.split() == ["a_scheme", "64", "12.5", "–", "7.00", "1,234", "30.0"]
    assert "hops" not in out


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["compare", "SPEC", "--schemes", "ecmp,foo"], "--schemes", '"foo"'),
        (["compare", "SPEC", "--schemes", "letflow:gap=1,ecmp"], "--schemes gap", "1"),
        (["compare", "SPEC", "--schemes", "ecmp,rps:transport.kind=xx@x"], "--schemes transport.kind", '"xx"'),
        (["advise", "SPEC", "--schemes", "letflow:gap=1"], "--schemes gap", "1"),
        (["run", "SPEC", "--capture", "leaf0,leafX", "--out", "out"], "--capture", '"leafX"'),
        (["run", "SPEC", "--trace", "99999,0", "--out", "out"], "--trace", "99999,0"),
        (["run", "SPEC", "--trace", "0", "--threads", "2", "--out", "out"], "--threads", "2"),
    ],
)
def test_an_option_is_blamed_by_its_name(
    words: list[str], key: str, value: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an option has set is not looked for in the spec file."""
    places = {"SPEC": str(tiny), "out": str(tiny.with_name("out"))}
    assert main([places.get(word, word) for word in words] + ["--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["key"], error["value"], error["file"]) == (key, value, None)
    assert not Path(places["out"]).exists()


def test_the_load_asked_for_stands_beside_what_was_drawn(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tiny), "--set", "traffic[0].load=0.25"]) == 0
    assert "offered load: requested 0.25 · payload over the nominal rate of uplinks 0." in capsys.readouterr().out
    assert main(["compare", str(tiny), "--schemes", "ecmp,rps", "--loads", "0.2,0.4", "--seeds", "1"]) == 0
    assert "drawn as payload over the nominal rate of uplinks: 0.2 → 0." in " ".join(capsys.readouterr().out.split())


def test_loads_of_host_links_are_told_apart_from_those_of_uplinks(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = ["--set", "traffic[0].load_of=host_links"]
    assert main(["run", str(tiny), *hosts, "--set", "traffic[0].load=0.25"]) == 0
    assert "requested 0.25 of hosts' links · payload" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(tiny), *hosts, "--schemes", "ecmp,rps", "--loads", "0.2,0.4", "--seeds", "1"]) == 0
    assert "load requested of hosts' links, and drawn" in " ".join(capsys.readouterr().out.split())


def test_udp_flows_are_told_of(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tiny)]) == 0
    assert "UDP" not in capsys.readouterr().out
    assert main(["run", "one_udp_flow"]) == 0
    told = "UDP, which the tables leave out: 1 flow, 1,000 packets sent; 1 arrived in full, the slowest after 1.208 ms"
    assert told in capsys.readouterr().out


def test_what_the_file_says_is_blamed_on_the_file(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.write_text(tiny.read_text() + '\n[compare]\nschemes = ["ecmp", "foo"]\n')
    assert main(["compare", str(tiny), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["file"] == str(tiny)


def test_unknown_scheme_name_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "schemes", "ecpm")
    assert code == 2
    assert 'did you mean "ecmp"?' in err


BAD = {
    "unknown key": (["--set", "topology.leafs=3"], "topology.leafs", "leaves"),
    "unknown scheme": (["--set", "scheme.name=ecpm"], "scheme.name", "ecmp"),
    "wrong type": (["--set", 'topology.leaves="two"'], "topology.leaves", "two"),
    "no rate": (["--set", "topology.host_rate_gbps=0"], "topology.host_rate_gbps", "0"),
    "negative rate": (["--set", "topology.fabric_rate_gbps=-1"], "topology.fabric_rate_gbps", "-1"),
    "load out of range": (["--set", "traffic[0].load=-0.5"], "traffic[0].load", "-0.5"),
    "unknown workload": (["--set", "traffic[0].cdf=web_serach"], "traffic[0].cdf", "web_search"),
    "malformed override": (["--set", "topology"], "--set", "KEY=VALUE"),
    "missing item": (["--set", "traffic[3].load=1"], "--set traffic[3].load", "index"),
    "not finite": (["--set", "traffic[0].load=nan"], "traffic[0].load", "finite"),
    "a date": (["--set", "seed=2020-01-01"], "seed", "2020"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_fills_one_screen_and_exits_with_2(case: str, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options, key, said = BAD[case]
    commands = [["run"], ["validate"]]
    if not key.startswith("scheme."):  # compare sets the scheme itself
        commands.append(["compare", "--schemes", "ecmp,rps", "--seeds", "1"])
    for command in commands:
        code, out, err = run(capsys, command[0], tiny, *command[1:], *options)
        assert code == 2, (command, out, err)
        assert key in err
        assert said in err
        assert "allowed" in err
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 24
        assert all(len(without_schemes(line)) <= 300 for line in err.splitlines())


def without_schemes(line: str) -> str:
    """A line without the list of all schemes, which grows with the registry."""
    *names, last = (entry["name"] for entry in core.schemes())
    return line.replace(", ".join(f'"{name}"' for name in names) + f' or "{last}"', "SCHEMES")


def test_bad_input_as_json(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.write_text(tiny.read_text().replace("leaves = 2", "leaves = 0"))
    code, out, _ = run(capsys, "run", tiny, "--json")
    error = json.loads(out)["error"]
    assert code == 2
    assert error["file"] == str(tiny)
    assert error["key"] == "topology.leaves"
    assert error["value"] == "0"


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "run", tmp_path / "none.toml")
    assert code == 2
    assert "none.toml" in err
    (tmp_path / "bad.toml").write_text("a = ")
    code, _, err = run(capsys, "validate", tmp_path / "bad.toml")
    assert code == 2
    assert "TOML" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("src,dst,size_bytes\n0,2,1000\n", "start_ns"),
        ("src,dst,size_bytes,start_ns\n0,2,-5,0\n", "-5"),
        ("src,dst,size_bytes,start_ns\n0,99,1000,0\n", "99"),
    ],
)
def test_bad_flow_lists(tmp_path: Path, content: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flows.csv").write_text(content)
    spec = tmp_path / "spec.toml"
    spec.write_text('[topology]\nhosts_per_leaf = 2\n[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n')
    code, _, err = run(capsys, "run", spec)
    assert code == 2
    assert said in err


def test_existing_results_and_unwritable_folders(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "run", tiny, "--out", tmp_path / "out")[0] == 0
    code, _, err = run(capsys, "run", tiny, "--out", tmp_path / "out")
    assert code == 2
    assert "--force" in err
    assert run(capsys, "run", tiny, "--out", tmp_path / "out", "--force")[0] == 0
    code, _, err = run(capsys, "run", tiny, "--out", tiny / "out")
    assert code == 2
    assert "--out" in err


LONG = ["--set", "traffic[0].duration_us=600000000"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGKILL, -9)]
)
@pytest.mark.parametrize("command", [["run"], ["compare", "--schemes", "ecmp,rps", "--seeds", "2"]])
def test_a_stopped_command_leaves_nothing_half_written(
    tiny: Path, tmp_path: Path, number: signal.Signals, code: int, command: list[str]
) -> None:
    out = tmp_path / "results" / "out"
    # Tests that run in the background or under nohup are made to ignore these, and so would be what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = subprocess.Popen(
        [sys.executable, "-m", "spinewise", command[0], str(tiny), *command[1:], *LONG, "--out", str(out)],
        env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(out.parent.glob(".out.spinewise-partial-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err
    assert not out.exists()
    if number != signal.SIGKILL:
        assert list(out.parent.iterdir()) == []


def test_a_closed_pipe_is_no_error(tiny: Path) -> None:
    process = subprocess.run(
        f"{sys.executable} -m spinewise schemes | true",
        shell=True,
        env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stderr == ""


def test_help_does_not_need_the_engine() -> None:
    code = "import sys; sys.modules['spinewise._core'] = None; from spinewise.cli import main; main(['--help'])"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert "reproduce" in process.stdout
