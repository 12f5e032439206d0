"""Facts that the metrics of a study do not show: unfinished flows, overloaded points, deadlocks, warnings.

The words are those of `compare`, if it has some.
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
    """The number of flows, and of those that had not finished when their run stopped."""

    flows: int
    unfinished: int

    @classmethod
    def of(cls, found: ClassSummary) -> Flows:
        """Count the flows of a size class."""
        return cls(found.flows, found.unfinished)

    def __add__(self, other: Flows) -> Flows:
        return Flows(self.flows + other.flows, self.unfinished + other.unfinished)

    @property
    def text(self) -> str:
        """The text in a cell of a table: how many had not finished, of how many."""
        return f"{self.unfinished:,} of {self.flows:,}" if self.unfinished else "0"


NO_FLOWS = Flows(0, 0)


@dataclass(frozen=True)
class Beside:
    """Facts that the metrics of a run do not show.

    Attributes:
        behind: the flows of each metric.
        every: all flows of the run.
        overloaded: whether the worst cut was offered more than it can carry for long.
        deadlock: whether queues paused each other indefinitely.
        warnings: settings that may be unintended.
    """

    behind: tuple[Flows, ...]
    every: Flows
    overloaded: bool
    deadlock: bool
    warnings: tuple[Notice, ...]

    @classmethod
    def of(cls, summary: Summary, metrics: Sequence[Metric]) -> Beside:
        """Take the facts from a run."""
        return cls(
            behind=tuple(Flows.of(summary.of(one.size_class, one.entry)) for one in metrics),
            every=Flows.of(summary.of()),
            overloaded=summary.overloaded,
            deadlock=bool(summary.deadlock),
            warnings=tuple(summary.warnings),
        )
