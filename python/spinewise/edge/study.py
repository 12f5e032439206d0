"""The runs of the study: each is looked up in a store, and made if missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spinewise.edge.row import Asked, Row, kept
from spinewise.edge.setting import (
    AGGREGATION,
    CONDITIONS,
    FABRICS,
    LEAF,
    SCHEMES,
    WORKLOADS,
    Workload,
    spec_of,
    takes_part,
)
from spinewise.errors import SpecError
from spinewise.runs.jobs import Monitor, resolved_case
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.store import opened
from spinewise.sweeps.sweep import sweep
from spinewise.sweeps.task import Task


@dataclass(frozen=True, order=True)
class Place:
    """The identity of a run of the study, in the names of `setting`."""

    workload: str
    hosts: int
    condition: str
    scheme: str
    seed: int


@dataclass(frozen=True)
class Refusal:
    """A kind of run that a spec's reader refuses, and why."""

    workload: str
    hosts: int
    condition: str
    scheme: str
    reason: str


@dataclass
class Found:
    """The results of the study, or of a part of it.

    Attributes:
        rows: the record of each run.
        refusals: combinations that cannot be run.
    """

    rows: dict[Place, Row] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def measure(workload: Workload) -> Measure[Row]:
    """The measure for the runs of a workload."""
    return kept(Asked(workload.judged, workload.statistic), LEAF, AGGREGATION)


def kinds(workloads: Collection[str], schemes: Collection[str], hosts: Collection[int]) -> Iterator[Place]:
    """A place for each kind of run, with the first seed."""
    for workload in WORKLOADS.values():
        for size, conditions in workload.conditions.items():
            for condition in conditions:
                for scheme in SCHEMES.values():
                    wanted = workload.name in workloads and scheme.label in schemes and size in hosts
                    if wanted and takes_part(scheme, workload, FABRICS[size]):
                        yield Place(workload.name, size, condition, scheme.label, 1)


def tasks(place: Place) -> Iterator[tuple[Place, Task]]:
    """The runs of a kind, one a seed.

    Raises:
        SpecError: they are refused.
    """
    workload, fabric, scheme = WORKLOADS[place.workload], FABRICS[place.hosts], SCHEMES[place.scheme]
    spec = scheme.applied(spec_of(workload, fabric, CONDITIONS[place.condition]), workload)
    resolved = resolved_case(None, spec, 1, f"scheme {scheme.label}").spec
    for seed in range(1, fabric.seeds + 1):
        one = Place(place.workload, place.hosts, place.condition, place.scheme, seed)
        yield one, Task({**resolved, "seed": seed}, (measure(workload),), "edge-2026", vars(one), priority=-seed)


def planned(
    workloads: Collection[str] = tuple(WORKLOADS),
    schemes: Collection[str] = tuple(SCHEMES),
    hosts: Collection[int] = tuple(FABRICS),
) -> tuple[dict[Place, Task], list[Refusal]]:
    """Every run of the study, or of a part of it, checked before the first one starts; and the refusals."""
    wanted: dict[Place, Task] = {}
    refused: list[Refusal] = []
    for place in kinds(workloads, schemes, hosts):
        try:
            wanted.update(tasks(place))
        except SpecError as error:
            reason = f"{error.key} = {error.value}: {error.hint or error.allowed}"
            refused.append(Refusal(place.workload, place.hosts, place.condition, place.scheme, reason))
    return wanted, refused


def conducted(
    wanted: dict[Place, Task], refused: list[Refusal], store: str | Path, jobs: int | None, monitor: Monitor | None
) -> Found:
    """Make the runs that the store lacks, and read all of them."""
    with opened(store) as ledger:
        swept = sweep(list(wanted.values()), ledger, engine=Local(jobs), monitor=monitor, strict=True)
        rows = {place: swept.value(task, measure(WORKLOADS[place.workload])) for place, task in wanted.items()}
    return Found(rows, refused)
