"""A study: the points of its grid, resolved and checked, and their runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from spinewise.comparison.cells import Skipped
from spinewise.comparison.measured import MEASURE
from spinewise.comparison.plan import COUNTED_UP, MOST_SEED
from spinewise.errors import SpecError
from spinewise.runs.jobs import resolved_case
from spinewise.shapes import Spec
from spinewise.specs.lines import has_key, lines, located
from spinewise.studies.axes import NAMES, SCHEMES, Place, places
from spinewise.studies.file import DEFAULT_SEEDS, HOLD_SPEC, Written
from spinewise.studies.metrics import Metric, metric
from spinewise.sweeps.sequential import Stop
from spinewise.sweeps.task import Plain, Task

MOST_POINTS = 100_000
AHEAD = 1_000_000
"""The priority of runs that come first, above that of any seed."""
SET_BY = {"scheme": "grid.schemes", "fault": "grid.faults"}
"""Tables of the simulated spec that an axis replaces."""


@dataclass(frozen=True)
class Cell:
    """A point of the grid.

    Attributes:
        label: the labels by name of the axis.
        spec: the resolved spec, with the first seed.
        first: whether its runs come before those of others.
    """

    label: dict[str, Plain]
    spec: Spec
    first: bool = False

    @property
    def title(self) -> str:
        """The point in a line."""
        return ", ".join(f"{name} {value}" for name, value in self.label.items()) or "the spec as it is"


@dataclass(frozen=True)
class Study:
    """The runs of a study.

    Attributes:
        name: the name of the study.
        axes: their names, in order.
        cells: points of the grid that can be run.
        skipped: points whose scheme cannot serve their fabric, and why.
        seeds: the seeds, or the first of those counted up.
        metrics: the metrics of each run.
        stop: the rule for adding seeds; None for `seeds` alone.
        flows: whether tables of flows are kept.
    """

    name: str
    axes: list[str]
    cells: list[Cell]
    skipped: list[Skipped]
    seeds: list[int]
    metrics: list[Metric]
    stop: Stop | None = None
    flows: bool = False
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, written: Written) -> Study:
        """Build from a file, with every point resolved and checked before the first run starts.

        Raises:
            SpecError: a point is refused for another reason than that its scheme cannot serve its fabric, or all are.
        """
        try:
            return cls.checked(written)
        except SpecError as error:
            raise blamed(error, written) from None

    @classmethod
    def checked(cls, written: Written) -> Study:
        """See `of`."""
        count = 1
        for axis in written.axes:
            count *= len(axis.points)
        if count > MOST_POINTS:
            raise SpecError("grid", f"{count:,} points", f"1 to {MOST_POINTS:,} points")
        seeds = seeds_of(written)
        cells: list[Cell] = []
        skipped: list[Skipped] = []
        for place in places(written.spec, written.axes):
            try:
                cells.append(cell(place, seeds[0], written))
            except SpecError as error:
                if not error.unserved or len(skipped) + 1 == count:
                    raise
                skipped.append(Skipped(title(place), error.why_left_out(title(place))))
        metrics = [metric("study.metrics", one, found.spec) for one in written.metrics for found in cells[:1]]
        for found in cells:
            for one in written.metrics:
                metric("study.metrics", one, found.spec)
        names = [axis.name for axis in written.axes]
        return cls(written.name, names, cells, skipped, seeds, metrics, written.stop, written.flows)

    @cached_property
    def first_scheme(self) -> Plain:
        """The scheme that others are compared with: the first of the grid that can run; None without two of them."""
        named = list(dict.fromkeys(cell.label.get(NAMES[SCHEMES]) for cell in self.cells))
        return named[0] if len(named) > 1 else None

    def baseline(self, cell: int) -> int | None:
        """The cell of the first scheme that differs from `cell` in nothing else; None if there is none."""
        first = self.first_scheme
        if first is None:
            return None
        return self.numbers.get(frozenset((self.cells[cell].label | {NAMES[SCHEMES]: first}).items()))

    @cached_property
    def numbers(self) -> dict[frozenset[tuple[str, Plain]], int]:
        """The number of each cell, by its labels."""
        return {frozenset(cell.label.items()): number for number, cell in enumerate(self.cells)}

    def seed(self, number: int) -> int:
        """Seed `number` of each cell, from 0; beyond the given ones they count up."""
        return self.seeds[number] if number < len(self.seeds) else self.seeds[0] + number

    def task(self, cell: Cell, number: int) -> Task:
        """Repeat `number` of a cell: early repeats of all cells come before later ones."""
        seed = self.seed(number)
        return Task(
            {**cell.spec, "seed": seed},
            (MEASURE,),
            study=self.name,
            label={**cell.label, "seed": seed},
            priority=AHEAD * cell.first - number,
            flows=self.flows,
        )


def blamed(error: SpecError, written: Written) -> SpecError:
    """The error with the file to fix: that of the spec, unless the study itself sets the refused value."""
    axis = SET_BY.get(error.key.partition(".")[0].partition("[")[0], "")
    if re.fullmatch(r"traffic\[\d+\]\.load", error.key):
        axis = "grid.loads"
    if axis and has_key(written.file, axis):
        return error.with_file(written.file, lines(written.file)[axis])
    places = [error.key, *(f"{table}.{error.key}" for table in HOLD_SPEC)]
    if written.spec_file is None or any(has_key(written.file, place) for place in places):
        return located(error, written.file, *HOLD_SPEC)
    return located(error, written.spec_file)


def seeds_of(written: Written) -> list[int]:
    """The initial seeds.

    Raises:
        SpecError: one of them, or one that may be added, is too large.
    """
    if isinstance(written.seeds, list):
        return written.seeds
    first: object = written.spec.get("seed", 1)
    if not isinstance(first, int):
        return [first]  # type: ignore[list-item]
    count = written.stop.fewest if written.stop else written.seeds or DEFAULT_SEEDS
    key, most = ("stop.max_seeds", written.stop.most) if written.stop else ("study.seeds", count)
    if first <= MOST_SEED < first + most - 1:
        raise SpecError(key, most, f"at most {MOST_SEED - first + 1} from seed {first} on", COUNTED_UP)
    return [first + number for number in range(count)]


def cell(place: Place, seed: int, written: Written) -> Cell:
    """A point of the grid, resolved."""
    spec = resolved_case(None, place.spec, seed, title(place)).spec
    if "facts" not in written.spec.get("metrics", {}):
        # They change no outcome, and cost a little time; see `comparison.plan.with_facts`.
        spec = spec | {"metrics": spec.get("metrics", {}) | {"facts": True}}
    first = bool(written.first) and all(place.label[name] in labels for name, labels in written.first.items())
    return Cell(place.label, spec, first)


def title(place: Place) -> str:
    """A point of the grid in a line."""
    return Cell(place.label, {}).title
