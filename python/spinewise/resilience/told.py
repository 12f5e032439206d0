"""What a study of faults tells: kept beside its numbers, so that a page can show it again."""

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
        """From a table as it is printed."""
        return cls(grid.heading, list(grid.left), list(grid.right), [list(line.cells) for line in grid.lines])

    def grid(self) -> Grid:
        """As it was printed."""
        made = new_table(self.title, self.left, self.right)
        for row in self.rows:
            made.line(*row)
        return made


@dataclass(frozen=True)
class Share:
    """What something is under a scheme, with half of its 95 % interval; None where it has none."""

    scheme: str
    mean: float
    half: float | None


@dataclass(frozen=True)
class Lost:
    """What a fault, or all of a spec, cost each scheme that had traffic then: shares of goodput, in percent."""

    fault: str
    of: list[Share]

    @classmethod
    def means(cls, fault: str, found: Mapping[str, Interval]) -> Lost:
        """From shares of goodput lost, by scheme."""
        return cls(fault, shares(found, 100.0))


@dataclass(frozen=True)
class Bars:
    """A bar for each scheme: what of, what the axis says, with its unit, and whether it has values below zero."""

    title: str
    axis: str
    of: list[Share]
    signed: bool


def shares(found: Mapping[str, Interval], factor: float) -> list[Share]:
    """What is known of each scheme, times a factor."""
    return [
        Share(scheme, factor * one.mean, factor * one.half if math.isfinite(one.half) else None)
        for scheme, one in found.items()
        if math.isfinite(one.mean)
    ]


@dataclass(frozen=True)
class Told:
    """A study in words and tables.

    Attributes:
        title: of what.
        subtitle: schemes and seeds.
        lost: goodput lost, fault by fault; empty where rounds tell more, as runs lost it over times of other lengths.
        tables: as they are printed.
        notes: how to read them.
        rounds: the mean time of rounds with the faults, and by how much they are longer than without, by traffic entry.
    """

    title: str
    subtitle: str
    lost: list[Lost]
    tables: list[Rows]
    notes: list[str]
    rounds: list[Bars] = field(default_factory=list)


def subtitle(schemes: Sequence[str], seeds: int) -> str:
    """Which schemes, on how many seeds."""
    return f"{', '.join(schemes)}, {seeds} seed{'s' * (seeds != 1)}"


def read(folder: Path) -> Told:
    """What a folder tells that `resilience --out` wrote.

    Raises:
        SpecError: there is none, or it is of another format, or from before such folders told it.
    """
    file = folder / formats.RESILIENCE.record
    allowed = f"a folder with {file.name}, which `spinewise resilience --out` writes"
    record = formats.read(file, formats.RESILIENCE, "RESULTS", allowed)
    if "told" not in record:
        hint = "an older version wrote it: the same `spinewise resilience` with --out makes it again"
        raise SpecError("told", "(nothing)", "the tables of the study", hint, file=printable(file))
    try:
        return msgspec.convert(record["told"], Told)
    except msgspec.MsgspecError as error:
        raise SpecError("told", str(error), "a study that was not changed", file=printable(file)) from None
