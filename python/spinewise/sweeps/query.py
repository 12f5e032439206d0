"""Query a store with SQL: DuckDB over the views of `columns`.

A view is read when a query names it: views that grow with the runs from Parquet files (see `exported`), which hold the
flows anyway; the rest from the ledger as an Arrow table in memory. Nothing is fetched from a network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from spinewise.errors import SpecError, nearest
from spinewise.reading import printable
from spinewise.sweeps import columns, exported
from spinewise.sweeps.store import FLOWS, OPTION, Ledger, reading
from spinewise.sweeps.views import Views

if TYPE_CHECKING:
    import pyarrow as pa

SQL = "SQL"
FLOWS_VIEW = "flows"
OF_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""The errors that DuckDB raises for a wrong query; its other errors may come from damaged files."""
ASKING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
PIVOT = re.compile(r"\s*(pivot|select|from|with)\b", re.IGNORECASE)
"""The beginning of a query with PIVOT, which DuckDB treats as several statements unless it names the values."""
CATALOG = re.compile(r"\b(show|describe|information_schema|duckdb_\w+)\b", re.IGNORECASE)
"""Statements that list the views, and name none."""


@dataclass(frozen=True)
class Answer:
    """The answer of a store.

    Attributes:
        table: the rows.
        notes: the parts of the store that could not be read, and are not in the rows.
    """

    table: pa.Table
    notes: tuple[str, ...] = ()


def ask(store: str | Path, sql: str) -> Answer:
    """Run one read-only statement on a store; see `spinewise.results.query`.

    Raises:
        SpecError: there is no such store, or the query is wrong; the error lists the columns.
    """
    refuse_unnameable(store)
    with reading(store) as ledger, ledger.as_it_is(), duckdb.connect(":memory:") as connection:
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute("SET autoload_known_extensions = false")
        return Asking(ledger, connection, sql).answer()


def refuse_unnameable(store: str | Path) -> None:
    """Refuse a store whose files DuckDB cannot open."""
    try:
        str(store).encode()
    except UnicodeEncodeError:
        allowed = "a store whose path is UTF-8, or DuckDB cannot open its files"
        raise SpecError(OPTION, printable(store), allowed, "rename it: nothing in it has its name") from None


@dataclass(frozen=True)
class Asking:
    """One query and its evaluation.

    Attributes:
        ledger: the ledger of the store.
        connection: the connection to DuckDB.
        sql: the query.
    """

    ledger: Ledger
    connection: duckdb.DuckDBPyConnection
    sql: str

    def answer(self) -> Answer:
        """The rows, and notes on what is missing from them."""
        named = self.named()
        files = flows_files(self.ledger) if FLOWS_VIEW in named else []
        try:
            return self.attempt(named, files)
        except duckdb.Error as error:
            if isinstance(error, OF_THE_QUERY) and not files:
                raise self.refused(error, named) from None
        # Damaged exports are rebuilt; damaged flows are left out. Files with other columns are matched by column names.
        without = exported.removed(broken(exported.files(self.ledger)))
        damaged = broken(files)
        left = [file for file in files if file not in damaged]
        try:
            found = self.attempt(named, left, without, by_name=True)
        except duckdb.IOException:
            # Other queries at the same time replace exports, and anyone may remove them: these are then not used.
            found = self.without_exports(named, left)
        except duckdb.Error as error:
            raise self.refused(error, named) from None
        return Answer(found.table, (*found.notes, *(told(file, why) for file, why in damaged.items())))

    def without_exports(self, named: set[str], files: list[str]) -> Answer:
        """The answer from the ledger and these files of flows.

        Raises:
            SpecError: the query is wrong.
        """
        try:
            return self.attempt(named, files, None, by_name=True)
        except duckdb.Error as error:
            raise self.refused(error, named) from None

    def attempt(
        self, named: set[str], files: list[str], without: frozenset[str] | None = frozenset(), *, by_name: bool = False
    ) -> Answer:
        """Answer from these files of flows, and `without` these exports, or any if it is None.

        With `by_name`, by names of columns where those differ.
        """
        notes = [note for name in sorted(named - {FLOWS_VIEW}) for note in self.read(name, without)]
        if files:
            flows = self.connection.read_parquet(files, filename=True, union_by_name=by_name)
            view = flows.project("parse_filename(filename, true) AS key, * EXCLUDE (filename)")
            view.create_view(FLOWS_VIEW, replace=True)
        elif FLOWS_VIEW in named:
            self.connection.register(FLOWS_VIEW, columns.empty_flows())
        table = self.connection.sql(self.sql).to_arrow_table()
        return Answer(table.rename_columns(told_apart(table.column_names)), tuple(dict.fromkeys(notes)))

    def read(self, name: str, without: frozenset[str] | None) -> list[str]:
        """Register a view other than that of flows; return notes about what could not be read."""
        if without is None or name not in exported.VIEWS:
            views = Views(self.ledger)
            self.connection.register(name, views.table(name))
            return views.notes
        found = exported.export(self.ledger, name, without)
        if found.files and not found.tables:
            self.connection.read_parquet(found.files).create_view(name, replace=True)
        else:
            self.connection.register(name, together(found, columns.views()[name]))
        return found.notes

    def named(self) -> set[str]:
        """The views that the query names; all of them if that is unknown.

        Raises:
            SpecError: it is not a query, or more than one.
        """
        try:
            statements = self.connection.extract_statements(self.sql)
        except duckdb.Error as error:
            raise self.refused(error, set()) from None
        if len(statements) != 1 or not asks(statements[0]):
            allowed = "one read-only statement: SELECT, FROM, WITH, PIVOT, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN"
            what = f"there are {len(statements)} statements" if len(statements) != 1 else "this one does more than read"
            raise SpecError(SQL, one_line(self.sql), allowed, what)
        known = set(columns.views())
        try:
            found = self.connection.get_table_names(self.sql)
        except duckdb.Error:
            return known
        if not found and CATALOG.search(self.sql):
            return known
        return {name.lower() for name in found} & known

    def refused(self, error: duckdb.Error, named: set[str]) -> SpecError:
        """The error for what DuckDB refuses, on a line, with what exists."""
        said = one_line(re.split(r"\n\s*(?:LINE \d|Candidate functions:)", str(error))[0])
        views = columns.views()
        if "Table with name" in said or not named:
            allowed = f"a query over {', '.join(views)}"
            words = said.partition("Table with name ")[2].split()
            guess = nearest(words[0], views) if words else None
            return SpecError(SQL, one_line(self.sql), allowed, said if guess is None else f"{said} ({guess})")
        there = "; ".join(f"{name}: {', '.join(views[name].names)}" for name in views if name in named)
        return SpecError(SQL, one_line(self.sql), f"a query over the columns of {there}", said)


def asks(statement: duckdb.Statement) -> bool:
    """Whether a statement only reads, and changes nothing."""
    of_several = statement.type == duckdb.StatementType.MULTI
    return statement.type in ASKING or (of_several and bool(PIVOT.match(statement.query)))


def told_apart(names: Sequence[str]) -> list[str]:
    """Unique names of columns: `name`, `name_1`, `name_2`, as in DuckDB's own tables and files."""
    found: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in count(1))
        found.append(name if name not in found else next(one for one in others if one not in (*names, *found)))
    return found


def flows_files(ledger: Ledger) -> list[str]:
    """The Parquet files of flows, which are named by their runs."""
    return sorted(map(str, ((ledger.folder or Path()) / FLOWS).glob("*.parquet")))


def together(export: exported.Export, view: columns.View) -> pa.Table:
    """A view in memory, for rows without a file.

    Raises:
        duckdb.IOException: a file cannot be read; as DuckDB raises it for one that it reads itself.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415

    try:
        tables = [*map(parquet.read_table, export.files), *export.tables]
    except (pa.ArrowException, OSError) as error:
        raise duckdb.IOException(str(error)) from None
    return pa.concat_tables(tables) if tables else columns.schema(view.columns).empty_table()


def broken(files: list[str]) -> dict[str, str]:
    """The Parquet files that cannot be read whole, and the reasons."""
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - slow to import

    found = {}
    for file in files:
        try:
            parquet.read_table(file)
        except (ArrowException, OSError) as error:
            found[file] = one_line(str(error))
    return found


def told(file: str, why: str) -> str:
    """The note about a damaged file of flows."""
    key = Path(file).stem
    return (
        f"{printable(file)} is damaged ({why}): the flows of run {key[:12]}… are left out. Remove it, and a sweep that"
        " keeps flows repeats the run."
    )


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())
