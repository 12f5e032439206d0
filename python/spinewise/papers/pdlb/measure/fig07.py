"""Measurements of a run of Fig. 7 of PDLB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.tables import numbers
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure what Fig. 7 shows."""
    summary = result.summary()
    assert summary.packets is not None
    busy = readings.busy_seconds(result)
    return {
        "out_of_order": summary.packets.out_of_order_ratio,
        "dupack3": summary.packets.dupack3_ratio,
        "retransmits": summary.packets.retransmits / summary.packets.sent,
        "timeouts": float(summary.packets.timeouts),
        "utilisation": readings.uplinks_of_leaf(result, 0, busy),
        "goodput_share": 8.0
        * float(numbers(result.flows, "size_bytes").sum())
        / (busy * readings.path_bits_per_second(result)),
        "granularity": granularity(result),
        **readings.completion(result),
    }


def granularity(result: Result) -> float:
    """PDLB's mean flowcell in packets, over the ticks with a plan; NaN for other schemes."""
    if result.spec["scheme"]["name"] != "pdlb":
        return float("nan")
    _, packets = result.series_of("pdlb.granularity")
    known = packets[packets > 0.0]
    return float(known.mean()) if known.size else float("nan")
