"""Measurements of a run of SELB's figures: completion times, the fate of packets, the life of reorder queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from spinewise.measures import stats
from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

Floats = NDArray[np.float64]

# One bandwidth-delay product of the fabric: 100 Gbps for 8.32 µs.
SHORT_BELOW = 104_000
# Flows that start in this share of the arrivals only fill the fabric: they run, and are not counted.
WARM_UP = 1 / 3
# Numbers of queues for which the distribution of queues in use is given; the last one also counts all above it.
MOST_IN_USE = 64
# The number of those that are drawn.
SHOWN = 10


def measure(_run: Run, result: Result) -> dict[str, float | Timeline]:
    """Measure completion times, and the facts behind the paper's arguments."""
    return {**completion(result), **transport(result), **reordering(result)}


def completion(result: Result) -> dict[str, float]:
    """Flow completion times in seconds, at the sender, without warm-up; unfinished flows are left out."""
    ended = numbers(result.flows, "finished").astype(bool)
    start = numbers(result.flows, "start_ps")
    done = ended & (start >= WARM_UP * result.spec["traffic"][0]["duration_us"] * 1e6)
    fct_s = numbers(result.flows, "sender_fct_ps")[done] / PS_PER_SECOND
    size = numbers(result.flows, "size_bytes")[done]
    classes = {"": size >= 0, "short_": size < SHORT_BELOW, "long_": size >= SHORT_BELOW}
    values = {"flows": float(len(ended)), "unfinished": float((~ended).sum())}
    for key, inside in classes.items():
        values[f"{key}mean_fct_s"] = stats.mean(fct_s[inside])
        values[f"{key}p99_fct_s"] = stats.percentile(fct_s[inside], 0.99)
    values["at_receiver_mean_fct_s"] = stats.mean(numbers(result.flows, "fct_ps")[done] / PS_PER_SECOND)
    slowdown = numbers(result.flows, "slowdown")[done]
    return values | {"mean_slowdown": stats.mean(slowdown), "p99_slowdown": stats.percentile(slowdown, 0.99)}


def transport(result: Result) -> dict[str, float]:
    """Measure events of packets: notifications, pauses, losses, disorder."""
    sums = {name: float(numbers(result.flows, name).sum(dtype=np.int64)) for name in SUMMED}
    sent = sums["packets"]
    links = result.report["links"]
    busy = [link["utilisation"] for link in links if link["fabric"] and link["name"].startswith("leaf")]
    seconds = result.spec["traffic"][0]["duration_us"] / 1e6
    return {
        "cnps": sums["cnps"],
        "nacks": sums["nacks"],
        "timeouts": sums["timeouts"],
        "resent": sums["retransmits"] / sent,
        "out_of_order": sums["out_of_order"] / sent,
        "drops": float(sum(link["drops"] for link in links)),
        "pause_s": sum(link["paused_ps"] for link in links) / PS_PER_SECOND,
        "pauses": float(sum(link["pauses"] for link in links)),
        # As a share of the time in which flows arrive: their rest is sent later, so it may exceed 1.
        "uplinks": stats.mean(busy) * result.report["stop_ps"] / PS_PER_SECOND / seconds,
        "run_s": result.report["stop_ps"] / PS_PER_SECOND,
    }


SUMMED = ("packets", "retransmits", "timeouts", "out_of_order", "nacks", "cnps")


def reordering(result: Result) -> dict[str, float | Timeline]:
    """Measure the actions of ConWeave and SELB; for other schemes everything is NaN."""
    scheme = result.spec["scheme"]["name"]
    if scheme not in ("conweave", "selb"):
        return dict.fromkeys(REORDERING, float("nan")) | {"at_least_in_use": Timeline(np.array([]), np.array([]))}

    def values(name: str) -> Floats:
        return result.series_of(f"{scheme}.{name}")[1]

    held, early, packets = values("held_us"), values("early_us"), values("held_packets")
    taken = values("reorder_queues")
    reroutes = float(len(values("reroutes")))
    at_least = queues_in_use(result, scheme)
    limit = result.spec["scheme"]["params"]["reorder_queues"] or MOST_IN_USE
    return {
        "reroutes": reroutes,
        "backup": len(values("backup_reroutes")) / reroutes if scheme == "selb" and reroutes else float("nan"),
        "tails": float(len(values("tails"))) if scheme == "conweave" else reroutes,
        "held": float(len(held)),
        "held_mean_us": stats.mean(held),
        "held_p99_us": stats.percentile(held, 0.99),
        "early_mean_us": stats.mean(early),
        "early_p99_us": stats.percentile(early, 0.99),
        "held_packets": stats.mean(packets),
        "no_queue": float(len(values("no_queue"))),
        "kept": float(len(values("kept"))),
        "expired": float(len(values("timeouts"))),
        "passed": float(len(values("out_of_order"))),
        "most_in_use": float(taken.max()) if taken.size else 0.0,
        "mean_in_use": float(at_least[1:].sum()),
        "at_limit": float(at_least[min(int(limit), MOST_IN_USE)]),
        "at_least_in_use": Timeline(np.arange(1.0, SHOWN + 1.0), at_least[1 : SHOWN + 1]),
    }


REORDERING = (
    "reroutes",
    "backup",
    "tails",
    "held",
    "held_mean_us",
    "held_p99_us",
    "early_mean_us",
    "early_p99_us",
    "held_packets",
    "no_queue",
    "kept",
    "expired",
    "passed",
    "most_in_use",
    "mean_in_use",
    "at_limit",
)


def queues_in_use(result: Result, scheme: str) -> Floats:
    """Share of (host port, time while flows arrive) with at least n reorder queues in use, for n = 0, 1, ...

    A point gives the number of queues in use at one port after one was taken, or has drained, but not the
    port. But the numbers of ports of a leaf with n queues follow from it.
    """
    end = result.spec["traffic"][0]["duration_us"] / 1e6
    hosts = result.spec["topology"]["hosts_per_leaf"]
    leaves = range(result.spec["topology"]["leaves"])
    times = np.zeros(MOST_IN_USE + 1)
    for leaf in leaves:
        for n, seconds in port_seconds(changes(result, scheme, f"leaf{leaf}"), hosts, end).items():
            times[min(n, MOST_IN_USE)] += seconds
    at_least: Floats = np.cumsum(times[::-1])[::-1] / times.sum()
    return at_least


def changes(result: Result, scheme: str, leaf: str) -> list[tuple[float, int, int]]:
    """(time, before, after) of every port of a leaf whose queues in use changed, by time."""
    found = []
    for name, step in (("reorder_queues", 1), ("drained_queues", -1)):
        try:
            points = result.series_of(f"{scheme}.{name}", leaf)
        except KeyError:  # no point at all
            continue
        found += [(time, int(n) - step, int(n)) for time, n in zip(*map(np.ndarray.tolist, points), strict=True)]
    return sorted(found, key=lambda change: change[0])


def port_seconds(found: Iterable[tuple[float, int, int]], ports: int, end: float) -> Mapping[int, float]:
    """Port-seconds up to `end` with n queues in use, by n."""
    now = Counter({0: ports})
    spent: defaultdict[int, float] = defaultdict(float)
    last = 0.0
    for time, before, after in found:
        if time > end:
            break
        for n, many in now.items():
            spent[n] += many * (time - last)
        now[before] -= 1
        now[after] += 1
        last = time
    for n, many in now.items():
        spent[n] += many * (end - last)
    return spent
