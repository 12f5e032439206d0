"""How soon ELAB senses a change: own addition, on the paper's "tens of microseconds" (§2).

Set-up T4-A with a third leaf, linked to spine 2 alone, whose UDP of 3 Gbps takes half of path 2 for a while. Each
path's ceiling B_i is read from the sender's table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from spinewise.papers.elab import fabric
from spinewise.papers.elab.fabric import MAIN, RACK, TOLERANT
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Timeline,
    Verdict,
)
from spinewise.runs.result import Result
from spinewise.specs.spec import set_path

CURVES = (fabric.ELAB, fabric.HIDDEN, fabric.MASKED)
TRANSPORTS = (MAIN, RACK, TOLERANT, "DCTCP, RACK-TLP")
SLOW_GBPS, FAST_GBPS, UDP_GBPS = 3.0, 6.0, 3.0
# B of path 2 between what it is alone and beside the UDP flow.
BETWEEN_KBPS = 1e6 * (FAST_GBPS - UDP_GBPS / 2.0)
STARTS_S, LASTS_S, REST_S = 0.5, 0.3, 0.3
# Nothing changes here: how soon B of path 2 passes the same mark by itself.
QUIET_S = 0.35
# The split is there when its mean over so long is within this of the new fixed point.
STEADY_S, CLOSE = 0.005, 0.03
DRAWN_S = (-0.01, 0.06)


def begins(seed: int) -> float:
    """When the UDP flow starts, in s: another phase of TCP's cycle for each seed."""
    return STARTS_S + 0.0073 * seed


def spec(transport: str, seed: int) -> dict[str, Any]:
    """The spec without a scheme."""
    topology = {
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "override": [*fabric.slow_paths({0: SLOW_GBPS, 1: FAST_GBPS}), {"leaf": 2, "spine": 0, "up": False}],
    }
    made = fabric.spec("change", topology, 1_800_000, 600_000, transport)
    start = begins(seed)
    schedule = [
        {"at_us": round(1e6 * start), "rate_gbps": UDP_GBPS},
        {"at_us": round(1e6 * (start + LASTS_S)), "rate_gbps": 0},
    ]
    made["traffic"] = [
        {"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 100_000_000_000, "start_ns": 0}]},
        {"kind": "udp", "src": 4, "dst": 3, "schedule": schedule},
    ]
    made["metrics"]["series_interval_us"] = 100
    made["run"] = {"stop": "time", "until_us": round(1e6 * (start + LASTS_S + REST_S))}
    return made


def runs(effort: Effort) -> list[Run]:
    """ELAB with marks passed on and hidden, under the transports, over seeds."""
    found = []
    for transport in TRANSPORTS:
        for seed in range(1, 1 + effort.choose(full=5, quick=2)):
            for scheme in fabric.schemes(*CURVES):
                made = fabric.under(scheme, spec(transport, seed))
                set_path(made, "scheme.params.record_rates", True)
                found.append(Run(scheme.label, 0.0, seed, made, transport))
    return found


def measure(run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """How soon B of path 2 passes the mark, and how soon the split is the new one, from each change."""
    start = begins(run.seed)
    ceiling = of_path_2(result)
    share = fabric.share_of_first(result, 0)
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
    """From `start` to the first value below (sign -1) or above the mark; NaN if there is none before `end`."""
    inside = (line.time_s > start) & (line.time_s < end)
    beyond = line.time_s[inside & (sign * line.value > sign * BETWEEN_KBPS)]
    return float(beyond[0]) - start if len(beyond) else math.nan


def settled(share: Timeline, start: float, end: float, target: float) -> float:
    """From `start` until the split's mean over a while is near `target`; NaN if it never is."""
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


def in_tens_of_microseconds(metric: str, curve: str, measured: Measured) -> Verdict:
    """Below 100 µs for sure."""
    return claims.below_limit(measured, curve, metric, 1e-4, 0.0)


STATEMENTS = (
    ("sensed_s", "competition"),
    ("freed_s", "free bandwidth"),
)

EXPERIMENT = Experiment(
    id="elab-change",
    figures=("change",),
    title="ELAB, own addition: how soon it senses a change",
    setup="paths of 3 and 6 Gbps, 160 µs RTT, queues of 1.8 MB, marks at 600 kB; one flow, and UDP of 3 Gbps on path 2"
    " for 0.3 s",
    runs=runs,
    measure=measure,
    panels=tuple(
        panel
        for transport in TRANSPORTS
        for panel in (
            Panel("change", "split", "path 1's share", "ms since UDP began", "%", 100.0, transport, timeline=True),
            Panel(
                "change", "ceiling", "B of path 2, one seed", "ms since UDP began", "Gbps", 1e-6, transport,
                timeline=True,
            ),
        )
    ),
    claims=tuple(
        Claim(
            f"§2, {what}, {curve}, {transport}", "–", f"senses {what} in tens of µs",
            claims.within(transport, partial(in_tens_of_microseconds, metric, curve)),
        )
        for transport in TRANSPORTS
        for metric, what in STATEMENTS
        for curve in CURVES
    ),
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("change", "a UDP flow that no host of the pair sends takes half of path 2", "§2 names no change"),
        Assumption("sensed", "B of path 2 passes 4.5 Gbps, halfway to what is left", "B is what ELAB knows of a path"),
    ),
    notes=(
        "Whatever is measured at the receiver is heard of 80 µs later at the least, and a mark made at the spine first"
        " takes 40 µs to the receiver: no end host can sense in less than 120 µs here.",
    ),
)  # fmt: skip
