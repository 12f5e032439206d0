"""Measurements of a run of Figs. 12 and 13 of ELAB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.summary import offered_on_the_wire
from spinewise.papers.elab.measure import splits
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, also by the sending leaf, and the fate of packets."""
    return {
        **readings.completion(result, "short", "long"),
        **splits.packets(result),
        "offered": offered_on_the_wire(result.report),
    }
