"""Measurements of a run of Fig. 7a of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.papers.lbsp.measure.flows import completion, packets
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, and the fate of packets."""
    return {**completion(result), **packets(result)}
