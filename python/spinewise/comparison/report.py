"""The output of `spinewise compare`."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.comparison.answers import answers, how_told
from spinewise.comparison.cells import Comparison
from spinewise.comparison.ended import ended_table
from spinewise.comparison.happened import happened_table, legend
from spinewise.comparison.rounds import rounds_table
from spinewise.comparison.tables import notes, scope_tables
from spinewise.measures.entries import By
from spinewise.show.terminal import Grid

GATED = {"all_reduce", "all_to_all", "dag", "rpc"}
"""Kinds of traffic whose flows wait for each other: the time when all are done counts."""


def comparison_report(comparison: Comparison, by: By = "auto") -> RenderableType:
    """First the answers, then completion times, other facts, and how to read it all."""
    happened = happened_table(comparison)
    told = how_told(comparison)
    return Group(
        answers(comparison),
        *(table for entry in comparison.scopes(by) for table in tables_of(comparison, entry, by)),
        happened,
        Text("\n".join([*notes(comparison, by), *filter(None, (told, legend(happened)))])),
    )


def tables_of(comparison: Comparison, entry: str | None, by: By) -> list[Grid]:
    """The tables of one traffic entry, or of its rounds if its flows wait for each other."""
    names = comparison.entries if entry is None and not comparison.mixed else [entry]
    with_ends = [name for name in names if name is not None and name in comparison.with_operations and by != "class"]
    ends = [ended_table(comparison, name) for name in with_ends]
    rounds = [rounds_table(comparison, name) for name in names if name in comparison.with_jobs and by != "class"]
    kinds = {comparison.cells[0].jobs[name].kind for name in names if name in comparison.with_jobs}
    return [*ends, *rounds, *([] if kinds & GATED and by == "auto" else scope_tables(comparison, entry))]
