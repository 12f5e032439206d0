"""Verdicts of reproductions, kept in the store of their runs."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from spinewise import core
from spinewise.sweeps.packed import pack, unpack
from spinewise.sweeps.store import Ledger, transaction
from spinewise.sweeps.tables import in_words

MEASURE = "verdicts"
"""The name of verdicts in the ledger."""
MARK, BEHIND_MARK = "verdicts ", "verdicts!"
"""The first comes before the experiment's name, where other rows have the key of a run; the second sorts later."""


@dataclass(frozen=True)
class Judged:
    """A claim and its outcome.

    Attributes:
        claim: its id.
        reading: the form, transport or variant that was judged; empty if there is only one.
        figure: the figure or section that it is about.
        statement: the paper's statement.
        verdict: the verdict.
        evidence: the numbers behind the verdict, a line each.
    """

    claim: str
    reading: str
    figure: str
    statement: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class Verdicts:
    """All verdicts of one experiment with one effort."""

    experiment: str
    effort: str
    version: str
    judged_at: float
    judged: list[Judged]


def keep(ledger: Ledger, experiment: str, effort: str, judged: Sequence[Judged]) -> None:
    """Keep the verdicts of an experiment, replacing those that it had with this effort.

    Raises:
        SpecError: the store cannot be written.
    """
    blob = pack(Verdicts(experiment, effort, core.version(), time.time(), list(judged)))
    with in_words(ledger.folder), transaction(ledger.connection):
        ledger.connection.execute(
            "INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?)",
            (MARK + experiment, MEASURE, effort, zlib.crc32(blob), blob),
        )


def rows_of(ledger: Ledger) -> list[tuple[object, ...]]:
    """Rows of the view `claims`; damaged ones are left out."""
    with in_words(ledger.folder):
        found = ledger.connection.execute(
            "SELECT blob, crc FROM measurements WHERE key > ? AND key < ? ORDER BY rowid", (MARK, BEHIND_MARK)
        ).fetchall()
    rows: list[tuple[object, ...]] = []
    for blob, crc in found:
        if zlib.crc32(blob) != crc:
            continue
        one = unpack(blob, Verdicts)
        at = int(one.judged_at * 1e6)
        rows += [(one.experiment, one.effort, *astuple(each), one.version, at) for each in one.judged]
    return rows
