"""Comparing schemes: every scheme sees the same traffic at every load and seed."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from spinewise.comparison.cells import Cell, Comparison, Skipped
from spinewise.comparison.loads import too_much
from spinewise.comparison.measured import MEASURE
from spinewise.errors import SpecError
from spinewise.measures.entries import entries_of
from spinewise.own.scheme import Scheme
from spinewise.plain import as_number, as_whole, shown
from spinewise.runs.jobs import Case, Monitor, check_monitor, resolved_case
from spinewise.shapes import Spec
from spinewise.specs.beside import check_compare_table
from spinewise.specs.lines import located
from spinewise.specs.spec import as_spec, file_of
from spinewise.specs.variants import Variant, parse_list, with_one_ideal
from spinewise.sweeps.engine import Engine
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import Ledger, opened
from spinewise.sweeps.sweep import Swept, sweep
from spinewise.sweeps.task import Task

DEFAULT_SEEDS = 3
LOADS = "numbers above 0, such as 0.3,0.5,0.8"
RUNS = "runs"
"""The folder for the results of single runs, below that of a comparison."""


def compare(
    spec: Mapping[str, object] | str | Path,
    schemes: str | Iterable[str | type[Scheme]] | None = None,
    *,
    loads: Sequence[float] | None = None,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    monitor: Monitor | None = None,
    store: str | Path | None = None,
) -> Comparison:
    """Run every scheme at every load and seed, on the same traffic, and compare them.

    Missing arguments are taken from the spec's [compare] table (schemes, loads, seeds). Schemes that cannot serve the
    fabric are left out, and named with the reason in the result.

    Args:
        spec: a dict or a TOML file.
        schemes: variants as in ``--schemes`` (see `spinewise.specs.variants`), and classes of schemes written in
            Python; the first is the baseline.
        loads: set on every traffic entry that has a load; None keeps the spec's own. A variant that sets one wins.
        seeds: the number of seeds, counted up from the spec's seed, or a list of seeds.
        jobs: runs at once; one per core when None.
        monitor: notified of progress.
        store: a folder that keeps every run as it ends; runs that it has are not made again. See `spinewise.sweeps`.
    """
    check_monitor(monitor)
    plain = as_spec(spec)
    plan = Plan.of(plain, schemes, loads, seeds)
    try:
        plan, skipped = plan.served()
        cases = plan.cases()
    except SpecError as error:
        raise located(error, file_of(spec)) from None
    with opened(store) as ledger:
        cells = run(cases, ledger, Local(jobs), monitor=monitor)
    return plan.comparison(cases, cells, skipped)


Key = tuple[str, float | None, int]


@runtime_checkable
class Warned(Monitor, Protocol):
    """A monitor that also shows warnings, which come before the first run."""

    def warned(self, line: str) -> None:
        """Receive a warning."""


def run(
    cases: Sequence[Case[Key]],
    ledger: Ledger,
    engine: Engine,
    *,
    monitor: Monitor | None = None,
    folder: Path | None = None,
) -> list[Cell]:
    """Make the runs that the ledger lacks, and return the cell of each case, in their order.

    With `folder`, every run is made, and its results are written into a folder of its own below it.
    """
    tasks = [
        Task(
            case.spec,
            (MEASURE,),
            study=f"compare {case.spec.get('name', '')}".strip(),
            label=dict(zip(("scheme", "load", "seed"), case.key, strict=True)),
            folder=None if folder is None else folder / RUNS / run_name(case.key),
        )
        for case in cases
    ]
    if isinstance(monitor, Warned) and cases:
        for line in too_much(cases[0].spec, dict.fromkeys(case.key[1] for case in cases)):
            monitor.warned(line)
    swept = sweep(tasks, ledger, engine=engine, monitor=monitor, strict=True)
    return [cell(case.key, task, swept) for case, task in zip(cases, tasks, strict=True)]


def cell(key: Key, task: Task, swept: Swept) -> Cell:
    """Build the cell of a run."""
    label, load, seed = key
    measured, headline = swept.value(task, MEASURE), swept.headline(task)
    return Cell(
        label=label,
        load=load,
        seed=seed,
        summary=measured.summary,
        curves=measured.curves,
        outcome_hash=headline.outcome_hash,
        traffic_hash=headline.traffic_hash,
        wall_seconds=headline.wall_seconds,
        packet_hops=headline.packet_hops,
        jobs=measured.jobs,
        min_rto_s=measured.min_rto_s,
        transport=measured.transport,
        ended_s=measured.ended_s,
        folder=None if task.folder is None else f"{RUNS}/{run_name(key)}",
    )


def run_name(key: Key) -> str:
    """A name for the folder of a run that is valid everywhere, and unique."""
    label, load, seed = key
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip(".-")[:40] or "scheme"
    # The replaced or cut part may have been the only difference between two labels.
    mark = "" if words == label else f"-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    at = "" if load is None else f"-load{load!r}"
    return f"{words}{mark}{at}-seed{seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a comparison."""

    spec: Spec
    variants: list[Variant]
    loads: list[float | None]
    seeds: list[int]

    @classmethod
    def of(
        cls,
        spec: Spec,
        schemes: str | Iterable[str | type[Scheme]] | None,
        loads: Sequence[float] | None,
        seeds: int | Sequence[int] | None,
        own: Sequence[type[Scheme]] = (),
    ) -> Plan:
        """Build a plan from the caller's arguments, with defaults from the spec's [compare] table.

        `own` are schemes written in Python that `schemes` may name; those it does not name come last.
        """
        table = spec.pop("compare", {})
        check_compare_table(table)
        schemes = schemes if schemes is not None else table.get("schemes")
        if schemes is None:
            raise SpecError("--schemes", "(nothing)", "two or more schemes, such as ecmp,rps,pdlb")
        loads = loads if loads is not None else table.get("loads")
        if (one := as_number(loads)) is not None:
            loads = [one]
        checked = [check_load(load) for load in listed([] if loads is None else loads, "--loads", LOADS)]
        if len(set(checked)) < len(checked):
            raise SpecError("--loads", ", ".join(f"{load:g}" for load in checked), "loads that differ")
        variants = parse_list(schemes, own)
        return cls(
            with_one_ideal(spec, variants),
            variants,
            [*checked] or [None],
            seed_list(seeds if seeds is not None else table.get("seeds"), spec),
        )

    def served(self) -> tuple[Plan, list[Skipped]]:
        """The plan without the variants whose scheme cannot serve the fabric, and these variants.

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
                skipped.append(Skipped(variant.label, error.why_left_out(named(variant, self.loads[0]))))
        return Plan(self.spec, served, self.loads, self.seeds), skipped

    def cases(self) -> list[Case[Key]]:
        """Every run, resolved and checked before the first one starts."""
        cases = [
            self.case(variant, load, seed) for load in self.loads for seed in self.seeds for variant in self.variants
        ]
        first = told_apart(cases[0].spec)
        for case in cases:
            if told_apart(case.spec) != first:
                allowed = f"variants whose traffic entries and size classes are those of {cases[0].key[0]}"
                raise SpecError("--schemes", case.key[0], allowed, "their flows could not be compared")
        return cases

    def case(self, variant: Variant, load: float | None, seed: int) -> Case[Key]:
        """One run, resolved and checked. A variant may override what is set for all, as in a study."""
        spec = variant.apply(with_load(self.spec, load))
        made = resolved_case((variant.label, load, seed), spec, seed, named(variant, load))
        return made if "facts" in self.spec.get("metrics", {}) else with_facts(made)

    def comparison(self, cases: list[Case[Key]], cells: list[Cell], skipped: list[Skipped]) -> Comparison:
        """The comparison from its runs."""
        return Comparison(cases[0].spec, self.variants, self.loads, self.seeds, cells, skipped, self.spec)


def with_facts(case: Case[Key]) -> Case[Key]:
    """The case with the facts that a comparison reports besides completion times: samples of links, reroutes.

    They change no outcome, and cost a little time.
    """
    metrics = case.spec.get("metrics", {})
    if "facts" not in metrics:
        return case
    return Case(case.key, case.spec | {"metrics": metrics | {"facts": True}})


def told_apart(spec: Spec) -> list[tuple[str, list[str]]]:
    """The groups of flows reported separately: names of traffic entries, and the size classes of each."""
    return [(entry.name, [str(one["name"]) for one in entry.size_classes]) for entry in entries_of(spec)]


def check_load(load: object) -> float:
    """A load as a number above zero."""
    number = as_number(load)
    if number is None or not 0 < number < math.inf:
        raise SpecError("--loads", shown(load), LOADS)
    return number


MOST_SEED = 2**64 - 1
COUNTED_UP = f"seeds count up from the spec's, and the greatest is {MOST_SEED}"


def seed_list(seeds: object, spec: Spec) -> list[int]:
    """Explicit seeds, or a number of them counted up from the spec's seed."""
    allowed = "a number of seeds from 1 to 10000, or a list of different seeds"
    if seeds is None:
        seeds = DEFAULT_SEEDS
    many = as_whole(seeds)
    if many is not None and 1 <= many <= 10_000:
        first: object = spec.get("seed", 1)
        if not isinstance(first, int):
            return [first]  # type: ignore[list-item]
        if first <= MOST_SEED < first + many - 1:
            raise SpecError("--seeds", many, f"at most {MOST_SEED - first + 1} from seed {first} on", COUNTED_UP)
        return [first + i for i in range(many)]
    chosen = listed(seeds, "--seeds", allowed) if many is None else []
    found = [number for number in map(as_whole, chosen) if number is not None]
    if found and len(set(found)) == len(chosen):
        return found
    raise SpecError("--seeds", shown(seeds), allowed)


def listed(values: object, key: str, allowed: str) -> list[object]:
    """The items of any iterable except text."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise SpecError(key, shown(values), allowed)
    return list(values)


def with_load(spec: Spec, load: float | None) -> Spec:
    """`spec` with this load in every traffic entry that has one."""
    if load is None:
        return spec
    changed = deepcopy(spec)
    traffic = changed.get("traffic")
    entries = [one for one in traffic if isinstance(one, dict) and "load" in one] if isinstance(traffic, list) else []
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


def named(variant: Variant, load: float | None) -> str:
    """The name of a case in errors."""
    return f"scheme {variant.label}" + ("" if load is None else f" at load {load:g}")
