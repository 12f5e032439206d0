"""Specs at random, few of them; `make fuzz N=20000` tries many. And that the fuzzer would see what it is to see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import samples
import spinewise
from fuzz import crossed, mutate, pool, worker
from spinewise import SpecError

HERE = Path(__file__).parent
FEW = 400


@pytest.fixture(autouse=True)
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import what this process imports."""
    monkeypatch.setenv("PYTHONPATH", f"{Path(spinewise.__file__).parents[1]}:{HERE}")


def test_random_specs_are_refused_in_words_or_run() -> None:
    found = pool.fuzz(1, range(FEW), len(os.sched_getaffinity(0)), lambda _: None)
    assert found.findings == []
    assert sum(found.counts.values()) == FEW
    # Else little would be tried.
    assert found.counts["ran"] + found.counts["cut"] > FEW // 12
    assert found.counts["refused"] > FEW // 4


def test_a_spec_is_a_function_of_seed_and_number() -> None:
    assert mutate.spec(1, 7) == mutate.spec(1, 7)
    made = [str(mutate.spec(1, number)) for number in range(50)]
    assert len(set(made)) == 50
    assert made != [str(mutate.spec(2, number)) for number in range(50)]


def raises(error: BaseException) -> Any:
    def act(*_args: object, **_options: object) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("tcp"), "traceback"),
        (RecursionError(), "traceback"),
        (type("InternalError", (RuntimeError,), {})("defect"), "panic"),
        (type("PanicException", (BaseException,), {})("defect"), "panic"),
        (SpecError("", "x", "something"), "mute"),
        (SpecError("key", "x", ""), "mute"),
        (SpecError("key", "x", "something"), "refused"),
    ],
)
def test_each_outcome_is_told_apart(error: BaseException, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "validate", raises(error))
    assert worker.outcome({})[0] == kind


def test_what_is_valid_and_does_not_run_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "validate", lambda _: None)
    assert worker.outcome({})[0] == "broken"


def test_what_no_run_may_do_is_seen() -> None:
    result = spinewise.run(samples.TINY_SPEC)
    assert (crossed.astray(result), crossed.differs(result)) == ("", "")
    result.report["counters"]["created"]["packets"] += 1
    assert crossed.astray(result).startswith("packets: ")
    assert crossed.differs(result).startswith("['counters'] by ")


@pytest.mark.parametrize(("code", "kind"), [("while True: pass", "hang"), ("import os; os.abort()", "died")])
def test_what_can_only_be_seen_from_outside_is_seen(code: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "HANG_SECONDS", 0.2)
    one = pool.Worker(1, 1000)
    monkeypatch.setattr(one, "command", [sys.executable, "-c", f"input(); {code}" if kind == "died" else code])
    try:
        assert one.tried(1)["outcome"] == kind
    finally:
        one.stop()


def test_the_command_counts_and_keeps_what_it_finds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzz", "--specs", "5", "--jobs", "1", "--keep", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if list(tmp_path.iterdir()) else 0)
    assert done.stdout.splitlines()[-1].startswith("5 specs in")
