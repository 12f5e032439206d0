"""What the metrics of a study do not say: flows that had not finished, overloaded points, deadlocks, warnings.

The words are those of `compare`, where it has some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spinewise.measures.classes import ClassSummary
from spinewise.measures.notices import Notice
from spinewise.measures.summary import Summary
from spinewise.studies.metrics import Metric


@dataclass(frozen=True)
class Flows:
    """How many flows there were, and how many of them had not finished when their run stopped."""

    flows: int
    unfinished: int

    @classmethod
    def of(cls, found: ClassSummary) -> Flows:
        """Of a size class."""
        return cls(found.flows, found.unfinished)

    def __add__(self, other: Flows) -> Flows:
        return Flows(self.flows + other.flows, self.unfinished + other.unfinished)

    @property
    def text(self) -> str:
        """In a cell of a table: how many had not finished, of how many."""
        return f"{self.unfinished:,} of {self.flows:,}" if self.unfinished else "0"


NO_FLOWS = Flows(0, 0)


@dataclass(frozen=True)
class Beside:
    """What the metrics of a run do not say.

    Attributes:
        behind: the flows that each metric is of.
        every: all flows of the run.
        overloaded: whether the worst cut was offered more than it can carry for long.
        deadlock: whether queues paused each other for ever.
        warnings: what may not be what was meant.
    """

    behind: tuple[Flows, ...]
    every: Flows
    overloaded: bool
    deadlock: bool
    warnings: tuple[Notice, ...]

    @classmethod
    def of(cls, summary: Summary, metrics: Sequence[Metric]) -> Beside:
        """Of a run."""
        return cls(
            behind=tuple(Flows.of(summary.of(one.size_class, one.entry)) for one in metrics),
            every=Flows.of(summary.of()),
            overloaded=summary.overloaded,
            deadlock=bool(summary.deadlock),
            warnings=tuple(summary.warnings),
        )
