"""Measurements of a run of Figs. 6 to 11 of MEET: completion times by class of flows, and related facts."""

from __future__ import annotations

import numpy as np

from spinewise.measures import stats
from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

SMALL_BELOW, LARGE_ABOVE = 100_000, 10_000_000
# The limit of tiny flows in the enterprise workload (§4, Metrics).
TINY = {"below_200": 200, "below_800": 800, "below_3200": 3200, "below_12800": 12_800}


def measure(_run: Run, result: Result) -> dict[str, float | Timeline]:
    """Measure the completion times of the four panels, and related facts."""
    return {**read_off(result), **late(result)}


def measure_steady(_run: Run, result: Result) -> dict[str, float | Timeline]:
    """Measure the same for the flows that start in the second half of the arrivals, and the means of its thirds."""
    first_s, last_s = second_half(result)
    return {**read_off(result, first_s), **thirds(result, first_s, last_s)}


def second_half(result: Result) -> tuple[float, float]:
    """The begin and end of the second half of the arrivals, in seconds."""
    arrivals = result.spec["traffic"][0]
    middle, end = (1e-6 * (arrivals["start_us"] + part * arrivals["duration_us"]) for part in (0.5, 1.0))
    return middle, end


def late(result: Result) -> dict[str, float]:
    """Mean completion time in seconds of the finished flows that start in the second half of the arrivals."""
    return {LATE: completion(result, second_half(result)[0])["mean_fct_s"]}


LATE = "late_mean_fct_s"


def thirds(result: Result, first_s: float, last_s: float) -> dict[str, float]:
    """Mean completion time in seconds of the finished flows that start in each third of this time."""
    start_s, fct_s = (numbers(result.flows, name) / PS_PER_SECOND for name in ("start_ps", "fct_ps"))
    done = numbers(result.flows, "finished").astype(bool)
    edges = np.linspace(first_s, last_s, len(THIRDS) + 1)
    return {
        name: stats.mean(fct_s[done & (start_s >= low) & (start_s < high)])
        for name, low, high in zip(THIRDS, edges[:-1], edges[1:], strict=True)
    }


THIRDS = tuple(f"third_{number}_mean_fct_s" for number in (1, 2, 3))


def read_off(result: Result, first_s: float = 0.0) -> dict[str, float]:
    """Measure the same from the result alone, with completion times of the flows that start at `first_s` or later."""
    return {**completion(result, first_s), **network(result)}


def completion(result: Result, first_s: float = 0.0) -> dict[str, float]:
    """Flow completion times in seconds, at the receiver; unfinished flows are left out, and counted."""
    late = numbers(result.flows, "start_ps") >= first_s * PS_PER_SECOND
    size = numbers(result.flows, "size_bytes")[late]
    done = numbers(result.flows, "finished").astype(bool)[late]
    fct_s = numbers(result.flows, "fct_ps")[late] / PS_PER_SECOND
    classes = {"": size >= 0, "small_": size < SMALL_BELOW, "large_": size > LARGE_ABOVE}
    classes |= {f"{name}_": size < limit for name, limit in TINY.items()}
    values = {}
    for key, inside in classes.items():
        values[f"{key}flows"] = float(inside.sum())
        values[f"{key}unfinished"] = float((inside & ~done).sum())
        values[f"{key}mean_fct_s"] = stats.mean(fct_s[inside & done])
        values[f"{key}p99_fct_s"] = stats.percentile(fct_s[inside & done], 0.99)
    slowdown = numbers(result.flows, "slowdown")[late][done]
    shares = {f"share_below_{limit}": float((size < limit).mean()) for limit in (75, 350, 10_000)}
    return values | shares | {"mean_slowdown": stats.mean(slowdown)}


def network(result: Result) -> dict[str, float]:
    """Measure the fate of packets, the offered load, and what the scheme itself sent."""
    sums = {name: float(numbers(result.flows, name).sum(dtype=np.int64)) for name in SUMMED}
    summary, links = result.summary(), result.report["links"]
    own = summary.overhead_bytes["probes"] + summary.overhead_bytes["messages"]
    return {
        "resent": sums["retransmits"] / sums["packets"],
        "out_of_order": sums["out_of_order"] / sums["packets"],
        "timeouts": sums["timeouts"],
        "path_changes": sums["path_changes"],
        "drops": float(sum(link["drops"] for link in links)),
        "own_bytes": own / summary.created_bytes,
        "wire_of_nominal": summary.loads["wire_of_nominal"],
        "wire_of_available": summary.loads["wire_of_available"],
        "run_s": result.report["stop_ps"] / PS_PER_SECOND,
        "packet_hops": float(result.report["packet_hops"]),
    }


SUMMED = ("packets", "retransmits", "timeouts", "out_of_order", "path_changes")
