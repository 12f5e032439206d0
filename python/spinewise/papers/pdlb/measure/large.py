"""Measurements of a run of Figs. 11 and 12 of PDLB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.summary import offered_on_the_wire
from spinewise.measures.tables import numbers
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

SHORT_BELOW = 100_000


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure what Figs. 11 and 12 show, and the reasons."""
    packets, long = result.summary().packets, numbers(result.flows, "size_bytes") >= SHORT_BELOW
    return {
        **readings.completion(result, "short", "long"),
        "out_of_order": packets.out_of_order_ratio,
        "dupack3": packets.dupack3_ratio,
        "short_resent": readings.resent(result, ~long),
        "long_resent": readings.resent(result, long),
        "timeouts": float(packets.timeouts),
        "drops": float(sum(link["drops"] for link in result.report["links"])),
        "offered": offered_on_the_wire(result.report),
    }
