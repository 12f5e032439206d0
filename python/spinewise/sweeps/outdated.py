"""Places of a study that it no longer has: of an earlier spec, grid or engine, as a store keeps them.

A study is known by its name. Who changes its spec or its grid and sweeps it again leaves places of before in the store.
They stay, for their runs are as good as they were; that they are of another study of that name is noted.
"""

from __future__ import annotations

from collections.abc import Collection

from spinewise import core
from spinewise.sweeps.store import Ledger, transaction
from spinewise.sweeps.tables import in_words


def note(ledger: Ledger, study: str, keys: Collection[str], cells: Collection[str]) -> int:
    """Note which places of a study are outdated, in the place of what was noted before; how many these are.

    Args:
        ledger: where it is stored.
        study: its name.
        keys: of all runs that it has now.
        cells: what its runs have in common with their repeats: further seeds of these are not outdated.

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
