"""Runs as tasks of Ray: the same results, workers that die, clusters that go or are not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import samples
import spinewise as sw
from spinewise.cli import main
from spinewise.comparison.measured import MEASURE
from spinewise.errors import SpecError
from spinewise.reproduction import reproduce
from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.measured import measurement
from spinewise.runs.jobs import Silent
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps import ray as rays
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.ray import Ray
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.sweep import jobs_of, sweep
from spinewise.sweeps.task import Task

ROOT = Path(__file__).parents[2]
SMALL: Spec = {**samples.TINY_SPEC, "traffic": [{**samples.TINY_SPEC["traffic"][0], "duration_us": 2000}]}
RUNS, KILLED_AT = 64, 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[ModuleType]:
    """A cluster of two workers, with which this process is connected."""
    ray = rays.imported()
    with rays.connected(ray, None, 2):
        yield ray
    assert not ray.is_initialized()


def waits_to_be_killed(place: str, spec: Spec, _result: Result) -> int:
    """At one seed and the first time: leave the worker's number, and go no further."""
    file = Path(place)
    if spec["seed"] == KILLED_AT and not file.exists():
        file.write_text(str(os.getpid()))
        time.sleep(60.0)
    return int(spec["seed"])


def dies(_spec: Spec, _result: Result) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def raises(spec: Spec, _result: Result) -> int:
    raise ZeroDivisionError(f"seed {spec['seed']}")


class Killer(Silent):
    """Kills the worker whose number lies in a file, once, and counts what ended."""

    def __init__(self, file: Path) -> None:
        self.file, self.killed, self.ended = file, 0, 0

    def finished(self, number: int, packet_hops: int) -> None:
        self.ended += 1
        if not self.killed and self.file.exists() and (text := self.file.read_text()):
            self.killed = int(text)
            os.kill(self.killed, signal.SIGKILL)


def tasks(count: int, *measures: Measure[Any], spec: Spec = SMALL) -> list[Task]:
    return [Task(sw.resolve(spec, seed=n + 1), measures, flows=n < 4) for n in range(count)]


def kept(ledger: Ledger) -> dict[tuple[str, ...], bytes]:
    """Every measurement as it lies in the store, the headlines and the flows."""
    blobs = {
        row[:3]: row[3] for row in ledger.connection.execute("SELECT key, measure, digest, blob FROM measurements")
    }
    assert ledger.folder is not None
    flows = {("flows", file.name): file.read_bytes() for file in (ledger.folder / store.FLOWS).iterdir()}
    heads = {
        (row[0], "head"): repr(row).encode()
        for row in ledger.connection.execute("SELECT key, status, version, outcome_hash, packet_hops FROM runs")
    }
    return {**blobs, **flows, **heads}


def test_a_killed_worker_is_replaced_and_results_are_those_of_the_local_engine(
    cluster: ModuleType, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    measure = Measure("waits", int, partial(waits_to_be_killed, str(pid)))
    watch = Killer(pid)
    with store.opened(tmp_path / "ray") as ledger:
        swept = sweep(tasks(RUNS, MEASURE, measure), ledger, engine=Ray(), monitor=watch)
        assert (len(swept.made), swept.failed, watch.ended) == (RUNS, {}, RUNS)
        assert watch.killed
        assert not Path(f"/proc/{watch.killed}/cmdline").exists()
        found = kept(ledger)
    with store.opened(tmp_path / "local") as ledger:
        assert len(sweep(tasks(RUNS, MEASURE, measure), ledger, engine=Local(2)).made) == RUNS
        assert kept(ledger) == found
    assert len(found) == RUNS * 5 + 4


def test_errors_of_runs_are_kept_and_the_rest_goes_on(
    cluster: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rays, "TRIES_AGAIN", 0)
    wanted = [
        *tasks(2),
        Task(sw.resolve(SMALL, seed=50), (Measure("raises", int, raises),)),
        Task(sw.resolve(SMALL, seed=51), (Measure("dies", int, dies),)),
    ]
    with store.opened(tmp_path / "store") as ledger:
        swept = sweep(wanted, ledger, engine=Ray())
        assert set(swept.made) == {task.key for task in wanted[:3]}
        failure = swept.failure(wanted[2])
        assert failure is not None
        assert failure.text == "ZeroDivisionError: seed 50"
        assert "raises" in failure.trace
        assert swept.failed[wanted[3].key].text.startswith("WorkerCrashedError: The worker died unexpectedly")
        with pytest.raises(ZeroDivisionError, match="seed 50"):
            sweep(wanted[2:3], ledger, engine=Ray(), strict=True)


def test_what_is_under_way_stops_when_nobody_wants_more(cluster: ModuleType, tmp_path: Path) -> None:
    long: Spec = {**SMALL, "traffic": [{**SMALL["traffic"][0], "duration_us": 60_000_000}]}
    wanted = [*tasks(1), *tasks(4, spec=long)]
    asked: list[int] = []

    class Asked(Silent):
        def started(self, number: int) -> None:
            asked.append(number)

    with store.opened(tmp_path / "store") as ledger:
        jobs = jobs_of(wanted, ())
        runs = Ray().run((job.work(number) for number, job in enumerate(jobs)), Asked())
        assert next(runs).number == 0
        start = time.monotonic()
        runs.close()
        assert time.monotonic() - start < 5.0
        # No more at once than two processors keep busy.
        assert asked == [0, 1, 2]
        assert len(sweep(tasks(2), ledger, engine=Ray()).made) == 2


def test_workers_with_another_spinewise_are_refused(
    cluster: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, engine, measures = rays.identity()
    for other, told in (
        (("9.9.9", engine, measures), f"has version {version}, this machine 9.9.9"),
        ((version, "e" * 64, measures), f"has engine {engine[:12]}, this machine eeeeeeeeeeee"),
    ):
        monkeypatch.setattr(rays, "identity", lambda other=other: other)
        with store.opened(tmp_path / "store") as ledger, pytest.raises(SpecError, match=told):
            sweep(tasks(2), ledger, engine=Ray())


OWN = """
from spinewise.reproduction.experiment import Experiment, Run
from . import words

SPEC = {spec!r}

def runs(effort):
    return [Run("a", 1.0, seed, SPEC) for seed in (1, 2)]

def measure(run, result):
    return {{"value": words.value(run, result)}}

EXPERIMENT = Experiment("own-1", ("1",), "own", "own", runs, measure, ())
"""
WORDS = "def value(run, result):\n    return run.seed + 0.5\n"
LISTED = """
[[paper]]
key = "own"
title = "own"
[[paper.experiment]]
id = "own-1"
figures = ["1"]
title = "own"
module = "inner.figure"
"""


def test_code_that_workers_lack_is_sent_along(cluster: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "inner").mkdir(parents=True)
    (folder / reproduce.PAPERS_FILE).write_text(LISTED)
    (folder / "inner" / "figure.py").write_text(OWN.format(spec=SMALL))
    (folder / "inner" / "words.py").write_text(WORDS)
    experiment = reproduce.load_experiment(reproduce.find(folder, "own-1"))
    runs = experiment.runs(Effort.QUICK)
    wanted = reproduce.tasks(experiment, Effort.QUICK, runs)
    assert len({measure.digest for task in wanted for measure in task.measures}) == 2
    # Workers on other machines have no such folder.
    (folder / "inner").rename(tmp_path / "elsewhere")
    with store.opened(None) as ledger:
        swept = sweep(wanted, ledger, engine=Ray(), strict=True)
        found = [measurement(run, task, swept).values for run, task in zip(runs, wanted, strict=True)]
    assert found == [{"value": 1.5}, {"value": 2.5}]


def test_a_scheme_written_in_python_is_refused(cluster: ModuleType, tmp_path: Path) -> None:
    spec: Spec = {**sw.resolve(SMALL), "scheme": {"name": "mine", "source": {"sha256": "0"}}}
    with store.opened(tmp_path / "store") as ledger, pytest.raises(SpecError, match="mine is written in Python"):
        sweep([Task(spec, ())], ledger, engine=Ray())


# ---- no Ray, no cluster ----


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    spec = tmp_path / "spec.toml"
    spec.write_text(samples.TINY_TOML)
    assert main(["compare", str(spec), "--schemes", "ecmp,rps", "--engine", "ray"]) == 2
    assert "Ray is not installed" in (told := capsys.readouterr().err)
    assert "pip install 'spinewise[ray]'" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "ray", "--address", "127.0.0.1:1"], "nothing answers there"),
        (["--engine", "ray", "--address", "ray://127.0.0.1:1"], "run the command on a machine of the cluster"),
        (["--engine", "ray", "--address", "somewhere"], "HOST:PORT of the head"),
        (["--engine", "ray", "--address", "127.0.0.1:99999"], "HOST:PORT of the head"),
        (["--engine", "ray", "--address", "127.0.0.1:1", "--jobs", "2"], "nothing together with --address"),
        (["--address", "127.0.0.1:1"], "together with --engine ray"),
        (["--engine", "slurm"], "local, ray"),
    ],
)
def test_addresses_without_a_cluster_are_refused(words: list[str], told: str, capsys: Any, tmp_path: Path) -> None:
    rays.imported().shutdown()
    spec = tmp_path / "spec.toml"
    spec.write_text(samples.TINY_TOML)
    start = time.monotonic()
    assert main(["compare", str(spec), "--schemes", "ecmp,rps", *words]) == 2
    assert told in capsys.readouterr().err
    assert time.monotonic() - start < 10.0


# ---- a cluster that goes ----


def children(pid: int) -> Iterator[tuple[int, str]]:
    """Number and name of all processes below one."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "stat").read_text().rpartition(")")
            if folder.name.isdecimal() and int(words[2].split()[1]) == pid:
                yield int(folder.name), words[0].partition("(")[2]
                yield from children(int(folder.name))
        except (OSError, ValueError, IndexError):
            continue


IMPATIENT = """
import sys
from spinewise.sweeps import ray
from spinewise.cli import main
ray.GONE_SECONDS = 3.0
sys.exit(main(sys.argv[1:]))
"""


def stored(place: Path) -> int:
    """How many runs a store has."""
    with suppress(SpecError), store.reading(place) as ledger:
        return int(ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    return 0


def test_a_cluster_that_goes_leaves_what_is_done(tmp_path: Path) -> None:
    spec, place = tmp_path / "spec.toml", tmp_path / "store"
    spec.write_text(samples.TINY_TOML.replace("duration_us = 5000", "duration_us = 500000"))
    words = ["compare", str(spec), "--schemes", "ecmp,rps", "--seeds", "100", "--store", str(place)]
    command = [sys.executable, "-c", IMPATIENT, *words, "--engine", "ray", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    cluster: dict[int, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        try:
            while stored(place) < 3 and run.poll() is None:
                time.sleep(0.1)
            cluster = dict(children(run.pid))
            assert {"gcs_server", "raylet"} <= set(cluster.values())
            for pid, name in cluster.items():
                if name in ("gcs_server", "raylet"):
                    os.kill(pid, signal.SIGKILL)
            _, told = run.communicate(timeout=60)
        finally:
            # What Ray leaves behind when it is killed.
            for pid in [*cluster, run.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    assert run.returncode == 2, told
    done = stored(place)
    assert 3 <= done < 200
    said = " ".join(told.split())
    assert f"no longer answers; runs stored by this sweep: {done}, missing: {200 - done}; the same command" in said


def test_termination_ends_a_command_as_without_ray() -> None:
    before = signal.getsignal(signal.SIGTERM)
    left = SystemExit(143)

    def leave(_number: int, _frame: object) -> None:
        raise left

    signal.signal(signal.SIGTERM, leave)
    try:
        with pytest.raises(SystemExit) as caught, rays.own_termination() as keep:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            keep()
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except SystemExit:
                sys.exit(1)
        assert caught.value is left
        assert signal.getsignal(signal.SIGTERM) is leave
    finally:
        signal.signal(signal.SIGTERM, before)
