"""docs/store.md: the contents of a store, and its views column by column."""

from __future__ import annotations

from collections.abc import Sequence

from spinewise.show.markdown import cell, line
from spinewise.sweeps.columns import Column, View, views

INTRODUCTION = """\
# Querying a store

`advise`, `compare`, `reproduce`, `resilience` and `sweep` save every finished run in a store (`--store DIR`;
[sweeps.md](sweeps.md)). `spinewise query` queries it in SQL:

```console
$ spinewise query "select variant, load, entry, size_class, cell, engine, avg(fct_p99_s) from cells group by all"
$ spinewise query "select * from runs where status = 'failed'" --store results/mine --csv
$ spinewise query "select links.*, run_s from links join runs using (key) where links.drops > 0" --parquet drops.parquet
```

To average over seeds, group by `cell` and `engine`. They distinguish what `variant`, `transport` and `load` do not:
another fabric or fault, another timeout, other code of your own scheme, an older engine. `name`, and the row of `specs`
with the same key, show what differs.

The store is `results/store` unless `--store` names another. The answer is a table of the first 60 rows, with 12
digits of each key; `--csv` and `--json` print all rows and whole keys, `--parquet FILE` writes them. If two columns
are called `name`, the second becomes `name_1`, as in files of DuckDB; select the one you need (`select links.*`). In
Python the answer is an Arrow table:

```python
import polars as pl, spinewise as sw

cells = pl.from_arrow(sw.query("results/store", "from cells"))
cells = sw.query("results/store", "from cells").to_pandas()
```

The SQL is [DuckDB's](https://duckdb.org/docs/stable/sql/introduction): one read-only statement (`SELECT`,
`FROM`, `WITH`, `PIVOT`, `SHOW`, `DESCRIBE`, `SUMMARIZE`, `EXPLAIN`). An unknown name is refused with a list of the
columns. Queries change no run and fetch nothing from a network. They work while a sweep writes, and on a store without
write permission.

## Files in the folder

| file | content |
|---|---|
| `ledger.sqlite` | every run, its measurements or their errors, and its places in studies; one transaction per run |
| `flows/<key>.parquet` | the flows of a run, if a study keeps them |
| `views/*.parquet` | what queries have read from the ledger, a thousand rows at a time; may be removed at any time |
| `writer.lock` | names the sweep that writes; only one writes at a time |

A damaged file in `views` is rebuilt from the ledger. A damaged file in `flows` is named and left out of the answer. A
run whose measurements in the ledger are damaged stays in `runs`, and its rows are left out elsewhere. A run whose spec
is damaged has no load and may have no variant, and has null in `specs`. A line reports how many there are.
"""


def page() -> str:
    """The whole page."""
    found = views()
    lines = [
        INTRODUCTION,
        "## Views",
        "",
        *table(("view", "a row for"), [(link(view), view.rows) for view in found.values()]),
    ]
    for view in found.values():
        lines += ["", f"### {view.name}", "", f"A row for {view.rows}. {view.note}".strip(), ""]
        lines += table(("column", "type", "unit", "meaning"), [row(column) for column in view.columns])
    return "\n".join(lines) + "\n"


def link(view: View) -> str:
    """A view's name, as a link to its section."""
    return f"[`{view.name}`](#{view.name})"


def row(column: Column) -> tuple[str, ...]:
    """A column as a row."""
    return f"`{column.name}`", column.type, column.unit or "–", cell(column.meaning)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [line(heads), "|" + "---|" * len(heads), *map(line, rows)]
