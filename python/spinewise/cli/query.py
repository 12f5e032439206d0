"""``spinewise query``."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from spinewise.cli import streams
from spinewise.errors import SpecError
from spinewise.measures import tables
from spinewise.measures.units import NOTHING
from spinewise.runs.file import write_file
from spinewise.show import terminal
from spinewise.sweeps.query import ask
from spinewise.writing import json_text

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 60
"""The most rows shown on a terminal."""
FEW_ROWS = 4
"""The most rows shown upright where the terminal is too narrow for their columns."""
DIGEST = re.compile(r"[0-9a-f]{64}")
"""Keys of runs, cells, engines and specs."""
KEY_DIGITS = 12
"""The number of digits of a key shown in a terminal."""


def command(args: argparse.Namespace) -> int:
    """Query a store, and show the answer."""
    if args.force and not args.parquet:
        raise SpecError("--force", "(given)", "together with --parquet", "nothing else is written")
    if args.json and (args.csv or args.parquet):
        other = "--csv" if args.csv else "--parquet"
        raise SpecError("--json", f"together with {other}", f"one of the two: --json or {other}")
    answer = ask(args.store, args.sql)
    for note in answer.notes:
        streams.complain(f"spinewise: note: {note}")
    if args.parquet:
        write_file(args.parquet, as_parquet(answer.table), force=args.force, option="--parquet")
    elif args.csv:
        print_csv(answer.table)
    elif args.json:
        print_json(answer.table)
    else:
        show(answer.table)
    return 0


def as_parquet(table: pa.Table) -> bytes:
    """The table as a Parquet file.

    Raises:
        SpecError: it has a column that no Parquet file can hold.
    """
    from pyarrow import ArrowException  # noqa: PLC0415 - slow to import

    stream = io.BytesIO()
    try:
        tables.write(table, stream)
    except ArrowException as error:
        kinds = ", ".join(f"{field.name} {field.type}" for field in table.schema)
        raise SpecError("--parquet", kinds, "columns that a Parquet file can hold", f"{error}; --json can") from None
    return stream.getvalue()


def print_csv(table: pa.Table) -> None:
    """Print the rows as CSV below a line of names; lists and similar values are JSON in a field."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    from pyarrow import csv  # noqa: PLC0415

    stream = io.BytesIO()
    try:
        csv.write_csv(table, stream)
    except pa.ArrowException:
        stream = io.BytesIO()
        columns = [column if in_csv(column) else texts(column) for column in table.columns]
        csv.write_csv(pa.Table.from_arrays(columns, table.column_names), stream)
    sys.stdout.write(stream.getvalue().decode())


def in_csv(column: pa.ChunkedArray) -> bool:
    """Whether pyarrow can write such a column as CSV."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    from pyarrow import csv  # noqa: PLC0415

    try:
        csv.write_csv(pa.Table.from_arrays([column], [""]), io.BytesIO())
    except pa.ArrowException:
        return False
    return True


def texts(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as texts: nested values as JSON, the rest as shown."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    values = [plain(value) for value in column.to_pylist()]
    written = (json.dumps(value, default=str) if isinstance(value, list | dict) else value for value in values)
    return pa.array([None if value is None else str(value) for value in written], pa.string())


def print_json(table: pa.Table) -> None:
    """Print the rows as a list of objects; a number that is not finite becomes null."""
    rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    print(json_text(rows, default=str))


def plain(value: object) -> object:
    """A value, including nested values, in a form that JSON can represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        # DuckDB's type for a sum of whole numbers.
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, tuple) and type(value) is not tuple:
        # An interval of months, days and nanoseconds.
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return {str(name): plain(one) for name, one in value.items()} if isinstance(value, dict) else value


def show(table: pa.Table) -> None:
    """Print the first rows as a table, numbers to the right."""
    out = terminal.console()
    if not table.num_columns:
        return
    rows = [[shown(value) for value in row.values()] for row in as_rows(table)]
    words = 0
    while words < table.num_columns and not is_number(table.schema.field(words)):
        words += 1
    names = table.column_names
    grid = terminal.new_table("", names[:words] or [""], names[words:])
    for row in rows:
        grid.line(*([] if words else [""]), *row)
    wide = len(grid.parts(out.width)) > len(rows)
    out.print(upright(names, rows) if wide and len(rows) <= FEW_ROWS else grid)
    more = table.num_rows - len(rows)
    if more:
        out.print(f"… and {more:,} more rows: --csv, --json and --parquet FILE give all")
    elif not rows:
        out.print("no rows")


def upright(names: Sequence[str], rows: Sequence[Sequence[str]]) -> terminal.Grid:
    """A few rows with many columns: a line for each column."""
    grid = terminal.new_table("", ["column"], [f"row {number}" for number in range(1, len(rows) + 1)])
    for place, name in enumerate(names):
        grid.line(name, *(row[place] for row in rows))
    return grid


def as_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows to show, by distinct names."""
    first = table.slice(0, MOST_ROWS).rename_columns([str(place) for place in range(table.num_columns)])
    return first.to_pylist()


def is_number(field: pa.Field) -> bool:
    """Whether a column has numbers."""
    from pyarrow import types  # noqa: PLC0415 - slow to import

    return bool(types.is_integer(field.type) or types.is_floating(field.type) or types.is_decimal(field.type))


def shown(value: object) -> str:
    """A value in the form for a table."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else NOTHING
    text = str(value).replace(os.linesep, " ")
    return f"{text[:KEY_DIGITS]}…" if DIGEST.fullmatch(text) else text
