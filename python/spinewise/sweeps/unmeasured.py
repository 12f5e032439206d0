"""What could not be read off a run that ended well: the error, by run, measure and code, as a store keeps it.

A measure fails by its code. So its error says nothing of the run, of other measures, or of the same one with its code
mended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from spinewise.sweeps.engine import Failure
from spinewise.sweeps.measures import Measure, MeasureId


def keep(connection: sqlite3.Connection, key: str, failures: Mapping[MeasureId, Failure]) -> None:
    """Note why measures of a run failed, each in the place of what it failed by before."""
    connection.executemany(
        "INSERT OR REPLACE INTO unmeasured VALUES (?, ?, ?, ?, ?)",
        [(key, *measure, failure.text, failure.trace) for measure, failure in failures.items()],
    )


def forget(connection: sqlite3.Connection, key: str, measured: Iterable[MeasureId]) -> None:
    """Remove what is noted of measures that a run has now."""
    connection.executemany(
        "DELETE FROM unmeasured WHERE key = ? AND measure = ? AND digest = ?",
        [(key, *measure) for measure in measured],
    )


def found(connection: sqlite3.Connection, key: str, measure: Measure[object]) -> Failure | None:
    """Why a measure failed on a run by the code that it has now; None if nothing is known of that."""
    row = connection.execute(
        "SELECT error, trace FROM unmeasured WHERE key = ? AND measure = ? AND digest = ?", (key, *measure.id)
    ).fetchone()
    return None if row is None else Failure(*row)
