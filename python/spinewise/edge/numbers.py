"""The results of the rows: means over seeds, paired differences, the best schemes and their ties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spinewise.edge.row import Row
from spinewise.edge.setting import SCHEMES, WORKLOADS, Workload
from spinewise.edge.study import Place
from spinewise.measures import stats, units

CERTAIN = 1.0 - stats.CONFIDENCE


def is_less(mine: list[float], theirs: list[float]) -> bool:
    """Whether values are surely less than others of the same seeds: by a paired t test, two-sided."""
    return float(np.mean(mine)) < float(np.mean(theirs)) and 2.0 * stats.surely_less(mine, theirs) < CERTAIN


@dataclass(frozen=True)
class Cell:
    """The runs of all schemes under one workload, on one fabric, under one condition.

    Attributes:
        workload: the traffic.
        hosts: size of the fabric.
        condition: the fault.
        rows: runs by scheme, in the order of their seeds.
    """

    workload: Workload
    hosts: int
    condition: str
    rows: Mapping[str, list[Row]]

    @property
    def title(self) -> str:
        """The workload and the condition in a line."""
        return f"{self.workload.name}, {self.condition}" + ("" if self.hosts == 128 else f", {self.hosts:,} hosts")

    def values(self, scheme: str, name: str = "value") -> list[float]:
        """A number of a scheme's runs: an attribute of `Row`, a sum of several (`a+b`), or one over another (`a/b`)."""
        part, _, of = name.partition("/")
        found = [sum(float(getattr(row, one)) for one in part.split("+")) for row in self.rows[scheme]]
        return [value / below for value, below in zip(found, self.values(scheme, of), strict=True)] if of else found

    def mean(self, scheme: str, name: str = "value") -> stats.Interval:
        """Its mean over seeds with the 95 % interval."""
        return stats.t_interval(self.values(scheme, name))

    def change(self, scheme: str, other: str, name: str = "value") -> stats.Interval:
        """The paired difference of a scheme from another, as a fraction of that one's mean."""
        return stats.relative_difference(self.values(scheme, name), self.values(other, name))

    def ratio(self, scheme: str, other: str, name: str = "value") -> float:
        """The mean of a scheme over that of another."""
        return self.mean(scheme, name).mean / self.mean(other, name).mean

    def less(self, scheme: str, other: str, name: str = "value", share: float = 1.0) -> bool:
        """Whether a scheme has surely less than `share` of another's value: by a paired t test over seeds."""
        return is_less(self.values(scheme, name), [share * value for value in self.values(other, name)])

    @cached_property
    def order(self) -> list[str]:
        """Schemes, the best mean first."""
        return sorted(self.rows, key=lambda scheme: self.mean(scheme).mean)

    @cached_property
    def ties(self) -> list[str]:
        """The best mean first, and those that may be the best as well (`stats.told_from_best`)."""
        apart = stats.told_from_best([self.values(one) for one in self.order])
        return [one for one, told in zip(self.order, apart, strict=True) if not told]

    def shown(self, value: float, significant: int = 3) -> str:
        """A judged number for people."""
        return (
            units.digits(value, significant)
            if "slowdown" in self.workload.statistic
            else units.duration(value, significant)
        )


@dataclass(frozen=True)
class Numbers:
    """All cells of a study."""

    cells: Mapping[tuple[str, int, str], Cell]

    def at(self, workload: str, condition: str, hosts: int = 128) -> Cell:
        """One of them."""
        return self.cells[workload, hosts, condition]

    def of(self, workload: str, hosts: int) -> list[Cell]:
        """The cells of a workload on a fabric, by condition."""
        return [cell for (name, size, _), cell in self.cells.items() if (name, size) == (workload, hosts)]


def numbers_of(rows: Mapping[Place, Row]) -> Numbers:
    """All cells, in the order of `setting`; those without runs are left out."""
    cells: dict[tuple[str, int, str], Cell] = {}
    for workload in WORKLOADS.values():
        for hosts, conditions in workload.conditions.items():
            for condition in conditions:
                found = by_scheme(rows, workload.name, hosts, condition)
                if found:
                    cells[workload.name, hosts, condition] = Cell(workload, hosts, condition, found)
    return Numbers(cells)


def by_scheme(rows: Mapping[Place, Row], workload: str, hosts: int, condition: str) -> dict[str, list[Row]]:
    """The runs of one cell by scheme, in the order of `setting` and of seeds."""
    mine: Iterable[Place] = sorted(
        place for place in rows if (place.workload, place.hosts, place.condition) == (workload, hosts, condition)
    )
    found: dict[str, list[Row]] = {label: [] for label in SCHEMES}
    for place in mine:
        found[place.scheme].append(rows[place])
    return {label: runs for label, runs in found.items() if runs}
