"""All runs of a comparison, and what follows from them.

Intervals are 95 % Student-t over seeds; differences are taken seed by seed against the first scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property, partial

from spinewise.comparison import loads
from spinewise.measures import html, stats, units
from spinewise.measures.collectives import Job
from spinewise.measures.curves import Curves
from spinewise.measures.distribution import NotKeptError
from spinewise.measures.entries import By
from spinewise.measures.facts import Facts, mean_facts
from spinewise.measures.summary import ALL, ClassSummary, EntrySummary, Summary
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant

# The values that `compare` keeps of every size class, as paths below ClassSummary; any percentile is possible.
METRICS = {
    "mean FCT": "fct_s.mean",
    "p99 FCT": "fct_s.p99",
    "mean slowdown": "slowdown.mean",
    "p99 slowdown": "slowdown.p99",
}


JOB_NUMBERS = tuple(one.name for one in fields(Job) if one.type in ("float", "int"))
"""The numbers of the rounds of a traffic entry that can be queried."""


@dataclass(frozen=True)
class Cell:
    """One run of a comparison.

    Attributes:
        label: the variant's label.
        load: the given load, or None if the spec's own was kept.
        seed: the seed of traffic and hashing.
        summary: the summary of the run.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
        wall_seconds: its wall time.
        packet_hops: packets times links crossed.
        curves: distributions of completion times by traffic entry; "all" is all traffic.
        folder: the folder of its results, below that of the comparison; None if they are not kept.
        jobs: the results of each traffic entry with rounds (collective operations, requests, incasts).
        min_rto_s: the minimum retransmission timeout of its transport; None if it has none.
        transport: the kind of its transport; empty if it was not kept.
        ended_s: when all operations of each traffic entry of kind "dag" had ended, from the start of the run; NaN
            if some had not.
    """

    label: str
    load: float | None
    seed: int
    summary: Summary
    outcome_hash: str
    traffic_hash: str
    wall_seconds: float
    packet_hops: int
    curves: dict[str, Curves] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    min_rto_s: float | None = None
    transport: str = ""
    ended_s: dict[str, float] = field(default_factory=dict)
    folder: str | None = None

    def __repr__(self) -> str:
        at = "" if self.load is None else f" at load {self.load:g}"
        return f"<Cell: {self.label}{at}, seed {self.seed}: {self.summary!r}>"

    def value(self, size_class: str, metric: str, entry: str | None = None) -> float:
        """A metric such as ``fct_s.p99`` of one size class: of one traffic entry, or of all traffic."""
        return attribute(self.summary.of(size_class, entry), metric)


@dataclass(frozen=True)
class Skipped:
    """A variant that does not take part, because its scheme cannot serve the fabric.

    Attributes:
        label: the variant's label.
        reason: what the scheme needs, or cannot do here.
    """

    label: str
    reason: str


def attribute(summary: ClassSummary, path: str) -> float:
    """The number at a path such as ``fct_s.p99``, ``slowdown.p98`` or ``unfinished``.

    Raises:
        KeyError: there is no such number, or the file of the summary does not have it.
    """
    quantity, dot, name = path.partition(".")
    try:
        found = getattr(summary, quantity)
        return float(found.get(name) if dot else found)
    except NotKeptError as error:
        raise KeyError(f"no {path!r} here: {error}") from None
    except (AttributeError, TypeError, ValueError):
        known = "fct_s or slowdown, a dot, and mean or a percentile (fct_s.p98); flows; unfinished"
        raise KeyError(f"no metric {path!r}; there are {known}") from None


def beside_first(own: stats.Interval, against: stats.Interval) -> dict[str, float]:
    """A mean with its interval, and the difference from the first scheme, as in records."""
    return {
        "mean": own.mean,
        "ci95_half": own.half,
        "seeds": own.n,
        "vs_first": against.mean,
        "vs_first_ci95_half": against.half,
    }


def job_value(entry: str, metric: str) -> Callable[[Cell], float]:
    """A function that finds a number of the rounds of a traffic entry in a run; see `job_number`."""
    return partial(job_number, entry, metric)


def job_number(entry: str, metric: str, cell: Cell) -> float:
    """A number of the rounds of a traffic entry in a run.

    Raises:
        KeyError: the entry has no rounds, or there is no such number.
    """
    if entry not in cell.jobs:
        raise KeyError(f"traffic {entry!r} has no rounds; these have some: {', '.join(cell.jobs) or 'none'}")
    if metric not in JOB_NUMBERS:
        raise KeyError(f"no number {metric!r} of rounds; there are {', '.join(JOB_NUMBERS)}")
    return float(getattr(cell.jobs[entry], metric))


def ended_value(entry: str) -> Callable[[Cell], float]:
    """A function that finds when all operations of an entry of kind "dag" had ended in a run, in seconds."""
    return partial(ended, entry)


def ended(entry: str, cell: Cell) -> float:
    """When all operations of a traffic entry of kind "dag" had ended in a run, in seconds."""
    return cell.ended_s[entry]


@dataclass(frozen=True)
class Comparison:
    """All runs of a comparison, and what follows from them.

    Attributes:
        spec: the resolved spec of the first run.
        variants: the variants that take part; the first is the baseline.
        loads: offered loads, or None for the spec's own.
        seeds: seeds of each variant and load.
        cells: one per run.
        skipped: variants that cannot serve the fabric, and why.
        given: the spec from which all variants are made; None if it was not kept.
    """

    spec: Spec
    variants: list[Variant]
    loads: list[float | None]
    seeds: list[int]
    cells: list[Cell]
    skipped: list[Skipped] = field(default_factory=list)
    given: Spec | None = None

    @cached_property
    def _by_key(self) -> dict[tuple[str, float | None, int], Cell]:
        return {(cell.label, cell.load, cell.seed): cell for cell in self.cells}

    @property
    def labels(self) -> list[str]:
        """The variants' labels; the first is the baseline."""
        return [variant.label for variant in self.variants]

    @property
    def size_classes(self) -> list[str]:
        """Names of the size classes of all traffic, "all" last."""
        return [found.name for found in self.cells[0].summary.classes]

    @property
    def entries(self) -> list[str]:
        """Names of the traffic entries whose flows complete, in order; constant-rate UDP is not one."""
        return [found.name for found in self.cells[0].summary.asked]

    @property
    def mixed(self) -> bool:
        """Whether the classes of all traffic mix the flows of several entries."""
        return self.cells[0].summary.mixed

    def scopes(self, by: By = "auto") -> list[str | None]:
        """The groups of flows to report, in order: names of traffic entries; None means all traffic."""
        if not self.entries or by == "class" or (by == "auto" and not self.mixed):
            return [None]
        return [*self.entries, *([None] if by == "both" else [])]

    def classes_of(self, entry: str | None = None) -> list[str]:
        """Size classes that have flows, "all" last; only "all" if no more than one has."""
        summaries = [cell.summary for cell in self.cells]
        found = summaries[0].classes if entry is None else summaries[0].entry(entry).classes
        full = [one.name for one in found if any(each.of(one.name, entry).flows for each in summaries)]
        parts = [name for name in full if name != ALL]
        return [*parts, ALL] if len(parts) > 1 else [ALL]

    def at(self, label: str, load: float | None) -> list[Cell]:
        """The cells of one scheme at one load, in order of seeds.

        Raises:
            KeyError: there is no such scheme or load.
        """
        if label not in self.labels:
            raise KeyError(f"no scheme {label!r}; there are {', '.join(self.labels)}")
        if load not in self.loads:
            there = ", ".join("None (as given in the spec)" if one is None else f"{one:g}" for one in self.loads)
            raise KeyError(f"no load {load!r}; there are {there}")
        return [self._by_key[label, load, seed] for seed in self.seeds]

    def over(self, label: str, load: float | None, value: Callable[[Cell], float]) -> stats.Interval:
        """The mean over seeds of `value` in each run, with its 95 % interval."""
        return stats.t_interval([value(cell) for cell in self.at(label, load)])

    def against(
        self, label: str, load: float | None, value: Callable[[Cell], float], other: str | None = None
    ) -> stats.Interval:
        """The paired difference of `value` from the first scheme or `other`, as a fraction of that one's mean."""
        baseline = [value(cell) for cell in self.at(other or self.labels[0], load)]
        return stats.relative_difference([value(cell) for cell in self.at(label, load)], baseline)

    def values(
        self, label: str, load: float | None, size_class: str, metric: str, entry: str | None = None
    ) -> list[float]:
        """One metric over seeds."""
        return [cell.value(size_class, metric, entry) for cell in self.at(label, load)]

    def interval(
        self, label: str, load: float | None, size_class: str, metric: str, entry: str | None = None
    ) -> stats.Interval:
        """Mean over seeds with its 95 % interval: of one traffic entry, or of all traffic."""
        return self.over(label, load, lambda cell: cell.value(size_class, metric, entry))

    def difference(
        self, label: str, load: float | None, size_class: str, metric: str, entry: str | None = None
    ) -> stats.Interval:
        """The paired difference from the first scheme, as a fraction of the first scheme's mean."""
        return self.against(label, load, lambda cell: cell.value(size_class, metric, entry))

    def unfinished(self, label: str, load: float | None, size_class: str = ALL, entry: str | None = None) -> int:
        """Flows without an end, over all seeds."""
        return sum(cell.summary.of(size_class, entry).unfinished for cell in self.at(label, load))

    def flows(self, load: float | None, size_class: str = ALL, entry: str | None = None) -> int:
        """Flows of one scheme at this load, over all seeds."""
        return sum(cell.summary.of(size_class, entry).flows for cell in self.at(self.labels[0], load))

    def job(self, label: str, load: float | None, entry: str, metric: str) -> stats.Interval:
        """A number of the rounds of a traffic entry, such as ``mean_s`` or ``busbw_gbyte_per_s``, over seeds.

        Raises:
            KeyError: the entry has no rounds, or they have no such number.
        """
        return self.over(label, load, job_value(entry, metric))

    def job_difference(self, label: str, load: float | None, entry: str, metric: str) -> stats.Interval:
        """The paired difference of it from the first scheme, as a fraction of that one's mean."""
        return self.against(label, load, job_value(entry, metric))

    @property
    def with_jobs(self) -> list[str]:
        """Names of the traffic entries that have rounds, in order."""
        return [entry for entry in self.entries if all(entry in cell.jobs for cell in self.cells)]

    @property
    def with_operations(self) -> list[str]:
        """Names of the traffic entries of kind "dag", in order."""
        return [entry for entry in self.entries if all(entry in cell.ended_s for cell in self.cells)]

    def facts(self, label: str, load: float | None = None) -> Facts:
        """The facts under a scheme besides completion times: means over seeds, and the most frequent names."""
        return mean_facts([cell.summary.facts for cell in self.at(label, load)])

    def fact(self, label: str, load: float | None, name: str) -> stats.Interval:
        """One number of `facts`, such as ``timeouts`` or ``hottest.max_use``, with its 95 % interval over seeds."""
        return self.over(label, load, lambda cell: cell.summary.facts.get(name))

    def overloaded(self, load: float | None) -> bool:
        """Whether any run at this load offered more than the worst cut carries."""
        return any(cell.summary.overloaded for cell in self.cells if cell.load == load)

    @property
    def paired(self) -> bool:
        """Whether all schemes saw the same traffic at every load and seed."""
        return self.alike(lambda cell: (cell.load, cell.seed))

    @property
    def repeated(self) -> bool:
        """Whether every seed had the same traffic, as a list of flows is."""
        return len(self.seeds) > 1 and self.alike(lambda cell: cell.load)

    def alike(self, place: Callable[[Cell], Hashable]) -> bool:
        """Whether cells of one place have the same traffic."""
        seen: dict[Hashable, set[str]] = {}
        for cell in self.cells:
            seen.setdefault(place(cell), set()).add(cell.traffic_hash)
        return all(len(hashes) == 1 for hashes in seen.values())

    def rows(self) -> list[dict[str, object]]:
        """The comparison as one record per load, scheme, traffic entry, size class and metric.

        With several entries, all traffic together is one more, called "all".
        """
        return [
            self.row(load, label, size_class, metric, entry)
            for load in self.loads
            for label in self.labels
            for entry in self.scopes("both" if self.mixed else "entry")
            for size_class in self.names_of(entry)
            for metric in METRICS.values()
        ]

    def names_of(self, entry: str | None) -> list[str]:
        """Names of all size classes of an entry, or of all traffic."""
        return self.size_classes if entry is None else [one.name for one in self.entry(entry).classes]

    def entry(self, name: str) -> EntrySummary:
        """The traffic entry of this name in the first run.

        Raises:
            KeyError: there is no such entry.
        """
        return self.cells[0].summary.entry(name)

    def row(
        self, load: float | None, label: str, size_class: str, metric: str, entry: str | None = None
    ) -> dict[str, object]:
        """One record: mean, interval and paired difference."""
        own = self.interval(label, load, size_class, metric, entry)
        against = self.difference(label, load, size_class, metric, entry)
        return {
            "load": load,
            "scheme": label,
            "entry": ALL if entry is None else entry,
            "mixes_entries": entry is None and self.mixed,
            "size_class": size_class,
            "metric": metric,
            **beside_first(own, against),
            "unfinished": self.unfinished(label, load, size_class, entry),
            "overloaded": self.overloaded(load),
        }

    def __repr__(self) -> str:
        several = ", ".join(loads.words(self.spec, load) for load in self.loads)
        at = "the spec's load" if self.loads == [None] else f"loads {several}"
        of = f"; traffic {', '.join(self.entries)}" if self.mixed else ""
        seeds = f"{len(self.seeds)} seed{'s' * (len(self.seeds) != 1)}"
        return f"<Comparison of {', '.join(self.labels)} at {at}, {seeds}{of}>"

    def _repr_html_(self) -> str:
        """Mean and 99th percentile of completion times by load, scheme and traffic entry, for notebooks."""
        first, head_of_loads = self.labels[0], "load" if self.loads == [None] else loads.head(self.spec)
        scopes = self.scopes()
        heads = [
            f"{'' if entry is None else f'{entry} '}{name}" for entry in scopes for name in ("mean FCT", "p99 FCT")
        ]
        rows = [
            [
                loads.cell(self.spec, load),
                label,
                *(text for entry in scopes for metric in ("fct_s.mean", "fct_s.p99")
                  for text in self.html_cells(label, load, metric, entry)),
            ]
            for load in self.loads
            for label in self.labels
        ]  # fmt: skip
        return html.table(
            repr(self), [head_of_loads, "scheme", *(one for head in heads for one in (head, f"vs {first}"))], rows, 2
        )

    def html_cells(self, label: str, load: float | None, metric: str, entry: str | None) -> tuple[str, str]:
        """A mean with half its interval, and the difference from the first scheme."""
        own, against = (each(label, load, ALL, metric, entry) for each in (self.interval, self.difference))
        half = f" ±{units.duration(own.half, 2)}" if math.isfinite(own.half) else ""
        known = label != self.labels[0] and math.isfinite(against.mean)
        return units.duration(own.mean) + half, units.signed_percent(against.mean) if known else ""
