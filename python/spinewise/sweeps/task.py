"""A wanted run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from spinewise import core
from spinewise.shapes import Spec
from spinewise.specs.spec import spec_hash
from spinewise.sweeps.measures import Measure

Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Task:
    """A wanted run, and its purpose.

    Attributes:
        spec: the resolved spec.
        measures: the measures to keep.
        study: the name of the study: an experiment, a comparison, a user's study.
        label: its place there, by name, such as scheme, load and seed.
        priority: runs of higher priority come first.
        flows: whether to keep its table of flows in the store.
        folder: a folder for the run's whole results; such a run is always made.
    """

    spec: Spec
    measures: tuple[Measure[object], ...]
    study: str = ""
    label: Mapping[str, Plain] = field(default_factory=dict)
    priority: int = 0
    flows: bool = False
    folder: Path | None = None

    @cached_property
    def key(self) -> str:
        """The key under which the run is stored; see `run_key`."""
        return run_key(self.spec)

    @cached_property
    def cell(self) -> str:
        """The cell that it shares with its repeats; see `cell_hash`."""
        return cell_hash(self.spec)


def cell_hash(spec: Spec) -> str:
    """SHA-256 (hex) of a resolved spec without its name and seed: equal for runs that are repeats of each other."""
    same = nameless(spec)
    same.pop("seed", None)
    return spec_hash(same)


def nameless(spec: Spec) -> Spec:
    """A spec without its name."""
    same = spec.copy()
    same.pop("name", None)
    return same


def run_key(spec: Spec) -> str:
    """SHA-256 (hex) of everything that decides the result of a run: its resolved spec and the engine.

    The name of a spec decides nothing and does not count, so that studies share their runs. A scheme written in Python
    counts by its source, which is in the spec (`scheme.source`).
    """
    return hashlib.sha256(f"{spec_hash(nameless(spec))} {core.engine_digest()}".encode()).hexdigest()
