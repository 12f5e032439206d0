"""LBSP Fig. 6b: 100 MB flows of three pairs in an 8-ary fat-tree, while a link or a switch is down (set-up T1-B)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spinewise.measures import stats
from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import BASELINES, LBSP, NS2
from spinewise.papers.lbsp.measure.fig06b import measure
from spinewise.papers.lbsp.tree import LINK, SMALL, SWITCH, WHOLE, WORDS
from spinewise.reproduction import claims
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
from spinewise.shapes import Spec

TREE = SMALL
TRANSPORTS = tuple(fabric.TRANSPORTS)
PAIRS = ("S1", "S2", "S3")
ALIKE = 0.05
# Differences below this do not count on the paper's scale.
VISIBLE = 0.01


def spec(condition: float, transport: str, rounds: int, seed: int) -> Spec:
    """The spec without a scheme."""
    made = fabric.spec("T1-B", TREE.topology(TREE.overrides(condition)), transport)
    made["traffic"] = fabric.long_flows(TREE, rounds, seed)
    return made


def runs(effort: Effort) -> list[Run]:
    """Every scheme in three conditions, over seeds; 12 rounds take 20 s."""
    rounds = {transport: effort.choose(full=6 if transport == fabric.RENO else 2, quick=1, whole=12)
              for transport in TRANSPORTS}  # fmt: skip
    return [
        Run(
            scheme.label,
            condition,
            seed,
            scheme.apply(spec(condition, transport, rounds[transport], seed)),
            transport,
        )
        for transport in TRANSPORTS
        for condition in (WHOLE, LINK, SWITCH)
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in fabric.schemes()
    ]


def equal(baseline: str, measured: Measured) -> Verdict:
    """Without a failure LBSP and scatter are alike."""
    return claims.alike(measured, LBSP, baseline, "p999_s", WHOLE, within=ALIKE)


def better(baseline: str, measured: Measured) -> Verdict:
    """LBSP visibly below scatter while the link is down."""
    return claims.reduction(
        measured, LBSP, baseline, "p999_s", LINK, claimed=VISIBLE / claims.ENOUGH, whose=claims.OURS
    )


def suffers_most(baseline: str, measured: Measured) -> Verdict:
    """Judge whether, under scatter, S3's flows lose most by the failure, relative to their values without it."""
    growth = {
        pair: np.asarray(measured.values(baseline, LINK, f"{pair}_mean_s"))
        / np.asarray(measured.values(baseline, WHOLE, f"{pair}_mean_s"))
        for pair in PAIRS
    }
    means = ", ".join(f"{pair} {stats.mean(ratio):.3f}" for pair, ratio in growth.items())
    found = []
    for pair in PAIRS[:2]:
        ahead = stats.t_interval(growth["S3"] - growth[pair] - VISIBLE)
        found.append(claims.told(ahead, f"{baseline}, mean with the link down over whole: {means}", comparisons=0))
    return claims.combined(found)


def larger_gap(baseline: str, measured: Measured) -> Verdict:
    """The gap between scatter and LBSP is larger with a switch down than with a link down."""

    def gap(condition: float) -> NDArray[np.float64]:
        own, its = (np.asarray(measured.values(curve, condition, "p999_s")) for curve in (LBSP, baseline))
        further: NDArray[np.float64] = its - own
        return further

    change = stats.t_interval(gap(SWITCH) - gap(LINK))
    least = VISIBLE * measured.interval(LBSP, WHOLE, "p999_s").mean
    places = ((LINK, "link"), (SWITCH, "switch"))
    gaps = " and ".join(f"{stats.mean(gap(one)):.3f} s with a {word}" for one, word in places)
    further = stats.t_interval(gap(SWITCH) - gap(LINK) - least)
    text = f"{baseline} less LBSP: {gaps}; difference {change.mean:.3f} ±{change.half:.3f}"
    return claims.told(further, text, comparisons=0)


STATEMENTS = tuple(
    replace(claim, reading=baseline, headline=baseline == NS2)
    for baseline in BASELINES
    for claim in (
        Claim("C1-07", "6b", f"without a failure LBSP like {baseline} (5 %)", partial(equal, baseline)),
        Claim("C1-08a", "6b", f"link down: LBSP below {baseline}", partial(better, baseline)),
        Claim("C1-08b", "6b", "S3's flows suffer most", partial(suffers_most, baseline)),
        Claim("C1-09", "6b", "switch down: a larger gap", partial(larger_gap, baseline)),
    )
)


def panels(name: str) -> tuple[Panel, ...]:
    """The figure, and the pairs."""
    return (
        Panel("6b", "p999_s", "99.9th percentile of completion", "", "s", 1.0, name, words=WORDS),
        *(Panel("6b", f"{pair}_mean_s", f"mean completion, {pair}", "", "s", 1.0, name, words=WORDS) for pair in PAIRS),
    )


EXPERIMENT = Experiment(
    id="lbsp-6b",
    figures=("6b",),
    title="LBSP Fig. 6b: long flows, a link or a switch down",
    setup="8-ary fat-tree, 1 Gbps, 50 µs a link, queues of 250 packets; flows of 100 MB, sent again and again",
    runs=runs,
    measure=measure,
    panels=tuple(panel for transport in TRANSPORTS for panel in panels(transport)),
    claims=claims.in_each(TRANSPORTS, STATEMENTS, headline=[fabric.RENO]),
    headline=f"Reno with ns-2's defaults (§4); {fabric.AS_IN_NS2}",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption(
            "hosts",
            "S1 40 to D1 20 (two flows), S2 44 to D2 21, S3 64 to D3 23",
            "Fig. 3's routes: S2 under T11, D2 odd, D1 even with it in one group; D3 in the other",
        ),
        Assumption("S1's leaf", "T10, another than S2's", "else a dead A11 were no worse than the dead link"),
        Assumption(
            "repeated",
            "each flow again when it is acknowledged; S1's 6 times under Reno, else twice, the others twice as often"
            " (`--whole`: 12 and 24 times, 20 s)",
            "'repeatedly for about 20 s'",
        ),
        Assumption("seeds", "starts up to 10 ms apart, 5 draws", "nothing else is random but RPS and ties"),
    ),
)
