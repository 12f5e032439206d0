"""Conduct a study: make its runs, in rounds if seeds are added, and collect their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from spinewise.comparison.cells import beside_first
from spinewise.comparison.measured import MEASURE, Measured
from spinewise.errors import SchemeError
from spinewise.measures import stats
from spinewise.runs.jobs import Monitor
from spinewise.runs.validation import sampled_seconds
from spinewise.studies.beside import NO_FLOWS, Beside, Flows
from spinewise.studies.metrics import Metric
from spinewise.studies.study import Cell, Study
from spinewise.sweeps import outdated
from spinewise.sweeps.basics import BASICS
from spinewise.sweeps.engine import Engine, Headline
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.sweep import Known, Swept, jobs_of, sweep
from spinewise.sweeps.task import Plain, Task, cell_hash


@dataclass(frozen=True)
class Repeat:
    """A run of a cell.

    Attributes:
        seed: its seed.
        key: the key under which it is stored.
        values: the values of the metrics; None if it failed or was left.
        error: why it failed.
        beside: facts that the values do not show; None without values.
        traffic_hash: the engine's hash of the offered traffic; empty without values.
    """

    seed: int
    key: str
    values: tuple[float, ...] | None = None
    error: str | None = None
    beside: Beside | None = None
    traffic_hash: str = ""

    @classmethod
    def ended(cls, seed: int, key: str, headline: Headline, measured: Measured, metrics: Sequence[Metric]) -> Repeat:
        """A run that ended, from its measurements."""
        values = tuple(one.value(measured) for one in metrics)
        return cls(seed, key, values, None, Beside.of(measured.summary, metrics), headline.traffic_hash)

    @property
    def left(self) -> bool:
        """Whether there was no time to make it."""
        return self.values is None and self.error is None


@dataclass(frozen=True)
class Conducted:
    """A study and the results of its runs.

    Attributes:
        study: the study.
        repeats: the repeats of each cell, in the order of the cells.
        made: the number of runs made now; the others were stored.
        of_other_engines: runs of its points that a store has by other versions of the engine; none of `repeats`.
        outdated: places of the study in the store that it no longer has; see `spinewise.sweeps.outdated`.
    """

    study: Study
    repeats: list[list[Repeat]]
    made: int
    of_other_engines: int = 0
    outdated: int = 0

    def __repr__(self) -> str:
        runs = sum(len(ones) for ones in self.repeats)
        bad = "".join(f", {n} {what}" for n, what in ((len(self.failed), "failed"), (self.left, "left")) if n)
        return f"<Conducted: {self.study.name}, {len(self.repeats)} points, {runs} runs{bad}>"

    def rows(self) -> list[dict[str, Plain]]:
        """A record by point and metric: the point's labels, metric, mean, half its 95 % interval, seeds.

        `vs_first` is the mean paired difference from the first scheme at the same point of the other axes, as a
        fraction of that scheme's mean over the same seeds, with half its 95 % interval; NaN where there is none. Each
        also has the number of flows of the metric, over all seeds, how many of them had not finished, and whether
        the point was overloaded.
        """
        return [self.row(number, k) for number in range(len(self.study.cells)) for k in range(len(self.study.metrics))]

    def row(self, cell: int, metric: int) -> dict[str, Plain]:
        """One record."""
        found, behind = self.interval(cell, metric), self.behind(cell, metric)
        return {
            **self.study.cells[cell].label,
            "metric": self.study.metrics[metric].text,
            **beside_first(found, self.against_first(cell, metric)),
            "flows": behind.flows,
            "unfinished": behind.unfinished,
            "overloaded": self.overloaded(cell),
        }

    def interval(self, cell: int, metric: int) -> stats.Interval:
        """Mean of a metric over the repeats of a cell, with its 95 % interval."""
        return stats.t_interval(values(self.repeats[cell], metric))

    def against_first(self, cell: int, metric: int) -> stats.Interval:
        """The paired difference of a metric from the first scheme, as a fraction of that one's mean.

        The first scheme is at the same point of all other axes. Pairs are the seeds on which both have a value.
        """
        baseline = self.study.baseline(cell)
        if baseline is None:
            return NO_DIFFERENCE
        pairs = zip(values(self.repeats[cell], metric), values(self.repeats[baseline], metric), strict=False)
        own, first = zip(*pairs, strict=True)
        return stats.relative_difference(own, first)

    @property
    def paired(self) -> bool:
        """Whether each scheme and the first one saw the same traffic on every seed that both have."""
        return all(
            one.traffic_hash == two.traffic_hash
            for cell in range(len(self.repeats))
            for baseline in [self.study.baseline(cell)]
            if baseline is not None
            for one, two in zip(self.repeats[cell], self.repeats[baseline], strict=False)
            if one.traffic_hash and two.traffic_hash
        )

    def beside(self, cell: int) -> list[Beside]:
        """Facts that the values of a cell do not show, by run that ended."""
        return [one.beside for one in self.repeats[cell] if one.beside is not None]

    def behind(self, cell: int, metric: int) -> Flows:
        """The flows of a metric of a cell, over its runs."""
        return sum((one.behind[metric] for one in self.beside(cell)), NO_FLOWS)

    def every_flow(self) -> Flows:
        """All flows of all runs."""
        return sum((one.every for number in range(len(self.repeats)) for one in self.beside(number)), NO_FLOWS)

    def overloaded(self, cell: int) -> bool:
        """Whether any run of a cell offered more than the worst cut carries."""
        return any(one.overloaded for one in self.beside(cell))

    def known(self, cell: int) -> bool | None:
        """Whether the first metric of a cell is known as precisely as requested; None if nothing was requested."""
        stop = self.study.stop
        return None if stop is None else stop.met(values(self.repeats[cell], 0))

    @property
    def failed(self) -> list[tuple[Cell, Repeat]]:
        """The runs that failed."""
        return [
            (cell, one) for cell, ones in zip(self.study.cells, self.repeats, strict=True) for one in ones if one.error
        ]

    @property
    def left(self) -> int:
        """The number of runs for which there was no time."""
        return sum(one.left for ones in self.repeats for one in ones)


NO_DIFFERENCE = stats.Interval(math.nan, math.nan, 0)
"""Stands for a difference where there is nothing to compare with."""


def values(repeats: list[Repeat], metric: int) -> list[float]:
    """A metric over repeats; NaN for one that failed or was left."""
    return [math.nan if one.values is None else one.values[metric] for one in repeats]


@dataclass(frozen=True)
class Estimate:
    """The size of a study, before it starts.

    Attributes:
        points: the points of the grid.
        runs: all of them; where seeds are added as they are needed, the least.
        stored: those that need not be made.
        seconds: the duration of the others, one after the other; None if unknown.
    """

    points: int
    runs: int
    stored: int
    seconds: float | None


def estimate(study: Study, ledger: Ledger, *, retry_failed: bool = False) -> Estimate:
    """Estimate the number of runs and their duration: by stored repeats, else by the first moments of a few.

    Runs that have failed are not made again unless with `retry_failed`.
    """
    tasks, known = first_tasks(study), Known()
    keys = {job.key for job in jobs_of(tasks, BASICS) if not known.of(job, ledger, again=retry_failed)}
    lacking = [task for task in tasks if task.key in keys]
    took = ledger.seconds({task.cell for task in lacking})
    try:
        mean = sampled_seconds(list({task.cell: task.spec for task in lacking if task.cell not in took}.values()))
    except SchemeError:
        # One of the few fails at once: the sweep will report it, and make the others.
        return Estimate(len(study.cells), len(tasks), len(tasks) - len(lacking), None)
    seconds = sum(took.get(task.cell, mean) for task in lacking)
    return Estimate(len(study.cells), len(tasks), len(tasks) - len(lacking), seconds)


def first_tasks(study: Study) -> list[Task]:
    """The runs of the initial seeds."""
    return [study.task(cell, number) for cell in study.cells for number in range(len(study.seeds))]


@dataclass
class Conductor:
    """Makes the runs of a study, round by round.

    Attributes:
        study, ledger, engine, monitor: the study, its store, what makes the runs, what shows progress.
        retry_failed: whether runs that failed before are made again.
        deadline: no run starts that would end after it; see `sweep`.
        known: the results of the runs that ended, by key, so that each is read once.
        made: the number of runs made.
    """

    study: Study
    ledger: Ledger
    engine: Engine
    monitor: Monitor | None = None
    retry_failed: bool = False
    deadline: float | None = None
    known: dict[str, Repeat] = field(default_factory=dict)
    made: int = 0

    def conduct(self) -> Conducted:
        """Make every missing run, and add seeds until there are enough."""
        # A sweep that is stopped has also reported that.
        self.note_outdated({task.key for task in first_tasks(self.study)})
        counts = [len(self.study.seeds)] * len(self.study.cells)
        everything = self.round([(cell, number) for cell, count in enumerate(counts) for number in range(count)], {})
        while True:
            more = self.more(everything)
            if not more or any(one.left for one in everything.values()):
                break
            everything = self.round(more, everything)
        repeats = [
            [everything[cell, number] for number in range(count_of(everything, cell))] for cell in range(len(counts))
        ]
        gone = self.note_outdated({one.key for ones in repeats for one in ones})
        others = self.ledger.of_other_engines({cell_hash(cell.spec) for cell in self.study.cells})
        return Conducted(self.study, repeats, self.made, others, gone)

    def note_outdated(self, keys: set[str]) -> int:
        """Record in the store the places that the study no longer has; return their number. `keys` has all its runs."""
        cells = {cell_hash(cell.spec) for cell in self.study.cells}
        return outdated.note(self.ledger, self.study.name, keys, cells)

    def more(self, everything: dict[tuple[int, int], Repeat]) -> list[tuple[int, int]]:
        """The further repeats required by the values of the first metric so far."""
        stop = self.study.stop
        if stop is None:
            return []
        found = []
        for cell in range(len(self.study.cells)):
            count = count_of(everything, cell)
            so_far = values([everything[cell, number] for number in range(count)], 0)
            found += [(cell, number) for number in range(count, stop.wanted(so_far))]
        return found

    def round(
        self, wanted: list[tuple[int, int]], before: dict[tuple[int, int], Repeat]
    ) -> dict[tuple[int, int], Repeat]:
        """Make some repeats, and return those before and these."""
        tasks = [self.study.task(self.study.cells[cell], number) for cell, number in wanted]
        swept = sweep(
            tasks,
            self.ledger,
            engine=self.engine,
            monitor=self.monitor,
            retry_failed=self.retry_failed,
            deadline=self.deadline,
        )
        self.made += len(swept.made)
        left = frozenset(swept.left)
        return before | {place: self.repeat(task, swept, left) for place, task in zip(wanted, tasks, strict=True)}

    def repeat(self, task: Task, swept: Swept, left: frozenset[str]) -> Repeat:
        """The outcome of a run; `left` are those for which there was no time."""
        seed, key = int(task.spec["seed"]), task.key
        if failure := swept.failure(task):
            return Repeat(seed, key, error=failure.text)
        if key in left:
            return Repeat(seed, key)
        if key not in self.known:
            headline, measured = swept.headline(task), swept.value(task, MEASURE)
            self.known[key] = Repeat.ended(seed, key, headline, measured, self.study.metrics)
        return self.known[key]


def count_of(everything: dict[tuple[int, int], Repeat], cell: int) -> int:
    """The number of repeats of a cell."""
    count = 0
    while (cell, count) in everything:
        count += 1
    return count
