"""The engine of this machine: a thread for each run, since a run detaches the interpreter."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

from spinewise.core import Progress
from spinewise.errors import Cancelled
from spinewise.runs.jobs import Monitor, Stop, checked_jobs, default_jobs, pooled
from spinewise.sweeps.engine import Done, Work, perform


@dataclass(frozen=True)
class Local:
    """Several runs at once in this process.

    Attributes:
        jobs: how many at once; one per core this process may use when None.
    """

    jobs: int | None = None

    def capacity(self) -> int:
        """See `spinewise.sweeps.engine.Counted`."""
        return default_jobs() if self.jobs is None else checked_jobs(self.jobs)

    def run(self, work: Iterator[Work], monitor: Monitor) -> Generator[Done]:
        """See `spinewise.sweeps.engine.Engine`."""

        def one(piece: Work, stop: Stop) -> Done:
            def progress(state: Progress) -> None:
                if stop():
                    raise Cancelled
                monitor.advanced(piece.number, state)

            monitor.started(piece.number)
            done = perform(piece, progress)
            monitor.finished(piece.number, done.headline.packet_hops if done.headline else 0)
            return done

        with closing(pooled(work, one, self.capacity())) as finished:
            for _, done, error in finished:
                if error is not None:
                    raise error
                assert done is not None
                yield done
