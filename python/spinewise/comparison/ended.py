"""The table of when all operations of a trace had ended."""

from __future__ import annotations

import math

from spinewise.comparison.cells import Comparison, ended_value
from spinewise.comparison.tables import Column, by_scheme
from spinewise.comparison.verdict import ALL_ENDED, Question
from spinewise.measures import units
from spinewise.show.terminal import Grid


def ended_table(comparison: Comparison, entry: str) -> Grid:
    """A row per load and scheme: when the last operation of a traffic entry of kind "dag" ended."""
    value = ended_value(entry)
    asked = Question(entry, ALL_ENDED, value, of_trace=True)

    def unfinished(label: str, load: float | None) -> int:
        return sum(math.isnan(value(cell)) for cell in comparison.at(label, load))

    unit = units.time_unit(
        comparison.over(label, load, value).mean for label in comparison.labels for load in comparison.loads
    )
    heading = f"{entry}: time until all operations have ended; unfinished: runs in which some had not"
    return by_scheme(comparison, heading, [Column("all ended", unit, asked)], unfinished)
