"""The store: a folder with the ledger of runs and measurements, and the tables of flows that are kept.

```text
STORE/ledger.sqlite          runs, measurements, errors, labels; see `tables`
STORE/flows/<key>.parquet    tables of flows of the runs that keep them
STORE/views/*.parquet        rows that queries have read from the ledger; see `exported`
STORE/writer.lock            held while a sweep writes; it names its holder
```

One sweep writes at a time; anyone may read at any time. A run is stored in one transaction when it ends, which survives
the process however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from spinewise import core
from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.runs import formats, hidden
from spinewise.runs.folder import as_spec_error, sync
from spinewise.shapes import Spec
from spinewise.specs.spec import canonical_json, spec_hash
from spinewise.sweeps import unmeasured
from spinewise.sweeps.engine import Done, Failure, Headline
from spinewise.sweeps.flow_tables import has_flows, is_whole
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.tables import Row, connect, in_words, signed
from spinewise.sweeps.task import Plain, cell_hash

LEDGER = formats.LEDGER
LOCK = "writer.lock"
FLOWS = "flows"
EXPORTS = "views"
PARTS = (LEDGER, LOCK, FLOWS, EXPORTS)
"""What names in a store begin with; all but the ledger may be left of one whose damaged ledger was moved away."""
OPTION = "--store"
DONE, FAILED = "done", "failed"

T = TypeVar("T")

# The stores that this process has written to.
used: list[Path] = []


@dataclass(frozen=True)
class Ledger:
    """The records of runs; see the module's text.

    Attributes:
        connection: the connection to the ledger.
        folder: where the store is; None in memory.
    """

    connection: sqlite3.Connection
    folder: Path | None = None

    @contextmanager
    def as_it_is(self) -> Iterator[None]:
        """Let all reads in the block see the state of the first one, whatever a sweep writes meanwhile."""
        with in_words(self.folder):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.rollback()

    def state(self, key: str) -> str | None:
        """`DONE`, `FAILED`, or None for a run that was never stored."""
        with in_words(self.folder):
            row = self.connection.execute("SELECT status FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def has(self, key: str, measures: Iterable[Measure[object]], *, flows: bool = False) -> bool:
        """Whether a run is stored, ended well, and has all of these; the bytes of each are checked."""
        if self.state(key) != DONE or (flows and not is_whole(self.flows_file(key))):
            return False
        return all(self.kept(key, measure) is not None for measure in measures)

    def blob(self, key: str, measure: Measure[object]) -> bytes | None:
        """The packed measurement of a run; None if it is missing, or damaged."""
        kept = self.kept(key, measure)
        return None if kept is None else unzipped(kept)

    def kept(self, key: str, measure: Measure[object]) -> bytes | None:
        """The measurement as stored."""
        with in_words(self.folder):
            row = self.connection.execute(
                "SELECT blob, crc FROM measurements WHERE key = ? AND measure = ? AND digest = ?", (key, *measure.id)
            ).fetchone()
        return None if row is None or zlib.crc32(row[0]) != row[1] else bytes(row[0])

    def value(self, key: str, measure: Measure[T]) -> T:
        """A measurement of a run.

        Raises:
            KeyError: it is missing.
        """
        blob = self.blob(key, measure)
        if blob is None:
            raise KeyError(f"no {measure.name} of run {key}")
        return measure.read(blob)

    def headline(self, key: str) -> Headline:
        """The stored facts of a run that ended.

        Raises:
            KeyError: there is no such run, or it failed.
        """
        return Headline(*self.of_run(key, "version, outcome_hash, traffic_hash, wall_seconds, packet_hops", DONE))

    def of_run(self, key: str, columns: str, *status: str) -> Row:
        """These columns of a run, which must have this status if one is given.

        Raises:
            KeyError: there is no such run.
        """
        wanted = f"SELECT {columns} FROM runs WHERE key = ?{' AND status = ?' * len(status)}"
        with in_words(self.folder):
            found: Row | None = self.connection.execute(wanted, (key, *status)).fetchone()
        if found is None:
            raise KeyError(f"no run {key}")
        return found

    def seconds(self, cells: Iterable[str]) -> dict[str, float]:
        """The average duration of runs of these cells; cells without runs are left out."""
        with in_words(self.folder):
            rows = (
                (
                    cell,
                    self.connection.execute(
                        "SELECT avg(wall_seconds) FROM runs WHERE cell = ? AND status = ?", (cell, DONE)
                    ).fetchone()[0],
                )
                for cell in cells
            )
            return {cell: float(mean) for cell, mean in rows if mean is not None}

    def of_other_engines(self, cells: Iterable[str]) -> int:
        """The number of runs of these cells made by other versions of the engine."""
        wanted = "SELECT count(*) FROM runs WHERE cell = ? AND status = ? AND engine <> ?"
        digest = core.engine_digest()
        with in_words(self.folder):
            rows = (self.connection.execute(wanted, (cell, DONE, digest)).fetchone() for cell in cells)
            return sum(int(row[0]) for row in rows)

    def ended(self, key: str) -> float:
        """The time when a run ended, in seconds since 1970.

        Raises:
            KeyError: there is no such run.
        """
        (at,) = self.of_run(key, "finished_at")
        return float(at)

    def failure(self, key: str) -> Failure | None:
        """The failure of a run; None if it did not fail."""
        with in_words(self.folder):
            row = self.connection.execute(
                "SELECT error, trace FROM runs WHERE key = ? AND status = ?", (key, FAILED)
            ).fetchone()
        return None if row is None else Failure(*row)

    def why_unmeasured(self, key: str, measure: Measure[object]) -> Failure | None:
        """The failure of a measure on a run with its current code; None if it did not fail, or there is a value."""
        if self.kept(key, measure) is not None:
            return None
        with in_words(self.folder):
            return unmeasured.found(self.connection, key, measure)

    def spec(self, key: str) -> Spec:
        """The resolved spec of a run.

        Raises:
            KeyError: there is no such run.
            SpecError: it is damaged.
        """
        (packed,) = self.of_run(key, "spec")
        try:
            found: Spec = json.loads(zlib.decompress(packed))
        except (zlib.error, ValueError) as error:
            why = f"the spec of run {key[:12]}… is damaged ({error})"
            raise SpecError(OPTION, printable(self.folder or "(in memory)"), "a store that can be read", why) from None
        return found

    def values(self, measure: Measure[T]) -> Iterator[tuple[str, T]]:
        """A measurement of every run that has it, by the key of the run; damaged ones are left out."""
        with in_words(self.folder):
            rows = self.connection.execute(
                "SELECT key, blob, crc FROM measurements WHERE measure = ? AND digest = ? ORDER BY key", measure.id
            )
            yield from ((key, measure.read(unzipped(blob))) for key, blob, crc in rows if zlib.crc32(blob) == crc)

    def flows_file(self, key: str) -> Path:
        """The path of the table of flows of a run, if it is kept."""
        return (self.folder or Path()) / FLOWS / f"{key}.parquet"

    def add(self, key: str, spec: Spec, done: Done) -> None:
        """Store the outcome of a run: all of it, or nothing if that fails.

        A run or a measure that fails removes nothing that an earlier one stored.

        Raises:
            SpecError: the disk is full, or the ledger is damaged.
        """
        if done.flows is not None and self.folder is not None:
            self.write_flows(key, done.flows)
        with in_words(self.folder), transaction(self.connection):
            if done.headline is not None or self.state(key) != DONE:
                # A table of flows left by an earlier run is as good as one of this run.
                flows = self.folder is not None and has_flows(self.flows_file(key))
                self.connection.execute(
                    f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 18)})", run_row(key, spec, done, flows)
                )
            for (measure, digest), blob in done.measured.items():
                packed = zipped(blob)
                self.connection.execute(
                    "INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?)",
                    (key, measure, digest, zlib.crc32(packed), packed),
                )
            unmeasured.forget(self.connection, key, done.measured)
            unmeasured.keep(self.connection, key, done.unmeasured)

    def label(self, labels: Iterable[tuple[str, Mapping[str, Plain], str]]) -> None:
        """Record the places of runs in studies: name of the study, place, key of the run."""
        rows = [(study, json.dumps(label), key) for study, label, key in labels if study]
        with in_words(self.folder), transaction(self.connection):
            self.connection.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?, ?)", rows)

    def write_flows(self, key: str, table: bytes) -> None:
        """Put the table of flows of a run in its place, whole or not at all."""
        file = self.flows_file(key)
        with as_spec_error(self.folder or "", OPTION):
            file.parent.mkdir(exist_ok=True)
            with hidden.hidden_file(file) as (target, _):
                target.write_bytes(table)
                sync(target)
                os.rename(target, file)


def run_row(key: str, spec: Spec, done: Done, flows: bool) -> tuple[Plain | bytes, ...]:
    """The row of the table of runs; `flows` is whether its table of flows is kept."""
    headline, failure = done.headline, None if done.headline else done.failure
    return (
        key,
        DONE if headline else FAILED,
        spec_hash(spec),
        cell_hash(spec),
        core.engine_digest(),
        headline.version if headline else core.version(),
        str(spec.get("name", "")),
        str(spec.get("scheme", {}).get("name", "")),
        signed(int(spec.get("seed", 0))),
        headline.outcome_hash if headline else None,
        headline.traffic_hash if headline else None,
        headline.wall_seconds if headline else None,
        headline.packet_hops if headline else None,
        int(flows),
        failure.text if failure else None,
        failure.trace if failure else None,
        time.time(),
        zlib.compress(canonical_json(spec).encode(), 1),
    )


def zipped(blob: bytes) -> bytes:
    """A measurement in the form that is kept: with a mark before it, compressed if that pays."""
    smaller = zlib.compress(blob, 1) if len(blob) > 200 else blob
    return b"z" + smaller if len(smaller) < len(blob) else b"-" + blob


def unzipped(kept: bytes) -> bytes:
    """Reverse `zipped`."""
    return zlib.decompress(kept[1:]) if kept[:1] == b"z" else kept[1:]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all changes of the block, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def in_memory() -> Iterator[Ledger]:
    """A ledger that exists only during the block."""
    connection = connect(":memory:", write=True)
    try:
        yield Ledger(connection)
    finally:
        connection.close()


@contextmanager
def opened(folder: str | Path | None) -> Iterator[Ledger]:
    """The store in a folder, created if there is none, for reading and writing; None means one in memory.

    Raises:
        SpecError: another process is writing it; it has another version, is damaged, or is not a store.
    """
    if folder is None:
        with in_memory() as ledger:
            yield ledger
        return
    place = Path(folder)
    with as_spec_error(place, OPTION):
        make(place)
    with written_by_one(place):
        hidden.remove_abandoned(place / FLOWS)
        with in_words(place):
            connection = connect(place / LEDGER, write=True)
        used.append(place)
        try:
            yield Ledger(connection, place)
        finally:
            connection.close()


def as_found(folder: str | Path) -> AbstractContextManager[Ledger]:
    """The store in a folder, for reading; an empty one in memory if there is none."""
    return reading(folder) if (Path(folder) / LEDGER).exists() else in_memory()


@contextmanager
def reading(folder: str | Path) -> Iterator[Ledger]:
    """The store in a folder, for reading, by any number of readers and while a sweep writes.

    Raises:
        SpecError: there is none; it has another version or is damaged.
    """
    place = Path(folder)
    if not (place / LEDGER).is_file():
        raise SpecError(
            OPTION, printable(place), f"a folder with {LEDGER}, which `--store` of `compare`, `sweep` and others makes"
        )
    with in_words(place):
        connection = connect(place / LEDGER, write=False)
    try:
        yield Ledger(connection, place)
    finally:
        connection.close()


def make(place: Path) -> None:
    """Make a folder for a store: a new one, an empty one, or one that already has a store."""
    if place.exists() and not place.is_dir():
        raise SpecError(OPTION, printable(place), "a folder", "this is a file")
    place.mkdir(parents=True, exist_ok=True)
    strangers = sorted(one.name for one in place.iterdir() if not one.name.startswith((".", *PARTS)))
    if strangers and not (place / LEDGER).exists():
        allowed = "a new or empty folder, or a store"
        raise SpecError(OPTION, printable(place), allowed, f"{strangers[0]} in it is no part of a store")


@contextmanager
def written_by_one(place: Path) -> Iterator[None]:
    """Prevent other processes from writing the store during the block."""
    with as_spec_error(place, OPTION):
        handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            allowed = "a store that nobody else is writing to"
            raise SpecError(OPTION, printable(place), allowed, holder(handle)) from None
        except OSError:
            # A file system without locks: two writers still take turns, transaction by transaction.
            pass
        with as_spec_error(place, OPTION):
            now = datetime.now().astimezone().isoformat(" ", "seconds")
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()} {now}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def holder(handle: int) -> str:
    """The holder of a lock, in words."""
    pid, _, since = os.pread(handle, 200, 0).decode(errors="replace").strip().partition(" ")
    who = f"pid {pid or 'unknown'}, since {since or 'a moment ago'}"
    return f"another command that makes runs ({who}) is writing to it: wait for it, or name another folder"
