"""Make the runs of a study of faults, and the record of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from spinewise.runs.jobs import Case, Monitor
from spinewise.sweeps.engine import Engine
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.store import opened
from spinewise.sweeps.sweep import sweep
from spinewise.sweeps.task import Task

K = TypeVar("K", bound=tuple[str | int | float, ...])
R = TypeVar("R")


@dataclass(frozen=True)
class Wanted(Generic[R]):
    """The measure to keep of each run, and its labels in a store.

    Attributes:
        study: name of the study.
        names: the names of the parts of a case's key.
        recording: the measure.
    """

    study: str
    names: tuple[str, ...]
    recording: Measure[R]


def recordings(
    cases: Sequence[Case[K]],
    wanted: Wanted[R],
    *,
    jobs: int | None,
    monitor: Monitor | None,
    store: str | Path | None,
    engine: Engine | None,
) -> dict[K, R]:
    """Every case, run if the store lacks it."""
    tasks = [
        Task(case.spec, (wanted.recording,), wanted.study, dict(zip(wanted.names, case.key, strict=True)))
        for case in cases
    ]
    with opened(store) as ledger:
        swept = sweep(tasks, ledger, engine=engine or Local(jobs), monitor=monitor, strict=True)
        return {case.key: swept.value(task, wanted.recording) for case, task in zip(cases, tasks, strict=True)}
