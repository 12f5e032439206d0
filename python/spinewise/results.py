"""Keeping results and reading them back, whatever they are of."""

from __future__ import annotations

from pathlib import Path

from spinewise.comparison.cells import Comparison
from spinewise.comparison.kept import read_comparison
from spinewise.runs import formats
from spinewise.runs.result import Result


def write(results: Result | Comparison, folder: str | Path, *, force: bool = False) -> Path:
    """Keep the results of a run or of a comparison in `folder`, whole or not at all.

    Raises:
        SpecError: the folder is there and `force` is not given, or it cannot be written.
    """
    if isinstance(results, Result):
        return results.write(folder, force=force)
    from spinewise.comparison import files  # noqa: PLC0415 - imports matplotlib

    return files.write(results, folder, force=force)


def read(folder: str | Path) -> Result | Comparison:
    """The results of a run or of a comparison that `folder` keeps.

    Raises:
        SpecError: it is no such folder, of another format, or was changed.
    """
    if (Path(folder) / formats.COMPARE.record).is_file():
        return read_comparison(folder)
    return Result.read(folder)
