"""The results of a study of faults: kept beside its numbers, so that a page can show them again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from spinewise.errors import SpecError
from spinewise.measures.stats import Interval
from spinewise.reading import printable
from spinewise.runs import formats
from spinewise.show.terminal import Grid, new_table


@dataclass(frozen=True)
class Rows:
    """A table: its title, the heads of its columns of words and of numbers, and its rows."""

    title: str
    left: list[str]
    right: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, grid: Grid) -> Rows:
        """Build from a table as it is printed."""
        return cls(grid.heading, list(grid.left), list(grid.right), [list(line.cells) for line in grid.lines])

    def grid(self) -> Grid:
        """The table as it was printed."""
        made = new_table(self.title, self.left, self.right)
        for row in self.rows:
            made.line(*row)
        return made


@dataclass(frozen=True)
class Share:
    """A share under a scheme, with half of its 95 % interval; None if it has none."""

    scheme: str
    mean: float
    half: float | None


@dataclass(frozen=True)
class Lost:
    """The cost of a fault, or of a whole spec, to each scheme that had traffic then: shares of goodput, in percent."""

    fault: str
    of: list[Share]

    @classmethod
    def means(cls, fault: str, found: Mapping[str, Interval]) -> Lost:
        """Build from shares of goodput lost, by scheme."""
        return cls(fault, shares(found, 100.0))


@dataclass(frozen=True)
class Bars:
    """A bar for each scheme: title, axis label with unit, and whether it has values below zero."""

    title: str
    axis: str
    of: list[Share]
    signed: bool


def shares(found: Mapping[str, Interval], factor: float) -> list[Share]:
    """The known shares of each scheme, times a factor."""
    return [
        Share(scheme, factor * one.mean, factor * one.half if math.isfinite(one.half) else None)
        for scheme, one in found.items()
        if math.isfinite(one.mean)
    ]


@dataclass(frozen=True)
class Stored:
    """A study in words and tables.

    Attributes:
        title: the title.
        subtitle: schemes and seeds.
        lost: goodput lost, fault by fault; empty if rounds show more, as runs lost it over periods of other lengths.
        tables: the tables as printed.
        notes: notes on how to read them.
        rounds: the mean time of rounds with the faults, and by how much they are longer than without, by traffic entry.
    """

    title: str
    subtitle: str
    lost: list[Lost]
    tables: list[Rows]
    notes: list[str]
    rounds: list[Bars] = field(default_factory=list)


def subtitle(schemes: Sequence[str], seeds: int) -> str:
    """The schemes, and the number of seeds."""
    return f"{', '.join(schemes)}, {seeds} seed{'s' * (seeds != 1)}"


def read(folder: Path) -> Stored:
    """Read the results in a folder that `resilience --out` wrote.

    Raises:
        SpecError: there are none, or in another format, or from a version that did not keep them.
    """
    file = folder / formats.RESILIENCE.record
    allowed = f"a folder with {file.name}, which `spinewise resilience --out` writes"
    record = formats.read(file, formats.RESILIENCE, "RESULTS", allowed)
    if "told" not in record:
        hint = "an older version wrote it: the same `spinewise resilience` with --out makes it again"
        raise SpecError("told", "(nothing)", "the tables of the study", hint, file=printable(file))
    try:
        return msgspec.convert(record["told"], Stored)
    except msgspec.MsgspecError as error:
        raise SpecError("told", str(error), "a study that was not changed", file=printable(file)) from None
