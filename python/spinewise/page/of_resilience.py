"""A study of faults as a part of a page: what rounds and goodput lost, and its tables as they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spinewise.figures.bars import Panel
from spinewise.measures.stats import Interval
from spinewise.page import charts
from spinewise.page.grids import table
from spinewise.page.model import Chart, Charts, Part, Scale, Section, Words
from spinewise.resilience.stored import Share, Stored

MOST_CHARTS = 4
"""The number of faults above which only the tables are shown."""
NOTE = "Against the same runs without the faults; means over seeds with 95 % Student-t intervals."


def part(found: Stored) -> Part:
    """The part of a study."""
    rounds = [
        chart(one.title, one.axis, one.of, "signed" if one.signed else "linear") for one in found.rounds if one.of
    ]
    few = len(found.lost) <= MOST_CHARTS
    made = [chart(one.fault, "goodput lost [%]", one.of, "signed") for one in found.lost if one.of and few]
    return Part(
        title=found.title,
        kind="resilience",
        subtitle=found.subtitle,
        sections=(
            *([Section("Rounds", (Charts(tuple(rounds), NOTE),))] if rounds else []),
            *([Section("Goodput lost", (Charts(tuple(made), NOTE),))] if made else []),
            Section("What the faults cost", tuple(table(one.grid()) for one in found.tables)),
            Section("How to read this", (Words(tuple(found.notes), listed=True),)),
        ),
    )


def chart(title: str, axis: str, of: Sequence[Share], scale: Scale) -> Chart:
    """A bar a scheme."""
    values = {one.scheme: Interval(one.mean, math.nan if one.half is None else one.half, len(of)) for one in of}
    return charts.of_bars(Panel(title, axis, values), charts.looked(list(values)), scale)
