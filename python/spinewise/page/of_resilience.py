"""A study of faults as a part of a page: goodput lost, and its tables as they are printed."""

from __future__ import annotations

import math

from spinewise.figures.bars import Panel
from spinewise.measures.stats import Interval
from spinewise.page import charts
from spinewise.page.grids import table
from spinewise.page.model import Chart, Charts, Part, Section, Words
from spinewise.resilience.told import Lost, Told

MOST_CHARTS = 4
"""Of more faults the tables alone are shown."""
NOTE = "Against the same runs without the faults; means over seeds with 95 % Student-t intervals."


def part(found: Told) -> Part:
    """The part of a study."""
    made = [chart(one) for one in found.lost if one.of] if len(found.lost) <= MOST_CHARTS else []
    return Part(
        title=found.title,
        kind="resilience",
        subtitle=found.subtitle,
        sections=(
            *([Section("Goodput lost", (Charts(tuple(made), NOTE),))] if made else []),
            Section("What the faults cost", tuple(table(one.grid()) for one in found.tables)),
            Section("How to read this", (Words(tuple(found.notes), listed=True),)),
        ),
    )


def chart(found: Lost) -> Chart:
    """A bar a scheme."""
    values = {
        one.scheme: Interval(one.mean, math.nan if one.half is None else one.half, len(found.of)) for one in found.of
    }
    return charts.of_bars(Panel(found.fault, "goodput lost [%]", values), charts.looked(list(values)))
