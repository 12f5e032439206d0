"""Measurements that failed on a run that ended well: the error, by run, measure and code, as a store keeps it.

A measure fails because of its code. So its error implies nothing about the run, other measures, or the same one once
its code is mended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from spinewise.sweeps.engine import Failure
from spinewise.sweeps.measures import Measure, MeasureId


def keep(connection: sqlite3.Connection, key: str, failures: Mapping[MeasureId, Failure]) -> None:
    """Record why measures of a run failed, replacing earlier reasons."""
    connection.executemany(
        "INSERT OR REPLACE INTO unmeasured VALUES (?, ?, ?, ?, ?)",
        [(key, *measure, failure.text, failure.trace) for measure, failure in failures.items()],
    )


def forget(connection: sqlite3.Connection, key: str, measured: Iterable[MeasureId]) -> None:
    """Remove the records of measures that a run has now."""
    connection.executemany(
        "DELETE FROM unmeasured WHERE key = ? AND measure = ? AND digest = ?",
        [(key, *measure) for measure in measured],
    )


def found(connection: sqlite3.Connection, key: str, measure: Measure[object]) -> Failure | None:
    """The failure of a measure on a run with its current code; None if unknown."""
    row = connection.execute(
        "SELECT error, trace FROM unmeasured WHERE key = ? AND measure = ? AND digest = ?", (key, *measure.id)
    ).fetchone()
    return None if row is None else Failure(*row)
