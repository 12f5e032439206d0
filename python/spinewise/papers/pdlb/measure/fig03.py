"""Measurements of a run of Figs. 3 and 4 of PDLB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.tables import numbers
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure what Figs. 3 and 4 show."""
    busy, packets = readings.busy_seconds(result), result.summary().packets
    size = float(numbers(result.flows, "size_bytes").sum())
    return {
        "dupack3": packets.dupack3_ratio,
        "out_of_order": packets.out_of_order_ratio,
        "resent": packets.retransmits / packets.sent,
        "timeouts": float(packets.timeouts),
        "utilisation": readings.uplinks_of_leaf(result, 0, busy),
        "payload": 8.0 * size / (busy * readings.path_bits_per_second(result)),
        **readings.completion(result),
    }
