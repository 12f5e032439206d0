"""``spinewise query``."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
from typing import TYPE_CHECKING

from spinewise.cli import streams
from spinewise.errors import SpecError
from spinewise.measures import tables
from spinewise.measures.units import NOTHING
from spinewise.runs.file import write_file
from spinewise.show import terminal
from spinewise.sweeps.query import ask

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 60
"""Rows that a terminal is shown."""
DIGEST = re.compile(r"[0-9a-f]{64}")
"""Keys of runs, cells, engines and specs."""
KEY_DIGITS = 12
"""What a terminal is shown of one."""


def command(args: argparse.Namespace) -> int:
    """Ask a store, and show what it says."""
    if args.force and not args.parquet:
        raise SpecError("--force", "(given)", "together with --parquet", "nothing else is written")
    if args.json and (args.csv or args.parquet):
        other = "--csv" if args.csv else "--parquet"
        raise SpecError("--json", f"together with {other}", f"one of the two: --json or {other}")
    answer = ask(args.store, args.sql)
    for note in answer.notes:
        streams.complain(f"spinewise: note: {note}")
    if args.parquet:
        stream = io.BytesIO()
        tables.write(answer.table, stream)
        write_file(args.parquet, stream.getvalue(), force=args.force, option="--parquet")
    elif args.csv:
        print_csv(answer.table)
    elif args.json:
        print_json(answer.table)
    else:
        show(answer.table)
    return 0


def print_csv(table: pa.Table) -> None:
    """The rows with a line of names before them."""
    from pyarrow import csv  # noqa: PLC0415 - slow to import

    stream = io.BytesIO()
    csv.write_csv(table, stream)
    sys.stdout.write(stream.getvalue().decode())


def print_json(table: pa.Table) -> None:
    """The rows as a list of objects; what is not a number becomes null."""
    rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    print(json.dumps(rows, indent=2, allow_nan=False, default=str))


def plain(value: object) -> object:
    """A value as JSON has it."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(table: pa.Table) -> None:
    """The first rows as a table, numbers to the right."""
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
    out.print(grid)
    more = table.num_rows - len(rows)
    if more:
        out.print(f"… and {more:,} more rows: --csv, --json and --parquet FILE give all")
    elif not rows:
        out.print("no rows")


def as_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows to be shown, by names that are different."""
    first = table.slice(0, MOST_ROWS).rename_columns([str(place) for place in range(table.num_columns)])
    return first.to_pylist()


def is_number(field: pa.Field) -> bool:
    """Whether a column has numbers."""
    from pyarrow import types  # noqa: PLC0415 - slow to import

    return bool(types.is_integer(field.type) or types.is_floating(field.type) or types.is_decimal(field.type))


def shown(value: object) -> str:
    """A value as a table has it."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else NOTHING
    text = str(value).replace(os.linesep, " ")
    return f"{text[:KEY_DIGITS]}…" if DIGEST.fullmatch(text) else text
