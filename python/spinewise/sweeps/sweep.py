"""Make the runs that a store lacks, and read back those it has."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from spinewise.errors import SpecError
from spinewise.runs.jobs import Monitor, Silent
from spinewise.sweeps.basics import BASICS
from spinewise.sweeps.engine import Done, Engine, EngineGone, Failure, Headline, Work
from spinewise.sweeps.exported import export_whole
from spinewise.sweeps.forecast import Forecast
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure, MeasureId
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.task import Task

SECONDS_BETWEEN_FORECASTS = 0.5

T = TypeVar("T")


class RunFailed(Exception):  # noqa: N818 - the run failed; this says so
    """A run failed, and the error itself could not be transferred from where it was raised."""


@dataclass
class Job:
    """One run, with the combined wishes of all tasks for it.

    Attributes:
        key: the key of the run.
        basics: the measures of every run.
        tasks: the tasks that want it.
    """

    key: str
    basics: tuple[Measure[object], ...] = ()
    tasks: list[Task] = field(default_factory=list)

    @cached_property
    def measures(self) -> tuple[Measure[object], ...]:
        """Each measure once; called when all tasks are known."""
        wanted = [*self.basics, *(measure for task in self.tasks for measure in task.measures)]
        return tuple({measure.id: measure for measure in wanted}.values())

    @property
    def cell(self) -> str:
        """The cell that it shares with its repeats."""
        return self.tasks[0].cell

    @property
    def flows(self) -> bool:
        """Whether any task wants its flows."""
        return any(task.flows for task in self.tasks)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders where the tasks want its results."""
        return tuple(dict.fromkeys(task.folder for task in self.tasks if task.folder is not None))

    @property
    def priority(self) -> int:
        """The priority of the most urgent task."""
        return max(task.priority for task in self.tasks)

    def work(self, number: int) -> Work:
        """The work for an engine."""
        return Work(number, self.tasks[0].spec, self.measures, self.flows, self.folders)


@dataclass(frozen=True)
class Swept:
    """The records of some runs after a sweep.

    Attributes:
        ledger: the store; readable as long as the ledger is open.
        made: keys of the runs that were made by this sweep and ended well.
        failed: why runs failed, by key; including those that failed earlier and were not retried.
        unmeasured: why runs that ended well lack measurements, by key and measure; including runs of earlier sweeps.
        left: keys of the runs that were not made because time ran out.
    """

    ledger: Ledger
    made: tuple[str, ...] = ()
    failed: dict[str, Failure] = field(default_factory=dict)
    unmeasured: dict[str, dict[MeasureId, Failure]] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    def failure(self, task: Task) -> Failure | None:
        """The failure of a task's run, or of a measure that this task wants; None if neither failed."""
        errors = self.unmeasured.get(task.key, {})
        own = (errors[measure.id] for measure in task.measures if measure.id in errors)
        return self.failed.get(task.key) or next(own, None)

    def value(self, task: Task, measure: Measure[T]) -> T:
        """A measurement of the run of a task.

        Raises:
            KeyError: it failed, or was left.
        """
        return self.ledger.value(task.key, measure)

    def headline(self, task: Task) -> Headline:
        """Hashes, version and length of the run of a task.

        Raises:
            KeyError: it failed, or was left.
        """
        return self.ledger.headline(task.key)


def jobs_of(tasks: Sequence[Task], basics: tuple[Measure[object], ...]) -> list[Job]:
    """Each run once, those of the highest priority first, else in the order of the tasks."""
    found: dict[str, Job] = {}
    for task in tasks:
        found.setdefault(task.key, Job(task.key, basics)).tasks.append(task)
    return sorted(found.values(), key=lambda job: -job.priority)


def sweep(
    tasks: Sequence[Task],
    ledger: Ledger,
    *,
    engine: Engine | None = None,
    monitor: Monitor | None = None,
    strict: bool = False,
    retry_failed: bool = False,
    deadline: float | None = None,
) -> Swept:
    """Make the runs of `tasks` that the ledger lacks, each once, and store each as it ends.

    A run that is stored but lacks a measurement (its code has changed, or it was never wanted) is made again, but not
    if that very code has failed on it.

    Args:
        tasks: the wanted runs.
        ledger: the store.
        engine: the engine that makes the runs; threads of this process when None.
        monitor: notified of progress.
        strict: the first run that fails ends the sweep with its error; otherwise the error is kept, and the rest
            continues.
        retry_failed: whether runs are made again that have failed, or on which a measure has; with `strict` they
            always are.
        deadline: an instant of `time.monotonic`: no run starts that would, by those before it, end later.

    Raises:
        SpecError: the store cannot be written; what it has is kept.
    """
    ledger.label((task.study, task.label, task.key) for task in tasks)
    # Unrequested measurements are kept only in a store, where they may be queried later.
    jobs = jobs_of(tasks, BASICS if ledger.folder is not None else ())
    known = Known()
    waiting = [job for job in jobs if not known.of(job, ledger, again=strict or retry_failed)]
    watch: Monitor = monitor or Silent()
    watch.planned(len(waiting), len(jobs) - len(waiting) - len(known.failed.keys() | known.unmeasured.keys()))
    course = Course(
        waiting, Forecast([job.cell for job in waiting], ledger), math.inf if deadline is None else deadline
    )
    made: list[str] = []
    missing = len(waiting)
    try:
        for job, done in course.finished(engine or Local(), watch):
            ledger.add(job.key, job.tasks[0].spec, done)
            missing -= 1
            if strict and (first := done.first_failure):
                raise first.exception or RunFailed(first.text)
            if known.ended(job, done):
                made.append(job.key)
    except EngineGone as error:
        raise lost(error, ledger, len(waiting) - missing, missing) from None
    if ledger.folder is not None:
        export_whole(ledger)
    return Swept(ledger, tuple(made), known.failed, known.unmeasured, tuple(job.key for job in course.left))


@dataclass
class Known:
    """The failures among the runs of a sweep, now or earlier; see `Swept`."""

    failed: dict[str, Failure] = field(default_factory=dict)
    unmeasured: dict[str, dict[MeasureId, Failure]] = field(default_factory=dict)

    def of(self, job: Job, ledger: Ledger, *, again: bool) -> bool:
        """Whether the ledger has everything about a job; with `again`, earlier failures do not count."""
        if not again and (before := ledger.failure(job.key)) is not None:
            self.failed[job.key] = before
            return True
        if job.folders:
            return False
        if ledger.has(job.key, job.measures, flows=job.flows):
            return True
        if again or not ledger.has(job.key, (), flows=job.flows):
            return False
        errors = {one.id: ledger.why_unmeasured(job.key, one) for one in job.measures}
        there = {key: error for key, error in errors.items() if error is not None}
        if not ledger.has(job.key, [one for one in job.measures if one.id not in there]):
            return False
        self.unmeasured[job.key] = there
        return True

    def ended(self, job: Job, done: Done) -> bool:
        """Record the failures of a job that was made; return whether its run ended well."""
        if done.failure is not None:
            self.failed[job.key] = done.failure
        elif done.unmeasured:
            self.unmeasured[job.key] = done.unmeasured
        return done.failure is None


def lost(error: EngineGone, ledger: Ledger, ended: int, missing: int) -> SpecError:
    """The error for a lost engine."""
    kept = f"stored by this sweep: {ended:,}, missing: {missing:,}"
    way_out = "the same command, with this or another --engine, makes only those that are missing"
    if ledger.folder is None:
        kept, way_out = f"{ended:,} had ended, {missing:,} had not", "with --store DIR finished runs are kept"
    return SpecError("--engine", "ray", "a cluster that stays until the sweep ends", f"{error}; runs {kept}; {way_out}")


@dataclass
class Course:
    """Runs being made, against the clock.

    Attributes:
        waiting: all of them.
        forecast: the forecast of their time.
        deadline: no run starts that would end after it.
        left: those for which there was no time.
    """

    waiting: Sequence[Job]
    forecast: Forecast
    deadline: float
    left: list[Job] = field(default_factory=list)

    def finished(self, engine: Engine, monitor: Monitor) -> Iterator[tuple[Job, Done]]:
        """The outcome of each run that was made, as it ends."""
        told = 0.0
        with closing(engine.run(self.work(), monitor)) as found:
            for done in found:
                job = self.waiting[done.number]
                yield job, done
                self.forecast.learn(job.cell, done.headline.wall_seconds if done.headline else None)
                if time.monotonic() - told >= SECONDS_BETWEEN_FORECASTS:
                    told = time.monotonic()
                    monitor.expected(self.forecast.to_go())

    def work(self) -> Iterator[Work]:
        """The runs that still fit into the time, taken when there is room to start one."""
        for number, job in enumerate(self.waiting):
            if time.monotonic() + (self.forecast.of(job.cell) or 0.0) <= self.deadline:
                self.forecast.begin(job.cell)
                yield job.work(number)
            else:
                self.left.append(job)
