"""Sweeps that keep what they did: shared runs, stored measurements, failures, stores that cannot be used."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import math
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samples
import spinewise as sw
from spinewise import core
from spinewise.comparison import measured
from spinewise.own.texts import imported
from spinewise.resilience import recorded
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps import basics, sources, store
from spinewise.sweeps.basics import LINKS, NUMBERS
from spinewise.sweeps.forecast import Forecast
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.packed import pack, unpack
from spinewise.sweeps.sweep import Swept, sweep
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


def swept(wanted: list[Task], place: Path, **options: Any) -> Swept:
    with store.opened(place) as ledger:
        found = sweep(wanted, ledger, engine=Local(2), **options)
        assert not found.left
        return found


# ---- what a run is known by ----


HARMLESS = {
    # The engine has a digest of its own; these declare its replies.
    "__init__.py", "core.py", "replies.py", "shapes.py", "sweeps/measures.py",
    # Errors, and what results are written to and read from.
    "errors.py", "own/__init__.py", "own/copies.py", "runs/__init__.py", "runs/folder.py", "runs/formats.py",
    "runs/kept.py", "runs/packets.py", "runs/trace.py", "specs/spec.py", "writing.py",
}  # fmt: skip
"""Sources that measurements import, and that decide none of their values."""


@pytest.mark.parametrize("function", [measured.measure, basics.numbers, recorded.record])
def test_a_digest_has_every_source_that_decides_a_measurement(function: FunctionType) -> None:
    """Names of transports and sizes of units were outside: stored values stayed when they changed."""
    file = sources.file_of(function)
    inside = {*sources.with_imports(file, sources.root_of(file)), *sources.common()}
    names = {name for one in inside for name in imported(ast.parse(one.read_bytes()), sources.module_of(one))}
    found = {sources.source_of(name, sources.PACKAGE) for name in names if name.startswith("spinewise")}
    code = {one for one in found - inside if one is not None and one.suffix == ".py"}
    outside = {one.relative_to(sources.PACKAGE).as_posix() for one in code}
    assert outside <= HARMLESS


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
