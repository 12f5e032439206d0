"""How fast ELAB senses a change, measured in a run: its ceiling of a path, and the split."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from spinewise.papers.elab.measure import splits
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

SLOW_GBPS, FAST_GBPS, UDP_GBPS = 3.0, 6.0, 3.0
# B of path 2, between its values alone and with the UDP flow.
BETWEEN_KBPS = 1e6 * (FAST_GBPS - UDP_GBPS / 2.0)
STARTS_S, LASTS_S, REST_S = 0.5, 0.3, 0.3
# Nothing changes here: how soon B of path 2 passes the same mark without a cause.
QUIET_S = 0.35
# The split has arrived when its mean over the first of these is within the second of the new fixed point.
STEADY_S, CLOSE = 0.005, 0.03
DRAWN_S = (-0.01, 0.06)


def begins(seed: int) -> float:
    """The start of the UDP flow, in s: another phase of TCP's cycle for each seed."""
    return STARTS_S + 0.0073 * seed


def measure(run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure the time from each change until B of path 2 passes the mark, and until the split is the new one."""
    start = begins(run.seed)
    ceiling = of_path_2(result)
    share = splits.share_of_first(result, 0)
    found = {
        "quiet_s": first_beyond(ceiling, QUIET_S, start, -1.0),
        "sensed_s": first_beyond(ceiling, start, start + LASTS_S, -1.0),
        "freed_s": first_beyond(ceiling, start + LASTS_S, math.inf, 1.0),
        "settled_s": settled(share, start, start + LASTS_S, 1 / 2),
        "resettled_s": settled(share, start + LASTS_S, start + LASTS_S + REST_S, 1 / 3),
    }
    nothing = Timeline(np.array([]), np.array([]))
    lines = {"split": share, "ceiling": ceiling}
    drawn = {key: around(line, start) if run.seed == 1 else nothing for key, line in lines.items()}
    return found | drawn


def of_path_2(result: Result) -> Timeline:
    """B of the faster path, kbit/s: of the two rows of the sender's table, the one that is higher before the change."""
    rows = [Timeline(*result.series_of(f"elab.b{row}", "host0")) for row in (0, 1)]
    return max(rows, key=lambda row: float(np.median(row.value[(row.time_s > 0.2) & (row.time_s < STARTS_S)])))


def first_beyond(line: Timeline, start: float, end: float, sign: float) -> float:
    """The time from `start` to the first value below (sign -1) or above the mark; NaN if there is none before `end`."""
    inside = (line.time_s > start) & (line.time_s < end)
    beyond = line.time_s[inside & (sign * line.value > sign * BETWEEN_KBPS)]
    return float(beyond[0]) - start if len(beyond) else math.nan


def settled(share: Timeline, start: float, end: float, target: float) -> float:
    """The time from `start` until the split's mean over a while is near `target`; NaN if it never is."""
    inside = (share.time_s > start) & (share.time_s <= end)
    times, values = share.time_s[inside], np.nan_to_num(share.value[inside], nan=target)
    width = round(STEADY_S / (times[1] - times[0]))
    means = np.convolve(values, np.ones(width) / width, mode="valid")
    near = np.flatnonzero(np.abs(means - target) < CLOSE)
    return float(times[near[0]]) - start if len(near) else math.nan


def around(line: Timeline, start: float) -> Timeline:
    """A stretch around the first change, times from it."""
    inside = (line.time_s > start + DRAWN_S[0]) & (line.time_s < start + DRAWN_S[1])
    return Timeline(line.time_s[inside] - start, line.value[inside])
