"""Measurements of a run of Figs. 8 and 9 of PDLB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.tables import numbers
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

SHORT_BELOW = 100_000


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure what Figs. 8 and 9 show."""
    short = numbers(result.flows, "size_bytes") < SHORT_BELOW
    return {
        "short_retransmits": readings.resent(result, short),
        "long_retransmits": readings.resent(result, ~short),
        # The paper's "total throughput".
        "long_throughput_gbps": readings.throughput_gbps(result, ~short),
        **readings.completion(result, "short", "long"),
    }
