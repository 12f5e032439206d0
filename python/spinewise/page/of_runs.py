"""Several runs as a part of a page: their differences, and the effects."""

from __future__ import annotations

from spinewise.comparison.side_by_side import SideBySide
from spinewise.page.grids import table
from spinewise.page.model import Part, Section, Words


def part(found: SideBySide) -> Part:
    """The part of runs that are compared, which comes before their own parts."""
    spec = [table(found.spec_table())] if found.differing else []
    return Part(
        title=" beside ".join(found.labels),
        kind="runs",
        subtitle="each against the first",
        sections=(
            Section("Outcomes", (table(found.outcome_table()), Words(tuple(found.lines()), listed=True))),
            *([Section("What was set differently", tuple(spec))] if spec else []),
        ),
    )
