"""docs/store.md: what a store holds, and its views column by column."""

from __future__ import annotations

from collections.abc import Sequence

from spinewise.show.markdown import cell, line
from spinewise.sweeps.columns import Column, View, views

INTRODUCTION = """\
# Asking a store

`advise`, `compare`, `reproduce`, `resilience` and `sweep` keep every run in a store as it ends (`--store DIR`;
[sweeps.md](sweeps.md)). `spinewise query` asks it by SQL:

```console
$ spinewise query "select variant, load, entry, size_class, cell, engine, avg(fct_p99_s) from cells group by all"
$ spinewise query "select * from runs where status = 'failed'" --store results/mine --csv
$ spinewise query "select links.*, run_s from links join runs using (key) where links.drops > 0" --parquet drops.parquet
```

A mean over seeds is one over rows of equal `cell` and `engine`. These tell apart what `variant` and `load` do not:
another fabric, transport or fault, other code of an own scheme, an older engine. `name`, and `specs` by its key, say
what differs.

The store is `results/store` unless `--store` names another. The answer is a table of the first 60 rows, with 12
digits of each key; `--csv` and `--json` print all rows and whole keys, `--parquet FILE` writes them. Of two
columns `name` the second is called `name_1`, as in files of DuckDB: say which is wanted (`select links.*`). In
Python the answer is an Arrow table:

```python
import polars as pl, spinewise as sw

cells = pl.from_arrow(sw.query("results/store", "from cells"))
cells = sw.query("results/store", "from cells").to_pandas()
```

The SQL is [DuckDB's](https://duckdb.org/docs/stable/sql/introduction): one statement that asks (`SELECT`, `FROM`,
`WITH`, `PIVOT`, `SHOW`, `DESCRIBE`, `SUMMARIZE`, `EXPLAIN`). A wrong name is refused with the columns there are.
Queries change no run and fetch nothing from a network. Anyone may ask while a sweep writes, and may ask a store that
only others may write.

## What lies in the folder

| file | what it is |
|---|---|
| `ledger.sqlite` | every run, what was measured or could not be, and its places in studies; one transaction a run |
| `flows/<key>.parquet` | the flows of a run, where a study keeps them |
| `views/*.parquet` | what queries have read from the ledger, a thousand rows at a time; may be removed at any time |
| `writer.lock` | names the sweep that writes; one does at a time |

A damaged file in `views` is made anew from the ledger. One in `flows` is named and left out of the answer, and the rest
is answered. A run whose measurements in the ledger are damaged stays in `runs`, and its rows are left out elsewhere.
One whose spec is damaged has no load and may have no variant, and has null in `specs`. A line says how many there are.
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
    """A view's name, leading to its section."""
    return f"[`{view.name}`](#{view.name})"


def row(column: Column) -> tuple[str, ...]:
    """A column as a row."""
    return f"`{column.name}`", column.type, column.unit or "–", cell(column.meaning)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [line(heads), "|" + "---|" * len(heads), *map(line, rows)]
