"""The measurements that a reproduction takes from a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from spinewise.reproduction.experiment import Experiment, Measurement, Run, Timeline
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.sweep import Swept
from spinewise.sweeps.task import Task

Values = dict[str, bool | int | float | Timeline]


@dataclass(frozen=True)
class Reading:
    """The record of one run; see `spinewise.reproduction.experiment.Measurement`."""

    values: Values
    unfinished: int
    overloaded: bool
    flows: int


def read(
    measure: Callable[[Run, Result], Mapping[str, float | Timeline]], run: Run, _spec: Spec, result: Result
) -> Reading:
    """Make an experiment's record of one of its runs."""
    summary = result.summary()
    flows = summary.of("all")
    return Reading(dict(measure(run, result)), flows.unfinished, summary.overloaded, flows.flows)


def reading(experiment: Experiment, run: Run) -> Measure[Reading]:
    """The measure of an experiment for one of its runs."""
    return Measure(experiment.id, Reading, partial(read, experiment.measure, run))


def measurement(run: Run, task: Task, swept: Swept) -> Measurement:
    """The measurement of one run of an experiment, after a sweep."""
    (measure,) = task.measures
    found = swept.value(task, measure)
    assert isinstance(found, Reading)
    return Measurement(
        run=run,
        values=found.values,
        outcome_hash=swept.headline(task).outcome_hash,
        unfinished=found.unfinished,
        overloaded=found.overloaded,
        flows=found.flows,
    )
