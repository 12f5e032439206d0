"""The split of a leaf's traffic over its uplinks, and the fate of packets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinewise.measures.tables import numbers
from spinewise.reproduction.experiment import Timeline
from spinewise.runs.result import Result

Floats = NDArray[np.float64]

# A split counts where a leaf gives its uplinks this share of their rates at least.
LEAST = 0.02


def rate(result: Result, leaf: int, spine: int) -> float:
    """Bits per second of the link between a leaf and a spine."""
    topology = result.spec["topology"]
    found = float(topology["fabric_rate_gbps"])
    for one in topology["override"]:
        if one.get("leaf", leaf) == leaf and one.get("spine", spine) == spine:
            found = float(one.get("rate_gbps", found))
    return 1e9 * found


def given(result: Result, leaf: int, spine: int) -> tuple[Floats, Floats]:
    """The traffic a leaf gave to one uplink per interval of the series: end of interval in seconds, bits per second.

    It includes what was sent and the growth of the queue, but not what was dropped.
    """
    name = f"leaf{leaf}->spine{spine}"
    interval_s = float(result.spec["metrics"]["series_interval_us"]) / 1e6
    time, busy = result.series_of("link_utilisation", name)
    _, queue = result.series_of("link_queue_bytes", name)
    return time, busy * rate(result, leaf, spine) + np.diff(queue, prepend=0.0) * 8.0 / interval_s


def share_of_first(result: Result, leaf: int) -> Timeline:
    """The share of the first of a leaf's two uplinks in their traffic; NaN if the leaf sends next to nothing.

    A packet that crosses the end of an interval is counted in neither or in both, so the sum is not exact.
    """
    time, first = given(result, leaf, 0)
    _, second = given(result, leaf, 1)
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    enough = first + second > LEAST * (rate(result, leaf, 0) + rate(result, leaf, 1))
    return Timeline(time, np.divide(first, first + second, out=np.full(len(time), np.nan), where=enough))


def carried(result: Result, leaf: int, spine: int) -> float:
    """Bytes that one uplink of a leaf has carried."""
    name = f"leaf{leaf}->spine{spine}"
    return float(next(link["bytes"] for link in result.report["links"] if link["name"] == name))


def packets(result: Result) -> dict[str, float]:
    """Packets sent again, out of order and marked, as shares of those sent; timeouts and drops."""
    sent = float(numbers(result.flows, "packets").sum(dtype=np.int64))
    shares = {"resent": "retransmits", "out_of_order": "out_of_order", "marked": "marks"}
    found = {key: float(numbers(result.flows, name).sum(dtype=np.int64)) / sent for key, name in shares.items()}
    return found | {
        "timeouts": float(numbers(result.flows, "timeouts").sum(dtype=np.int64)),
        "drops": float(sum(link["drops"] for link in result.report["links"])),
    }
