"""Keep results and read them back, of any kind."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from spinewise.comparison.cells import Comparison
from spinewise.comparison.kept import read_comparison
from spinewise.plain import unlike
from spinewise.runs import formats
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa


class StoreWarning(UserWarning):
    """A part of a store could not be read, and is missing in the answer."""


def write(results: Result | Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Keep the results of a run or of a comparison in `folder`, whole or not at all.

    Raises:
        SpecError: the folder exists and `force` is not given, or it cannot be written.
        TypeError: the argument is not results, or the folder is not a path.
    """
    check_path("folder", folder)
    if isinstance(results, Result):
        return results.write(folder, force=force)
    if not isinstance(results, Comparison):
        raise unlike("results", "what spinewise.run or spinewise.compare gives", results)
    from spinewise.comparison import files  # noqa: PLC0415 - imports matplotlib

    return files.write(results, folder, force=force)


def read(folder: str | Path) -> Result | Comparison:
    """The results of a run or of a comparison that `folder` keeps.

    Raises:
        SpecError: it is not such a folder, has another format, or was changed.
        TypeError: it is not a path.
    """
    check_path("folder", folder)
    if (Path(folder) / formats.COMPARE.record).is_file():
        return read_comparison(folder)
    return Result.read(folder)


def check_path(name: str, path: object) -> None:
    """Refuse a value that is not a path.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(path, str | os.PathLike):
        raise unlike(name, "a path", path)


def query(store: str | Path, sql: str) -> pa.Table:
    """Run a query on a store and return an Arrow table, which polars and pandas accept.

    docs/store.md has the views and their columns. Parts of the store that are damaged are left out, with a
    `StoreWarning` that names them.

    Args:
        store: the folder of a store.
        sql: one SELECT statement of DuckDB's SQL.

    Raises:
        SpecError: there is no such store, or the query is wrong; the error lists the columns.
        TypeError: an argument is of another kind.
    """
    from spinewise.sweeps.query import ask  # noqa: PLC0415 - imports DuckDB

    check_path("store", store)
    if not isinstance(sql, str):
        raise unlike("sql", "a SELECT statement as a text", sql)
    answer = ask(store, sql)
    for note in answer.notes:
        warnings.warn(note, StoreWarning, stacklevel=2)
    return answer.table
