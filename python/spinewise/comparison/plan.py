"""Comparing schemes: every scheme sees the same traffic at every load and seed."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spinewise.comparison.cells import Cell, Comparison, Skipped
from spinewise.errors import SpecError
from spinewise.measures.collectives import Job
from spinewise.measures.curves import Curves
from spinewise.measures.entries import entries_of
from spinewise.measures.summary import ALL
from spinewise.own.scheme import Scheme
from spinewise.plain import as_number, as_whole, shown
from spinewise.runs.jobs import Case, Monitor, resolved_case, run_all
from spinewise.runs.result import Result
from spinewise.specs.beside import check_compare_table
from spinewise.specs.spec import Spec, as_spec
from spinewise.specs.variants import Variant, parse_list

DEFAULT_SEEDS = 3
LOADS = "numbers above 0, such as 0.3,0.5,0.8"
RUNS = "runs"
"""The folder for the results of single runs, below that of a comparison."""


def compare(
    spec: Mapping[str, Any] | str | Path,
    schemes: str | Iterable[str | type[Scheme]] | None = None,
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
        schemes: variants as in ``--schemes`` (see `spinewise.specs.variants`), and classes of schemes written in
            Python; the first is the baseline.
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
        curves=curves_of(result),
        outcome_hash=str(report["outcome_hash"]),
        traffic_hash=str(report["traffic_hash"]),
        wall_seconds=float(report["wall_seconds"]),
        packet_hops=int(report["packet_hops"]),
        jobs=jobs_of(result),
        min_rto_s=min_rto_s(case.spec),
    )


def jobs_of(result: Result) -> dict[str, Job]:
    """What the rounds of each traffic entry come to, without the steps of single ones."""
    return {
        job.name: replace(job, slowest=job.slowest and replace(job.slowest, steps=())) for job in result.rounds.jobs
    }


def measure_and_keep(case: Case[Key], result: Result, folder: Path) -> Cell:
    """What a comparison keeps of a run, and its results in a folder of their own below `folder`."""
    name = f"{RUNS}/{run_name(case.key)}"
    target = folder / name
    target.mkdir(parents=True)
    result.write_files(target)
    return replace(measure(case, result), folder=name)


def run_name(key: Key) -> str:
    """A name for the folder of a run that is safe everywhere, and no two runs share."""
    label, load, seed = key
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip(".-")[:40] or "scheme"
    # What was replaced or cut may have been all that told two labels apart.
    mark = "" if words == label else f"-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    at = "" if load is None else f"-load{load!r}"
    return f"{words}{mark}{at}-seed{seed}"


def curves_of(result: Result) -> dict[str, Curves]:
    """How the completion times of each traffic entry, and of all traffic, are spread."""
    entries = [entry.name for entry in entries_of(result.spec)]
    return {ALL: Curves.of(result.flows)} | {name: Curves.of(result.flows, n) for n, name in enumerate(entries)}


def min_rto_s(spec: Spec) -> float | None:
    """The least retransmission timeout of a resolved spec; None where it has none."""
    found = spec.get("transport", {}).get("min_rto_us")
    return float(found) / 1e6 if isinstance(found, int | float) and found > 0 else None


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
        schemes: str | Iterable[str | type[Scheme]] | None,
        loads: Sequence[float] | None,
        seeds: int | Sequence[int] | None,
        own: Sequence[type[Scheme]] = (),
    ) -> Plan:
        """From the caller's wishes, with the spec's [compare] table behind them.

        `own` are schemes written in Python that `schemes` may name; those it does not name come last.
        """
        table = spec.pop("compare", {})
        check_compare_table(table)
        schemes = schemes if schemes is not None else table.get("schemes")
        if schemes is None:
            raise SpecError("--schemes", "(nothing)", "two or more schemes, such as ecmp,rps,pdlb")
        loads = loads if loads is not None else table.get("loads")
        return cls(
            spec,
            parse_list(schemes, own),
            [check_load(load) for load in listed([] if loads is None else loads, "--loads", LOADS)] or [None],
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
        """One run, resolved and checked."""
        what = f"scheme {variant.label}" + ("" if load is None else f" at load {load:g}")
        made = resolved_case((variant.label, load, seed), with_load(variant.apply(self.spec), load), seed, what)
        return made if "facts" in self.spec.get("metrics", {}) else with_facts(made)

    def comparison(self, cases: list[Case[Key]], cells: list[Cell], skipped: list[Skipped]) -> Comparison:
        """The comparison that its runs have come to."""
        return Comparison(cases[0].spec, self.variants, self.loads, self.seeds, cells, skipped)


def with_facts(case: Case[Key]) -> Case[Key]:
    """The case with what a comparison tells of besides completion times: samples of links, reroutes.

    They change no outcome, and cost a little time.
    """
    metrics = case.spec.get("metrics", {})
    if "facts" not in metrics:
        return case
    return Case(case.key, case.spec | {"metrics": metrics | {"facts": True}})


def told_apart(spec: Spec) -> list[tuple[str, list[str]]]:
    """What flows are told apart by: names of traffic entries, and of the size classes of each."""
    return [(entry.name, [str(one["name"]) for one in entry.size_classes]) for entry in entries_of(spec)]


def check_load(load: Any) -> float:
    """A load as a number above zero."""
    number = as_number(load)
    if number is None or not 0 < number < math.inf:
        raise SpecError("--loads", shown(load), LOADS)
    return number


def seed_list(seeds: Any, spec: Spec) -> list[int]:
    """Explicit seeds, or a number of them counted up from the spec's seed."""
    allowed = "a number of seeds from 1 to 10000, or a list of different seeds"
    if seeds is None:
        seeds = DEFAULT_SEEDS
    many = as_whole(seeds)
    if many is not None and 1 <= many <= 10_000:
        first = spec.get("seed", 1)
        return [first + i for i in range(many)] if isinstance(first, int) else [first]
    chosen = listed(seeds, "--seeds", allowed) if many is None else []
    found = [number for number in map(as_whole, chosen) if number is not None]
    if found and len(set(found)) == len(chosen):
        return found
    raise SpecError("--seeds", shown(seeds), allowed)


def listed(values: Any, key: str, allowed: str) -> list[Any]:
    """The items of a list of any kind; a text is none."""
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
