"""Views of a store as Parquet files, so that a query reads each run from the ledger once.

Runs are exported a thousand rows of the ledger at a time, each view into a file whose name identifies its sources:
the numbers of the rows, the instants at which they were stored, the columns of the view, the code that reads it, and
the engine whose defaults variants are named by. A run that is stored again gets another row and another instant. So a
file stays valid indefinitely, and it is no longer looked up once something has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.errors import SpecError
from spinewise.measures import tables
from spinewise.runs import hidden
from spinewise.sweeps import columns
from spinewise.sweeps.store import EXPORTS, Ledger
from spinewise.sweeps.tables import in_words
from spinewise.sweeps.views import Views

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS = ("runs", "cells", "links", "collectives")
"""Views that grow with the runs."""
FOLDER = EXPORTS
ROWS = 1000
"""Rows of the ledger in a file."""
READERS = ("views.py", "variant.py", "basics.py", "columns.py", "../specs/variants.py")
"""The code that makes the rows of a view, besides this module."""


@dataclass(frozen=True)
class Chunk:
    """Some runs.

    Attributes:
        number: the number of the thousand rows.
        mark: changes with every run of it that is stored.
    """

    number: int
    mark: str

    def file(self, folder: Path, view: str) -> Path:
        """The file of a view of it."""
        return folder / FOLDER / f"{view}-{self.number:06d}-{self.mark}.parquet"

    def views(self, ledger: Ledger) -> Views:
        """The views of this chunk, read from the ledger."""
        return Views(ledger, self.number * ROWS, (self.number + 1) * ROWS - 1)


@dataclass
class Export:
    """A view of all runs.

    Attributes:
        files: Parquet files with rows of it.
        tables: rows of it that could not be written, or should not be.
        notes: the parts of the ledger that could not be read.
    """

    files: list[str] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def export(ledger: Ledger, view: str, without: frozenset[str] = frozenset()) -> Export:
    """A view of all runs; rows without a file are read from the ledger, and written if the store is writable.

    Args:
        ledger: the ledger of the store.
        view: its name.
        without: files that count as missing.
    """
    found = Export()
    for chunk in chunks(ledger):
        add(found, chunk, ledger, view, without)
    return found


def export_whole(ledger: Ledger) -> None:
    """Write what the next query will need, except the last rows, which are few and about to change."""
    for chunk in [*chunks(ledger)][:-1]:
        for view in VIEWS:
            add(Export(), chunk, ledger, view)


def add(export: Export, chunk: Chunk, ledger: Ledger, view: str, without: frozenset[str] = frozenset()) -> None:
    """Add a view of some runs to an export."""
    file = None if ledger.folder is None else chunk.file(ledger.folder, view)
    if file is not None and file.is_file() and str(file) not in without:
        export.files.append(str(file))
        return
    views = chunk.views(ledger)
    table = views.table(view)
    export.notes += views.notes
    # Damage is reported each time.
    if file is not None and not views.notes and written(table, file, chunk):
        export.files.append(str(file))
    else:
        export.tables.append(table)


def files(ledger: Ledger) -> list[str]:
    """All files of views, including those of earlier states."""
    return sorted(map(str, ((ledger.folder or Path()) / FOLDER).glob("*.parquet")))


def removed(damaged: Iterable[str]) -> frozenset[str]:
    """Remove damaged files, and return those that could not be removed."""
    left = set()
    for file in damaged:
        try:
            Path(file).unlink(missing_ok=True)
        except OSError:
            left.add(file)
    return frozenset(left)


def chunks(ledger: Ledger) -> Iterator[Chunk]:
    """All runs of a ledger, a thousand rows at a time."""
    with in_words(ledger.folder):
        rows = ledger.connection.execute("SELECT rowid, finished_at FROM runs ORDER BY rowid").fetchall()
    form = repr((columns.views(), core.engine_digest(), code_digest(READERS))).encode()
    for number, part in groupby(rows, lambda row: row[0] // ROWS):
        yield Chunk(number, hashlib.sha256(form + repr(list(part)).encode()).hexdigest()[:16])


@cache
def code_digest(files: tuple[str, ...]) -> str:
    """SHA-256 (hex) over sources, by their places relative to this module."""
    texts = [(Path(__file__).parent / file).read_bytes() for file in files]
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def written(table: pa.Table, file: Path, chunk: Chunk) -> bool:
    """Write a file, whole or not at all, in place of those of earlier states; return False if that is impossible."""
    try:
        file.parent.mkdir(exist_ok=True)
        with hidden.hidden_file(file) as (target, _):
            tables.write(table, target)
            os.rename(target, file)
        view = file.name.partition("-")[0]
        for other in file.parent.glob(f"{view}-{chunk.number:06d}-*.parquet"):
            if other != file:
                other.unlink(missing_ok=True)
    except (OSError, SpecError):
        return False
    return True
