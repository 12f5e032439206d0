"""What is read off a run of what needs none."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, _result: Result) -> Mapping[str, float | Timeline]:
    """There is no run to read."""
    return {}
