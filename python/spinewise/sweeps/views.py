"""The views of a store as Arrow tables, read from its ledger."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from spinewise.measures import units
from spinewise.reading import printable
from spinewise.sweeps import columns
from spinewise.sweeps.basics import LINKS, NUMBERS, Numbers
from spinewise.sweeps.columns import Column
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.store import LEDGER, Ledger, unzipped
from spinewise.sweeps.tables import Row, in_words, unsigned
from spinewise.sweeps.variant import transport_of, variant_of
from spinewise.sweeps.verdicts import rows_of

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

LEDGER_COLUMNS = {
    "wall_s": "wall_seconds",
    "flows_kept": "flows",
    "finished_at": "CAST(finished_at * 1000000 AS INTEGER)",
    # A measurement with a value, even by other code, is not lacking.
    "unmeasured": "(SELECT group_concat(measure || ': ' || error, '; ') FROM unmeasured AS no WHERE no.key = runs.key"
    " AND NOT EXISTS (SELECT 1 FROM measurements AS m WHERE m.key = no.key AND m.measure = no.measure))",
}
"""Columns of the view `runs` that have another name in the ledger."""


class Entry(msgspec.Struct):
    """The parts read from a traffic entry of a spec."""

    load: float | None = None


class Asked(msgspec.Struct):
    """The parts read from a spec."""

    traffic: list[Entry] = []


@dataclass(frozen=True)
class Views:
    """Views read from a ledger, each when needed.

    Attributes:
        ledger: the ledger, open for reading.
        first: the first run that belongs to them, by its row in the ledger.
        last: the last one.
        notes: the parts that could not be read, in words.
    """

    ledger: Ledger
    first: int = 0
    last: int = 2**62
    notes: list[str] = field(default_factory=list)

    def table(self, name: str) -> pa.Table:
        """The view of this name; not for `flows`, which are in files."""
        found: dict[str, Callable[[], pa.Table]] = {
            "runs": self.runs,
            "cells": self.cells,
            "links": self.links,
            "collectives": self.collectives,
            "studies": self.studies,
            "specs": self.specs,
            "claims": lambda: made(columns.VERDICTS, rows_of(self.ledger)),
        }
        return found[name]()

    def rows(self, sql: str, *values: str) -> list[Row]:
        """Rows of the ledger, for these runs where the query has `@these`."""
        here = f"runs.rowid BETWEEN {self.first} AND {self.last}"
        if self.damaged:
            here += f" AND runs.rowid NOT IN ({', '.join(map(str, self.damaged))})"
        with in_words(self.ledger.folder):
            return self.ledger.connection.execute(sql.replace("@these", here), values).fetchall()

    @cached_property
    def damaged(self) -> list[int]:
        """The rows of these runs that have a value of another type than their column, which are left out and noted."""
        with in_words(self.ledger.folder):
            ask = self.ledger.connection.execute
            tests = [test for _, name, kind, needed, *_ in ask("PRAGMA table_info(runs)")
                     for test in [other_type(name, kind, needed=bool(needed) or name == "key")]]  # fmt: skip
            here = f"rowid BETWEEN {self.first} AND {self.last}"
            found = ask(f"SELECT rowid FROM runs WHERE {here} AND ({' OR '.join(tests)})").fetchall()
        rows = [int(row) for (row,) in found]
        if rows:
            self.notes.append(left_out(self.ledger.folder, "runs", rows, "the command that made them makes them again"))
        return rows

    @cached_property
    def of_run(self) -> pa.Table:
        """The first columns of the views of measured runs, a row for each run."""
        rows = self.rows("SELECT key, name, scheme, seed, cell, engine, spec FROM runs WHERE @these ORDER BY rowid")
        texts = self.texts([row[-1] for row in rows])
        # All runs of a cell run the same variant over the same transport.
        one_of_cell = {row[4]: text for row, text in zip(rows, texts, strict=True) if text is not None}
        specs = {cell: msgspec.json.decode(text) for cell, text in one_of_cell.items()}
        told = {cell: (variant_of(spec), transport_of(spec)) for cell, spec in specs.items()}
        loads = (None if text is None else load_of(text) for text in texts)
        return made(
            columns.OF_RUN,
            (
                (key, name, scheme, *told.get(cell, (None, None)), load, unsigned(seed), cell, engine)
                for (key, name, scheme, seed, cell, engine, _), load in zip(rows, loads, strict=True)
            ),
        )

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each run in `of_run`."""
        return {key: place for place, key in enumerate(self.of_run.column("key").to_pylist())}

    @cached_property
    def numbers(self) -> list[tuple[int, Numbers]]:
        """The row of each measured run, and its numbers."""
        return self.measured(NUMBERS)

    def measured(self, measure: Measure[T]) -> list[tuple[int, T]]:
        """The row of each run that has this measurement, and its value.

        A measurement by other code counts too, as long as it can be read.
        """
        # Ordered by runs, because the ledger finds measurements by their key: otherwise every page would be read.
        rows = self.rows(
            "SELECT runs.key, blob, crc FROM runs CROSS JOIN measurements USING (key) WHERE @these AND measure = ?"
            " ORDER BY digest = ?, measurements.rowid",
            *measure.id,
        )
        found: dict[int, T] = {}
        broken: set[int] = set()
        for key, blob, crc in rows:
            place = self.places.get(key)
            if place is None:
                # Stored since the runs were read.
                continue
            try:
                found[place] = read(measure, blob, crc)
            except ValueError:
                broken.add(place)
        missing = len(broken - set(found))
        if missing:
            self.notes.append(f"{missing} of {len(self.places)} runs: {measure.name} damaged, or of another version")
        return sorted(found.items())

    def beside(
        self,
        places: Sequence[int],
        of: Sequence[Column],
        rows: Iterable[Iterable[object]],
        own: Sequence[Column] = columns.OF_RUN,
    ) -> pa.Table:
        """A table of rows that belong to runs, the run's own columns first."""
        first = self.of_run.take(np.asarray(places, dtype=np.int64)).select([column.name for column in own])
        table = made(of, rows)
        for position, column in enumerate(own):
            table = table.add_column(position, first.schema.field(position), first.column(column.name))
        return table

    def runs(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        wanted = ", ".join(LEDGER_COLUMNS.get(one.name, one.name) for one in columns.HEADLINE)
        rows = self.rows(f"SELECT {wanted} FROM runs WHERE @these ORDER BY rowid")
        plain = ((*row[:-2], bool(row[-2]), row[-1]) for row in rows)
        table = self.beside(range(len(rows)), columns.HEADLINE, plain)
        known = dict(self.numbers)
        nothing = (None,) * (len(columns.OFFERED) + len(columns.FACTS))
        facts = made(
            (*columns.OFFERED, *columns.FACTS),
            (of_numbers(known[place]) if place in known else nothing for place in range(table.num_rows)),
        )
        for each, column in zip(facts.schema, facts.columns, strict=True):
            table = table.append_column(each, column)
        return table

    def cells(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        found = [(place, times) for place, numbers in self.numbers for times in numbers.times]
        rows = (vars(times).values() for _, times in found)
        return self.beside([place for place, _ in found], columns.TIMES, rows)

    def links(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        found = [(place, link) for place, links in self.measured(LINKS) for link in links]
        rows = (vars(link).values() for _, link in found)
        return self.beside([place for place, _ in found], columns.LINKS, rows, columns.OF_LINK)

    def collectives(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        found = [(place, one) for place, numbers in self.numbers for one in numbers.collectives]
        names = [one.name for one in columns.JOBS[1:]]
        rows = ((one.entry, *(one.numbers.get(name) for name in names)) for _, one in found)
        return self.beside([place for place, _ in found], columns.JOBS, rows)

    def studies(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        rows = []
        damaged = []
        places = self.rows(
            "SELECT labels.rowid, study, key, label, outdated.key IS NOT NULL FROM labels"
            " LEFT JOIN outdated USING (study, label, key) ORDER BY labels.rowid"
        )
        for number, study, key, label, gone in places:
            place = place_of(study, key, label)
            if place is None:
                damaged.append(int(number))
                continue
            own = [fitting(place.get(one.name), one.type) for one in columns.PLACES[2:-2]]
            rows.append((study, key, *own, label, bool(gone)))
        if damaged:
            self.notes.append(left_out(self.ledger.folder, "labels", damaged, "the same sweep writes them again"))
        return made(columns.PLACES, rows)

    def specs(self) -> pa.Table:
        """See `spinewise.sweeps.columns`."""
        rows = self.rows("SELECT key, spec FROM runs WHERE @these ORDER BY rowid")
        view = columns.views()["specs"]
        return made(view.columns, zip([key for key, _ in rows], self.texts([spec for _, spec in rows]), strict=True))

    def texts(self, specs: Sequence[bytes]) -> list[str | None]:
        """Specs of runs as JSON; None for a damaged one, which is noted."""
        found = [text_of(spec) for spec in specs]
        if missing := found.count(None):
            self.notes.append(f"{missing} of {len(found)} runs: spec damaged, so that its load and variant are unknown")
        return found


def read(measure: Measure[T], blob: bytes, crc: int) -> T:
    """A measurement.

    Raises:
        ValueError: it is damaged, or has another form.
    """
    if zlib.crc32(blob) != crc:
        raise ValueError(f"{measure.name}: damaged")
    return measure.read(unzipped(blob))


TYPES = {"TEXT": ("text",), "INTEGER": ("integer",), "REAL": ("real", "integer"), "BLOB": ("blob",)}
"""The types that values of a column of the ledger may have, by its declared type."""
MOST_NAMED = 20
"""The most damaged rows that a note names."""


def other_type(column: str, kind: str, *, needed: bool) -> str:
    """A condition in SQL: the column has a value of another type than declared, or none though it is needed."""
    allowed = [*TYPES[kind], *([] if needed else ["null"])]
    return f"typeof({column}) NOT IN ({', '.join(map(repr, allowed))})"


def left_out(folder: Path | None, table: str, rows: Sequence[int], then: str) -> str:
    """The note about damaged rows of a table of the ledger: what is left out, where it is, and what to do."""
    file = "(in memory)" if folder is None else printable(folder / LEDGER)
    named = ", ".join(map(str, rows[:MOST_NAMED])) + (", …" if len(rows) > MOST_NAMED else "")
    return (
        f"{file} is damaged in {units.counted(len(rows), 'row')} of {table} ({named}), left out here; nothing else is"
        f" lost. Remove them (`DELETE FROM {table} WHERE rowid IN (…)` in sqlite3), and {then}"
    )


def place_of(*place: object) -> dict[str, object] | None:
    """The label of a place of a study, given with its study and its run; None if one of them is damaged."""
    if not all(isinstance(one, str) for one in place):
        return None
    try:
        return msgspec.json.decode(str(place[-1]), type=dict[str, object])
    except msgspec.DecodeError:
        return None


def text_of(spec: bytes) -> str | None:
    """A spec as the ledger keeps it, as JSON; None if it is damaged."""
    try:
        text = zlib.decompress(spec).decode()
        LOADS.decode(text)
    except (zlib.error, UnicodeDecodeError, msgspec.DecodeError):
        return None
    return text


def load_of(spec: str) -> float | None:
    """The load of the first traffic entry with one, of a spec."""
    asked = LOADS.decode(spec)
    return next((entry.load for entry in asked.traffic if entry.load is not None), None)


LOADS = msgspec.json.Decoder(Asked)


def of_numbers(numbers: Numbers) -> tuple[object, ...]:
    """The values of a run's numbers in the view `runs`."""
    offered = [numbers.loads.get(one.name) for one in columns.OFFERED[:-1]]
    return (*offered, numbers.overloaded, *(fact(numbers, one.name) for one in columns.FACTS))


def fact(numbers: Numbers, name: str) -> float | str | None:
    """A fact by the name of its column, which may have a unit that the fact lacks."""
    return numbers.facts.get(name, numbers.facts.get(name.removesuffix("_bytes")))


def fitting(value: object, kind: columns.Type) -> object:
    """A value of a label, if it has the type of its column."""
    if kind == "string":
        return None if value is None else str(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def made(of: Sequence[Column], rows: Iterable[Iterable[object]]) -> pa.Table:
    """A table from rows; a number that is not finite is null."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    schema = columns.schema(of)
    values = list(zip(*rows, strict=True)) or [()] * len(of)
    arrays = [pa.array(one, each.type, from_pandas=True) for one, each in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
