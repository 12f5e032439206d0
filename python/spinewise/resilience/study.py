"""The study: its runs, the record of each, and the results of pairs of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from spinewise import core
from spinewise.comparison.cells import Skipped
from spinewise.comparison.plan import seed_list
from spinewise.errors import SpecError, nearest
from spinewise.measures import stats
from spinewise.own.contract import OwnClass
from spinewise.resilience import setting
from spinewise.resilience.measures import lost_share, recovery
from spinewise.resilience.recorded import Recording, recorded
from spinewise.resilience.runs import Wanted, recordings
from spinewise.resilience.setting import FABRICS, FAULTS, FULL, INTERVAL_US, QUICK, Fabric, Fault, Timing
from spinewise.runs.hidden import scratch
from spinewise.runs.jobs import Case, Monitor, check_monitor, resolved_case
from spinewise.shapes import Traffic
from spinewise.specs.spec import resolve
from spinewise.specs.variants import Variant, parse_list
from spinewise.sweeps.engine import Engine

WHOLE = "whole"
"""The name of the run without a fault."""
DEFAULT_SEEDS = 3
WINDOW_US = 1000
"""The shortest time over which goodput is checked for recovery."""
MPTCP = "ecmp:transport.kind=mptcp@mptcp"

Key = tuple[str, str, str, int]
"""Fabric, fault (or `WHOLE`), scheme, seed."""


@dataclass(frozen=True)
class Outcome:
    """The cost of a fault to one scheme on one seed, against the run without it.

    Attributes:
        goodput_lost: share of bytes not received between fault and repair.
        recovery_ms: from the fault until 95 % of goodput have recovered, `inf` if not before the repair.
        after_repair_ms: from the repair until 95 % of goodput have recovered, `inf` if not before the traffic's end.
        p999_ms: 99.9th percentile of completion times with the fault; see `Recording`.
        p999_whole_ms: the same without.
        lost, dropped, unroutable, cut_off, out_of_time: see `Recording`.
        dropped_whole: packets dropped without the fault.
    """

    goodput_lost: float
    recovery_ms: float
    after_repair_ms: float
    p999_ms: float
    p999_whole_ms: float
    lost: int
    dropped: int
    dropped_whole: int
    unroutable: int
    cut_off: int
    out_of_time: int


def outcome(broken: Recording, whole: Recording, timing: Timing) -> Outcome:
    """Compute the cost of the fault in `broken`; see docs/resilience.md for the definitions."""
    first, repair, end = (at // INTERVAL_US for at in (timing.fault_us, timing.repair_us, timing.end_us))
    window = WINDOW_US // INTERVAL_US
    hold = (repair - first) // 4
    ms = INTERVAL_US / 1000

    def back(start: int, stop: int) -> float:
        return ms * recovery(broken.goodput[start:stop], whole.goodput[start:stop], window=window, hold=hold)

    return Outcome(
        goodput_lost=lost_share(broken.goodput[first:repair], whole.goodput[first:repair]),
        recovery_ms=back(first, repair),
        after_repair_ms=back(repair, end),
        p999_ms=1e3 * broken.p999_s,
        p999_whole_ms=1e3 * whole.p999_s,
        lost=broken.lost,
        dropped=broken.dropped,
        dropped_whole=whole.dropped,
        unroutable=broken.unroutable,
        cut_off=broken.cut_off,
        out_of_time=broken.out_of_time,
    )


@dataclass(frozen=True)
class Plan:
    """The runs of the study.

    Attributes:
        fabrics, faults: in the order of the tables.
        served: the schemes that take part, by fabric.
        skipped: those that cannot serve a fabric, and why, by fabric.
        seeds: the seeds of each cell.
        timing: the times of fault and repair.
    """

    fabrics: list[Fabric]
    faults: list[Fault]
    served: dict[str, list[Variant]]
    skipped: dict[str, list[Skipped]]
    seeds: list[int]
    timing: Timing

    @classmethod
    def of(
        cls,
        schemes: str | Iterable[str | OwnClass] | None = None,
        faults: str | Iterable[str] | None = None,
        fabrics: str | Iterable[str] | None = None,
        seeds: int | Sequence[int] | None = None,
        *,
        quick: bool = False,
        own: Sequence[OwnClass] = (),
    ) -> Plan:
        """Build from the caller's arguments; None means all, `DEFAULT_SEEDS` seeds or, with `quick`, one.

        `own` are schemes written in Python that `schemes` may name; those it does not name come last.

        Raises:
            SpecError: a name is unknown, or no scheme is left.
        """
        variants = parse_list(schemes if schemes is not None else every_scheme(), own)
        chosen = [FABRICS[name] for name in names("--fabrics", fabrics, FABRICS)]
        broken = [FAULTS[name] for name in names("--faults", faults, FAULTS)]
        timing = QUICK if quick else FULL
        numbers = seed_list(seeds if seeds is not None else 1 if quick else DEFAULT_SEEDS, {"seed": 1})
        served: dict[str, list[Variant]] = {}
        skipped: dict[str, list[Skipped]] = {}
        for fabric in chosen:
            served[fabric.name], skipped[fabric.name] = sort_out(variants, fabric, broken, timing)
        if not any(served.values()):
            reason = next(iter(skipped.values()))[0].reason
            raise SpecError("--schemes", schemes, "at least one scheme that serves a fabric", reason)
        return cls(chosen, broken, served, skipped, numbers, timing)

    def cases(self, folder: Path) -> list[Case[Key]]:
        """Every run, resolved and checked before the first one starts.

        Their flows are written into `folder`, which must last as long as the runs.
        """
        flows = {
            (fabric.name, seed): setting.write_flows(fabric, self.timing, seed, folder)
            for fabric in self.fabrics
            for seed in self.seeds
        }
        return [
            self.case(variant, fabric, fault, seed, flows[fabric.name, seed])
            for fabric in self.fabrics
            for seed in self.seeds
            for fault in [None, *self.faults]
            for variant in self.served[fabric.name]
        ]

    def case(self, variant: Variant, fabric: Fabric, fault: Fault | None, seed: int, flows: Traffic) -> Case[Key]:
        """One run, resolved and checked."""
        key = (fabric.name, fault.name if fault else WHOLE, variant.label, seed)
        spec = variant.apply(setting.spec_of(fabric, fault, self.timing, seed, flows))
        return resolved_case(key, spec, seed, f"scheme {variant.label}")

    def run(
        self,
        cases: list[Case[Key]],
        jobs: int | None,
        monitor: Monitor | None,
        store: str | Path | None = None,
        engine: Engine | None = None,
    ) -> Study:
        """Run every case that the store lacks, and pair the results."""
        names = ("fabric", "fault", "scheme", "seed")
        wanted = Wanted("resilience", names, recorded(INTERVAL_US, self.timing.end_us))
        found = recordings(cases, wanted, jobs=jobs, monitor=monitor, store=store, engine=engine)
        return Study(self, found)


def every_scheme() -> list[str]:
    """All schemes of the registry but those that only test the engine, and MPTCP, which is a transport."""
    return [*(entry["name"] for entry in core.schemes()), MPTCP]


def names(option: str, given: str | Iterable[str] | None, known: Mapping[str, object]) -> list[str]:
    """The names in `given`, in the order of `known`; all of them if None."""
    if given is None:
        return list(known)
    parts = [part.strip() for part in (given.split(",") if isinstance(given, str) else given)]
    if not parts:
        raise SpecError(option, "(none)", ", ".join(known))
    for part in parts:
        if part not in known:
            raise SpecError(option, part or "(nothing)", ", ".join(known), nearest(part, known))
    return [name for name in known if name in parts]


def sort_out(
    variants: Sequence[Variant], fabric: Fabric, faults: Sequence[Fault], timing: Timing
) -> tuple[list[Variant], list[Skipped]]:
    """The variants that can serve `fabric`, and those that cannot, with the reason."""
    served: list[Variant] = []
    skipped: list[Skipped] = []
    some: Traffic = {"list": setting.flow_list(fabric, setting.FLOWS[0][1], 1)}
    for variant in variants:
        try:
            resolve(variant.apply(setting.spec_of(fabric, faults[0], timing, 1, some)))
            served.append(variant)
        except SpecError as error:
            if not error.unserved:
                key = "--schemes" if error.key.startswith("scheme.") else error.key
                raise SpecError(key, error.value, error.allowed, error.hint) from None
            skipped.append(Skipped(variant.label, str(error.hint or error.allowed)))
    return served, skipped


@dataclass(frozen=True)
class Study:
    """All runs of a study, and the results of pairs of them."""

    plan: Plan
    recordings: dict[Key, Recording] = field(repr=False)

    @cached_property
    def outcomes(self) -> dict[Key, Outcome]:
        """The cost of each fault, by fabric, fault, scheme and seed."""
        return {
            (fabric, fault, label, seed): outcome(broken, self.recordings[fabric, WHOLE, label, seed], self.plan.timing)
            for (fabric, fault, label, seed), broken in self.recordings.items()
            if fault != WHOLE
        }

    def labels(self, fabric: str) -> list[str]:
        """The schemes that take part on this fabric."""
        return [variant.label for variant in self.plan.served[fabric]]

    def at(self, fabric: str, fault: str, label: str) -> list[Outcome]:
        """The outcomes of one cell, in order of seeds."""
        return [self.outcomes[fabric, fault, label, seed] for seed in self.plan.seeds]

    def interval(self, fabric: str, fault: str, label: str, metric: str) -> stats.Interval:
        """Mean over seeds with its 95 % interval; for times, over the seeds on which they are finite."""
        return stats.t_interval([getattr(one, metric) for one in self.at(fabric, fault, label)])

    def never(self, fabric: str, fault: str, label: str, metric: str) -> int:
        """Count the seeds on which goodput did not recover."""
        return sum(math.isinf(getattr(one, metric)) for one in self.at(fabric, fault, label))

    def slower(self, fabric: str, fault: str, label: str) -> stats.Interval:
        """The paired difference of the 99.9th percentile from the run without the fault, relative to that run."""
        cells = self.at(fabric, fault, label)
        return stats.relative_difference([one.p999_ms for one in cells], [one.p999_whole_ms for one in cells])

    def bounded(self, fabric: str, fault: str, label: str) -> bool:
        """Whether that percentile is a lower bound on some seed, as flows did not finish."""
        return any(self.recordings[fabric, fault, label, seed].at_least for seed in self.plan.seeds)

    @property
    def paired(self) -> bool:
        """Whether all runs of a fabric and seed saw the same traffic."""
        seen: dict[tuple[str, int], set[str]] = {}
        for (fabric, _, _, seed), one in self.recordings.items():
            seen.setdefault((fabric, seed), set()).add(one.traffic_hash)
        return all(len(hashes) == 1 for hashes in seen.values())

    def rows(self) -> list[dict[str, object]]:
        """One record per fabric, fault, scheme and seed; a time that never comes is None."""
        return [
            {
                "fabric": fabric, "fault": fault, "scheme": label, "seed": seed,
                **{name: None if math.isinf(value) else value for name, value in vars(one).items()},
                "outcome_hash": self.recordings[fabric, fault, label, seed].outcome_hash,
            }
            for (fabric, fault, label, seed), one in self.outcomes.items()
        ]  # fmt: skip


def study(
    schemes: str | Iterable[str | OwnClass] | None = None,
    *,
    faults: str | Iterable[str] | None = None,
    fabrics: str | Iterable[str] | None = None,
    seeds: int | Sequence[int] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    monitor: Monitor | None = None,
    store: str | Path | None = None,
) -> Study:
    """Run the study, as ``spinewise resilience`` does.

    Args:
        schemes: variants as in ``compare --schemes``; None takes all that serve a fabric, and MPTCP.
        faults: names of `FAULTS`; None takes all.
        fabrics: names of `FABRICS`; None takes all.
        seeds: the number of seeds, counted up from 1, or a list of seeds.
        quick: shorter runs, one seed.
        jobs: runs at once; one per core when None.
        monitor: notified of progress.
        store: a folder that keeps every run as it ends; runs that it has are not made again.

    Raises:
        SpecError: a name is unknown, an argument has no names, no scheme serves a fabric, or the store cannot be used.
        TypeError: `monitor` is not notified of progress as a `Monitor` is.
    """
    check_monitor(monitor)
    plan = Plan.of(schemes, faults, fabrics, seeds, quick=quick)
    with scratch() as folder:
        return plan.run(plan.cases(folder), jobs, monitor, store)
