"""Keeping results and reading them back, whatever they are of."""

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
    """A part of a store could not be read, and is in no answer."""


def write(results: Result | Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Keep the results of a run or of a comparison in `folder`, whole or not at all.

    Raises:
        SpecError: the folder is there and `force` is not given, or it cannot be written.
        TypeError: what is given are no results, or the folder is no path.
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
        SpecError: it is no such folder, of another format, or was changed.
        TypeError: it is no path.
    """
    check_path("folder", folder)
    if (Path(folder) / formats.COMPARE.record).is_file():
        return read_comparison(folder)
    return Result.read(folder)


def check_path(name: str, path: object) -> None:
    """Refuse what is no path.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(path, str | os.PathLike):
        raise unlike(name, "a path", path)


def query(store: str | Path, sql: str) -> pa.Table:
    """What a store says to a query, as an Arrow table: polars and pandas take it.

    docs/store.md has the views and their columns. Parts of the store that are damaged are left out, with a
    `StoreWarning` that names them.

    Args:
        store: the folder of a store.
        sql: one SELECT statement of DuckDB's SQL.

    Raises:
        SpecError: there is no such store, or the query is wrong; it says which columns there are.
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
