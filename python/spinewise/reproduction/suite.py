"""Several experiments as one sweep: shared runs are made once, and each is judged when its runs are complete.

Runs of headline forms come before those of other forms, those before our own additions, and short experiments before
long ones. An experiment that lacks runs is judged as far as its complete forms go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from spinewise import core
from spinewise.reproduction.catalogue import Catalogue
from spinewise.reproduction.choice import Choice
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Verdict
from spinewise.reproduction.forms import headline_forms
from spinewise.reproduction.measured import measurement
from spinewise.reproduction.provenance import Provenance, day
from spinewise.reproduction.reproduce import Listed, Reproduction, judgements, tasks
from spinewise.runs.jobs import Monitor
from spinewise.sweeps import verdicts as kept
from spinewise.sweeps.engine import Engine
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.sweep import Swept, sweep
from spinewise.sweeps.task import Task

OWN, FURTHER, HEADLINE = range(3)
"""The urgency of runs: of our own additions, of further forms of a figure, and of its headline forms."""


class NotYet(Exception):  # noqa: N818 - nothing is wrong; runs are missing
    """A request for a form whose runs are not complete."""


@dataclass(frozen=True)
class Guarded(Sequence[Measurement]):
    """The measurements of an experiment with missing runs: any use of all of them is refused."""

    known: tuple[Measurement, ...]

    def __getitem__(self, place: object) -> Measurement:  # type: ignore[override]
        raise NotYet

    def __len__(self) -> int:
        raise NotYet


@dataclass(frozen=True)
class Incomplete(Measured):
    """The available part of an experiment with missing runs: forms that are complete can be used."""

    known: tuple[Measurement, ...] = ()
    lacking: frozenset[str] = field(default_factory=frozenset)

    def within(self, variant: str) -> Measured:
        """The measurements of one form.

        Raises:
            NotYet: runs of it are missing.
        """
        if variant in self.lacking:
            raise NotYet(variant)
        return Measured([one for one in self.known if one.run.variant == variant], variant)


@dataclass(frozen=True)
class Part:
    """An experiment with its runs, and the list of statements that it judges, if there is one."""

    entry: Listed
    experiment: Experiment
    catalogue: Catalogue | None
    effort: Effort
    runs: tuple[Run, ...]
    tasks: tuple[Task, ...]


def planned(choice: Choice, effort: Effort) -> list[Part]:
    """The chosen experiments with their runs, all checked before the first one starts.

    Raises:
        SpecError: a run is refused.
    """
    parts = []
    for entry, experiment in zip(choice.listed, choice.experiments, strict=True):
        runs = experiment.runs(effort)
        wanted = tasks(experiment, effort, runs)
        forms = list(dict.fromkeys(run.variant for run in runs))
        first = headline_forms(experiment, forms) or forms[:1]
        ranked = (
            replace(one, priority=urgency(entry, headline=run.variant in first))
            for run, one in zip(runs, wanted, strict=True)
        )
        parts.append(Part(entry, experiment, choice.catalogue, effort, tuple(runs), tuple(ranked)))
    return parts


def urgency(entry: Listed, *, headline: bool) -> int:
    """The priority of a run: by its purpose, then by how short its experiment is."""
    tier = OWN if entry.own else HEADLINE if headline else FURTHER
    return 1_000_000 * tier - min(round(10.0 * entry.minutes), 999_999)


def run(
    parts: Sequence[Part],
    ledger: Ledger,
    *,
    engine: Engine | None = None,
    monitor: Monitor | None = None,
    deadline: float | None = None,
) -> Swept:
    """Make the runs of all parts that the ledger lacks. A failed run is noted, and the rest continues.

    Args:
        parts: the experiments.
        ledger: the store of runs.
        engine: what makes the runs; threads of this process when None.
        monitor: notified of progress.
        deadline: an instant of `time.monotonic`; see `spinewise.sweeps.sweep.sweep`.
    """
    wanted = [task for part in parts for task in part.tasks]
    return sweep(wanted, ledger, engine=engine, monitor=monitor, retry_failed=True, deadline=deadline)


def stored(parts: Sequence[Part], ledger: Ledger) -> Swept:
    """What the ledger has of the runs of all parts, and why some of them failed; nothing is run or written."""
    found = Swept(ledger)
    left = []
    for task in (task for part in parts for task in part.tasks):
        if (failure := ledger.failure(task.key)) is not None:
            found.failed[task.key] = failure
            continue
        errors = {one.id: why for one in task.measures if (why := ledger.why_unmeasured(task.key, one)) is not None}
        if errors:
            found.unmeasured[task.key] = errors
        elif not ledger.has(task.key, task.measures):
            left.append(task.key)
    return replace(found, left=tuple(dict.fromkeys(left)))


def judged(parts: Iterable[Part], swept: Swept) -> Iterator[Reproduction]:
    """Yield each experiment with its verdicts, as far as its runs exist; the store keeps them too."""
    for part in parts:
        found = judged_part(part, swept)
        kept.keep(swept.ledger, part.experiment.id, part.effort.value, judgements(found))
        yield found


def some_complete(parts: Iterable[Part], ledger: Ledger) -> bool:
    """Whether all runs of any form of an experiment are stored; one that needs no runs is complete."""
    for part in parts:
        forms = {run.variant for run in part.runs}
        lacking = set()
        for wanted, task in zip(part.runs, part.tasks, strict=True):
            if wanted.variant not in lacking and not ledger.has(task.key, task.measures):
                lacking.add(wanted.variant)
        if not forms or forms != lacking:
            return True
    return False


def judged_part(part: Part, swept: Swept) -> Reproduction:
    """An experiment with its verdicts, as far as its runs exist."""
    known: list[Measurement] = []
    lacking: Counter[str] = Counter()
    errors: dict[str, str] = {}
    for wanted, task in zip(part.runs, part.tasks, strict=True):
        try:
            known.append(measurement(wanted, task, swept))
        except KeyError:
            lacking[wanted.variant] += 1
            if failure := swept.failure(task):
                errors.setdefault(failure.text, place(wanted))
    measured: Measured = Measured(known)
    if lacking:
        measured = Incomplete(Guarded(tuple(known)), known=tuple(known), lacking=frozenset(lacking))
    verdicts = dict(verdicts_of(part.experiment, measured))
    stored = [task.key for task in part.tasks if swept.ledger.state(task.key) == "done"]
    return Reproduction(
        part.experiment,
        part.effort,
        Measured(known),
        verdicts,
        part.catalogue,
        lacking=lacking,
        errors={where: text for text, where in errors.items()},
        provenance=Provenance(
            effort=part.effort,
            versions=tuple(sorted({swept.ledger.headline(key).version for key in stored})),
            engine=core.engine_digest(),
            seeds=tuple(sorted({one.run.seed for one in known})),
            days=tuple(sorted({day(swept.ledger.ended(key)) for key in stored})),
            runs=len(known),
            lacking=sum(lacking.values()),
        ),
    )


def verdicts_of(experiment: Experiment, measured: Measured) -> Iterator[tuple[str, Verdict]]:
    """The claims that can be judged, with their verdicts."""
    for claim in experiment.claims:
        try:
            yield claim.key, claim.check(measured)
        except NotYet:
            continue


def place(run: Run) -> str:
    """The identity of a run, in words."""
    return f"{run.curve} at x={run.x:g}, seed {run.seed}" + (f", {run.variant}" if run.variant else "")
