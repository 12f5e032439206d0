"""Many independent runs in parallel. A run detaches the interpreter, so threads suffice."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar, cast

from spinewise.core import Progress
from spinewise.errors import Cancelled, SpecError
from spinewise.plain import as_number, as_whole, shown, unlike
from spinewise.runs.result import Result
from spinewise.runs.simulated import simulated
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve

MOST_JOBS = 1024
PATIENCE_S = 2.0
TRIES = 3
"""How long a run may take to stop when asked before it is interrupted, and how often it is interrupted."""

K = TypeVar("K")
M = TypeVar("M")
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Case(Generic[K]):
    """A run to make: a resolved spec and the key of its measurement."""

    key: K
    spec: Spec


class Monitor(Protocol):
    """Watches a batch of runs; called from several threads."""

    def planned(self, runs: int, stored: int) -> None:
        """Receive how many runs are to be made, and how many wanted runs are already stored."""

    def expected(self, seconds: float | None) -> None:
        """Receive the seconds until all runs will have ended, estimated from those that have; None while unknown."""

    def started(self, number: int) -> None:
        """Receive that run `number` begins."""

    def advanced(self, number: int, progress: Progress) -> None:
        """Receive the progress of run `number`."""

    def finished(self, number: int, packet_hops: int) -> None:
        """Receive that run `number` is done; `packet_hops` counts the links that its packets crossed."""


class Silent:
    """A monitor that prints nothing."""

    def planned(self, runs: int, stored: int) -> None:
        """Do nothing."""

    def expected(self, seconds: float | None) -> None:
        """Do nothing."""

    def started(self, number: int) -> None:
        """Do nothing."""

    def advanced(self, number: int, progress: Progress) -> None:
        """Do nothing."""

    def finished(self, number: int, packet_hops: int) -> None:
        """Do nothing."""


def check_monitor(monitor: object) -> None:
    """Refuse an object that cannot watch runs.

    Raises:
        TypeError: it lacks a method of a `Monitor`.
    """
    wanted = [name for name in vars(Silent) if not name.startswith("_")]
    if monitor is not None and not all(callable(getattr(monitor, name, None)) for name in wanted):
        raise unlike("monitor", f"an object with the methods {', '.join(wanted)}", monitor)


def default_jobs() -> int:
    """The default number of parallel runs: one per core this process may use."""
    return len(os.sched_getaffinity(0))


def checked_jobs(jobs: object) -> int:
    """Check the number of parallel runs.

    Raises:
        SpecError: it is not such a number.
    """
    number = as_whole(jobs)
    if number is not None and 1 <= number <= MOST_JOBS:
        return number
    raise SpecError("jobs", shown(jobs), f"a whole number, 1 to {MOST_JOBS}, or None for one per core")


def checked_seconds(name: str, seconds: object) -> float:
    """Check a duration.

    Raises:
        SpecError: it is not a duration.
    """
    number = as_number(seconds)
    if number is not None and number >= 0.0:
        return number
    raise SpecError(name, shown(seconds), "a number of seconds, 0 or more")


def resolved_case(key: K, spec: Spec, seed: int, what: str) -> Case[K]:
    """A case with its spec checked and its seed set; an error names the case."""
    try:
        return Case(key, resolve(spec, seed=seed))
    except SpecError as error:
        raise SpecError(
            error.key, error.value, error.allowed, f"{error.hint} (in {what})" if error.hint else f"in {what}",
            file=error.file, unserved=error.unserved,
        ) from None  # fmt: skip


Stop = Callable[[], bool]
"""A function that returns whether no more runs are wanted."""


def pooled(
    items: Iterable[A], work: Callable[[A, Stop], B], workers: int
) -> Generator[tuple[A, B | None, BaseException | None]]:
    """Do `work` on each of `items`, several in parallel; yield each item with its result or error, as it ends.

    The next item is taken when there is a worker for it. When the generator is closed, `work` is asked to stop and
    awaited. Python code that is still running after `PATIENCE_S`, such as a hook that never returns, is interrupted.
    """
    stop = threading.Event()
    busy = Busy()
    ended: SimpleQueue[tuple[A, B | None, BaseException | None]] = SimpleQueue()

    def one(item: A) -> None:
        try:
            if stop.is_set():
                raise Cancelled
            with busy:
                found = work(item, stop.is_set)
            ended.put((item, found, None))
        except BaseException as error:
            ended.put((item, None, error))

    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            waiting, running = iter(items), 0
            for item in islice(waiting, workers):
                pool.submit(one, item)
                running += 1
            while running:
                found = ended.get()
                running -= 1
                for item in islice(waiting, 1):
                    pool.submit(one, item)
                    running += 1
                yield found
        finally:
            stop.set()
            busy.end()


class Busy:
    """The threads that are working."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads: set[int] = set()

    def __enter__(self) -> None:
        with self._changed:
            self._threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._threads.discard(threading.get_ident())
            self._changed.notify_all()

    def end(self) -> None:
        """Wait for the threads, and interrupt those that do not end."""
        for _ in range(TRIES):
            with self._changed:
                if self._changed.wait_for(lambda: not self._threads, PATIENCE_S):
                    return
                interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
                for thread in self._threads:
                    # Raised when that thread next executes Python.
                    interrupt(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


def run_all(
    cases: Sequence[Case[K]],
    measure: Callable[[Case[K], Result], M],
    *,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> list[M]:
    """Run every case and measure it, and store nothing; the measurements come in the order of `cases`.

    It is for measurements that depend on things outside a store; see `spinewise.sweeps` for all others. `measure`
    gets each result once, after which it is dropped: memory holds at most `jobs` results. The first error, or Ctrl-C,
    stops all runs.
    """
    watch: Monitor = monitor or Silent()

    def one(number: int, stop: Stop) -> M:
        def progress(state: Progress) -> None:
            if stop():
                raise Cancelled
            watch.advanced(number, state)

        watch.started(number)
        result = simulated(cases[number].spec, progress)
        measured = measure(cases[number], result)
        watch.finished(number, int(result.report["packet_hops"]))
        return measured

    watch.planned(len(cases), 0)
    measurements: dict[int, M] = {}
    workers = default_jobs() if jobs is None else checked_jobs(jobs)
    with closing(pooled(range(len(cases)), one, workers)) as finished:
        for number, measured, error in finished:
            if error is not None:
                raise error
            measurements[number] = cast(M, measured)
    return [measurements[number] for number in range(len(cases))]
