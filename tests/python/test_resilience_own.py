"""`resilience SPEC.toml`: what the faults of a user's own spec cost."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samples
import spinewise
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.measures.waits import Tail, Waits, waited_until
from spinewise.page import of_resilience
from spinewise.resilience import own, own_files, own_recorded
from spinewise.resilience.compared import received
from spinewise.resilience.own_recorded import Recording
from spinewise.shapes import Spec
from spinewise.show import terminal
from spinewise.specs.faults import without_faults
from spinewise.specs.spec import as_spec, resolve

SPEC: dict[str, Any] = {
    "name": "mine",
    "preset": "datacenter",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [
        {"kind": "permutation", "size_bytes": 400_000},
        {"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 20_000},
    ],
    "fault": [{"kind": "rate", "ends": ["leaf0", "spine0"], "rate_gbps": 1, "at_us": 100, "until_us": 900}],
}


def recording(goodput: list[float]) -> Recording:
    over_us = 10.0 * len(goodput)
    return Recording(
        np.array(goodput), {"all": 1e-3}, {}, {"all": False}, {"all": 0}, 0, 0, 0, 0, {}, {}, {}, over_us, "", ""
    )


def plan(last_us: float = math.inf) -> own.Plan:
    return own.Plan({"metrics": {"series_interval_us": 10.0}}, [], [], [1], 20.0, last_us)


def test_what_was_lost_counts_from_the_first_fault_to_the_last_repair() -> None:
    whole = recording([100.0] * 20)
    broken = recording([100.0] * 2 + [50.0] * 4 + [100.0] * 14)
    assert own.outcome(broken, whole, plan(60.0)).goodput_lost == pytest.approx(0.5)
    found = own.outcome(broken, whole, plan(100.0))
    assert found.goodput_lost == pytest.approx(0.25)
    assert (found.until_ms, found.recovery_ms) == (0.1, 0.04)


def test_flows_are_set_against_themselves_without_the_fault() -> None:
    """One link of many that loses packets hits too few flows for a 99th percentile to show it."""
    entries = {"web": 1e-3, "storage": 1e-3, "all": 1e-3}
    whole = replace(
        recording([1.0] * 20), p99_s=entries,
        fct_s={"web": np.ones(1000, np.float32), "storage": np.ones(0, np.float32)},
        at_least=dict.fromkeys(entries, False), unfinished=dict.fromkeys(entries, 0),
    )  # fmt: skip
    times = np.concatenate([[2.1] * 5, [2.0] * 3, [0.4] * 2, [1.0] * 990]).astype(np.float32)
    broken = replace(whole, fct_s={"web": times, "storage": whole.fct_s["storage"]})
    found = own.outcome(broken, whole, plan(100.0))
    assert (found.doubled["web"], found.halved["web"]) == (0.005, 0.002)
    assert (found.doubled["all"], found.halved["all"]) == (0.005, 0.002)
    assert math.isnan(found.doubled["storage"])


def test_a_fault_that_stays_counts_until_the_run_without_it_tails_off() -> None:
    """All flows are done in the end, with half of the goodput too."""
    whole = recording([100.0] * 20)
    broken = recording([100.0] * 2 + [50.0] * 36)
    found = own.outcome(broken, whole, plan())
    assert found.goodput_lost == pytest.approx(0.5)
    assert math.isinf(found.recovery_ms)
    # Its goodput holds to its end.
    assert found.until_ms == found.tails_off_ms == pytest.approx(0.2)


def test_goodput_is_not_back_because_the_run_without_faults_is_done_with_most() -> None:
    whole = recording([100.0] * 42 + [40.0] * 20)
    broken = recording([100.0] * 2 + [50.0] * 94)
    found = own.outcome(broken, whole, plan())
    assert math.isinf(found.recovery_ms)
    assert 0.42 <= found.tails_off_ms <= 0.45
    assert found.goodput_lost == pytest.approx(0.5, abs=0.02)
    assert own.outcome(broken, whole, plan(900.0)) == found


def test_a_run_that_catches_up_after_the_other_has_ended_is_not_back() -> None:
    late = recording([100.0] * 2 + [0.0] * 4 + [100.0] * 4)
    found = own.outcome(late, recording([100.0] * 6), plan(60.0))
    assert found.goodput_lost == 1.0
    assert math.isinf(found.recovery_ms)


def test_a_repair_just_before_the_end_leaves_no_time_to_be_back() -> None:
    whole = recording([100.0] * 102)
    broken = recording([100.0] * 2 + [50.0] * 97 + [100.0] * 52)
    assert math.isinf(own.outcome(broken, whole, plan(990.0)).recovery_ms)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((200.0, math.inf, 2_200.0), 10.0),
        ((1_000.0, math.inf, 11_000.0), 50.0),
        ((1_000.0, 5_000.0, 11_000.0), 20.0),
        # Repaired long after the traffic.
        ((1_000.0, 1e6, 11_000.0), 50.0),
        ((900_000.0, math.inf, 4_000.0), 20.0),
    ],
)
def test_intervals_are_as_fine_as_the_time_with_faults_and_traffic(
    times: tuple[float, float, float], expected: float
) -> None:
    assert own.interval(*times) == expected


def test_the_end_of_the_traffic_does_not_wait_for_the_end_of_the_run() -> None:
    spec = without_faults(as_spec(SPEC))
    timed: Spec = {**spec, "run": {"stop": "time"}}
    assert own.traffic_end_us(timed, 1) == own.traffic_end_us(spec, 1) < 2_000.0


def test_goodput_adds_up_to_the_flows_to_the_last_byte() -> None:
    """The series has no point for the interval in which a run ends."""
    result = spinewise.run({**SPEC, "metrics": {"series_interval_us": 70}})
    sent = 4 * 400_000 + 2 * 20_000
    assert result.series_of("received_bytes")[1].sum() < sent
    assert received(result, 70.0).sum() == sent


LASTING = """
[topology]
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate_gbps = 10
fabric_rate_gbps = 10
[[traffic]]
kind = "permutation"
size_bytes = 1_000_000
[[fault]]
kind = "rate"
ends = ["leaf0", "spine0"]
rate_gbps = 0.5
at_us = 100
"""


def test_a_fault_that_stays_costs_what_it_costs_until_the_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The fault once without an end, and once with one when the runs without it are nearly done."""
    file = tmp_path / "lasting.toml"
    file.write_text(LASTING)
    command = ["resilience", str(file), "--schemes", "rps", "--seeds", "2", "--json"]
    lost = []
    for more in ([], ["--set", "fault[0].until_us=1300"]):
        assert main([*command, *more]) == 0
        lost.append([run["goodput_lost"] for run in json.loads(capsys.readouterr().out)["runs"]])
    assert all(one > 0.2 for one in lost[0])
    assert lost[0] == pytest.approx(lost[1], abs=0.1)
    assert main(command[:-1]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(the run without faults ends or tails off)" in told
    assert "not seen: not before the run without faults ends or tails off" in told


CUT = """
[topology]
leaves = 2
spines = 1
hosts_per_leaf = 2
[run]
until_us = 50_000
[[traffic]]
kind = "poisson"
cdf = "ali_storage"
load = 0.4
duration_us = 4_000
pairs = "inter_rack"
[[fault]]
kind = "down"
ends = ["leaf0", "spine0"]
at_us = 1_000
may_cut_off = true
"""


def tail(stop_us: int, **columns: list[int] | list[bool]) -> Tail:
    """The 99th percentile of a hand-made run of flows that would take 100 µs alone."""
    rows = len(columns["finished"])
    made = samples.result(entry=[0] * rows, size_bytes=[1000] * rows, ideal_fct_ps=[10**8] * rows, **columns)
    made.report["stop_ps"] = stop_us * 10**6
    spec: Spec = {"traffic": [{"kind": "poisson", "name": "web"}], "run": {"until_us": 100_000}}
    masks = own_recorded.members(spec, made, ("web", "all"))
    waits = Waits.of(made.flows, spec, waited_until(spec, made.report))
    web, every = (own_recorded.tail(made.summary().of("all"), waits, masks[name]) for name in ("web", "all"))
    assert web == every
    return web


def test_a_flow_that_did_not_finish_counts_with_the_time_that_it_waited() -> None:
    """Of two flows, the 99th percentile is the longer time."""
    done = tail(900, fct_ps=[2 * 10**8, 3 * 10**8], finished=[True, True])
    assert (done.fct_s, done.at_least) == (3e-4, False)
    left = tail(900, fct_ps=[2 * 10**8, 0], finished=[True, False], start_ps=[0, 10**8])
    assert left.fct_s == pytest.approx(8e-4)
    assert left.at_least
    # It has waited for less than the percentile by now, and nobody knows what it would have come to.
    late = tail(400, fct_ps=[3 * 10**8, 0], finished=[True, False], start_ps=[0, 3 * 10**8])
    assert late.fct_s == pytest.approx(3e-4)
    assert late.at_least
    # One of 200 is beyond the percentile.
    few = tail(900, fct_ps=[2 * 10**8] * 199 + [0], finished=[True] * 199 + [False])
    assert few.fct_s == pytest.approx(2e-4)
    assert not few.at_least


def test_who_strands_flows_is_not_praised(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The flows that finished before the only link was cut are the quick ones: they were told as -97 %."""
    file = tmp_path / "cut.toml"
    file.write_text(CUT)
    assert main(["resilience", str(file), "--schemes", "ecmp", "--seeds", "2", "--json"]) == 0
    for run in json.loads(capsys.readouterr().out)["runs"]:
        assert run["unfinished"]["all"] > 0 == run["unfinished_whole"]["all"]
        assert run["p99_at_least"] == {"poisson": True, "all": True}
        assert 45.0 < run["p99_ms"]["all"] < 50.0
    assert main(["resilience", str(file), "--schemes", "ecmp", "--seeds", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "all ecmp ≥ " in told
    assert "≥ +" in told
    assert "they count in the percentile with the time they had waited by then" in told
    assert "≥: at least, as on some seed such a flow had waited for less than that" in told


def test_nothing_is_compared_with_a_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A run that stops before its flows are done knows no percentile of them, with the faults or without."""
    file = tmp_path / "short.toml"
    file.write_text(LASTING + "[run]\nuntil_us = 300\n")
    assert main(["resilience", str(file), "--schemes", "ecmp", "--seeds", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"all ecmp ≥ \S+ ±\S+ – \S+ ±\S+ \S+ ±\S+ 16 ", told)
    assert "without the faults 16 flows did not finish either" in told


def test_times_have_a_unit_that_shows_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A fault of 20 µs on links of 400 Gbps: in ms to one decimal all of it was 0.0 ±0.0."""
    file = tmp_path / "fast.toml"
    file.write_text(
        "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate_gbps = 400\nfabric_rate_gbps = 400\n"
        "host_delay_ns = 100\nfabric_delay_ns = 100\n"
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 1_000_000\n'
        '[[fault]]\nkind = "rate"\nends = ["leaf0", "spine0"]\nrate_gbps = 100\nat_us = 10\nuntil_us = 30\n'
    )
    assert main(["resilience", str(file), "--schemes", "letflow", "--seeds", "3"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "95 % after [µs]" in told
    assert "traffic scheme p99 FCT [µs] vs none" in told
    assert re.search(r"all letflow \d\d\.\d\d ±\d+\.\d\d ", told)
    assert "from 10 µs (the first fault) to 30 µs (the last repair)" in told
    assert "in intervals of 10 µs" in told
    assert re.search(r"tails off \(\d\d\.\d–\d\d\.\d µs\)", told)


def test_a_share_below_zero_is_explained() -> None:
    made = own.Plan.of(SPEC, "ecmp", 1)
    runs = {("ecmp", made.seeds[0], broken): recording([100.0 + 10.0 * broken] * 90) for broken in (True, False)}
    told = " ".join(own_files.notes(own.Study(made, runs)))
    assert "below zero: more bytes arrived with the faults than without" in told


def test_a_fault_after_the_traffic_is_told_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """No bytes arrive meanwhile without the faults either: that is no loss, and no goodput that never comes back."""
    found = own.outcome(recording([100.0, 100.0]), recording([100.0, 100.0]), plan(60.0))
    assert math.isnan(found.goodput_lost)
    assert math.isnan(found.recovery_ms)
    file = tmp_path / "late.toml"
    file.write_text(
        "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 10_000\n'
        '[[fault]]\nkind = "down"\nends = ["leaf0", "spine0"]\nat_us = 800_000\nuntil_us = 900_000\n'
    )
    assert main(["resilience", str(file), "--schemes", "ecmp", "--seeds", "2"]) == 0
    told = capsys.readouterr().out
    row = next(line.split() for line in told.splitlines() if line.lstrip().startswith("ecmp"))
    assert row[:5] == ["ecmp", "no", "traffic", "no", "traffic"]
    assert "no byte would arrive from 800 ms to 900 ms" in told
    assert "nan" not in told
    assert "never" not in told
    warned = "warning: fault[0].at_us: This fault begins after 800000 us, and the runs were over after "
    assert warned in " ".join(told.split())


def test_a_fault_after_some_runs_is_told_as_well() -> None:
    made = own.Plan.of(SPEC | {"fault": [{**SPEC["fault"][0], "at_us": 25}]}, "ecmp,rps", 1)
    seed = made.seeds[0]
    runs = {(label, seed, broken): recording([9.0] * length)
            for label, length in (("ecmp", 2), ("rps", 3)) for broken in (True, False)}  # fmt: skip
    [told] = own.Study(made, runs).warnings
    over = "1 of 2 runs were over after 20 us: it changed nothing there."
    assert told.text == f"This fault begins after 25 us, and {over}"
    assert own_files.record(own.Study(made, {key: recording([9.0] * 3) for key in runs}))["warnings"] == []


def test_each_entry_is_told_of_with_and_without_the_faults() -> None:
    made = own.Plan.of(SPEC, "ecmp,rps", 2)
    study = made.run(made.cases(), 1, None)
    assert study.entries == ["permutation", "incast", "all"]
    assert (made.first_us, made.last_us) == (100.0, 900.0)
    assert study.interval("ecmp", "goodput_lost").mean > 0.05
    assert study.slower("ecmp", "permutation").mean > 0.1
    hashes = {one.traffic_hash for key, one in study.recordings.items() if key[1] == made.seeds[0]}
    assert len(hashes) == 1


def test_rounds_are_told_of_where_there_are_some(tmp_path: Path) -> None:
    """A dead link made an all-reduce four times as long, and only its flows' p99 was shown: 9 % more."""
    plan = own.Plan.of(SPEC, "ecmp,rps", 2)
    study = plan.run(plan.cases(), 1, None)
    assert study.round_entries == ["permutation", "incast"]
    whole, broken = (spinewise.run(case.spec).rounds.jobs[0] for case in (plan.cases()[1], plan.cases()[0]))
    first = study.outcomes("ecmp")[0]
    assert first.round_ms["permutation"] == pytest.approx(1e3 * broken.mean_s)
    assert first.round_max_ms["permutation"] == pytest.approx(1e3 * broken.max_s)
    assert first.round_whole_ms["permutation"] == pytest.approx(1e3 * whole.mean_s)
    assert study.rounds_slower("ecmp", "permutation").mean > 0.0
    assert study.rounds_unfinished("ecmp", "permutation") == (0, 0)
    assert own_files.tables(study)[0].heading.startswith("Rounds")
    bars = own_files.stored(study).rounds
    assert [one.title for one in bars] == ["permutation", "permutation", "incast", "incast"]
    assert bars[1].of[0].mean == pytest.approx(100 * study.rounds_slower("ecmp", "permutation").mean)
    titles = [one.title for one in of_resilience.part(own_files.stored(study)).sections]
    lost = [] if own_files.compares_poorly(own_files.with_traffic(study)) else ["Goodput lost"]
    assert titles == ["Rounds", *lost, "What the faults cost", "How to read this"]
    terminal.write(tmp_path / "report.txt", own_files.report(study))
    text = (tmp_path / "report.txt").read_text()
    assert text.index("Rounds: collective operations") < text.index("Completion times, by traffic")
    flows = [{"kind": "poisson", "cdf": "fb_hadoop", "load": 0.3, "duration_us": 1000}]
    plan = own.Plan.of(SPEC | {"traffic": flows}, "ecmp", 1)
    assert "Rounds" not in " ".join(told.title for told in own_files.stored(plan.run(plan.cases(), 1, None)).tables)


def test_rounds_that_did_not_finish_are_not_compared() -> None:
    """A mean of the others would be too short."""
    cut = SPEC | {"run": {"stop": "time", "until_us": 600}}
    plan = own.Plan.of(cut, "ecmp", 1)
    study = plan.run(plan.cases(), 1, None)
    assert study.rounds_unfinished("ecmp", "permutation")[0] == 1
    assert math.isnan(study.rounds_slower("ecmp", "permutation").mean)
    assert math.isnan(study.longest_round_ms("ecmp", "permutation"))
    assert any(one.startswith("unfinished rounds are in no time") for one in own_files.notes(study))


@pytest.mark.parametrize(("until_ms", "said"), [((0.60, 0.93), True), ((0.60, 0.64), False)])
def test_goodput_lost_over_different_times_is_called_so(until_ms: tuple[float, float], said: bool) -> None:
    """A transport whose flows take longer seemed to lose more, and its job was done in a fifth of the time."""
    whole = recording([100.0] * 20)
    one = own.outcome(whole, whole, plan())
    found = [replace(one, until_ms=until, tails_off_ms=until) for until in until_ms]
    assert any("compare poorly" in line for line in own_files.goodput_notes(plan(), found)) is said
    assert own_files.compares_poorly(found) is said


def test_a_spec_without_faults_is_refused() -> None:
    with pytest.raises(SpecError) as error:
        own.Plan.of({key: value for key, value in SPEC.items() if key != "fault"}, None, None)
    assert error.value.key == "fault"


def test_lossless_rdma_is_told_which_pauses_faults_want() -> None:
    """After the names: a node that is not there was refused for its pauses."""
    rdma = {**SPEC, "transport": {"kind": "rdma"}, "preset": "linux"}
    with pytest.raises(SpecError) as error:
        resolve(rdma)
    assert (error.value.key, error.value.value) == ("switch.pause_us", "0")
    assert "set switch.pause_us = 5, as in the preset conweave-ns3" in str(error.value.hint)
    astray = {"kind": "down", "ends": ["leaf0", "spine9"], "at_us": 950, "until_us": 990}
    with pytest.raises(SpecError) as error:
        resolve({**rdma, "fault": [*SPEC["fault"], astray]})
    assert (error.value.key, error.value.value) == ("fault[1].ends", '"spine9"')
    made = own.Plan.of({**rdma, "switch": {"pause_us": 5}}, "ecmp", 1)
    assert made.run(made.cases(), 1, None).interval("ecmp", "goodput_lost").n == 1


def test_the_command_prints_tables_and_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "mine.toml"
    spec.write_text(
        'preset = "datacenter"\n[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 200_000\n'
        '[[fault]]\nkind = "down"\nswitch = "spine0"\nat_us = 50\n'
    )
    assert main(["resilience", str(spec), "--seeds", "1", "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "one seed: no interval" in told
    assert "the end (no repair)" not in told
    assert "(the run without faults ends or tails off)" in told
    record = json.loads((tmp_path / "out" / "resilience.json").read_text())
    assert record["last_repair_us"] is None
    assert [run["scheme"] for run in record["runs"]] == ["ecmp"]
    assert main(["resilience", str(spec), "--faults", "link"]) == 2
    assert "--faults" in capsys.readouterr().err


MINE = """import spinewise as sw


class Mine(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header):
        return 0
"""


@pytest.mark.parametrize(
    ("schemes", "labels"),
    [([], ["ecmp", "Mine"]), (["--schemes", "Mine@one,letflow"], ["one", "letflow"])],
)
def test_the_command_takes_schemes_written_in_python(
    schemes: list[str], labels: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    spec = tmp_path / "mine.toml"
    spec.write_text(
        "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 200_000\n'
        '[[fault]]\nkind = "down"\nswitch = "spine0"\nat_us = 50\n'
    )
    code = ["--scheme-file", str(tmp_path / "mine.py")]
    assert main(["resilience", str(spec), *schemes, *code, "--seeds", "1", "--json"]) == 0
    assert [run["scheme"] for run in json.loads(capsys.readouterr().out)["runs"]] == labels


def test_the_study_takes_schemes_written_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    words = ["resilience", "--quick", "--faults", "link", "--fabrics", "fat-tree", "--schemes", "ecmp"]
    assert main([*words, "--scheme-file", str(tmp_path / "mine.py"), "--json"]) == 0
    assert {one["scheme"] for one in json.loads(capsys.readouterr().out)["cells"]} == {"ecmp", "Mine"}
