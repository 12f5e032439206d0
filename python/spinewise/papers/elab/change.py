"""How fast ELAB senses a change: our own addition, on the paper's "tens of microseconds" (§2).

Set-up T4-A with a third leaf, linked to spine 2 alone, whose UDP of 3 Gbps takes half of path 2 for a while. Each
path's ceiling B_i is read from the sender's table.
"""

from __future__ import annotations

import math
from functools import partial

from spinewise.measures import units
from spinewise.papers.elab import fabric
from spinewise.papers.elab.labels import ELAB, HIDDEN, MAIN, MASKED, RACK, TOLERANT
from spinewise.papers.elab.measure.change import FAST_GBPS, LASTS_S, REST_S, SLOW_GBPS, UDP_GBPS, begins, measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Status,
    Verdict,
)
from spinewise.reproduction.words import named
from spinewise.shapes import Spec, Step, Topology
from spinewise.specs.spec import set_path

CURVES = (ELAB, HIDDEN, MASKED)
# A mark made at the spine takes 40 µs to the receiver, and the answer 80 µs back: no end host can learn of it earlier.
FIRST_NEWS_S = 120e-6
# The upper limit for "tens of microseconds".
TENS_S = 100e-6
TRANSPORTS = (MAIN, RACK, TOLERANT, "DCTCP, RACK-TLP")


def spec(transport: str, seed: int) -> Spec:
    """The spec without a scheme."""
    topology: Topology = {
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "override": [*fabric.slow_paths({0: SLOW_GBPS, 1: FAST_GBPS}), {"leaf": 2, "spine": 0, "up": False}],
    }
    made = fabric.spec("change", topology, 1_800_000, 600_000, transport)
    start = begins(seed)
    schedule: list[Step] = [
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


def in_tens_of_microseconds(metric: str, curve: str, measured: Measured) -> Verdict:
    """Judge the time within 100 µs of the first news that a host can have, in every seed; in part if in some.

    A seed whose B passes the mark before there can be news does so by chance, and does not count. One that never
    passes it counts as a failure: B was not sensed.
    """
    told = [value for value in measured.values(curve, 0.0, metric) if not value < FIRST_NEWS_S]
    if not told:
        return claims.line(Status.UNTESTED, f"{curve}: no seed in which B has not passed the mark by chance")
    latest = FIRST_NEWS_S + TENS_S
    soon = sum(value <= latest for value in told)
    status = {0: Status.FAILS, len(told): Status.HOLDS}.get(soon, Status.PARTLY)
    shown = ", ".join("never" if math.isnan(value) else units.duration(value, 3) for value in sorted(told))
    by_chance = len(measured.values(curve, 0.0, metric)) - len(told)
    beside = f"; {by_chance} more passed the mark by chance, before any news" if by_chance else ""
    text = f"{curve}: {named(metric)} {shown}; within {units.duration(latest)} in {soon} of {len(told)} seeds{beside}"
    return claims.line(status, text, comparisons=0)


STATEMENTS = (
    ("C4-16a", "sensed_s", "competition"),
    ("C4-16b", "freed_s", "free bandwidth"),
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
            key, "change", f"senses {what} within 100 µs of the first news",
            claims.within(transport, partial(in_tens_of_microseconds, metric, curve)),
            reading=f"{curve}, {transport}", headline=curve == ELAB and transport == MAIN,
        )
        for transport in TRANSPORTS
        for key, metric, what in STATEMENTS
        for curve in CURVES
    ),
    headline="ELAB as printed over ECN-TCP with three duplicate ACKs: the paper says TCP and ECN, no more",
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
