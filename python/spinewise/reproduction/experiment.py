"""An experiment: the runs behind a figure of a paper, what to measure, and the paper's claims.

A module ``papers/<paper>/<figure>.py`` defines ``EXPERIMENT``. It says which specs to run (curve, x,
seed), what to read off each result, which panels to draw, what the paper leaves open (each as a named
assumption), and what the paper states about the figure, each statement with a check that is computed
from the runs. A check reports; it never fails the command.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from spinewise.errors import SpecError, nearest
from spinewise.measures import stats
from spinewise.runs.result import Result
from spinewise.shapes import Spec

T = TypeVar("T")
# A curve, an x and a metric.
Place = tuple[str, float, str]


class Effort(enum.Enum):
    """How much to run."""

    WHOLE = "whole"
    FULL = "full"
    QUICK = "quick"

    def choose(self, full: T, quick: T, whole: T | None = None) -> T:
        """`full` or `quick`; `whole`, where an experiment has it, is every point of the paper, however long."""
        if self is Effort.WHOLE and whole is not None:
            return whole
        return quick if self is Effort.QUICK else full


@dataclass(frozen=True)
class Run:
    """One run of an experiment.

    Attributes:
        curve: the line it belongs to, usually a scheme's label.
        x: where on that line.
        seed: runs of different curves with the same seed and x see the same traffic.
        spec: what to run.
        variant: the version of the experiment ("as printed", "repaired"), when there are several.
    """

    curve: str
    x: float
    seed: int
    spec: Spec
    variant: str = ""


@dataclass(frozen=True)
class Timeline:
    """A quantity over time, times in seconds and values; or over anything else, with `Panel.x_scale`."""

    time_s: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Assumption:
    """Something the paper does not say, and what is assumed here."""

    name: str
    value: str
    why: str


@dataclass(frozen=True)
class Panel:
    """One panel of the figure.

    Attributes:
        figure: the paper's name for it ("7a").
        metric: key of the measurement, a number (drawn over x) or a `Timeline`.
        title: what it shows.
        x_label: with unit.
        y_label: with unit.
        scale: values are multiplied by this (100 for percent).
        variant: see `Run.variant`.
        timeline: whether the metric is a `Timeline`.
        at: the one x that is drawn, of timelines or of curves side by side, when the experiment has several.
        x_scale: times are multiplied by this (1000 for milliseconds).
        log: a logarithmic axis, whatever the range of the values; where not, the range decides.
        log_x: a logarithmic x axis.
        also: (label, metric) of further lines read off the same runs, such as a model's.
        over: the curve that all are divided by, as some papers draw them ("normalised to ECMP"); "" for none.
        words: (x, word) of an x axis of categories.
        side_by_side: curves of one x stand side by side, each by its name on the axis.
    """

    figure: str
    metric: str
    title: str
    x_label: str
    y_label: str
    scale: float = 1.0
    variant: str = ""
    timeline: bool = False
    at: float | None = None
    x_scale: float = 1e3
    log: bool = False
    log_x: bool = False
    also: tuple[tuple[str, str], ...] = ()
    over: str = ""
    words: tuple[tuple[float, str], ...] = ()
    side_by_side: bool = False


class Status(enum.Enum):
    """What came of a check: the words that every page, table and record uses.

    `OPEN` has runs whose intervals include both; `UNTESTED` has none, too few, or nothing that could fail.
    """

    HOLDS = "reproduced"
    PARTLY = "in part"
    FAILS = "not reproduced"
    OPEN = "not distinguishable"
    UNTESTED = "not testable"


@dataclass(frozen=True)
class Cell:
    """One thing that was compared, as it is judged by itself.

    Attributes:
        text: in words.
        status: by an interval of 95 %; None of what is no comparison.
        p: two-sided, that its interval excludes by chance what it excludes; None of what no interval decides.
    """

    text: str
    status: Status | None = None
    p: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A status and the numbers behind it, one line for each thing that was compared.

    Attributes:
        status: what came of it.
        evidence: in words.
        comparisons: how many differences were tested against zero by an interval of 95 %; by chance one in twenty
            excludes it.
        cells: what the lines of the evidence are made of, one each; none of a verdict that was read from a file.
    """

    status: Status
    evidence: tuple[str, ...]
    comparisons: int = 0
    cells: tuple[Cell, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and its check.

    Attributes:
        id: of the catalogue (``claims.toml``), with the letter of a part where it has parts: "C0-27c".
        figure: where the check looks.
        statement: what is checked, in words.
        check: computes the verdict.
        reading: the form, transport or variant that the check is of; "" if there is only one.
        headline: whether this reading heads the verdict on the statement; see `Experiment.headline`.
        form: the form whose figure shows it; "" where the reading or the panel that it names tells (`forms.form_of`).
    """

    id: str
    figure: str
    statement: str
    check: Callable[[Measured], Verdict]
    reading: str = ""
    headline: bool = True
    form: str = ""

    @property
    def key(self) -> str:
        """What tells it from the other checks of its experiment: "C2-03, lossless"."""
        return f"{self.id}, {self.reading}" if self.reading else self.id


@dataclass(frozen=True)
class Experiment:
    """Everything about one experiment; see the module's text.

    Attributes:
        id: its name on the command line.
        figures: the paper's names of the panels.
        title: what it shows, in a line.
        setup: what is run, in words.
        runs: the runs of an effort.
        measure: what is kept of a run: a function at the top level of a module (or a `functools.partial` of one with
            plain arguments), so that other processes can call it and its source says what was measured. That module
            and those it needs have nothing else in them: a claim that is reworded changes no measurement.
        panels: the figure.
        claims: what the paper states, and how each statement is checked.
        assumptions: what the paper leaves open.
        notes: what a reader should know besides.
        headline: of several readings of a claim, which one heads its verdict, and the words of the paper that say so.
    """

    id: str
    figures: tuple[str, ...]
    title: str
    setup: str
    runs: Callable[[Effort], list[Run]]
    measure: Callable[[Run, Result], Mapping[str, float | Timeline]]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    headline: str = ""


@dataclass(frozen=True)
class Measurement:
    """What one run gave.

    Attributes:
        run: what was run.
        values: what was measured, by name.
        outcome_hash: of the run.
        unfinished: flows not done when it stopped.
        overloaded: whether the worst cut was offered more than it can carry for long.
        flows: flows in all.
    """

    run: Run
    values: Mapping[str, float | Timeline]
    outcome_hash: str
    unfinished: int
    overloaded: bool
    flows: int = 0


def measured_value(measurement: Measurement, metric: str) -> float | Timeline:
    """One value of a run.

    Raises:
        SpecError: the run has no such metric.
    """
    if metric not in measurement.values:
        known = sorted(measurement.values)
        raise SpecError("metric", metric, f"what is measured: {', '.join(known)}", nearest(metric, known))
    return measurement.values[metric]


@dataclass(frozen=True)
class Measured:
    """All measurements of an experiment, by variant, curve, x and seed."""

    measurements: Sequence[Measurement]
    variant: str = field(default="")

    def within(self, variant: str) -> Measured:
        """Only the measurements of one variant of the experiment."""
        return Measured([m for m in self.measurements if m.run.variant == variant], variant)

    @cached_property
    def curves(self) -> list[str]:
        """The curves, in the order of their first run."""
        return list(dict.fromkeys(m.run.curve for m in self.measurements))

    @cached_property
    def xs(self) -> list[float]:
        """The x values in ascending order."""
        return sorted({m.run.x for m in self.measurements})

    def others(self, *names: str) -> list[str]:
        """The curves except these."""
        return [curve for curve in self.curves if curve not in names]

    def mark(self, x: float) -> str:
        """What must be said of the cells at `x`: ", overloaded", ", flows unfinished", both or nothing."""
        cells = [m for m in self.measurements if m.run.x == x]
        marks = {
            ", overloaded": any(m.overloaded for m in cells),
            ", flows unfinished": any(m.unfinished for m in cells),
        }
        return "".join(mark for mark, holds in marks.items() if holds)

    def at(self, curve: str, x: float) -> list[Measurement]:
        """The measurements of one point, by seed."""
        found = [m for m in self.measurements if m.run.curve == curve and m.run.x == x]
        return sorted(found, key=lambda m: m.run.seed)

    def values(self, curve: str, x: float, metric: str) -> list[float]:
        """One number over seeds.

        Raises:
            SpecError: a run has no such metric.
        """
        values = [measured_value(m, metric) for m in self.at(curve, x)]
        return [value for value in values if not isinstance(value, Timeline)]

    def interval(self, curve: str, x: float, metric: str) -> stats.Interval:
        """Mean over seeds with its 95 % interval."""
        return stats.t_interval(self.values(curve, x, metric))

    def difference(self, curve: str, other: str, x: float, metric: str) -> stats.Interval:
        """Paired difference ``curve - other`` over the seeds that both have."""
        return stats.paired_difference(*self.pairs((curve, x, metric), (other, x, metric)))

    def pairs(self, one: Place, other: Place) -> tuple[list[float], list[float]]:
        """The numbers of two places, seed by seed, of the seeds that both have: a run may have failed."""
        first, second = (self.by_seed(*place) for place in (one, other))
        seeds = [seed for seed in first if seed in second]
        return [first[seed] for seed in seeds], [second[seed] for seed in seeds]

    def by_seed(self, curve: str, x: float, metric: str) -> dict[int, float]:
        """One number of each seed, in order."""
        found = {m.run.seed: measured_value(m, metric) for m in self.at(curve, x)}
        return {seed: value for seed, value in found.items() if not isinstance(value, Timeline)}

    def ratio(self, curve: str, other: str, x: float, metric: str) -> stats.Interval:
        """``curve / other``: one and the paired difference over the mean of `other`, as in the evidence of checks."""
        change = stats.relative_difference(*self.pairs((curve, x, metric), (other, x, metric)))
        return stats.Interval(1.0 + change.mean, change.half, change.n)

    def seeds_drawn(self, metric: str) -> int:
        """Of how many seeds a line of this metric was kept."""
        lines = ((m.run.seed, m.values.get(metric)) for m in self.measurements)
        return len({seed for seed, line in lines if isinstance(line, Timeline) and len(line.time_s)})

    def timeline(self, curve: str, metric: str, x: float | None = None) -> Timeline:
        """Mean over seeds of a timeline, on the time grid that all seeds share; NaN does not count."""
        lines = [
            value
            for m in self.at(curve, self.xs[0] if x is None else x)
            if isinstance(value := measured_value(m, metric), Timeline) and len(value.time_s)
        ]
        if not lines:
            return Timeline(np.array([]), np.array([]))
        shortest = min(lines, key=lambda line: len(line.time_s))
        count = len(shortest.time_s)
        stack = np.vstack([np.asarray(line.value, dtype=float)[:count] for line in lines])
        known = np.isfinite(stack)
        counts = known.sum(axis=0)
        sums = np.where(known, stack, 0.0).sum(axis=0)
        means = np.divide(sums, counts, out=np.full(count, np.nan), where=counts > 0)
        return Timeline(shortest.time_s, means)
