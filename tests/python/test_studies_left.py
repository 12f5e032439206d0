"""Studies in which runs fail, stop, or go out of date."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import samples
import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.comparison import measured
from spinewise.comparison.tables import OVERLOADED, warnings
from spinewise.page.of_study import read_study
from spinewise.shapes import Spec
from spinewise.specs.spec import load
from spinewise.studies.conduct import Conductor, estimate
from spinewise.studies.report import marked_axis
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from test_studies import STUDY, conducted, count, place, study

# ---- what fails, and what is left ----


def test_failed_runs_are_listed_and_the_rest_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = core.run

    def run(spec: Spec, *more: Any) -> Any:
        if spec["seed"] == 2 and spec["scheme"]["name"] == "ecmp":
            raise MemoryError("too much")
        return usual(spec, *more)

    path, words = place(tmp_path), ["--store", str(tmp_path / "store")]
    with monkeypatch.context() as patched:
        patched.setattr(core, "run", run)
        assert main(["sweep", str(path), *words]) == 1
    out = capsys.readouterr().out
    assert "FAILED scheme ecmp, load 0.2, seed 2: MemoryError: too much" in out
    assert "1 of 2" in out
    assert "--retry-failed" in out
    assert main(["sweep", str(path), *words, "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["made"], record["failed"], record["left"]) == (0, 2, 0)
    assert [run["status"] for run in record["cells"][0]["runs"]] == ["done", "failed"]
    for more, made in (([], 0), (["--retry-failed"], 2)):
        assert main(["sweep", str(path), *words, *more, "--dry-run", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["runs"] - told["stored"] == made
    assert main(["sweep", str(path), *words, "--retry-failed"]) == 0
    assert "8 runs, 2 made now" in capsys.readouterr().out


def test_runs_that_could_not_be_measured_are_listed_on_the_page_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = measured.min_rto_s

    def odd(spec: Spec) -> float | None:
        if spec["seed"] == 2 and spec["scheme"]["name"] == "ecmp":
            raise ValueError("it cannot be read")
        return usual(spec)

    monkeypatch.setattr(measured, "min_rto_s", odd)
    path, kept = place(tmp_path), str(tmp_path / "store")
    assert main(["sweep", str(path), "--store", kept]) == 1
    assert "FAILED scheme ecmp, load 0.2, seed 2: ValueError: it cannot be read" in capsys.readouterr().out
    failed = [(cell.title, one.seed, one.error) for cell, one in read_study(str(path), kept).failed]
    assert failed == [(f"scheme ecmp, load {load}", 2, "ValueError: it cannot be read") for load in (0.2, 0.4)]
    # Other studies, and queries, have the runs.
    assert sw.query(kept, "from runs where status = 'done'").num_rows == 8
    assert sw.query(kept, "from cells where entry = 'all' and size_class = 'all'").num_rows == 8
    monkeypatch.setattr(measured, "min_rto_s", usual)
    assert main(["sweep", str(path), "--store", kept, "--retry-failed"]) == 0
    assert "8 runs, 2 made now" in capsys.readouterr().out


def test_a_budget_leaves_what_would_not_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = study(tmp_path, STUDY.replace("seeds = 2", "seeds = 20"))
    started = time.monotonic()
    found = conducted(wanted, tmp_path, deadline=started + 0.4)
    assert 0 < found.left < 80
    assert time.monotonic() - started < 3.0
    # Early seeds come first, so that every point has some.
    assert all(ones[0].values is not None for ones in found.repeats)
    rest = conducted(wanted, tmp_path)
    assert (rest.left, rest.made) == (0, 80 - found.made)
    late = conducted(study(tmp_path, STUDY.replace("seeds = 2", "seeds = 21")), tmp_path, deadline=started)
    assert (late.made, late.left) == (0, 4)


def test_a_budget_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, words = place(tmp_path), ["--store", str(tmp_path / "store")]
    assert main(["sweep", str(path), *words, "--budget", "0.000001s"]) == 3
    assert "8 runs left for lack of time" in capsys.readouterr().out
    assert main(["sweep", str(path), *words, "--budget", "1h"]) == 0
    for wrong in ("60", "1 week", "-1s", "min"):
        assert main(["sweep", str(path), *words, "--budget", wrong]) == 2
    assert "such as 90s, 60min, 2h or 1min30s" in capsys.readouterr().err


def test_a_dry_run_says_what_it_will_come_to_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = place(tmp_path), ["--store", str(tmp_path / "store"), "--jobs", "2"]
    assert main(["sweep", str(path), *words, "--dry-run"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "mine: 4 points, 8 runs; about " in said.err
    assert not (tmp_path / "store").exists()
    assert main(["sweep", str(path), *words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told | {"seconds": 1.0} == {"name": "mine", "points": 4, "runs": 8, "stored": 0, "seconds": 1.0}
    assert main(["sweep", str(path), *words]) == 0
    capsys.readouterr()
    assert main(["sweep", str(path), *words, "--dry-run"]) == 0
    assert "4 points, 8 runs, 8 of them stored; nothing to run" in capsys.readouterr().err


def test_an_estimate_is_within_a_factor_of_a_few(tmp_path: Path) -> None:
    wanted = study(tmp_path, STUDY + '"traffic[0].duration_us" = [200_000]\n')
    with store.opened(None) as ledger:
        expected = estimate(wanted, ledger)
        assert expected.seconds is not None
        Conductor(wanted, ledger, Local(1)).conduct()
        took = ledger.connection.execute("SELECT sum(wall_seconds) FROM runs").fetchone()[0]
    assert took / 5 < expected.seconds < took * 5


CUT_SHORT = """
[study]
spec = "tiny.toml"
seeds = 2
metrics = ["fct_s.mean of poisson/long", "slowdown.p99 of poisson/short", "drops"]
[grid]
schemes = ["ecmp", "rps"]
loads = [0.1, 2.0]
"run.until_us" = [2000]
"""


def test_runs_that_were_left_are_not_said_to_be_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place(tmp_path)
    assert main(["sweep", str(path), "--store", str(tmp_path / "store"), "--budget", "1e-9s"]) == 3
    assert "0 runs, 0 made now; in " in capsys.readouterr().out


def test_what_metrics_leave_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Flows that did not finish, overloaded points and warnings, by the numbers and in the words of compare."""
    path, words = place(tmp_path, CUT_SHORT), ["--store", str(tmp_path / "store"), "--jobs", "2"]
    assert main(["sweep", str(path), *words]) == 0
    out = capsys.readouterr().out
    spec = load(tmp_path / "tiny.toml") | {"run": {"until_us": 2000}}
    same = sw.compare(spec, "ecmp,rps", loads=[0.1, 2.0], seeds=2, store=tmp_path / "store")
    assert (same.overloaded(0.1), same.overloaded(2.0)) == (False, True)
    assert "2 !" in out
    assert "0.1 !" not in out
    assert OVERLOADED in out
    assert "unfinished of poisson/long" in out
    for scheme in ("ecmp", "rps"):
        lost = same.unfinished(scheme, 2.0, "long", "poisson")
        assert lost > 0
        assert f"{lost} of {same.flows(2.0, 'long', 'poisson')}" in out
    lost = sum(same.unfinished(scheme, rate) for scheme in same.labels for rate in same.loads)
    flows = sum(2 * same.flows(rate) for rate in same.loads)
    assert f"{lost} of {flows:,} flows did not finish, over all seeds; they are in no mean or percentile above." in out
    for line in warnings(same):
        assert line in " ".join(out.split())


def test_records_tell_what_metrics_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, words = place(tmp_path, CUT_SHORT), ["--store", str(tmp_path / "store"), "--json"]
    assert main(["sweep", str(path), *words]) == 0
    record = json.loads(capsys.readouterr().out)
    done = sw.sweep(path, store=tmp_path / "store")
    assert [cell["overloaded"] for cell in record["cells"]] == [False, True, False, True]
    told = [(one["flows"], one["unfinished"]) for cell in record["cells"] for one in cell["metrics"]]
    assert told == [(row["flows"], row["unfinished"]) for row in done.rows()]
    long, short, every = told[3:6]
    assert every == (long[0] + short[0], long[1] + short[1])
    assert long[0] > long[1] > 0


def test_a_point_without_loads_is_marked_where_it_can_be() -> None:
    assert marked_axis(["load", "scheme", "transport.min_rto_us"]) == "load"
    assert marked_axis(["transport.min_rto_us", "scheme"]) == "transport.min_rto_us"
    assert marked_axis(["scheme"]) == "scheme"
    assert marked_axis([]) is None


def test_a_study_from_python(tmp_path: Path) -> None:
    done = sw.sweep(place(tmp_path), store=tmp_path / "store", overrides=["seed=3"], jobs=2)
    assert repr(done) == "<Conducted: mine, 4 points, 8 runs>"
    assert [one.seed for one in done.repeats[0]] == [3, 4]
    drops = done.rows()[1]
    assert (drops["scheme"], drops["load"], drops["metric"], drops["seeds"]) == ("ecmp", 0.2, "drops", 2)
    assert drops["mean"] == done.interval(0, 1).mean
    assert sw.sweep(place(tmp_path), store=tmp_path / "store", overrides=["seed=3"]).made == 0
    assert "8 left" in repr(sw.sweep(place(tmp_path), budget_s=0.0))


# ---- a study that was changed ----


def test_places_of_an_earlier_spec_or_grid_are_marked_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The view of studies had runs of both specs under one name, and nothing said so."""
    words = ["--store", str(tmp_path / "store")]
    every = "select load, outdated, count(*) n from studies where study = 'mine' group by all order by all"

    def swept(text: str, spec: str, *more: str) -> str:
        path = place(tmp_path, text)
        (tmp_path / "tiny.toml").write_text(spec)
        assert main(["sweep", str(path), *words, *more]) == 0
        return capsys.readouterr().out

    def stored() -> list[tuple[float, bool, int]]:
        return [(one["load"], one["outdated"], one["n"]) for one in sw.query(tmp_path / "store", every).to_pylist()]

    small, other = STUDY.replace("[0.2, 0.4]", "[0.2]"), samples.TINY_TOML.replace("5000", "6000")
    assert other != samples.TINY_TOML
    assert "from before" not in swept(STUDY, samples.TINY_TOML)
    # With more seeds, fewer are further ones of the same points.
    assert "from before" not in swept(STUDY.replace("seeds = 2", "seeds = 3"), samples.TINY_TOML)
    assert "from before" not in swept(STUDY, samples.TINY_TOML)
    assert stored() == [(0.2, False, 6), (0.4, False, 6)]
    # Load 0.4 is gone, and the third seeds of load 0.2 are of the earlier spec.
    told = " ".join(swept(small, other).split())
    assert "8 places of mine in" in told
    assert "from an earlier spec, grid or engine: `where not outdated` leaves them out of queries of `studies`" in told
    assert stored() == [(0.2, False, 4), (0.2, True, 2), (0.4, True, 6)]
    assert json.loads(swept(small, other, "--json"))["outdated"] == 8
    # What is a place of the study again counts again, and a sweep that is stopped has marked the others.
    assert "2 places of mine in" not in swept(STUDY, samples.TINY_TOML)
    assert stored() == [(0.2, False, 6), (0.4, False, 6)]
    monkeypatch.setattr(Conductor, "round", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with store.opened(tmp_path / "store") as ledger, pytest.raises(KeyboardInterrupt):
        Conductor(study(tmp_path, small), ledger, Local(1)).conduct()
    assert stored() == [(0.2, False, 6), (0.4, True, 6)]


# ---- stopped from outside ----


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_stopped_study_goes_on_where_it_was(tmp_path: Path, number: signal.Signals, code: int) -> None:
    # Tests that a shell runs in the background are made to ignore it, and so would be what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path = place(tmp_path, STUDY.replace("seeds = 2", "seeds = 100"))
    environment = {**os.environ, "PYTHONPATH": str(Path(sw.__file__).parents[1])}
    words = [sys.executable, "-m", "spinewise", "sweep", str(path), "--store", str(tmp_path / "store"), "--jobs", "2"]
    child = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while count(tmp_path) < 5:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == code, said
    if number != signal.SIGKILL:
        assert "Traceback" not in said
        assert f"nothing was written; finished runs are kept in {tmp_path / 'store'}" in said
    stored = count(tmp_path)
    assert 5 <= stored < 400
    found = conducted(study(tmp_path, path.read_text()), tmp_path)
    assert (found.made, found.left, len(found.failed)) == (400 - stored, 0, 0)
