"""An experiment: the runs behind a figure of a paper, the measurements, and the paper's claims.

A module ``papers/<paper>/<figure>.py`` defines ``EXPERIMENT``. It defines which specs to run (curve, x,
seed), what to measure in each result, which panels to draw, what the paper leaves open (each as a named
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
    """The amount of work: how many points and seeds to run."""

    WHOLE = "whole"
    FULL = "full"
    QUICK = "quick"

    def choose(self, full: T, quick: T, whole: T | None = None) -> T:
        """Choose `full` or `quick`; or `whole`, if an experiment has it: every point of the paper, however long."""
        if self is Effort.WHOLE and whole is not None:
            return whole
        return quick if self is Effort.QUICK else full


@dataclass(frozen=True)
class Run:
    """One run of an experiment.

    Attributes:
        curve: the line it belongs to, usually a scheme's label.
        x: its place on that line.
        seed: runs of different curves with the same seed and x see the same traffic.
        spec: the spec to run.
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
    """Something the paper does not give, and what is assumed here."""

    name: str
    value: str
    why: str


@dataclass(frozen=True)
class Panel:
    """One panel of the figure.

    Attributes:
        figure: the paper's name for it ("7a").
        metric: key of the measurement, a number (drawn over x) or a `Timeline`.
        title: its title.
        x_label: the label of the x axis, with unit.
        y_label: the label of the y axis, with unit.
        scale: values are multiplied by this (100 for percent).
        variant: see `Run.variant`.
        timeline: whether the metric is a `Timeline`.
        at: the single x that is drawn, for timelines or curves side by side, when the experiment has several.
        x_scale: times are multiplied by this (1000 for milliseconds).
        log: a logarithmic axis, whatever the range of the values; if False, the range decides.
        log_x: a logarithmic x axis.
        also: (label, metric) of further lines from the same runs, such as a model's.
        over: the curve that all are divided by, as some papers draw them ("normalised to ECMP"); "" for none.
        words: (x, word) of an x axis of categories.
        side_by_side: curves of one x are drawn side by side, each by its name on the axis.
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
    """The outcome of a check: the words that every page, table and record uses.

    `OPEN` has runs whose intervals include both; `UNTESTED` has none, too few, or nothing that could fail.
    """

    HOLDS = "reproduced"
    PARTLY = "in part"
    FAILS = "not reproduced"
    OPEN = "not distinguishable"
    UNTESTED = "not testable"


@dataclass(frozen=True)
class Cell:
    """One comparison, as judged on its own.

    Attributes:
        text: the comparison in words.
        status: its status by an interval of 95 %; None if it is not a comparison.
        p: two-sided probability that its interval excludes the value by chance; None if no interval decides.
    """

    text: str
    status: Status | None = None
    p: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A status and the numbers behind it, one line for each comparison.

    Attributes:
        status: the outcome.
        evidence: the evidence in words.
        comparisons: the number of differences tested against zero by an interval of 95 %; by chance one in twenty
            excludes it.
        cells: the cells behind the lines of the evidence; empty for a verdict read from a file.
    """

    status: Status
    evidence: tuple[str, ...]
    comparisons: int = 0
    cells: tuple[Cell, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and its check.

    Attributes:
        id: its id in the catalogue (``claims.toml``), with the letter of a part if it has parts: "C0-27c".
        figure: the figure that it checks.
        statement: the checked statement, in words.
        check: a function that computes the verdict.
        reading: the form, transport or variant that is checked; "" if there is only one.
        headline: whether this reading heads the verdict on the statement; see `Experiment.headline`.
        form: the form whose figure shows it; "" if the reading or its panel determines it (`forms.form_of`).
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
        """The key that identifies it among the checks of its experiment: "C2-03, lossless"."""
        return f"{self.id}, {self.reading}" if self.reading else self.id


@dataclass(frozen=True)
class Experiment:
    """Everything about one experiment; see the module's text.

    Attributes:
        id: its name on the command line.
        figures: the paper's names of the panels.
        title: the title in a line.
        setup: the set-up, in words.
        runs: the runs of an effort.
        measure: the record of a run: a function at the top level of a module (or a `functools.partial` of one with
            plain arguments), so that other processes can call it and its source defines the measurement. That module
            and those it needs have nothing else in them: a claim that is reworded changes no measurement.
        panels: the figure.
        claims: the paper's statements, and their checks.
        assumptions: assumptions where the paper leaves something open.
        notes: further notes for readers.
        headline: which of several readings of a claim heads its verdict, and the words of the paper that support it.
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
    """The result of one run.

    Attributes:
        run: what was run.
        values: the measured values, by name.
        outcome_hash: the hash of the run's outcome.
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
        """The measurements of one variant of the experiment."""
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
        """The marks of the cells at `x`: ", overloaded", ", flows unfinished", both or nothing."""
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
        """The numbers of two places, seed by seed, for the seeds that both have: a run may have failed."""
        first, second = (self.by_seed(*place) for place in (one, other))
        seeds = [seed for seed in first if seed in second]
        return [first[seed] for seed in seeds], [second[seed] for seed in seeds]

    def by_seed(self, curve: str, x: float, metric: str) -> dict[int, float]:
        """One number for each seed, in order."""
        found = {m.run.seed: measured_value(m, metric) for m in self.at(curve, x)}
        return {seed: value for seed, value in found.items() if not isinstance(value, Timeline)}

    def ratio(self, curve: str, other: str, x: float, metric: str) -> stats.Interval:
        """``curve / other``: one and the paired difference over the mean of `other`, as in the evidence of checks."""
        change = stats.relative_difference(*self.pairs((curve, x, metric), (other, x, metric)))
        return stats.Interval(1.0 + change.mean, change.half, change.n)

    def seeds_drawn(self, metric: str) -> int:
        """The number of seeds with a line of this metric."""
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
