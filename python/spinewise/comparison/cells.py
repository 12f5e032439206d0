"""All runs of a comparison, and what follows from them.

Intervals are 95 % Student-t over seeds; differences are taken seed by seed against the first scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from spinewise.measures import stats
from spinewise.measures.summary import ClassSummary, Summary
from spinewise.specs.spec import Spec
from spinewise.specs.variants import Variant

# What `compare` shows of every size class, as attribute paths of ClassSummary.
METRICS = {
    "mean FCT": "fct_s.mean",
    "p99 FCT": "fct_s.p99",
    "mean slowdown": "slowdown.mean",
    "p99 slowdown": "slowdown.p99",
}


@dataclass(frozen=True)
class Cell:
    """One run of a comparison.

    Attributes:
        label: the variant's label.
        load: the load it was given, or None when the spec's own was kept.
        seed: the seed of traffic and hashing.
        summary: what the run came to.
        outcome_hash: the engine's hash of everything that happened.
        traffic_hash: the engine's hash of the offered traffic.
        wall_seconds: how long it took.
        packet_hops: how many packets crossed how many links.
    """

    label: str
    load: float | None
    seed: int
    summary: Summary
    outcome_hash: str
    traffic_hash: str
    wall_seconds: float
    packet_hops: int

    def value(self, size_class: str, metric: str) -> float:
        """A metric such as ``fct_s.p99`` of one size class."""
        return attribute(self.summary.of(size_class), metric)


@dataclass(frozen=True)
class Skipped:
    """A variant that takes no part, for its scheme cannot serve the fabric.

    Attributes:
        label: the variant's label.
        reason: what the scheme would need, or what it cannot do here.
    """

    label: str
    reason: str


def attribute(summary: ClassSummary, path: str) -> float:
    """The number at an attribute path."""
    found: Any = summary
    for name in path.split("."):
        found = getattr(found, name)
    return float(found)


@dataclass(frozen=True)
class Comparison:
    """All runs of a comparison, and what follows from them.

    Attributes:
        spec: of the first run, resolved.
        variants: those that take part; the first that takes part is the baseline.
        loads: offered loads, or None for the spec's own.
        seeds: seeds of each variant and load.
        cells: one per run.
        skipped: variants that cannot serve the fabric, and why.
    """

    spec: Spec
    variants: list[Variant]
    loads: list[float | None]
    seeds: list[int]
    cells: list[Cell]
    skipped: list[Skipped] = field(default_factory=list)

    @cached_property
    def _by_key(self) -> dict[tuple[str, float | None, int], Cell]:
        return {(cell.label, cell.load, cell.seed): cell for cell in self.cells}

    @property
    def labels(self) -> list[str]:
        """The variants' labels; the first is the baseline."""
        return [variant.label for variant in self.variants]

    @property
    def size_classes(self) -> list[str]:
        """Names of the size classes, "all" last."""
        return [found.name for found in self.cells[0].summary.classes]

    def at(self, label: str, load: float | None) -> list[Cell]:
        """The cells of one scheme at one load, in order of seeds."""
        return [self._by_key[label, load, seed] for seed in self.seeds]

    def values(self, label: str, load: float | None, size_class: str, metric: str) -> list[float]:
        """One metric over seeds."""
        return [cell.value(size_class, metric) for cell in self.at(label, load)]

    def interval(self, label: str, load: float | None, size_class: str, metric: str) -> stats.Interval:
        """Mean over seeds with its 95 % interval."""
        return stats.t_interval(self.values(label, load, size_class, metric))

    def difference(self, label: str, load: float | None, size_class: str, metric: str) -> stats.Interval:
        """Paired difference to the first scheme, as a fraction of the first scheme's mean."""
        baseline = self.values(self.labels[0], load, size_class, metric)
        return stats.relative_difference(self.values(label, load, size_class, metric), baseline)

    def unfinished(self, label: str, load: float | None, size_class: str = "all") -> int:
        """Flows without an end, over all seeds."""
        return sum(cell.summary.of(size_class).unfinished for cell in self.at(label, load))

    def flows(self, load: float | None, size_class: str = "all") -> int:
        """Flows of one scheme at this load, over all seeds."""
        return sum(cell.summary.of(size_class).flows for cell in self.at(self.labels[0], load))

    def overloaded(self, load: float | None) -> bool:
        """Whether any run at this load offered more than the worst cut carries."""
        return any(cell.summary.overloaded for cell in self.cells if cell.load == load)

    @property
    def paired(self) -> bool:
        """Whether all schemes saw the same traffic at every load and seed."""
        seen: dict[tuple[float | None, int], set[str]] = {}
        for cell in self.cells:
            seen.setdefault((cell.load, cell.seed), set()).add(cell.traffic_hash)
        return all(len(hashes) == 1 for hashes in seen.values())

    def rows(self) -> list[dict[str, Any]]:
        """The comparison as one record per load, scheme, size class and metric."""
        return [
            self.row(load, label, size_class, metric)
            for load in self.loads
            for label in self.labels
            for size_class in self.size_classes
            for metric in METRICS.values()
        ]

    def row(self, load: float | None, label: str, size_class: str, metric: str) -> dict[str, Any]:
        """One record: mean, interval and paired difference."""
        own = self.interval(label, load, size_class, metric)
        against = self.difference(label, load, size_class, metric)
        return {
            "load": load,
            "scheme": label,
            "size_class": size_class,
            "metric": metric,
            "mean": own.mean,
            "ci95_half": own.half,
            "seeds": own.n,
            "vs_first": against.mean,
            "vs_first_ci95_half": against.half,
            "unfinished": self.unfinished(label, load, size_class),
            "overloaded": self.overloaded(load),
        }
