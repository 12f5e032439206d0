"""Measurements of a run that several experiments share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

Mask = NDArray[np.bool_]

MEAN, P99 = "mean_fct_s", "p99_fct_s"


def completion(result: Result, *classes: str) -> dict[str, float]:
    """Flows, mean and 99th percentile (s) of all flows and of these size classes; unfinished flows count for neither.

    The keys are those for `mean_fct` and `p99_fct`, and ``flows``, ``short_flows``.
    """
    summary = result.summary()
    values: dict[str, float] = {}
    for prefix, name in (("", "all"), *((f"{name}_", name) for name in classes)):
        found = summary.of(name)
        values[f"{prefix}flows"] = float(found.flows)
        values[prefix + MEAN], values[prefix + P99] = found.fct_s.mean, found.fct_s.p99
    return values


def resent(result: Result, inside: Mask) -> float:
    """Packets sent again over packets sent, of the flows that the mask `inside` selects; NaN without any."""
    sent = float(numbers(result.flows, "packets")[inside].sum())
    return float(numbers(result.flows, "retransmits")[inside].sum()) / sent if sent else float("nan")


def throughput_gbps(result: Result, inside: Mask) -> float:
    """Sum over the finished flows of `inside` of size over completion time, in Gbps."""
    done = inside & numbers(result.flows, "finished").astype(bool)
    size, fct_ps = numbers(result.flows, "size_bytes")[done], numbers(result.flows, "fct_ps")[done].astype(float)
    return float(np.sum(8e3 * size / fct_ps))


def busy_seconds(result: Result) -> float:
    """The time from the first start to the last end of a flow."""
    start = numbers(result.flows, "start_ps")
    end = start + numbers(result.flows, "fct_ps")
    return float(end.max() - start.min()) / PS_PER_SECOND


def uplinks_of_leaf(result: Result, leaf: int, seconds: float) -> float:
    """Mean share of `seconds` for which the uplinks of one leaf were sending."""
    used = [link["utilisation"] for link in result.report["links"] if link["name"].startswith(f"leaf{leaf}->spine")]
    return float(sum(used)) / len(used) * float(result.report["stop_ps"]) / PS_PER_SECOND / seconds


def path_bits_per_second(result: Result) -> float:
    """Rate of all uplinks of a leaf together, overrides left out."""
    topology = result.spec["topology"]
    return 1e9 * float(topology["spines"]) * float(topology["fabric_rate_gbps"])
