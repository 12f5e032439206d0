"""Comparing schemes: every scheme sees the same traffic at every load and seed.

Intervals are 95 % Student-t over seeds; differences are taken seed by seed against the first scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from spinewise import stats
from spinewise.errors import SpecError
from spinewise.jobs import Case, Monitor, resolved_case, run_all
from spinewise.result import Result
from spinewise.spec import Spec, as_spec
from spinewise.summary import ClassSummary, Summary
from spinewise.variants import Variant, parse_list

DEFAULT_SEEDS = 3
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

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write tables and figures into a new folder; see `spinewise.comparison_files`."""
        from spinewise.comparison_files import write  # noqa: PLC0415 - imports matplotlib

        return write(self, folder, force=force)


def compare(
    spec: Mapping[str, Any] | str | Path,
    schemes: str | Iterable[str] | None = None,
    *,
    loads: Sequence[float] | None = None,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> Comparison:
    """Run every scheme at every load and seed, on the same traffic, and compare them.

    What is not given is taken from the spec's [compare] table (schemes, loads, seeds). Schemes that cannot serve the
    fabric are left out, and named with the reason in the result.

    Args:
        spec: a dict or a TOML file.
        schemes: variants as in ``--schemes`` (see `spinewise.variants`); the first is the baseline.
        loads: set on every traffic entry that has a load; None keeps the spec's own.
        seeds: how many, counted up from the spec's seed, or which ones.
        jobs: runs at once; one per core when None.
        monitor: told about progress.
    """
    plain = as_spec(spec)
    plan = Plan.of(plain, schemes, loads, seeds)
    file = None if isinstance(spec, Mapping) else str(spec)
    try:
        plan, skipped = plan.served()
        cases = plan.cases()
    except SpecError as error:
        raise error.with_file(file) from None
    cells = run_all(cases, measure, jobs=jobs, monitor=monitor)
    return plan.comparison(cases, cells, skipped)


Key = tuple[str, float | None, int]


def measure(case: Case[Key], result: Result) -> Cell:
    """What a comparison keeps of a run."""
    label, load, seed = case.key
    report = result.report
    return Cell(
        label=label,
        load=load,
        seed=seed,
        summary=result.summary(),
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
        wall_seconds=float(report["wall_seconds"]),
        packet_hops=int(report["packet_hops"]),
    )


@dataclass(frozen=True)
class Plan:
    """Which runs a comparison consists of."""

    spec: Spec
    variants: list[Variant]
    loads: list[float | None]
    seeds: list[int]

    @classmethod
    def of(
        cls,
        spec: Spec,
        schemes: str | Iterable[str] | None,
        loads: Sequence[float] | None,
        seeds: int | Sequence[int] | None,
    ) -> Plan:
        """From the caller's wishes, with the spec's [compare] table behind them."""
        table = spec.pop("compare", {})
        check_compare_table(table)
        schemes = schemes if schemes is not None else table.get("schemes")
        if schemes is None:
            raise SpecError("--schemes", "(nothing)", "two or more schemes, such as ecmp,rps,pdlb")
        loads = loads if loads is not None else table.get("loads")
        return cls(
            spec,
            parse_list(schemes),
            [check_load(load) for load in loads] if loads else [None],
            seed_list(seeds if seeds is not None else table.get("seeds"), spec),
        )

    def served(self) -> tuple[Plan, list[Skipped]]:
        """The plan without the variants whose scheme cannot serve the fabric, and those.

        Raises:
            SpecError: none is left, or something else is wrong.
        """
        served: list[Variant] = []
        skipped: list[Skipped] = []
        for variant in self.variants:
            try:
                self.case(variant, self.loads[0], self.seeds[0])
                served.append(variant)
            except SpecError as error:
                if not error.unserved or len(skipped) + 1 == len(self.variants):
                    raise
                skipped.append(Skipped(variant.label, f"{error.hint}; {error.key}: {error.allowed}"))
        return Plan(self.spec, served, self.loads, self.seeds), skipped

    def cases(self) -> list[Case[Key]]:
        """Every run, resolved and checked before the first one starts."""
        return [
            self.case(variant, load, seed) for load in self.loads for seed in self.seeds for variant in self.variants
        ]

    def case(self, variant: Variant, load: float | None, seed: int) -> Case[Key]:
        """One run, resolved and checked."""
        what = f"scheme {variant.label}" + ("" if load is None else f" at load {load:g}")
        return resolved_case((variant.label, load, seed), with_load(variant.apply(self.spec), load), seed, what)

    def comparison(self, cases: list[Case[Key]], cells: list[Cell], skipped: list[Skipped]) -> Comparison:
        """The comparison that its runs have come to."""
        return Comparison(cases[0].spec, self.variants, self.loads, self.seeds, cells, skipped)


def check_compare_table(table: Any) -> None:
    """Refuse unknown keys and wrong types in [compare]."""
    if not isinstance(table, dict):
        raise SpecError("compare", table, "a table with schemes, loads, seeds")
    for key, value in table.items():
        if key not in ("schemes", "loads", "seeds"):
            raise SpecError(f"compare.{key}", value, "schemes, loads or seeds")
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (isinstance(value, list) or (key == "seeds" and whole)):
            raise SpecError(f"compare.{key}", value, "a list" + " or a number" * (key == "seeds"))


def check_load(load: Any) -> float:
    """A load as a number above zero."""
    if isinstance(load, bool) or not isinstance(load, int | float) or not 0 < load < math.inf:
        raise SpecError("--loads", load, "numbers above 0, such as 0.3,0.5,0.8")
    return float(load)


def seed_list(seeds: Any, spec: Spec) -> list[int]:
    """Explicit seeds, or a number of them counted up from the spec's seed."""
    allowed = "a number of seeds from 1 to 10000, or a list of different seeds"
    if seeds is None:
        seeds = DEFAULT_SEEDS
    if isinstance(seeds, int) and not isinstance(seeds, bool) and 1 <= seeds <= 10_000:
        first = spec.get("seed", 1)
        return [first + i for i in range(seeds)] if isinstance(first, int) else [first]
    if isinstance(seeds, Sequence) and seeds and not isinstance(seeds, str):
        chosen = list(seeds)
        if all(isinstance(seed, int) for seed in chosen) and len(set(chosen)) == len(chosen):
            return chosen
    raise SpecError("--seeds", seeds, allowed)


def with_load(spec: Spec, load: float | None) -> Spec:
    """`spec` with this load in every traffic entry that has one."""
    if load is None:
        return spec
    changed = deepcopy(spec)
    entries = [entry for entry in changed.get("traffic") or [] if "load" in entry]
    if not entries:
        raise SpecError(
            "--loads",
            f"{load:g}",
            "a spec whose traffic has a load",
            "no [[traffic]] entry has one",
        )
    for entry in entries:
        entry["load"] = load
    return changed
