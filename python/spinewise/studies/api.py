"""A study from Python: `spinewise.sweep`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from spinewise.own.scheme import Scheme
from spinewise.runs.jobs import Monitor, check_monitor, checked_seconds
from spinewise.studies import file
from spinewise.studies.conduct import Conducted, Conductor
from spinewise.studies.study import Study
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import opened


def sweep(
    study: str | Path,
    *,
    store: str | Path | None = None,
    overrides: Iterable[str] = (),
    schemes: Sequence[type[Scheme]] = (),
    jobs: int | None = None,
    budget_s: float | None = None,
    until_ci: float | str | None = None,
    retry_failed: bool = False,
    monitor: Monitor | None = None,
) -> Conducted:
    """Make the runs of a study that the store lacks, as ``spinewise sweep`` does, and return the results of all.

    Args:
        study: the file, see docs/sweeps.md.
        store: a folder that keeps every run as it ends; None keeps none.
        overrides: overrides of its spec, as in ``--set``.
        schemes: written in Python, which its grid may name; those it does not name come last.
        jobs: runs at once; one per core when None.
        budget_s: no run starts that would end later than this, in seconds.
        until_ci: seeds are added until half the 95 % interval of the first metric is at most this share of its mean,
            0.02 or "2%".
        retry_failed: whether runs that failed before are made again.
        monitor: notified of progress.

    Raises:
        SpecError: naming file, key, value and what is allowed; or the store cannot be used.
        TypeError: an argument is of another kind.
    """
    check_monitor(monitor)
    deadline = None if budget_s is None else time.monotonic() + checked_seconds("budget_s", budget_s)
    wanted = Study.of(file.read(study, overrides, until_ci, schemes))
    with opened(store) as ledger:
        return Conductor(wanted, ledger, Local(jobs), monitor, retry_failed, deadline).conduct()
