"""Places of a study that it no longer has, from an earlier spec, grid or engine, as a store keeps them.

A study is identified by its name. If its spec or grid changes and it is swept again, old places remain in the store.
They are kept, because their runs are still valid; they are marked as those of an earlier study of that name.
"""

from __future__ import annotations

from collections.abc import Collection

from spinewise import core
from spinewise.sweeps.store import Ledger, transaction
from spinewise.sweeps.tables import in_words


def note(ledger: Ledger, study: str, keys: Collection[str], cells: Collection[str]) -> int:
    """Record which places of a study are outdated, replacing earlier records, and return their number.

    Args:
        ledger: the store.
        study: its name.
        keys: the keys of all runs that it has now.
        cells: the cells of its runs: further seeds of these are not outdated.

    Raises:
        SpecError: the store cannot be written.
    """
    with in_words(ledger.folder), transaction(ledger.connection):
        places = ledger.connection.execute(
            "SELECT labels.label, labels.key, runs.cell FROM labels"
            " LEFT JOIN runs ON runs.key = labels.key AND runs.engine = ? WHERE labels.study = ?",
            (core.engine_digest(), study),
        ).fetchall()
        found = [(study, label, key) for label, key, cell in places if key not in keys and cell not in cells]
        ledger.connection.execute("DELETE FROM outdated WHERE study = ?", (study,))
        ledger.connection.executemany("INSERT INTO outdated VALUES (?, ?, ?)", found)
    return len(found)
