"""LBSP §5: the input port takes part in the choice of a group, to balance the queues of link groups: both readings.

The paper's own traffic and figures of that section are not in our copy; it is only known that groups chosen by
destinations alone differ in queue length under heavy load, and that part of the traffic moves to the other group.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import LBSP, RACK, RENO, SCATTER
from spinewise.papers.lbsp.measure.section5 import measure
from spinewise.papers.lbsp.tree import QUIET_US, SMALL
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Verdict,
)
from spinewise.shapes import ListedFlow, Spec
from spinewise.specs.variants import parse

TREE = SMALL
STATIC, REACTIVE = "XOR of the port", "ports migrate"
SCHEMES = [
    parse(f"{scheme}@{label}")
    for label, scheme in {
        LBSP: "lbsp",
        STATIC: "lbsp:input_port=xor",
        REACTIVE: "lbsp:input_port=migrate",
        SCATTER: "packet_scatter",
    }.items()
]
LOADS = (0.3, 0.6, 0.8)
HEAVY = LOADS[1:]
FLOW_BYTES = 1_000_000
SAMPLE_US = 200
DRAWN_LOAD = 0.8
# The receivers: all, or one host of each rack (as storage or a parameter server), whose lowest two bits are the same.
ANY, FEW = "all hosts receive", "one host a rack receives"
RECEIVERS = {ANY: 1, FEW: 4}
CASES = {f"{transport}, {who}": (transport, who) for who in RECEIVERS for transport in (RENO, RACK)}
FIRST = next(iter(CASES))


def arrivals(who: str, load: float, duration_us: float, seed: int) -> list[ListedFlow]:
    """Flows from random hosts to random receivers in other racks, Poisson; load of the receivers' links."""
    rng = np.random.default_rng(seed)
    hosts, step = TREE.k**3 // 4, RECEIVERS[who]
    mean_us = FLOW_BYTES * 8 / 1e3 / (load * hosts / step)
    listed: list[ListedFlow] = []
    now = float(QUIET_US)
    while (now := now + float(rng.exponential(mean_us))) < QUIET_US + duration_us:
        dst = step * int(rng.integers(hosts // step))
        src = (dst // TREE.half * TREE.half + TREE.half + int(rng.integers(hosts - TREE.half))) % hosts
        listed.append({"src": src, "dst": dst, "size_bytes": FLOW_BYTES, "start_ns": round(1e3 * now)})
    return listed


def spec(who: str, load: float, transport: str, duration_us: float, seed: int) -> Spec:
    """The spec without a scheme."""
    made = fabric.spec(f"section 5, {who}", TREE.topology(), transport)
    made["traffic"] = [{"kind": "flows", "list": arrivals(who, load, duration_us, seed)}]
    made["metrics"] = {"series_interval_us": SAMPLE_US}
    return made


def runs(effort: Effort) -> list[Run]:
    """Both readings, LBSP without them, and scatter, over load and seeds."""
    duration = effort.choose(full=100_000.0, quick=40_000.0, whole=1_000_000.0)
    return [
        Run(scheme.label, load, seed, scheme.apply(spec(who, load, transport, duration, seed)), name)
        for name, (transport, who) in CASES.items()
        for load in effort.choose(full=LOADS if transport == RENO else LOADS[2:], quick=LOADS[::2], whole=LOADS)
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in SCHEMES
    ]


def smaller(curve: str, measured: Measured) -> Verdict:
    """The mean difference is less than LBSP's at heavy load."""
    return claims.graded(claims.lower(measured, curve, [LBSP], "gap", [x]) for x in measured.xs if x in HEAVY)


def faster(curve: str, measured: Measured) -> Verdict:
    """The mean completion time is lower, too."""
    return claims.graded(claims.lower(measured, curve, [LBSP], "mean_s", [x]) for x in measured.xs if x in HEAVY)


def panels(name: str) -> tuple[Panel, ...]:
    """The difference over load and over time, completion and order."""
    return (
        Panel("s5", "gap", "queues of a switch's groups, difference", "load", "packets, mean", 1.0, name),
        Panel("s5", "gap_p99", "the same, 99th percentile", "load", "packets", 1.0, name),
        Panel("s5", "drawn", f"at A0, load {DRAWN_LOAD:g}, one seed", "ms", "packets", 1.0, name, timeline=True,
              at=DRAWN_LOAD),
        Panel("s5", "mean_s", "mean completion", "load", "ms", 1e3, name),
        shapes.share("s5", "out_of_order", "packets out of order", "load", of="packets", variant=name),
        Panel("s5", "drops", "drops", "load", "per run", 1.0, name),
    )  # fmt: skip


EXPERIMENT = Experiment(
    id="lbsp-s5",
    figures=("s5",),
    title="LBSP §5: the input port has a say",
    setup="8-ary fat-tree, 1 Gbps, 50 µs a link, queues of 250 packets; flows of 1 MB, Poisson, 0.1 s",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in CASES for panel in panels(name)),
    claims=tuple(
        Claim(key, "s5", text, claims.within(name, partial(check, curve)), f"{curve}, {name}", name == FIRST)
        for name in CASES
        for curve in (STATIC, REACTIVE)
        for key, text, check in (
            ("C1-17", f"{curve}: groups of a switch differ less under heavy load", smaller),
            ("own-port-mean", f"{curve}: shorter mean completion", faster),
        )
    ),
    headline="Reno (§4), all hosts receive; both readings of the lost text",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("section 5", "the group is the destination's bits XOR those of the input port; or, as long as a"
                   " group has 25 packets more than the next, one more input port moves there", "the text is missing"),
        Assumption("traffic", "flows of 1 MB from any host to hosts of other racks, all or one of each rack",
                   "the text is missing; where all receive, groups are even on average with or without §5"),
        Assumption("difference", "packets queued in one group less those in the other, each switch, each 200 µs",
                   "'queue length differentials between path groups'"),
    ),
    notes=("`--whole` has 1 s of arrivals.",),
)  # fmt: skip
