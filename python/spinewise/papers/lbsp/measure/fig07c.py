"""Measurements of a run of Fig. 7c of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.papers.lbsp.measure.flows import completion, flows_of, packets
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, of all flows and of those that use the slow link, and the fate of packets."""
    inside = flows_of(result)["S2"]
    own = {f"S2_{key}": value for key, value in completion(result, inside).items()}
    return {**completion(result), **own, **packets(result)}
