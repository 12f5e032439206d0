"""How long runs will take, learnt from those that ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from spinewise.sweeps.store import Ledger


class Forecast:
    """Seconds that runs take: as long as repeats of them, else as long as the mean of this sweep's.

    Args:
        cells: of each run that is to be made; see `spinewise.sweeps.task.cell_hash`.
        ledger: what it tells of repeats that were made before.
    """

    def __init__(self, cells: Sequence[str], ledger: Ledger) -> None:
        self.start = time.monotonic()
        self.left = Counter(cells)
        self.known = {cell: (seconds, 1) for cell, seconds in ledger.seconds(self.left).items()}
        self.spent, self.ended = 0.0, 0

    def learn(self, cell: str, seconds: float | None) -> None:
        """A run has ended; one that failed tells no time."""
        self.left[cell] -= 1
        if seconds is None:
            return
        mean, count = self.known.get(cell, (0.0, 0))
        self.known[cell] = ((mean * count + seconds) / (count + 1), count + 1)
        self.spent += seconds
        self.ended += 1

    def of(self, cell: str) -> float | None:
        """How long a run will take; None while nothing is known."""
        if cell in self.known:
            return self.known[cell][0]
        return self.spent / self.ended if self.ended else None

    def to_go(self) -> float | None:
        """Seconds until all runs have ended, at the pace so far; None while nothing is known."""
        if not self.ended:
            return None
        work = sum(count * (self.of(cell) or 0.0) for cell, count in self.left.items() if count > 0)
        return work * (time.monotonic() - self.start) / max(self.spent, 1e-9)
