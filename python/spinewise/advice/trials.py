"""Runs of schemes under the cases of the advice: made by a sweep, kept in its ledger, read back as numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spinewise.advice.aims import Aim
from spinewise.advice.observed import OBSERVED, Observed
from spinewise.comparison.cells import Cell
from spinewise.comparison.measured import MEASURE
from spinewise.comparison.plan import cell, with_facts
from spinewise.measures.afterwards import NO_CHOICE
from spinewise.runs.jobs import Case, Monitor, resolved_case
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant
from spinewise.sweeps.engine import Engine
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.sweep import Swept, sweep
from spinewise.sweeps.task import Task

PLAIN = "as given"
"""The case without changes."""
Place = tuple[str, str, int]
"""A run: case, scheme, seed."""


@dataclass(frozen=True)
class Trial:
    """A run that was made.

    Attributes:
        task: what was run.
        costs: for each aim, a positive number; lower is better.
        values: for each aim, its value in its unit.
        behind: for each aim, the flows or rounds behind its value, and how many of them had not finished.
        deadlock: links whose queues paused each other indefinitely; empty if none did.
        wall_s: how long the run took.
        traffic: hash of the offered traffic.
        outcome: hash of everything that happened.
    """

    task: Task
    costs: tuple[float, ...]
    values: tuple[float, ...]
    behind: tuple[tuple[int, int], ...]
    deadlock: tuple[str, ...]
    wall_s: float
    traffic: str
    outcome: str


@dataclass
class Trials:
    """All runs for one piece of advice.

    Attributes:
        name: the name of the spec, for the ledger.
        cases: specs by case.
        aims: the aims to evaluate in each run.
        ledger: the store of runs.
        engine: the engine that makes them.
        monitor: notified of progress.
        found: the runs that ended, by place.
        failed: why runs failed, by place.
        made: the number of runs made now; the others were stored.
        spent_s: seconds that were spent making runs.
        made_wall_s: wall seconds of the runs made now, one after the other.
    """

    name: str
    cases: dict[str, Spec]
    aims: Sequence[Aim]
    ledger: Ledger
    engine: Engine
    monitor: Monitor | None = None
    found: dict[Place, Trial] = field(default_factory=dict)
    failed: dict[Place, str] = field(default_factory=dict)
    made: int = 0
    spent_s: float = 0.0
    made_wall_s: float = 0.0

    def run(self, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        """Make the missing runs of some schemes on some seeds; return whether time sufficed for all.

        They are made seed by seed, so that the deadline cuts off as few seeds as possible.

        Args:
            case: of `cases`.
            variants: the schemes.
            seeds: the seeds.
            deadline: an instant of `time.monotonic`; no run starts that would end later.
        """
        places = [(case, variant, seed) for seed in seeds for variant in variants]
        known = self.found.keys() | self.failed.keys()
        missing = [one for one in places if (case, one[1].label, one[2]) not in known]
        tasks = {(case, variant.label, seed): self.task(case, variant, seed) for case, variant, seed in missing}
        start = time.monotonic()
        swept = sweep(list(tasks.values()), self.ledger, engine=self.engine, monitor=self.monitor, deadline=deadline)
        self.spent_s += time.monotonic() - start
        self.made += len(swept.made)
        self.made_wall_s += sum(self.ledger.headline(key).wall_seconds for key in swept.made)
        left = set(swept.left)
        for place, task in tasks.items():
            if failure := swept.failure(task):
                self.failed[place] = failure.text
            elif task.key not in left:
                self.found[place] = self.trial(task, swept)
        return not left

    def task(self, case: str, variant: Variant, seed: int) -> Task:
        """The run of a scheme on a seed in a case."""
        what = f"scheme {variant.label}" + ("" if case == PLAIN else f", case {case}")
        made = with_facts(Case((variant.label, None, seed), self.resolved(case, variant, seed, what)))
        label: dict[str, str | int] = {"case": case, "scheme": variant.label, "seed": seed}
        return Task(made.spec, (MEASURE, OBSERVED), study=f"advise {self.name}".strip(), label=label)

    def resolved(self, case: str, variant: Variant, seed: int, what: str) -> Spec:
        """The spec of a run, with every default."""
        return resolved_case("", variant.apply(self.cases[case]), seed, what).spec

    def trial(self, task: Task, swept: Swept) -> Trial:
        """Evaluate a run."""
        observed, headline = swept.value(task, OBSERVED), swept.headline(task)
        return Trial(
            task=task,
            costs=tuple(aim.cost(observed) for aim in self.aims),
            values=tuple(aim.value(observed) for aim in self.aims),
            behind=tuple(aim.behind(observed) for aim in self.aims),
            deadlock=tuple(observed.deadlock),
            wall_s=headline.wall_seconds,
            traffic=headline.traffic_hash,
            outcome=headline.outcome_hash,
        )

    def deadlocks(self, case: str) -> dict[str, list[int]]:
        """The seeds of a case on which queues paused each other indefinitely, by scheme; only schemes with any."""
        found: dict[str, list[int]] = {}
        for (at, label, seed), trial in self.found.items():
            if at == case and trial.deadlock:
                found.setdefault(label, []).append(seed)
        return found

    def none_chooses(self, labels: Sequence[str]) -> bool:
        """Whether on each seed a run of some of these schemes shows that no scheme has a choice of paths."""
        met: dict[int, bool] = {}
        for case, label, seed in self.found:
            if case == PLAIN and label in labels:
                (one,) = self.cells(PLAIN, label, [seed])
                met[seed] = met.get(seed, False) or any(notice.code in NO_CHOICE for notice in one.summary.warnings)
        return bool(met) and all(met.values())

    def seeds(self, case: str, labels: Sequence[str]) -> list[int]:
        """Seeds that all these schemes have in a case."""
        found: Mapping[str, set[int]] = {label: set() for label in labels}
        for at, label, seed in self.found:
            if at == case and label in found:
                found[label].add(seed)
        return sorted(set.intersection(*found.values())) if found else []

    def cells(self, case: str, label: str, seeds: Sequence[int]) -> list[Cell]:
        """The comparison's cells for the runs of a scheme."""
        swept = Swept(self.ledger)
        return [cell((label, None, seed), self.found[case, label, seed].task, swept) for seed in seeds]

    def observed(self, case: str, label: str, seed: int) -> Observed:
        """The values that advice keeps of a run."""
        return self.ledger.value(self.found[case, label, seed].task.key, OBSERVED)
