"""Measurements of a run of Figs. 6a and 7b of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.summary import offered_on_the_wire
from spinewise.papers.lbsp.measure.flows import completion, packets
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, and the fate of packets."""
    return {**completion(result), **packets(result), "offered": offered_on_the_wire(result.report)}
