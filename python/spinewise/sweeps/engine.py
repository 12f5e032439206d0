"""The interface of engines: plain data goes in, plain data comes out.

An engine gets pieces of `Work` one by one, when it has room for them, and returns the outcome of each, in any order.
Everything exchanged is picklable: a worker may be a thread, another process or another machine. The worker measures;
the caller of the engine writes to the store.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from spinewise.core import ProgressHook
from spinewise.errors import Cancelled
from spinewise.runs.jobs import Monitor
from spinewise.runs.result import Result
from spinewise.runs.simulated import simulated
from spinewise.shapes import Spec
from spinewise.sweeps.flow_tables import parquet
from spinewise.sweeps.measures import Measure, MeasureId

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """One run to make.

    Attributes:
        number: its identity.
        spec: the resolved spec.
        measures: the measures to take.
        flows: whether its table of flows is wanted.
        folders: where to write its whole results; in a place that the worker shares with the caller.
    """

    number: int
    spec: Spec
    measures: tuple[Measure[object], ...]
    flows: bool = False
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The stored facts of every run that ended.

    Attributes:
        version: the version of the engine that made it.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
        wall_seconds: how long the run took, without the measuring.
        packet_hops: the packets times the links they crossed.
    """

    version: str
    outcome_hash: str
    traffic_hash: str
    wall_seconds: float
    packet_hops: int


@dataclass(frozen=True)
class Failure:
    """The reason why a run, or a measurement of one, is missing.

    Attributes:
        text: the error on a line.
        trace: the traceback.
        exception: the error itself, if it could be transferred; a store does not keep it.
    """

    text: str
    trace: str = ""
    exception: Exception | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[type[Failure], tuple[str, str, Exception | None]]:
        """Support pickle: without the error itself, if that cannot cross to another process and back."""
        try:
            pickle.loads(pickle.dumps(self.exception))
        except Exception:
            return Failure, (self.text, self.trace, None)
        return Failure, (self.text, self.trace, self.exception)

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Build from the error of a run or a measurement."""
        name = type(error).__name__
        text = " ".join(str(error).split())
        return cls(f"{name}: {text}" if text else name, "".join(traceback.format_exception(error)), error)


@dataclass(frozen=True)
class Done:
    """The outcome of a piece of work.

    Attributes:
        number: the number of the work.
        headline: the headline of a run that ended; None if it failed.
        measured: a packed value for each measure that could be taken, by `Measure.id`.
        flows: the table of flows as a Parquet file, if it was wanted.
        failure: why the run failed; with a headline, why its results could not be written.
        unmeasured: why measures could not be taken, by `Measure.id`.
    """

    number: int
    headline: Headline | None = None
    measured: dict[MeasureId, bytes] = field(default_factory=dict)
    flows: bytes | None = None
    failure: Failure | None = None
    unmeasured: dict[MeasureId, Failure] = field(default_factory=dict)

    @property
    def first_failure(self) -> Failure | None:
        """The first failure; None if nothing failed."""
        return self.failure or next(iter(self.unmeasured.values()), None)


class EngineGone(Exception):  # noqa: N818 - what makes runs is gone; this says so
    """The engine of the runs is lost: no run in progress will end, and none can begin."""


class Engine(Protocol):
    """Makes runs."""

    def run(self, work: Iterator[Work], monitor: Monitor) -> Generator[Done]:
        """Yield the outcome of each piece of work, as it ends.

        The next piece is taken only when there is room to start it. When the iterator is closed before its end, runs
        in progress are stopped.

        Raises:
            EngineGone: the engine of the runs is lost.
        """


@runtime_checkable
class Counted(Protocol):
    """An engine that knows its size."""

    def capacity(self) -> int:
        """Return the number of runs that it makes at once."""


def capacity(engine: Engine, jobs: int) -> int:
    """The number of runs that an engine makes at once; `jobs` if it cannot say."""
    return engine.capacity() if isinstance(engine, Counted) else jobs


def perform(work: Work, progress: ProgressHook | None = None) -> Done:
    """Make one run and measure it; any error but a cancellation is part of what is returned."""
    result = attempted(lambda: simulated(work.spec, progress))
    if isinstance(result, Failure):
        return Done(work.number, failure=result)
    taken = {measure.id: attempted(partial(measure.take, work.spec, result)) for measure in work.measures}
    flows = attempted(lambda: written(result, work))
    return Done(
        work.number,
        headline_of(result),
        measured={key: value for key, value in taken.items() if not isinstance(value, Failure)},
        flows=None if isinstance(flows, Failure) else flows,
        failure=flows if isinstance(flows, Failure) else None,
        unmeasured={key: value for key, value in taken.items() if isinstance(value, Failure)},
    )


def attempted(action: Callable[[], T]) -> T | Failure:
    """The result of an action, or the error it raised, unless that is a cancellation."""
    try:
        return action()
    except Cancelled:
        raise
    except Exception as error:
        return Failure.of(error)


def written(result: Result, work: Work) -> bytes | None:
    """Write the whole results to the wanted folders; return the table of flows, if it is wanted."""
    for folder in work.folders:
        folder.mkdir(parents=True)
        result.write_files(folder)
    return parquet(result) if work.flows else None


def headline_of(result: Result) -> Headline:
    """The stored facts of every run."""
    report = result.report
    return Headline(
        version=str(report["version"]),
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
        wall_seconds=float(report["wall_seconds"]),
        packet_hops=int(report["packet_hops"]),
    )
