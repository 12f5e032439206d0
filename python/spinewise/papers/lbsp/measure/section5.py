"""Differences between the queues of a switch's link groups, measured in a run of §5 of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.papers.lbsp.measure.flows import UPLINK, completion, packets
from spinewise.papers.lbsp.tree import QUIET_US
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

Floats = NDArray[np.float64]

# The switch whose groups are drawn.
DRAWN_SWITCH = ("aggregation", 0)


def gaps(result: Result) -> tuple[Floats, dict[tuple[str, int], Floats]]:
    """Packets by which the queues of a switch's two link groups differ: times in s, and values by switch over time."""
    wanted = numbers(result.series, "series") == result.code("series_names", "link_queue_bytes")
    time, entity, value = (numbers(result.series, name)[wanted] for name in ("time_ps", "entity", "value"))
    names = result.report["entity_names"]
    ups = {code: UPLINK.fullmatch(names[code]) for code in np.unique(entity)}
    switches = sorted({(match[1], int(match[2])) for match in ups.values() if match})
    # For two groups the parity of the port: that of the column, or of the core in its column. Both are even in number.
    sign, place = np.zeros(len(names)), np.zeros(len(names), dtype=int)
    for code, match in ups.items():
        if match:
            sign[code] = 1.0 - 2.0 * (int(match[4]) % 2)
            place[code] = switches.index((match[1], int(match[2])))
    times, at = np.unique(time, return_inverse=True)
    table = np.zeros((len(switches), len(times)))
    np.add.at(table, (place[entity], at), sign[entity] * value)
    transport = result.spec["transport"]
    packet = transport["mss_bytes"] + transport["header_bytes"]
    found = dict(zip(switches, np.abs(table) / packet, strict=True))
    return times / PS_PER_SECOND, found


def measure(run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure differences between groups while flows arrive, completion times, and the fate of packets."""
    times, found = gaps(result)
    last = float(numbers(result.flows, "start_ps").max()) / PS_PER_SECOND
    busy = (times > QUIET_US / 1e6) & (times <= last)
    every = np.concatenate([values[busy] for values in found.values()])
    line = Timeline(np.array([]), np.array([]))
    if run.seed == 1:
        line = Timeline(times[busy] - QUIET_US / 1e6, found[DRAWN_SWITCH][busy])
    return {
        "gap": float(every.mean()),
        "gap_p99": float(np.percentile(every, 99)),
        "drawn": line,
        **completion(result),
        **packets(result),
    }
