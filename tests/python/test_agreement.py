"""`validate-against` on small cases, with a runner that makes up its results."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import recorded_cases
from samples import described, listed, raw
from spinewise import core
from spinewise.agreement import comparison, recorded, scores, setting
from spinewise.agreement.comparison import Measure, Runner, Sample, Task
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.measures import tables
from spinewise.shapes import Topology

ROWS = recorded_cases.random_rows(400)
DTYPES = {
    "src": "u32", "dst": "u32", "size_bytes": "u64", "start_ps": "u64", "finished": "bool", "sender_fct_ps": "u64",
}  # fmt: skip
Slowdown = Callable[[Task], Any]


def table(flows: recorded.Flows, slowdown: Any, finished: Any = None) -> Any:
    """What the engine would give, rows in another order than in the file."""
    order = np.argsort(flows.size_bytes, kind="stable")
    fct_ps = (flows.ideal_fct_ns * slowdown * 1000).astype(np.int64) + 999
    values = {
        "src": flows.src, "dst": flows.dst, "size_bytes": flows.size_bytes, "start_ps": flows.start_ns * 1000,
        "finished": np.ones(len(flows), bool) if finished is None else finished, "sender_fct_ps": fct_ps,
    }  # fmt: skip
    columns = {name: raw(dtype, values[name][order]) for name, dtype in DTYPES.items()}
    return tables.table(columns, described(DTYPES))


def fake(planned: comparison.Plan, slowdown: Slowdown) -> Runner:
    """A runner whose flows have the slowdowns that `slowdown` gives for a task."""

    def run(tasks: Sequence[Task], measure: Measure) -> list[Sample]:
        for task in tasks:
            assert Path(task.spec["traffic"][0]["file"]).read_text().startswith("src,dst,size_bytes,start_ns\n")
        return [measure(task, table(planned.flows[task.case.name], slowdown(task))) for task in tasks]

    return run


def theirs(case: str) -> Any:
    """Slowdowns with a tail, lower for a scheme that works."""
    rng = np.random.default_rng(len(case))
    gain = 1.0 if "ecmp" in case else 0.8
    return 1.05 + gain * rng.exponential(0.6, len(ROWS))


def ours(task: Task) -> Any:
    rng = np.random.default_rng([task.salt, len(task.case.name)])
    gain = 1.0 if task.spec["scheme"]["name"] == "ecmp" else 0.8
    return 1.05 + gain * rng.exponential(0.6, len(ROWS))


def recorded_flows(name: str) -> recorded.Flows:
    flows = recorded_cases.flows(ROWS)
    fct = (flows.ideal_fct_ns * theirs(name)).astype(np.int64)
    return recorded.Flows(flows.src, flows.dst, flows.size_bytes, flows.start_ns, fct, flows.ideal_fct_ns)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two schemes on one traffic, and what must be passed over."""
    for name in ("ali50-lossless-ecmp", "ali50-lossless-letflow"):
        recorded_cases.write(tmp_path / f"{name}.csv.gz", recorded_flows(name))
    recorded_cases.write(tmp_path / "dctcp-ecmp-odd.csv.gz", recorded_flows("ecmp"))
    (tmp_path / "README.md").write_text("none of it")
    return tmp_path


def test_names_say_what_ran(folder: Path) -> None:
    recorded_cases.write(folder / "fb_hdp2015-80-irn-pdlb.csv.gz", recorded_flows("ecmp"))
    recorded_cases.write(folder / "ali50-lossy-ecmp.csv.gz", recorded_flows("ecmp"))
    cases, there, skipped = recorded.find(folder)
    assert cases == there
    found = {case.name: (case.traffic, case.load, case.mode, case.scheme) for case in cases}
    assert found == {
        "ali50-lossless-ecmp": ("ali", "50", "lossless", "ecmp"),
        "ali50-lossless-letflow": ("ali", "50", "lossless", "letflow"),
        "fb_hdp2015-80-irn-pdlb": ("fb_hdp2015-", "80", "irn", "pdlb"),
    }
    assert cases[-1].baseline == "fb_hdp2015-80-irn-ecmp"
    assert [line.split(":")[0] for line in skipped] == ["ali50-lossy-ecmp.csv.gz", "dctcp-ecmp-odd.csv.gz"]


def test_the_spec_of_a_case(folder: Path) -> None:
    planned = comparison.plan(folder, 2)
    tasks = planned.tasks(folder)
    assert [(task.case.name, task.salt) for task in tasks] == [
        ("ali50-lossless-ecmp", 1), ("ali50-lossless-letflow", 1),
        ("ali50-lossless-ecmp", 2), ("ali50-lossless-letflow", 2),
    ]  # fmt: skip
    assert tasks[3].spec == {
        "name": "ali50-lossless-letflow",
        "seed": 3,
        "preset": "conweave-ns3",
        "topology": {
            "kind": "leaf_spine", "leaves": 8, "spines": 8, "hosts_per_leaf": 16,
            "host_rate_gbps": 100, "fabric_rate_gbps": 100, "host_delay_ns": 1000, "fabric_delay_ns": 1000,
            "tx_time_rounding": "floor_1ns",
        },
        "transport": {"kind": "rdma", "recovery": "go_back_n"},
        "switch": {"model": "shared_buffer", "pfc": True},
        "scheme": {"name": "letflow", "acks": "ecmp", "hash": "murmur3", "hash_salt": 2},
        "traffic": [{"kind": "flows", "file": str(folder / "ali50-lossless-letflow.csv")}],
    }  # fmt: skip
    irn = setting.spec_of(
        recorded.Recorded("a1-irn-rps", folder, "a", "1", "irn", "rps"), planned.fabrics["ali50-lossless-ecmp"],
        folder, 7, {"name": "rps"},
    )  # fmt: skip
    assert irn["transport"]["recovery"] == "irn"
    assert irn["switch"]["pfc"] is False


def test_like_distributions_agree(folder: Path) -> None:
    planned = comparison.plan(folder, 30)
    found = comparison.compare(planned, fake(planned, ours))
    assert [agreement.case for agreement in found] == ["ali50-lossless-ecmp", "ali50-lossless-letflow"]
    for agreement in found:
        assert agreement.flows == agreement.finished == 400
        assert 0.0 < agreement.ks < 0.15
        assert abs(agreement.scores["all"]["mean"].z) <= 3.0
    assert found[0].effect is None
    assert found[1].effect is not None
    assert found[1].effect["mean"].ours == pytest.approx(-0.073, abs=0.02)


def test_a_run_equal_to_theirs_has_their_statistics(folder: Path) -> None:
    planned = comparison.plan(folder, 2)
    (ecmp, letflow) = comparison.compare(planned, fake(planned, lambda task: theirs(task.case.name)))
    for agreement in (ecmp, letflow):
        for row in agreement.scores.values():
            for score in row.values():
                # Our times have less than a nanosecond more, cut off at the comparison.
                assert score.ours == pytest.approx(score.theirs, rel=2e-4)
        assert agreement.ks < 0.02
    assert letflow.effect is not None
    assert letflow.effect["mean"].ours == pytest.approx(letflow.effect["mean"].theirs, rel=1e-3)


def test_unfinished_flows_count_in_the_worst_salt_and_fail(folder: Path) -> None:
    planned = comparison.plan(folder, 2, ["*ecmp"])

    def run(tasks: Sequence[Task], measure: Measure) -> list[Sample]:
        flows = planned.flows["ali50-lossless-ecmp"]
        finished = [np.arange(400) >= missing for missing in (0, 3)]
        return [measure(task, table(flows, ours(task), finished[task.salt - 1])) for task in tasks]

    (agreement,) = comparison.compare(planned, run)
    assert agreement.finished == 397
    assert "3 of 400 flows did not finish" in agreement.problems


def test_another_list_of_flows_is_a_defect(folder: Path) -> None:
    planned = comparison.plan(folder, 2, ["*ecmp"])
    other = recorded_cases.flows(recorded_cases.random_rows(400, seed=2))

    def run(tasks: Sequence[Task], measure: Measure) -> list[Sample]:
        return [measure(task, table(other, 1.0)) for task in tasks]

    with pytest.raises(ValueError, match="other flows"):
        comparison.compare(planned, run)


def test_the_baseline_runs_though_it_was_not_asked_for(folder: Path) -> None:
    planned = comparison.plan(folder, 3, ["*letflow"])
    assert [case.name for case in planned.running] == ["ali50-lossless-letflow", "ali50-lossless-ecmp"]
    assert any("as a baseline only" in note for note in planned.notes)
    (agreement,) = comparison.compare(planned, fake(planned, ours))
    assert agreement.effect is not None


def test_an_ecmp_case_on_other_flows_is_no_baseline(folder: Path) -> None:
    recorded_cases.write(
        folder / "ali50-lossless-ecmp.csv.gz", recorded_cases.flows(recorded_cases.random_rows(400, seed=3))
    )
    planned = comparison.plan(folder, 2)
    assert any("no case on the same flows: ali50-lossless-letflow" in note for note in planned.notes)
    assert comparison.compare(planned, fake(planned, ours))[1].effect is None


def test_without_rerouting_the_effect_is_gone_and_the_case_fails(folder: Path) -> None:
    planned = comparison.plan(folder, 3, rerouting="off")
    assert [case.name for case in planned.cases] == ["ali50-lossless-letflow"]
    assert planned.schemes["ali50-lossless-letflow"] == {"name": "letflow", "params": {"flowlet_gap_us": 1e9}}

    def same(task: Task) -> Any:
        return 1.05 + np.random.default_rng(task.salt).exponential(0.6, len(ROWS))

    (agreement,) = comparison.compare(planned, fake(planned, same))
    assert any("effect on mean: +0.0 %" in problem and "wrong sign" in problem for problem in agreement.problems)
    with pytest.raises(SpecError, match="never reroutes"):
        comparison.plan(folder, 3, ["*ecmp"], rerouting="off")


def test_a_scheme_that_can_be_told_stays_itself() -> None:
    registry = [listed("x", "flowlet_gap_us", "other"), listed("y")]
    assert setting.without_rerouting({"name": "x"}, registry) == {"name": "x", "params": {"flowlet_gap_us": 1e9}}
    assert setting.without_rerouting({"name": "y"}, registry) == {"name": "ecmp"}


def test_the_engine_takes_what_never_comes() -> None:
    registry = core.registry()["schemes"]
    for entry in [entry for entry in registry if entry["fabrics"] == "any"]:
        scheme = setting.without_rerouting({"name": entry["name"]}, registry)
        traffic = [{"kind": "flows", "list": [{"src": 0, "dst": 5, "size_bytes": 1}]}]
        resolved = core.resolve({"scheme": scheme, "traffic": traffic})
        assert resolved["scheme"]["name"] in (entry["name"], "ecmp")


@pytest.mark.parametrize(
    ("hosts", "per_leaf", "leaves", "said"),
    [
        (128, 16, 8, ""),
        (256, 16, 16, "256 hosts, 16 a ToR"),
        (256, 32, 8, "256 hosts, 32 a ToR"),
        (64, 8, 8, "64 hosts"),
    ],
)
def test_the_fabric_follows_from_the_flows(hosts: int, per_leaf: int, leaves: int, said: str) -> None:
    flows = recorded_cases.flows(recorded_cases.random_rows(3000, hosts), per_leaf=per_leaf)
    fabric = setting.fabric_of(flows)
    assert (fabric.leaves, fabric.hosts_per_leaf) == (leaves, per_leaf)
    assert said in fabric.assumed
    assert bool(said) == bool(fabric.assumed)


def test_ideals_of_another_fabric_are_said_to_be_so() -> None:
    flows = recorded_cases.flows([(0, 127, 5, 0)])
    odd = recorded.Flows(*(getattr(flows, name) + (name == "ideal_fct_ns") for name in recorded.COLUMNS))
    assert "not that of such a fabric" in setting.fabric_of(odd).assumed


# ---- the command ----


def use(monkeypatch: pytest.MonkeyPatch, slowdown: Slowdown) -> None:
    """Let the command run the fake in place of the engine."""
    plans: list[comparison.Plan] = []
    usual = comparison.plan

    def plan(*args: Any, **more: Any) -> comparison.Plan:
        plans.append(usual(*args, **more))
        return plans[-1]

    monkeypatch.setattr(comparison, "plan", plan)
    monkeypatch.setattr(comparison, "engine_runner", lambda jobs, monitor: fake(plans[-1], slowdown))


def test_the_command_prints_a_table_and_a_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, lambda task: ours(task) * 1.3)
    out = folder / "out.json"
    assert main(["validate-against", str(folder), "--salts", "3", "--json", str(out)]) == 1
    captured = capsys.readouterr()
    for said in ("ali50-lossless-letflow", "400/400 flows", "vs ecmp", "p99", "FAIL: ", "0 of 2 cases agree"):
        assert said in captured.out
    assert "dctcp-ecmp-odd.csv.gz: skipped" in captured.err
    few = "salts tell little of that deviation: z, and so pass or FAIL, may be chance (--salts 30)"
    assert f"3 {few}" in captured.out
    assert main(["validate-against", str(folder), "--salts", "10"]) == 1
    assert few not in capsys.readouterr().out
    records = json.loads(out.read_text())
    assert [record["case"] for record in records] == ["ali50-lossless-ecmp", "ali50-lossless-letflow"]
    for record in records:
        assert set(record) >= {"case", "flows", "finished", "ks", "effect", "all", "short", "long"}
        assert record["flows"] == record["finished"] == 400
        assert record["verdict"] == "fail"
        for name in ("all", "short", "long"):
            assert set(record[name]) == {"mean", "p50", "p95", "p99"}
            assert set(record[name]["p99"]) == {"theirs", "ours", "ours_sd", "z"}
    assert records[0]["effect"] is None
    assert set(records[1]["effect"]) == {"mean", "p99"}
    assert set(records[1]["effect"]["mean"]) == {"theirs", "ours", "ours_sd", "z"}


@pytest.mark.parametrize("options", [["DIR", "--json"], ["--json", "DIR"]])
def test_json_on_standard_output_and_exit_code_of_agreement(
    options: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def around(task: Task) -> Any:
        return theirs(task.case.name) * np.random.default_rng([task.salt, len(task.case.name)]).uniform(0.99, 1.01)

    use(monkeypatch, around)
    args = [str(folder) if option == "DIR" else option for option in options]
    assert main(["validate-against", *args, "--salts", "10"]) == 0
    captured = capsys.readouterr()
    assert [record["verdict"] for record in json.loads(captured.out)] == ["pass", "pass"]
    assert "ali50-lossless-ecmp: pass" in captured.err


def test_the_engine_runs_what_it_knows(folder: Path) -> None:
    """The real runner, with specs cut down to what every version of the engine has."""
    planned = comparison.plan(folder, 2, ["*ecmp"])
    known = ("leaves", "spines", "hosts_per_leaf", "host_rate_gbps", "fabric_rate_gbps")
    runner = comparison.engine_runner(jobs=1)

    def run(tasks: Sequence[Task], measure: Measure) -> list[Sample]:
        plain = [
            task._replace(
                spec={
                    "seed": task.spec["seed"],
                    "topology": cast("Topology", {key: task.spec["topology"].get(key) for key in known}),
                    "traffic": task.spec["traffic"],
                }
            )
            for task in tasks
        ]
        return runner(plain, measure)

    (agreement,) = comparison.compare(planned, run)
    assert agreement.finished == 400
    assert agreement.scores["all"]["mean"].ours >= 1.0
    assert agreement.scores["all"]["mean"].ours_sd > 0.0


def test_cases_run_end_to_end_where_the_engine_has_the_preset(folder: Path) -> None:
    """The command's own runner on the preset; without it, the engine must refuse by the preset's name."""
    args = ["validate-against", str(folder), "--salts", "2", "--jobs", "1", "--json", str(folder / "out.json")]
    if recorded_cases.engine_has_the_preset():
        assert main(args) == 1  # the recorded times are made up
        assert [record["finished"] for record in json.loads((folder / "out.json").read_text())] == [400, 400]
    else:
        assert main(args) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["none"], "no such folder"),
        (["."], "none there"),
        ([], "recorded cases"),
        (["cases", "--cases", "web*"], "ali50-lossless-ecmp"),
        (["cases", "--cases", "*-irn-*"], "a pattern that fits"),
    ],
)
def test_folders_without_cases(options: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    places = {"none": folder / "none", ".": folder / "empty", "cases": folder}
    code = main(["validate-against", *(str(places.get(option, option)) for option in options)])
    assert code == 2
    assert said in capsys.readouterr().err


def test_an_unknown_scheme_names_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded_cases.write(folder / "ali50-irn-letflwo.csv.gz", recorded_flows("ecmp"))
    assert main(["validate-against", str(folder)]) == 2
    err = capsys.readouterr().err
    assert "ali50-irn-letflwo.csv.gz" in err
    assert 'did you mean "letflow"?' in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"src,dst\n0,1\n", "size_bytes"),
        (b"", "columns"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n", "no flow"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n0,1,5,0,9,9\n0,1,5,-1,9,9\n", "line 3, start_ns"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n0,1,5,0,9\n", "line 2, ideal_fct_ns"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n0,1,0,0,9,9\n", "line 2, size_bytes"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n0,1,5,9999999999999999999999,9,9\n", "line 2, start_ns"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n300000,1,5,0,9,9\n", "line 2, src"),
        (b"src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n0,1,5,0,9,9\n7,7,5,0,9,9\n", "line 3, dst"),
    ],
)
def test_bad_cases_name_file_and_line(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ali50-irn-ecmp.csv.gz").write_bytes(gzip.compress(content))
    assert main(["validate-against", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "ali50-irn-ecmp.csv.gz" in err
    assert said in err


def test_what_is_not_gzip_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ali50-irn-ecmp.csv.gz").write_bytes(b"src,dst")
    assert main(["validate-against", str(tmp_path)]) == 2
    assert "gzip" in capsys.readouterr().err


def test_every_scheme_of_the_registry_may_stand_in_a_name() -> None:
    registry = core.registry()["schemes"]
    for entry in registry:
        setting.known_scheme(entry["name"], registry, "file")


LOSSLESS = """
preset = "conweave-ns3"
[topology]
leaves = 8
spines = 8
hosts_per_leaf = 16
host_rate_gbps = 100
fabric_rate_gbps = 100
host_delay_ns = 1000
fabric_delay_ns = 1000
[[traffic]]
kind = "flows"
file = "flows.csv"
"""


# What a process has had in memory at most, since it began to be this program, without what it maps of files, kB: how
# many pages of a library are mapped depends on what else the machine has read.
MEASURED = """
import re, sys
from spinewise.cli import main
code = main(["run", "spec.toml", "--out", "run", "--json"])
status = dict(re.findall(r"(\\w+):\\s+(\\d+) kB", open("/proc/self/status").read()))
print(int(status["VmHWM"]) - int(status["RssFile"]), file=sys.stderr)
sys.exit(code)
"""


def test_a_recorded_case_takes_less_than_55_mb_of_its_own(tmp_path: Path) -> None:
    """The process, results written: 45 MB, and 52 MB of mapped libraries; their simulator took 311 MB."""
    for path in recorded_cases.present("ali50-lossless-ecmp.csv.gz"):
        (case,), _, _ = recorded.find(path.parent, [path.name.removesuffix(".csv.gz")])
        (tmp_path / "flows.csv").write_text(setting.flow_csv(recorded.read(case)))
        (tmp_path / "spec.toml").write_text(LOSSLESS)
        command = [sys.executable, "-c", MEASURED]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert int(done.stderr.split()[-1]) < 55 * 1024


# The table in the recorded cases' own description: mean, p50, p95, p99 of all, mean and p99 of short and long flows.
SUMMED_UP = {
    "ali50-irn-conweave": (1.3264, 1.1052, 2.2895, 3.6281, 1.2710, 2.8952, 2.5056, 8.0006),
    "ali50-irn-ecmp": (1.4462, 1.0942, 3.0176, 5.7198, 1.3500, 4.0957, 3.4952, 14.2830),
    "ali50-lossless-conweave": (1.4135, 1.1046, 2.7730, 4.8683, 1.3405, 3.6901, 2.9686, 9.2529),
    "ali50-lossless-ecmp": (1.6567, 1.1018, 4.1983, 8.7955, 1.5499, 6.6338, 3.9315, 14.1341),
    "ali50-lossless-letflow": (1.6307, 1.1023, 4.1849, 7.7759, 1.5241, 6.2047, 3.9003, 13.0392),
}


def test_a_recorded_case_is_timed_beside_the_reference_loop(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = next(path for path in sorted(folder.glob("*.csv.gz")) if "lossless-ecmp" in path.name)
    assert main(["bench", "--recorded", str(name), "--rounds", "1", "--share", "0.001", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["name"] == name.name.removesuffix(".csv.gz")
    assert record["packet_hops"] > 0
    ratio = record["seconds"] / record["packet_hops"] * 1e9 / record["reference_ns"]
    assert record["ratio_to_reference"] == pytest.approx(ratio)
    assert main(["bench", "--recorded", str(folder / "nowhere.csv.gz")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    odd = folder / "odd.csv.gz"
    odd.write_bytes(name.read_bytes())
    assert main(["bench", "--recorded", str(odd)]) == 2
    assert "--recorded" in (said := capsys.readouterr().err)
    assert "<traffic><load>" in said


def test_their_statistics_are_those_they_are_described_by() -> None:
    for path in recorded_cases.present("ali50-*.csv.gz"):
        (case,), _, _ = recorded.find(path.parent, [path.name.removesuffix(".csv.gz")])
        flows = recorded.read(case)
        found = scores.statistics(flows.size_bytes, scores.slowdowns(flows.fct_ns, flows.ideal_fct_ns))
        given = (*found[0], found[1, 0], found[1, 3], found[2, 0], found[2, 3])
        assert given == pytest.approx(SUMMED_UP[case.name], abs=6e-5)
