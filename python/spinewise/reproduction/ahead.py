"""The size of a reproduction before it starts: how many runs, how many are stored, how long the others take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.suite import Part
from spinewise.runs.validation import sampled_seconds
from spinewise.sweeps.basics import BASICS
from spinewise.sweeps.store import Ledger
from spinewise.sweeps.task import Task


@dataclass(frozen=True)
class Ahead:
    """An experiment, or several together, before they start.

    Attributes:
        name: the name of the experiment, or of the request.
        runs: all of them; those that experiments share count once together.
        stored: those that need not be made.
        seconds: the approximate time of the others, one after the other.
    """

    name: str
    runs: int
    stored: int
    seconds: float


def ahead(name: str, parts: Sequence[Part], ledger: Ledger) -> tuple[list[Ahead], Ahead]:
    """The size of each part, and of all of them together, which are called `name`."""
    every: dict[str, float] = {}
    found = []
    for part in parts:
        own = seconds(part, ledger)
        found.append(summed(part.experiment.id, own))
        # A run that lacks a measurement of another part is made for that part.
        every |= {key: max(took, every.get(key, 0.0)) for key, took in own.items()}
    return found, summed(name, every)


def summed(name: str, took: dict[str, float]) -> Ahead:
    """Several runs together."""
    return Ahead(name, len(took), sum(not one for one in took.values()), sum(took.values()))


def counted(parts: Sequence[Part], ledger: Ledger) -> tuple[int, int]:
    """Count the stored runs and all runs of some parts; each counts once."""
    wanted = {task.key for part in parts for task in part.tasks}
    missing = {key for part in parts for key in lacking(part, ledger)}
    return len(wanted) - len(missing), len(wanted)


def lacking(part: Part, ledger: Ledger) -> dict[str, Task]:
    """The runs of a part that must be made, by their keys."""
    tasks = {task.key: task for task in part.tasks}
    return {key: task for key, task in tasks.items() if not ledger.has(key, (*BASICS, *task.measures))}


def seconds(part: Part, ledger: Ledger) -> dict[str, float]:
    """The duration of each run of a part, by its key; 0 if it is stored.

    It is that of its repeats; else that in papers.toml for the experiment at full effort; else an estimate from the
    first moments of a few runs.
    """
    new = lacking(part, ledger)
    known = ledger.seconds({task.cell for task in new.values()})
    usual = usual_seconds(part, [task for task in new.values() if task.cell not in known])
    took = {key: max(known.get(task.cell, usual), 1e-9) for key, task in new.items()}
    return {task.key: took.get(task.key, 0.0) for task in part.tasks}


def usual_seconds(part: Part, unknown: Sequence[Task]) -> float:
    """The duration of a run of a part without stored repeats."""
    full = len(part.experiment.runs(Effort.FULL)) if part.entry.minutes else 0
    if full:
        # Runs that represent several points of a figure are made once.
        shared = len(part.tasks) / max(1, len({task.key for task in part.tasks}))
        return 60.0 * part.entry.minutes * shared / full
    return sampled_seconds(list({task.cell: task.spec for task in unknown}.values()))
