"""Figs. 12 and 13 of ELAB: web search from 32 hosts to 32 others over load, symmetric (T4-C) and not (T4-D).

4 leaves, 4 spines, 40 Gbps between switches, 16 hosts of 10 Gbps under each leaf; queues of 3 MB, marks at 30 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from spinewise.papers.elab import fabric
from spinewise.papers.elab.labels import CLOVE, DCTCP, ELAB, FLOWLETS, HERMES, HIDDEN, MAIN, ORACLE, RACK, TOLERANT
from spinewise.papers.elab.measure.large import measure
from spinewise.reproduction import claims, readings, shapes
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
from spinewise.shapes import Override, Spec, Topology, Traffic

SCHEMES = fabric.schemes("ECMP", CLOVE, FLOWLETS, HERMES, ELAB, HIDDEN, ORACLE)
TRANSPORTS = (MAIN, RACK, TOLERANT, DCTCP)
LEFT, RIGHT = (0, 1), (2, 3)
# Leaf 2 of the paper keeps 100 of 160 Gbps: more than this overloads it.
CAPACITY = 0.625
# Arrivals in µs.
DURATION = {Effort.FULL: 50_000.0, Effort.QUICK: 10_000.0, Effort.WHOLE: 200_000.0}


def spec(load: float, transport: str, duration_us: float, override: Sequence[Override]) -> Spec:
    """The spec without a scheme: every pair of a left and a right leaf has half of the load of its left leaf."""
    topology: Topology = {
        "leaves": 4,
        "spines": 4,
        "hosts_per_leaf": 16,
        "fabric_rate_gbps": 40,
        "override": list(override),
    }
    made = fabric.spec("T4-D" if override else "T4-C", topology, 3_000_000, 900_000, transport)
    common: Traffic = {"kind": "poisson", "cdf": "web_search", "pairs": "leaf_pair", "duration_us": duration_us}
    made["traffic"] = [
        {**common, "load": load / len(RIGHT), "from_leaf": source, "to_leaf": target}
        for source in LEFT
        for target in RIGHT
    ]
    made["run"] = {"until_us": 60_000_000}
    return made


def runs(loads: Sequence[float], others: Sequence[float], override: Sequence[Override], effort: Effort) -> list[Run]:
    """Every scheme over load, over seeds; under the other transports at some of the loads."""
    few = effort.choose(full=others, quick=others[-1:])
    return [
        Run(
            scheme.label,
            load,
            seed,
            fabric.under(scheme, spec(load, transport, DURATION[effort], override)),
            transport,
        )
        for transport in TRANSPORTS
        for load in (effort.choose(full=loads, quick=others) if transport == MAIN else few)
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in SCHEMES
    ]


def panels(number: str) -> tuple[Panel, ...]:
    """The paper's panel, and those that explain it."""
    return tuple(
        panel
        for name in TRANSPORTS
        for panel in (
            replace(
                shapes.mean_fct(number, "load", variant=name),
                title="mean completion time over ECMP's", y_label="times ECMP's", scale=1.0, over="ECMP",
            ),
            shapes.mean_fct(number, "load", variant=name, unit="ms"),
            shapes.mean_fct(number, "load", size="short", variant=name, unit="ms"),
            shapes.share(number, "resent", "packets sent again", "load", of="packets", variant=name),
        )
    )  # fmt: skip


def below(other: str, claimed: float, xs: Sequence[float], measured: Measured) -> Verdict:
    """Judge how far ELAB's mean completion time is below another's."""
    return claims.graded(
        claims.reduction(measured, ELAB, other, readings.MEAN, x, claimed=claimed) for x in measured.xs if x in xs
    )


ASSUMPTIONS = (
    *fabric.ASSUMPTIONS,
    Assumption("load", "payload sent by a left leaf over its nominal uplinks, 160 Gbps", "not defined in the paper"),
    Assumption("loads", "0.3 to 0.9", "the axis of Figs. 12 and 13 is not in the text"),
    Assumption("run", "50 ms of Poisson arrivals, then until every flow is done", "not given"),
    Assumption("web search", "DCTCP's distribution, mean 1.6 MB", "quoted from Hermes"),
)


def experiment(
    number: str,
    title: str,
    statements: Sequence[Claim],
    *,
    override: Sequence[Override],
    loads: Sequence[float],
    others: Sequence[float],
) -> Experiment:
    """Fig. 12 or 13; `others` are the loads under transports other than the first."""
    milliseconds = {effort.value: duration / 1e3 for effort, duration in DURATION.items()}
    return Experiment(
        id=f"elab-{number}",
        figures=(number,),
        title=title,
        setup=(
            "4x4 leaf-spine, 40 Gbps, 64 hosts at 10 Gbps, 160 µs RTT, queues of 3 MB, marks at 900 kB; web search,"
            f" {milliseconds['full']:g} ms of arrivals (quick: {milliseconds['quick']:g})"
        ),
        runs=partial(runs, loads, others, override),
        measure=measure,
        panels=panels(number),
        claims=claims.in_each(TRANSPORTS, statements, headline=[MAIN]),
        headline=fabric.HEADLINE,
        assumptions=ASSUMPTIONS,
        notes=("`--whole` has 200 ms of arrivals.",),
    )
