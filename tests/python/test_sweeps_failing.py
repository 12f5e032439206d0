"""Sweeps in which something fails: runs, measures, stores, the machine."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

import spinewise as sw
from spinewise.errors import SchemeError, SpecError
from spinewise.sweeps import store
from spinewise.sweeps.basics import NUMBERS
from spinewise.sweeps.engine import Failure, Work, perform
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.sweep import sweep
from spinewise.sweeps.tables import ADDED
from spinewise.sweeps.task import Task
from test_sweeps import KEPT, SEED, at_least, loaded, swept, tasks

ROOT = Path(__file__).parents[2]

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


def test_a_damaged_ledger_can_be_moved_away(tmp_path: Path, runs: list[int]) -> None:
    """As the error says; what was left of the store was then refused as no part of one."""
    place = tmp_path / "store"
    swept([replace(one, flows=True) for one in tasks(2)], place)
    (place / "views").mkdir(exist_ok=True)
    (place / store.LEDGER).rename(place / "ledger.sqlite.damaged")
    assert len(swept(tasks(2), place).made) == 2
    assert len(runs) == 4


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
from pathlib import Path
from spinewise.errors import SpecError
sys.path.insert(0, sys.argv[2])
from test_sweeps import swept, tasks
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
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_sweeps import swept, tasks
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
