"""Forecast how long runs will take, from those that ended."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from spinewise.sweeps.store import Ledger


class Forecast:
    """Forecast the duration of runs: that of their repeats, else the mean of this sweep's runs.

    Args:
        cells: the cell of each run to make; see `spinewise.sweeps.task.cell_hash`.
        ledger: the store, for repeats made earlier.
    """

    def __init__(self, cells: Sequence[str], ledger: Ledger) -> None:
        self.start = time.monotonic()
        self.left = Counter(cells)
        self.known = {cell: (seconds, 1) for cell, seconds in ledger.seconds(self.left).items()}
        self.spent, self.ended = 0.0, 0
        self.begun: defaultdict[str, list[float]] = defaultdict(list)

    def begin(self, cell: str) -> None:
        """Record that a run begins."""
        self.left[cell] -= 1
        self.begun[cell].append(time.monotonic())

    def learn(self, cell: str, seconds: float | None) -> None:
        """Record that a run has ended; a failed one gives no time."""
        self.begun[cell].pop(0)
        if seconds is None:
            return
        mean, count = self.known.get(cell, (0.0, 0))
        self.known[cell] = ((mean * count + seconds) / (count + 1), count + 1)
        self.spent += seconds
        self.ended += 1

    def of(self, cell: str) -> float | None:
        """The duration of a run; None while unknown."""
        if cell in self.known:
            return self.known[cell][0]
        return self.spent / self.ended if self.ended else None

    def to_go(self) -> float | None:
        """Seconds until all runs have ended, at the pace so far; None while unknown.

        Runs in progress count with their time so far: without it, the pace would seem that of one
        processor, and the rest longer than it is.
        """
        if not self.ended:
            return None
        now = time.monotonic()
        under_way = [(self.of(cell) or 0.0, now - start) for cell, starts in self.begun.items() for start in starts]
        rests = [max(whole - had, 0.0) for whole, had in under_way]
        done = self.spent + sum(min(whole, had) for whole, had in under_way)
        work = sum(rests) + sum(count * (self.of(cell) or 0.0) for cell, count in self.left.items())
        return max(work * (now - self.start) / max(done, 1e-9), *rests, 0.0)
