"""The tables of a store, and the meaning of SQLite's errors for its users."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spinewise.errors import SpecError
from spinewise.reading import printable

Row = tuple[Any, ...]
"""A row: SQLite returns the columns that a query names."""

APPLICATION = 0x53504E57
"""The number in the header of the SQLite file that marks a store of Spinewise ("SPNW")."""
VERSION = 2
"""Version of the tables."""
BUSY_SECONDS = 30.0
PAGES_AHEAD = 4000
"""Pages of the log before they are moved into the file, which waits for the disk."""

SCHEMA = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    cell TEXT NOT NULL,
    engine TEXT NOT NULL,
    version TEXT NOT NULL,
    name TEXT NOT NULL,
    scheme TEXT NOT NULL,
    seed INTEGER NOT NULL,
    outcome_hash TEXT,
    traffic_hash TEXT,
    wall_seconds REAL,
    packet_hops INTEGER,
    flows INTEGER NOT NULL,
    error TEXT,
    trace TEXT,
    finished_at REAL NOT NULL,
    spec BLOB NOT NULL
);
CREATE INDEX runs_by_cell ON runs (cell);
CREATE TABLE measurements (
    key TEXT NOT NULL,
    measure TEXT NOT NULL,
    digest TEXT NOT NULL,
    crc INTEGER NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (key, measure, digest)
);
CREATE TABLE labels (
    study TEXT NOT NULL,
    label TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (study, label)
);
CREATE INDEX labels_by_key ON labels (key);
"""
ADDED = {
    "unmeasured": """
    key TEXT NOT NULL,
    measure TEXT NOT NULL,
    digest TEXT NOT NULL,
    error TEXT NOT NULL,
    trace TEXT NOT NULL,
    PRIMARY KEY (key, measure, digest)
""",
    "outdated": """
    study TEXT NOT NULL,
    label TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (study, label)
""",
}
"""Tables that stores of this version may lack: added when one is written, and empty when one without them is read."""


def connect(place: Path | str, *, write: bool) -> sqlite3.Connection:
    """Open the file of a store; `write` makes its tables if it is new."""
    if write:
        found = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None)
    else:
        found = to_read(Path(place).absolute())
    try:
        prepare(found, write=write)
    except BaseException:
        found.close()
        raise
    return found


def to_read(place: Path) -> sqlite3.Connection:
    """Open the file of a store for reading.

    Readers and the writer share a file beside the ledger, which the first of them creates. If this process may not,
    and there is none, there is no writer: then the ledger is read as an immutable file.
    """
    usual = f"{place.as_uri()}?mode=ro"
    found = sqlite3.connect(usual, timeout=BUSY_SECONDS, uri=True)
    try:
        found.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) and not size(Path(f"{place}-wal")):
            found.close()
            return sqlite3.connect(f"{usual}&immutable=1", uri=True)
    except sqlite3.Error:
        # Reported by whatever reads its contents.
        pass
    return found


def size(file: Path) -> int:
    """The bytes of a file; 0 if there is none."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def prepare(connection: sqlite3.Connection, *, write: bool) -> None:
    """Check that it is a store of this version; make the tables of a new one."""
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    empty = not (application or version or tables)
    if empty and not write:
        raise NotAStore("nothing is in it yet")
    if empty:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != APPLICATION:
        raise NotAStore("this is a database of another program")
    elif version != VERSION:
        other = "a newer" if version > VERSION else "an older"
        raise NotAStore(
            f"it was written by {other} Spinewise (version {version} of the tables; this one has {VERSION})"
        )
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for name, columns in ADDED.items():
        if name not in there:
            connection.execute(f"CREATE {'' if write else 'TEMP '}TABLE {name} ({columns})")
    # Each commit reaches the operating system, so that it survives this process however that ends.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_AHEAD}")


class NotAStore(Exception):  # noqa: N818 - it is turned into a SpecError with the place
    """The folder's contents are not a store that this version can use."""


@contextmanager
def in_words(folder: Path | None) -> Iterator[None]:
    """Convert an error of SQLite or the system into one that suggests a remedy.

    Raises:
        SpecError: naming the folder of the store.
    """
    place = "(in memory)" if folder is None else printable(folder)
    try:
        yield
    except NotAStore as error:
        hint = f"{error}; nothing was changed"
        raise SpecError("--store", place, "a new folder, or a store of this version", hint) from None
    except sqlite3.Error as error:
        raise SpecError("--store", place, "a store that can be read and written", meaning(error)) from error


def meaning(error: sqlite3.Error) -> str:
    """The meaning of an SQLite error, and what helps."""
    name = getattr(error, "sqlite_errorname", "") or ""
    kept = "every run stored before is kept, and the same command continues from there"
    if name.startswith("SQLITE_FULL") or name in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"):
        return f"the disk is full, or a limit on its use was reached: free some space; {kept}"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "Could not decode to UTF-8" in str(error):
        return (
            f"its ledger is damaged ({error}): move it away and run the command again, which repeats the runs; "
            "`sqlite3 ledger.sqlite .recover` saves what can be read"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"it cannot be opened ({error}): check the permissions of its folder and its files"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another program keeps its ledger locked ({error})"
    return f"{error} ({name or type(error).__name__}); {kept}"


def signed(seed: int) -> int:
    """A seed of 64 bits in the range of SQLite's whole numbers."""
    return seed - (seed >> 63 << 64)


def unsigned(kept: int) -> int:
    """The reverse of `signed`."""
    return kept % (1 << 64)
