"""Progress on standard error: bars on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.progress import BarColumn, Progress, TextColumn

from spinewise import core
from spinewise.measures import units
from spinewise.show import terminal

SECONDS_BETWEEN_LINES = 10.0


class Pace:
    """The rate and the remaining time of something that started when this was created."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def left(self, done: float) -> str:
        """The estimated remaining time, once there is enough to estimate from."""
        spent = self.elapsed()
        return whole_seconds(spent * (1.0 - done) / done) if done > 0.01 and spent > 1.0 else "…"


def whole_seconds(seconds: float) -> str:
    """Wall time without fractions of a second."""
    return units.clock(math.ceil(seconds))


def describe(state: core.Progress, pace: Pace) -> str:
    """One line about a run: simulated time, flows, rate, time left."""
    rate = state.packet_hops / max(pace.elapsed(), 1e-9)
    done = state.flows_total - state.flows_open
    return (
        f"simulated {units.duration(state.simulated_ps / 1e12, 3)}"
        f" · {done:,}/{state.flows_total:,} flows"
        f" · {units.count(rate)} hops/s · ETA {pace.left(state.fraction)}"
    )


class RunProgress:
    """Progress of one run, as the hook that the engine calls."""

    def __init__(self, bar: Progress | None, name: str) -> None:
        self.pace = Pace()
        self.bar = bar
        self.name = name
        self.last_line = time.monotonic()
        self.task = bar.add_task(name, total=1.0, detail="") if bar else None

    def __call__(self, state: core.Progress) -> None:
        """Show the progress of the run."""
        if not state.flows_total and not state.simulated_ps:
            # The time of setting up does not predict that of the run.
            self.pace = Pace()
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=state.fraction, detail=describe(state, self.pace))
        elif time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            say(f"{self.name}: {describe(state, self.pace)}")


class BatchProgress:
    """Progress of many runs at once; see `spinewise.runs.jobs.Monitor`."""

    def __init__(self, bar: Progress | None, total: int, name: str, budget_s: float | None = None) -> None:
        """Create a progress display.

        Args:
            bar: on a terminal.
            total: runs to be made, as far as is known.
            name: the name of the runs.
            budget_s: wall seconds after which it ends, if that is known and the number of runs is not.
        """
        self.pace = Pace()
        self.bar = bar
        self.budget_s = budget_s
        self.total = total
        self.name = name
        self.lock = threading.Lock()
        self.parts: dict[int, float] = {}
        self.done = 0
        self.stored = 0
        self.end: float | None = None
        self.hops = 0
        self.last_line = time.monotonic()
        self.task = bar.add_task(name, total=float(total), detail="") if bar else None

    def planned(self, runs: int, stored: int) -> None:
        """Receive how many runs are to be made, and how many are already stored."""
        with self.lock:
            # Those before belonged to an earlier round.
            self.total, self.stored, self.end = self.done + runs, stored, None
            if self.bar is not None and self.task is not None:
                self.bar.update(self.task, total=self.budget_s or float(self.total))

    def warned(self, line: str) -> None:
        """Receive a warning about what is to be made."""
        if self.bar is None:
            say(line)
        else:
            # Another console would write into the bar.
            self.bar.console.print(line)

    def expected(self, seconds: float | None) -> None:
        """Receive the seconds until all runs will have ended."""
        with self.lock:
            self.end = None if seconds is None else time.monotonic() + seconds

    def started(self, number: int) -> None:
        """Receive that run `number` begins."""

    def advanced(self, number: int, progress: core.Progress) -> None:
        """Receive the progress of run `number`."""
        with self.lock:
            self.parts[number] = progress.fraction
            self.show()

    def finished(self, number: int, packet_hops: int) -> None:
        """Receive that run `number` is done."""
        with self.lock:
            self.parts.pop(number, None)
            self.done += 1
            self.hops += packet_hops
            self.show()

    def clock(self) -> str:
        """The remaining time, from what the sweep has learnt about its runs."""
        return whole_seconds(max((self.end or 0.0) - time.monotonic(), 0.0))

    def so_far(self) -> float:
        """Runs that have ended, with the fractions of those in progress."""
        return self.done + sum(self.parts.values())

    def words(self) -> str:
        """The progress in words."""
        stored = f" ({self.stored} more stored)" if self.stored else ""
        hops = f"{units.count(self.hops)} packet-hops"
        if self.budget_s is not None:
            left = whole_seconds(max(self.budget_s - self.pace.elapsed(), 0.0))
            return f"{units.counted(self.done, 'run')}{stored} · {hops} · at most {left} left"
        left = self.pace.left(self.so_far() / max(self.total, 1)) if self.end is None else self.clock()
        return f"{self.done}/{self.total} runs{stored} · {hops} · ETA {left}"

    def show(self) -> None:
        """Update the bar, or print a line when it is time for one."""
        if self.bar is not None and self.task is not None:
            far = self.so_far() if self.budget_s is None else self.pace.elapsed()
            self.bar.update(self.task, completed=far, detail=self.words())
        elif time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            say(f"{self.name}: {self.words()}")


def say(line: str) -> None:
    """Print one line to standard error."""
    # Output that cannot be written must not end a run.
    with suppress(OSError):
        terminal.console(stderr=True).print(line)


@contextmanager
def bars() -> Iterator[Progress | None]:
    """A live display on a terminal; None elsewhere."""
    console = terminal.console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield bar
