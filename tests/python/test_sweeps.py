"""Sweeps that keep what they did: shared runs, stored measurements, failures, stores that cannot be used."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samples
import spinewise as sw
from spinewise import core
from spinewise.errors import SchemeError, SpecError
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps import basics, sources, store
from spinewise.sweeps.basics import LINKS, NUMBERS
from spinewise.sweeps.engine import Failure, Work, perform
from spinewise.sweeps.forecast import Forecast
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.packed import pack, unpack
from spinewise.sweeps.sweep import Swept, sweep
from spinewise.sweeps.tables import ADDED
from spinewise.sweeps.task import Task, run_key

ROOT = Path(__file__).parents[2]
SMALL = {**samples.TINY_SPEC, "traffic": [{**samples.TINY_SPEC["traffic"][0], "duration_us": 10_000}]}


@dataclass(frozen=True)
class Kept:
    """What these tests keep of a run."""

    flows: int
    fct_ps: npt.NDArray[np.float64]
    nothing: float = math.nan


def kept(_spec: Spec, result: Result) -> Kept:
    return Kept(result.report["flows"], np.asarray(result.flows["fct_ps"].to_numpy(), dtype=float))


def seed(spec: Spec, _result: Result) -> int:
    return int(spec["seed"])


def at_least(least: int, spec: Spec, _result: Result) -> int:
    if int(spec["seed"]) < least:
        raise ZeroDivisionError(f"seed {spec['seed']}")
    return int(spec["seed"])


KEPT = Measure("kept", Kept, kept)
SEED = Measure("seed", int, seed)


def tasks(count: int, *measures: Measure[Any], **more: Any) -> list[Task]:
    return [Task(sw.resolve(SMALL, seed=n + 1), measures or (KEPT,), **more) for n in range(count)]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that the engine was asked for."""
    seen: list[int] = []
    usual = core.run

    def counted(spec: Any, *others: Any) -> Any:
        seen.append(spec["seed"])
        return usual(spec, *others)

    monkeypatch.setattr(core, "run", counted)
    return seen


def swept(wanted: list[Task], place: Path, **options: Any) -> Swept:
    with store.opened(place) as ledger:
        found = sweep(wanted, ledger, engine=Local(2), **options)
        assert not found.left
        return found


# ---- what a run is known by ----


def test_the_digest_of_the_engine_is_that_of_its_sources() -> None:
    places = ["Cargo.lock", "crates/policy/src", "crates/py/src/own", "crates/sim/src"]
    files = [file for place in places for file in [ROOT / place, *(ROOT / place).rglob("*")] if file.is_file()]
    whole = hashlib.sha256()
    for name, file in sorted((file.relative_to(ROOT).as_posix(), file) for file in files):
        text = file.read_bytes()
        whole.update(f"{name}\0{len(text)}\0".encode() + text)
    assert core.engine_digest() == whole.hexdigest(), "the engine was built from other sources: `make quick`"


def test_the_key_of_a_run_is_that_of_its_spec_without_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = sw.resolve(SMALL)
    assert run_key(spec) == run_key({**spec, "name": "another"})
    assert run_key(spec) != run_key({**spec, "seed": 99})
    before = run_key(spec)
    monkeypatch.setattr(core, "engine_digest", lambda: "another")
    assert run_key(spec) != before


def loaded(file: Path, text: str) -> Any:
    """A module from a file with this text, whatever was read from it before."""
    file.write_text(text)
    sources.sources_digest.cache_clear()
    spec = importlib.util.spec_from_file_location("a_measure", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, usual = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = usual
    return module


READS = "import helper\ndef read(spec, result):\n    return {}\n"


def test_a_measure_is_known_by_its_module_and_what_that_imports_beside_it(tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("")
    (tmp_path / "page.py").write_text("")
    file = tmp_path / "m.py"
    sys.path.insert(0, str(tmp_path))
    try:

        def known(number: int) -> str:
            return Measure("m", int, loaded(file, READS.format(number)).read).digest

        one = known(1)
        (tmp_path / "page.py").write_text("CLAIM = 2\n")
        assert known(1) == one
        assert known(2) != one
        helper.write_text("A = 1\n")
        assert known(1) != one
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("helper", None)


def test_a_measure_is_known_by_its_arguments_and_what_it_encloses() -> None:
    def made(number: int) -> Callable[..., int]:
        return lambda _spec, _result: number

    found = [sources.digest(one) for one in (partial(at_least, 1), partial(at_least, 2), at_least, made(1), made(2))]
    assert len(set(found)) == len(found)
    assert sources.digest(partial(at_least, 1)) == found[0]
    assert sources.digest(made(2)) == found[-1]
    with pytest.raises(TypeError, match="a function of a module is needed"):
        sources.digest(len)


def test_what_stores_a_measurement_is_no_part_of_what_reads_it() -> None:
    file = Path(basics.__file__)
    assert sources.with_imports(file, sources.root_of(file)) == {file}
    assert sources.PACKAGE / "measures" / "summary.py" in sources.common()


# ---- measurements as bytes ----


@given(st.floats(allow_nan=True), st.lists(st.floats(), max_size=4), st.integers(-(2**63), 2**63 - 1))
def test_measurements_come_back_to_the_last_bit(value: float, values: list[float], whole: int) -> None:
    given = Kept(whole, np.array(values), value)
    found = unpack(pack(given), Kept)
    assert (found.flows, np.float64(found.nothing).tobytes()) == (whole, np.float64(value).tobytes())
    assert found.fct_ps.tobytes() == given.fct_ps.tobytes()
    assert pack(found) == pack(given)


def test_arrays_keep_shape_and_type_and_numbers_of_numpy_become_plain() -> None:
    given = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.float64(0.1), "c": np.bool_(True)}
    found = unpack(pack(given), dict)
    assert found["a"].dtype == np.int32
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (type(found["b"]), found["b"], found["c"]) == (float, 0.1, True)
    with pytest.raises(TypeError, match="object cannot be stored"):
        pack(object())
    with pytest.raises(ValueError, match="no Kept"):
        unpack(pack([1]), Kept)


# ---- what is made, and what is not ----


def test_a_stored_run_is_not_made_again(tmp_path: Path, runs: list[int]) -> None:
    wanted = tasks(3)
    with store.opened(tmp_path / "store") as ledger:
        first = sweep(wanted, ledger, engine=Local(2))
        values = [first.value(task, KEPT) for task in wanted]
    assert sorted(runs) == [1, 2, 3]
    with store.opened(tmp_path / "store") as ledger:
        again = sweep(tasks(4), ledger, engine=Local(2))
        assert [pack(again.value(task, KEPT)) for task in wanted] == [pack(value) for value in values]
        assert again.headline(wanted[0]).outcome_hash == sw.run(SMALL, seed=1).report["outcome_hash"]
    assert runs[3:] == [4, 1]
    assert again.made == (tasks(4)[3].key,)


def test_a_run_that_several_want_is_made_once_with_all_they_want(tmp_path: Path, runs: list[int]) -> None:
    spec = sw.resolve(SMALL)
    one = Task(spec, (KEPT,), study="a", label={"scheme": "ecmp"})
    other = Task({**spec, "name": "of another study"}, (SEED, KEPT), study="b", label={"x": 1.5})
    with store.opened(tmp_path / "store") as ledger:
        found = sweep([one, other], ledger)
        assert (found.value(one, KEPT).flows > 0, found.value(other, SEED)) == (True, 1)
        rows = ledger.connection.execute("SELECT study, label, key FROM labels ORDER BY study").fetchall()
    assert rows == [("a", '{"scheme": "ecmp"}', one.key), ("b", '{"x": 1.5}', one.key)]
    assert len(runs) == 1


def test_a_run_without_a_measurement_that_is_wanted_is_made_again(tmp_path: Path, runs: list[int]) -> None:
    swept(tasks(2, KEPT), tmp_path / "store")
    found = swept(tasks(2, KEPT, SEED), tmp_path / "store")
    assert len(found.made) == 2
    assert len(runs) == 4


def test_another_engine_and_another_measure_make_runs_again(
    tmp_path: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 2):
        measure = Measure("m", int, loaded(tmp_path / "m.py", f"def read(spec, result):\n    return {number}\n").read)
        with store.opened(tmp_path / "store") as ledger:
            found = sweep(tasks(1, measure), ledger)
            assert found.value(tasks(1)[0], measure) == number
    assert len(runs) == 2
    monkeypatch.setattr(core, "engine_digest", lambda: "another")
    assert len(swept(tasks(1), tmp_path / "store").made) == 1


def test_runs_of_higher_priority_come_first(tmp_path: Path, runs: list[int]) -> None:
    wanted = [Task(task.spec, task.measures, priority=n % 3) for n, task in enumerate(tasks(6))]
    with store.opened(None) as ledger:
        sweep(wanted, ledger, engine=Local(1))
    assert runs == [3, 6, 2, 5, 1, 4]


def test_tables_of_flows_are_kept_beside_the_ledger(tmp_path: Path, runs: list[int]) -> None:
    from pyarrow import parquet

    place = tmp_path / "store"
    found = swept(tasks(1, flows=True), place)
    file = place / store.FLOWS / f"{found.made[0]}.parquet"
    assert parquet.read_table(file).equals(sw.run(SMALL, seed=1).flows)
    assert not swept(tasks(1, flows=True), place).made
    whole = file.read_bytes()
    for damage in (file.unlink, lambda: file.write_bytes(whole[:-9]), lambda: file.write_bytes(b"")):
        damage()
        assert len(swept(tasks(1, flows=True), place).made) == 1
        assert file.read_bytes() == whole


def test_every_stored_run_has_its_basics(tmp_path: Path) -> None:
    wanted = tasks(3)
    swept(wanted, tmp_path / "store")
    with store.reading(tmp_path / "store") as ledger:
        found, links = dict(ledger.values(NUMBERS)), dict(ledger.values(LINKS))
        cells = ledger.connection.execute("SELECT DISTINCT cell FROM runs").fetchall()
    assert set(found) == set(links) == {task.key for task in wanted}
    assert len(cells) == 1
    run = sw.run(SMALL, seed=2)
    (times,) = [one for one in found[wanted[1].key].times if (one.entry, one.size_class) == ("all", "all")]
    assert (times.flows, times.fct_p99_s) == (run.summary().of().flows, run.summary().of().fct_s.p99)
    # Two leaves and two spines, in both directions.
    assert len(links[wanted[1].key]) == 8
    assert max(one.use for one in links[wanted[1].key]) == run.summary().facts.get("hottest.mean_use")


def test_what_a_killed_writer_left_hidden_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "store"
    swept(tasks(1, flows=True), place)
    code = (
        "import os, signal, sys; from pathlib import Path; from spinewise.runs import hidden\n"
        "with hidden.hidden_file(Path(sys.argv[1])) as (target, _):\n"
        "    target.write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(place / store.FLOWS / "x.parquet")], check=False)
    assert len(list((place / store.FLOWS).iterdir())) == 2
    swept(tasks(1, flows=True), place)
    assert len(list((place / store.FLOWS).iterdir())) == 1


# ---- how long it takes ----


def test_a_forecast_learns_from_repeats_and_else_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with store.opened(None) as ledger:
        forecast = Forecast(["a", "a", "b", "c"], ledger)
        assert (forecast.of("a"), forecast.to_go()) == (None, None)
        forecast.begin("a")
        forecast.begin("b")
        forecast.learn("a", 2.0)
        assert (forecast.of("a"), forecast.of("b")) == (2.0, 2.0)
        forecast.learn("b", 6.0)
        assert (forecast.of("a"), forecast.of("b"), forecast.of("c")) == (2.0, 6.0, 4.0)
        # 8 s of runs in 4 s, two at a time; 2 s and 4 s are to go.
        now[0] += 4.0
        assert forecast.to_go() == pytest.approx(3.0)
        forecast.begin("c")
        forecast.learn("c", None)
        assert forecast.to_go() == pytest.approx(1.0)


def test_a_forecast_counts_what_runs_under_way_have_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four equal runs, two at a time: when the first has ended, one more wave is to come, not three runs in a row."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with store.opened(None) as ledger:
        forecast = Forecast(["a"] * 4, ledger)
        forecast.begin("a")
        forecast.begin("a")
        now[0] += 10.0
        forecast.learn("a", 10.0)
        assert forecast.to_go() == pytest.approx(10.0)
        forecast.begin("a")
        forecast.learn("a", 10.0)
        forecast.begin("a")
        now[0] += 4.0
        assert forecast.to_go() == pytest.approx(6.0)


def test_a_forecast_knows_repeats_that_were_made_before(tmp_path: Path) -> None:
    wanted = tasks(3)
    swept(wanted[:2], tmp_path / "store")
    with store.reading(tmp_path / "store") as ledger:
        walls = [ledger.headline(task.key).wall_seconds for task in wanted[:2]]
        found = Forecast([wanted[2].cell], ledger).of(wanted[2].cell)
        assert found == pytest.approx(sum(walls) / 2)
        assert ledger.seconds(["unknown"]) == {}


# ---- failures ----


def test_a_failed_run_keeps_its_error_and_the_rest_goes_on(tmp_path: Path, runs: list[int]) -> None:
    place, wanted = tmp_path / "store", tasks(4, Measure("m", int, partial(at_least, 2)))
    wanted[0] = Task({**wanted[0].spec, "run": {"until_us": -1}}, (KEPT,))
    text = "SpecError: run.until_us = -1: allowed is "
    found = swept(wanted, place)
    assert list(found.failed) == [wanted[0].key]
    assert found.failed[wanted[0].key].text.startswith(text)
    assert len(found.made) == 3
    again = swept(wanted, place)
    assert (len(runs), again.made) == (4, ())
    assert again.failed == found.failed
    assert "core.run" in again.failed[wanted[0].key].trace
    assert len(swept(wanted, place, retry_failed=True).failed) == 1
    assert len(runs) == 5


def test_a_measure_that_fails_keeps_its_error_and_what_else_was_measured(tmp_path: Path, runs: list[int]) -> None:
    place, fails = tmp_path / "store", Measure("m", int, partial(at_least, 2))
    wanted = tasks(3, fails, KEPT)
    found = swept(wanted, place)
    assert (len(found.made), found.failed, list(found.unmeasured)) == (3, {}, [wanted[0].key])
    failure = found.failure(wanted[0])
    assert failure is not None
    assert (failure.text, "at_least" in failure.trace) == ("ZeroDivisionError: seed 1", True)
    assert found.failure(wanted[1]) is None
    again = swept(wanted, place)
    assert (len(runs), again.made, again.failure(wanted[0])) == (3, (), failure)
    with store.reading(place) as ledger:
        assert ledger.has(wanted[0].key, (KEPT, NUMBERS))
        assert ledger.state(wanted[0].key) == store.DONE
    assert swept(wanted, place, retry_failed=True).failure(wanted[0]) == failure
    assert len(runs) == 4


def test_a_measure_that_fails_is_no_failure_of_other_measures(tmp_path: Path, runs: list[int]) -> None:
    """A run counted as failed for every study, whose own measures were sound."""
    place, fails = tmp_path / "store", Measure("m", int, partial(at_least, 2))
    (one,), (other,) = tasks(1, fails, study="a"), tasks(1, SEED, study="b")
    found = swept([one, other], place)
    assert (found.failure(one) is not None, found.failure(other)) == (True, None)
    later = swept(tasks(1, KEPT, study="c"), place)
    assert (len(later.made), later.failure(tasks(1, KEPT)[0])) == (1, None)
    assert swept([one], place).failure(one) is not None
    assert len(runs) == 2


def test_a_measure_is_taken_again_once_its_code_is_mended(tmp_path: Path, runs: list[int]) -> None:
    """The error stayed, whatever the code."""
    place = tmp_path / "store"
    for number, (returned, failed) in enumerate((("1 / 0", True), ("1 / 0", True), ("1.0", False), ("1 / 0", True))):
        measure = Measure("m", float, loaded(tmp_path / "m.py", f"def m(spec, result):\n    return {returned}\n").m)
        (task,) = tasks(1, measure)
        assert (swept([task], place).failure(task) is not None) == failed, number
    assert len(runs) == 2


def test_a_store_without_the_tables_of_later_is_read_and_gets_them_as_it_is_written(tmp_path: Path) -> None:
    place = tmp_path / "store"
    swept(tasks(2, study="mine", label={"x": 1}), place)
    for name in ADDED:
        with sqlite3.connect(place / store.LEDGER) as connection:
            connection.execute(f"DROP TABLE {name}")
        connection.close()
        assert sw.query(place, "select outdated, unmeasured from studies join runs using (key)").num_rows == 1
    with store.reading(place) as ledger:
        assert ledger.value(tasks(1)[0].key, KEPT).flows > 0
        assert ledger.why_unmeasured(tasks(1)[0].key, SEED) is None
    (fails,) = tasks(1, Measure("m", int, partial(at_least, 2)))
    assert not swept(tasks(2), place).made
    swept([fails], place)
    assert swept([fails], place).failure(fails) is not None


def test_results_that_cannot_be_written_fail_the_task_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (task,) = tasks(1, folder=tmp_path / "there")
    found = swept([task], tmp_path / "store")
    failure = found.failure(task)
    assert failure is not None
    assert failure.text.startswith("FileExistsError")
    assert not swept(tasks(1), tmp_path / "store").failed


def test_a_failure_takes_nothing_away(tmp_path: Path) -> None:
    place = tmp_path / "store"
    swept(tasks(1, KEPT), place)
    assert swept(tasks(1, Measure("m", int, partial(at_least, 2))), place).unmeasured
    assert not swept(tasks(1, KEPT), place).made


def test_a_strict_sweep_ends_with_the_first_error_and_keeps_what_was_done(tmp_path: Path, runs: list[int]) -> None:
    place, wanted = tmp_path / "store", tasks(20, Measure("m", int, partial(at_least, 2)))
    with store.opened(place) as ledger, pytest.raises(ZeroDivisionError):
        sweep(wanted[1:3] + wanted[:1] + wanted[3:], ledger, engine=Local(1), strict=True)
    assert len(runs) < 10
    assert len(swept(wanted, place).made) == 17


def test_failures_say_what_happened() -> None:
    assert Failure.of(ValueError("a\n b")).text == "ValueError: a b"
    assert Failure.of(MemoryError()).text == "MemoryError"


class OddError(Exception):
    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def test_what_crosses_to_a_worker_and_back_can_be_pickled() -> None:
    task = tasks(1, KEPT, Measure("m", int, partial(at_least, 1)))[0]
    work = pickle.loads(pickle.dumps(Work(7, task.spec, task.measures, flows=True)))
    assert [measure.id for measure in work.measures] == [measure.id for measure in task.measures]
    done = pickle.loads(pickle.dumps(perform(work)))
    assert (done.number, done.failure, set(done.measured)) == (7, None, {measure.id for measure in task.measures})
    errors: list[Exception] = [
        SpecError("run.until_us", 5, "more", "a hint", file="a.toml", unserved=True),
        SchemeError("it failed", "Mine.pick", 12, None),
        ValueError("plain"),
        OddError("a", "b"),
    ]
    for error in errors:
        before = Failure.of(error)
        after = pickle.loads(pickle.dumps(before))
        assert after == before
        assert repr(after.exception) == (repr(error) if not isinstance(error, OddError) else "None")
        assert vars(after.exception or error) == vars(error)


# ---- stores that cannot be used ----


def refused(place: Path) -> SpecError:
    with pytest.raises(SpecError) as found, store.opened(place):
        pass
    assert found.value.key == "--store"
    return found.value


def test_a_second_writer_of_one_store_is_refused_and_readers_are_not(tmp_path: Path) -> None:
    place = tmp_path / "store"
    swept(tasks(1), place)
    with store.opened(place):
        hint = refused(place).hint or ""
        assert f"another command that makes runs (pid {os.getpid()}, since 20" in hint
        with store.reading(place) as ledger:
            assert ledger.value(tasks(1)[0].key, KEPT).flows > 0
    assert not swept(tasks(1), place).made


def test_what_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "this is a file" in str(refused(tmp_path / "file"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    assert "thesis.tex in it is no part of a store" in str(refused(tmp_path / "full"))
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    with pytest.raises(SpecError, match=r"ledger\.sqlite"), store.reading(tmp_path / "none"):
        pass
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / store.LEDGER).touch()
    with pytest.raises(SpecError, match="nothing is in it yet"), store.reading(tmp_path / "new"):
        pass


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("PRAGMA user_version = 99", "it was written by a newer Spinewise (version 99 of the tables"),
        ("PRAGMA application_id = 7", "a database of another program"),
    ],
)
def test_a_ledger_of_others_is_refused_and_not_changed(tmp_path: Path, change: str, said: str) -> None:
    place = tmp_path / "store"
    swept(tasks(1), place)
    connection = sqlite3.connect(place / store.LEDGER)
    connection.execute(change)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = (place / store.LEDGER).read_bytes()
    assert said in str(refused(place))
    assert (place / store.LEDGER).read_bytes() == before


def test_a_damaged_ledger_is_told_as_such(tmp_path: Path) -> None:
    place = tmp_path / "store"
    swept(tasks(3), place)
    file = place / store.LEDGER
    whole = file.read_bytes()
    file.write_bytes(b"no database" * 1000)
    assert "its ledger is damaged" in str(refused(place))
    file.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(SpecError, match="its ledger is damaged"):
        swept(tasks(3), place)


def test_a_damaged_measurement_is_made_again(tmp_path: Path, runs: list[int]) -> None:
    place = tmp_path / "store"
    swept(tasks(2), place)
    connection = sqlite3.connect(place / store.LEDGER)
    connection.execute("UPDATE measurements SET blob = x'00ff' WHERE key = ?", (tasks(1)[0].key,))
    connection.commit()
    connection.close()
    assert swept(tasks(2), place).made == (tasks(1)[0].key,)


def test_a_full_disk_keeps_what_was_stored_and_the_sweep_goes_on_later(tmp_path: Path, runs: list[int]) -> None:
    place, wanted = tmp_path / "store", tasks(60)
    with store.opened(place) as ledger:
        ledger.connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(SpecError, match="the disk is full"):
            sweep(wanted, ledger, engine=Local(1))
        stored = ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    assert 0 < stored < 60
    assert len(swept(wanted, place).made) == 60 - stored


LIMITED = """
import resource, signal, sys
sys.path.insert(0, sys.argv[2])
from test_sweeps import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    swept(tasks(300), Path(sys.argv[1]))
except SpecError as error:
    print(error)
"""


def test_a_limit_of_the_system_is_told_as_such(tmp_path: Path) -> None:
    place = tmp_path / "store"
    said = subprocess.run([sys.executable, "-c", LIMITED, str(place), str(ROOT / "tests" / "python")],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert "a limit on its use was reached" in said.stdout, said
    with store.reading(place) as ledger:
        stored = ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    assert 0 < stored < 300
    assert len(swept(tasks(stored + 2), place).made) == 2


# ---- killed ----

CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
from test_sweeps import *
swept(tasks(100), Path(sys.argv[1]))
"""


def test_killed_at_any_moment_nothing_that_ended_is_made_again(tmp_path: Path) -> None:
    place = tmp_path / "store"
    random = Random("killed")
    stored, kills = 0, 0
    while stored < 100:
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(place), str(ROOT / "tests" / "python")])
        # Until it has stored some more, and a while.
        more = stored + random.randint(1, 15)
        while child.poll() is None and count(place) < min(more, 100):
            threading.Event().wait(0.005)
        threading.Event().wait(random.uniform(0.0, 0.02))
        child.send_signal(signal.SIGKILL)
        child.wait()
        kills += 1
        assert count(place) >= stored
        stored = count(place)
        if kills == 5:
            break
    left = swept(tasks(100), place)
    assert len(left.made) == 100 - stored
    assert kills == 5
    with store.opened(None) as ledger, store.reading(place) as found:
        whole = sweep(tasks(100), ledger, engine=Local(2))
        for task in tasks(100):
            assert found.blob(task.key, KEPT) == whole.ledger.blob(task.key, KEPT)


def count(place: Path) -> int:
    """How many runs a store has; 0 of one that is not there yet."""
    try:
        with store.reading(place) as ledger:
            return int(ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    except SpecError:
        return 0
