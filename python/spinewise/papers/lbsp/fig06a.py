"""LBSP Figs. 6a and 7b: flows of 32 KB between all hosts of an 8-ary fat-tree with a fault (T1-A, T1-D)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import BASELINES, LBSP, NEWRENO, NS2, RACK, RENO, USUAL
from spinewise.papers.lbsp.measure.fig06a import measure
from spinewise.papers.lbsp.tree import CONDITIONS, DEGRADED, LINK, QUIET_US, SMALL, SWITCH, WHOLE, WORDS
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
from spinewise.shapes import Spec, Traffic

TREE = SMALL
SIZE_BYTES = 32 * 1024
# "Load factor 0.8", in two readings: of the time that a host has a flow, which takes about 3.3 ms alone, or of its
# link. Either way a whole number of permutations takes the paper's 3.3 s: 800, or 10,000.
BUSY_US, FULL_US = 4096.0, SIZE_BYTES * 8 / 1e3 / 0.8
APART, TOGETHER, FULL = "starts apart", "starts together", "links 0.8 full"
PERIOD_US = {APART: BUSY_US, TOGETHER: BUSY_US, FULL: FULL_US}
# Permutations, or as many flows; quick, full and whole.
ROUNDS = {APART: (40, 80, 800), TOGETHER: (40, 80, 800), FULL: (100, 150, 10_000)}
# The transports run in each reading.
CASES = (
    *((APART, transport) for transport in (RENO, NEWRENO, RACK, USUAL)),
    (TOGETHER, RENO),
    (FULL, RENO),
    (FULL, RACK),
)
# "Does not affect significantly", "marginally".
LITTLE = 0.1


def variant(reading: str, transport: str) -> str:
    """Name of a version."""
    return f"{transport}, {reading}"


def spec(condition: float, reading: str, transport: str, rounds: int) -> Spec:
    """The spec without a scheme: a random permutation of all hosts each period, or as many flows of random pairs."""
    made = fabric.spec("T1-A", TREE.topology(TREE.overrides(condition)), transport)
    hosts = TREE.k**3 // 4
    entry: Traffic = {"size_bytes": SIZE_BYTES, "start_us": QUIET_US, "period_us": PERIOD_US[reading]}
    if reading == APART:
        entry |= {"kind": "rpc", "fan_in": 1, "arrivals": "poisson", "requests": rounds * hosts}
        entry["period_us"] /= hosts
    else:
        entry |= {"kind": "permutation", "inter_rack": False, "repeat": rounds}
    made["traffic"] = [entry]
    return made


def rounds_of(reading: str, effort: Effort) -> int:
    """The number of permutations."""
    quick, full, whole = ROUNDS[reading]
    return effort.choose(full=full, quick=quick, whole=whole)


def runs(effort: Effort) -> list[Run]:
    """Every scheme in every condition, over seeds."""
    return [
        Run(
            scheme.label,
            condition,
            seed,
            scheme.apply(spec(condition, reading, transport, rounds_of(reading, effort))),
            variant(reading, transport),
        )
        for reading, transport in (CASES if effort is not Effort.QUICK else (CASES[0], CASES[-1]))
        for condition in CONDITIONS
        for seed in range(1, 1 + effort.choose(full=5 if transport in (RENO, RACK) else 3, quick=2, whole=5))
        for scheme in fabric.schemes()
    ]


def matters_little(curves: tuple[str, ...], measured: Measured) -> Verdict:
    """Neither a link nor a switch changes the 99.9th percentile much."""
    return claims.graded(
        fabric.unchanged(measured, curve, "p999_s", WHOLE, condition, within=LITTLE)
        for curve in curves
        for condition in (LINK, SWITCH)
    )


def marginally_better(baseline: str, measured: Measured) -> Verdict:
    """Scatter slightly below LBSP, whatever fails."""
    return claims.graded(
        claims.combined(
            [
                claims.lower(measured, baseline, [LBSP], "p999_s", [condition]),
                claims.alike(measured, baseline, LBSP, "p999_s", condition, within=LITTLE),
            ]
        )
        for condition in (WHOLE, LINK, SWITCH)
    )


def worse_than_down(baseline: str, measured: Measured) -> Verdict:
    """Judge whether a slow link adds more than a dead one does."""
    return fabric.grows(measured, baseline, "p999_s", LINK, DEGRADED, factor=1.0)


def less_affected(baseline: str, measured: Measured) -> Verdict:
    """Judge whether LBSP is below scatter while a link is slow."""
    return claims.lower(measured, LBSP, [baseline], "p999_s", [DEGRADED])


STATEMENTS = (
    Claim("C1-05", "6a", "failures do not matter much (10 %): LBSP", partial(matters_little, (LBSP,)), LBSP),
    *(
        replace(claim, reading=baseline, headline=baseline == NS2)
        for baseline in BASELINES
        for claim in (
            Claim("C1-05", "6a", f"the same: {baseline}", partial(matters_little, (baseline,))),
            Claim("C1-06", "6a", f"{baseline} marginally better", partial(marginally_better, baseline)),
            Claim("C1-13a", "7b", "slow link worse than a dead one", partial(worse_than_down, baseline)),
            Claim("C1-13b", "7b", "LBSP less affected by it", partial(less_affected, baseline)),
        )
    ),
)


def panels(name: str) -> tuple[Panel, ...]:
    """The paper's two figures, which have one axis here."""
    return (
        Panel("6a and 7b", "p999_s", "99.9th percentile of completion", "", "ms", 1e3, name, words=WORDS),
        Panel("6a and 7b", "mean_s", "mean completion", "", "ms", 1e3, name, words=WORDS),
        shapes.share("beside", "out_of_order", "packets out of order", "", of="packets", variant=name, words=WORDS),
    )


EXPERIMENT = Experiment(
    id="lbsp-6a",
    figures=("6a", "7b"),
    title="LBSP Figs. 6a and 7b: short flows, something down or slow",
    setup="8-ary fat-tree, 128 hosts, 1 Gbps, 50 µs a link, queues of 250 packets; permutations of 32 KB flows",
    runs=runs,
    measure=measure,
    panels=tuple(panel for case in CASES for panel in panels(variant(*case))),
    claims=claims.in_each((variant(*case) for case in CASES), STATEMENTS, headline=[variant(APART, RENO)]),
    headline=f"Reno, ns-2's defaults (§4); 'repeatedly' says no step, so starts apart; {fabric.AS_IN_NS2}",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption(
            "load 0.8",
            "of the time a host has a flow; 128 flows in 4.1 ms. Beside it of the links: 128 flows in 0.33 ms",
            "not defined; 0.8 of all links do not go through a leaf that has lost a link of four",
        ),
        Assumption(
            "starts",
            "a Poisson process between random hosts; beside it a random permutation, all at one instant",
            "'repeatedly', 'a random permutation': neither is said to be in step",
        ),
        Assumption("run", "0.33 s, links 0.8 full 0.05 s (`--whole`: 3.3 s)", "'about 3.3 s'"),
    ),
)
