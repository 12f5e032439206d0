"""Everything `spinewise compare` prints."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.comparison.answers import answers, how_told
from spinewise.comparison.cells import Comparison
from spinewise.comparison.happened import happened_table, legend
from spinewise.comparison.tables import notes, scope_tables
from spinewise.measures.entries import By


def comparison_report(comparison: Comparison, by: By = "auto") -> RenderableType:
    """First the answers, then completion times, what happened besides, and how to read it all."""
    happened = happened_table(comparison)
    told = how_told(comparison)
    return Group(
        answers(comparison),
        *(table for entry in comparison.scopes(by) for table in scope_tables(comparison, entry)),
        happened,
        Text("\n".join([*notes(comparison, by), *([told] if told else []), legend(happened)])),
    )
