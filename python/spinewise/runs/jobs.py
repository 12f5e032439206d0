"""Many independent runs at once. A run detaches the interpreter, so threads are enough."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from spinewise import core
from spinewise.core import Progress
from spinewise.errors import Cancelled, SpecError
from spinewise.plain import as_whole, shown
from spinewise.runs.result import Result
from spinewise.specs.spec import Spec, resolve

MOST_JOBS = 1024

K = TypeVar("K")
M = TypeVar("M")


@dataclass(frozen=True)
class Case(Generic[K]):
    """One run to do: a resolved spec and the key its measurement goes under."""

    key: K
    spec: Spec


class Monitor(Protocol):
    """Watches a batch of runs; called from several threads."""

    def started(self, index: int, case: Case[Any]) -> None:
        """Run `index` begins."""

    def advanced(self, index: int, progress: Progress) -> None:
        """Run `index` tells how far it is."""

    def finished(self, index: int, result: Result) -> None:
        """Run `index` is done."""


class Silent:
    """A monitor that says nothing."""

    def started(self, index: int, case: Case[Any]) -> None:
        """Nothing."""

    def advanced(self, index: int, progress: Progress) -> None:
        """Nothing."""

    def finished(self, index: int, result: Result) -> None:
        """Nothing."""


def default_jobs() -> int:
    """How many runs at once when nobody says: one per core this process may use."""
    return len(os.sched_getaffinity(0))


def checked_jobs(jobs: object) -> int:
    """How many runs at once, as asked for.

    Raises:
        SpecError: no such number.
    """
    number = as_whole(jobs)
    if number is not None and 1 <= number <= MOST_JOBS:
        return number
    raise SpecError("jobs", shown(jobs), f"a whole number, 1 to {MOST_JOBS}, or None for one per core")


def resolved_case(key: K, spec: Spec, seed: int, what: str) -> Case[K]:
    """A case with its spec checked and its seed set; an error says which case it was."""
    try:
        return Case(key, resolve(spec, seed=seed))
    except SpecError as error:
        raise SpecError(
            error.key, error.value, error.allowed, f"{error.hint or ''} (in {what})".strip(),
            file=error.file, unserved=error.unserved,
        ) from None  # fmt: skip


def run_all(
    cases: Sequence[Case[K]],
    measure: Callable[[Case[K], Result], M],
    *,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> list[M]:
    """Run every case and measure it; the measurements come in the order of `cases`.

    `measure` sees each result once, after which it is dropped: memory holds `jobs` results at most.
    The first error, or Ctrl-C, stops all runs.
    """
    workers = default_jobs() if jobs is None else checked_jobs(jobs)
    watch: Monitor = monitor or Silent()
    stop = threading.Event()

    def one(index: int, case: Case[K]) -> M:
        def progress(state: Progress) -> None:
            if stop.is_set():
                raise Cancelled
            watch.advanced(index, state)

        if stop.is_set():
            raise Cancelled
        watch.started(index, case)
        result = Result.from_outcome(case.spec, core.run(case.spec, progress))
        measured = measure(case, result)
        watch.finished(index, result)
        return measured

    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [pool.submit(one, index, case) for index, case in enumerate(cases)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    raise_first(futures)
    return [future.result() for future in futures]


def raise_first(futures: Sequence[Future[M]]) -> None:
    """Raise the error that stopped the batch, not the cancellations it caused."""
    errors = [error for error in (future.exception() for future in futures) if error is not None]
    real = [error for error in errors if not isinstance(error, Cancelled)]
    for error in [*real, *errors]:
        raise error
