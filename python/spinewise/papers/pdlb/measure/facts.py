"""Measurements of an experiment that needs no run."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, _result: Result) -> Mapping[str, float | Timeline]:
    """Measure nothing: there is no run."""
    return {}
