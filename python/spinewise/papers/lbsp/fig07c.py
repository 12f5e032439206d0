"""LBSP Fig. 7c: 100 MB flows while a link is at a tenth of its rate, in 8- and 16-ary fat-trees (set-up T1-D)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import BASELINES, LBSP, NS2
from spinewise.papers.lbsp.measure.fig07c import measure
from spinewise.papers.lbsp.tree import DEGRADED, LARGE, SMALL, WHOLE, WORDS
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
from spinewise.shapes import Spec

TREES = {"8-ary": SMALL, "16-ary": LARGE}
TRANSPORTS = tuple(fabric.TRANSPORTS)
VARIANTS = {f"{size}, {transport}": (size, transport) for transport in TRANSPORTS for size in TREES}
FACTOR = 11.0
LITTLE = 0.1


def spec(size: str, condition: float, transport: str, rounds: int, seed: int) -> Spec:
    """The spec without a scheme."""
    tree = TREES[size]
    made = fabric.spec(f"T1-D {size}", tree.topology(tree.overrides(condition)), transport)
    made["traffic"] = fabric.long_flows(tree, rounds, seed)
    return made


def runs(effort: Effort) -> list[Run]:
    """Every scheme in a whole tree and in one with a slow link, over seeds."""
    rounds = effort.choose(full=2, quick=1, whole=12)
    return [
        Run(scheme.label, condition, seed, scheme.apply(spec(size, condition, transport, rounds, seed)), name)
        for name, (size, transport) in VARIANTS.items()
        for condition in (WHOLE, DEGRADED)
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in fabric.schemes()
    ]


def slower(metric: str, curve: str, measured: Measured) -> Verdict:
    """A slow link makes flows take eleven times as long, and nothing is dropped."""
    return claims.combined(
        [
            fabric.grows(measured, curve, metric, WHOLE, DEGRADED, factor=FACTOR),
            claims.zero(measured, curve, "drops"),
        ]
    )


def avoided(measured: Measured) -> Verdict:
    """LBSP's flows take as long as in a whole tree."""
    return claims.combined(
        fabric.unchanged(measured, LBSP, metric, WHOLE, DEGRADED, within=LITTLE) for metric in ("p999_s", "S2_mean_s")
    )


STATEMENTS = (
    *(
        replace(claim, reading=", ".join(filter(None, (curve, claim.reading))),
                headline=claim.headline and curve == NS2)
        for curve in BASELINES
        for claim in (
            Claim("C1-14", "7c", f"{curve}: 11 times as long (p99.9), no drop", partial(slower, "p999_s", curve)),
            claims.beside("C1-14", "7c", "the same", partial(slower, "S2_mean_s", curve), "S2's flows"),
        )
    ),
    Claim("C1-15", "7c", "LBSP as in a whole tree (10 %)", avoided),
)  # fmt: skip


def panels(name: str) -> tuple[Panel, ...]:
    """The figure, S2's flows alone, and the fate of packets."""
    return (
        Panel("7c", "p999_s", "99.9th percentile of completion", "", "s", 1.0, name, words=WORDS),
        Panel("7c", "S2_mean_s", "mean completion, S2", "", "s", 1.0, name, words=WORDS),
        shapes.share("7c", "out_of_order", "packets out of order", "", of="packets", variant=name, words=WORDS),
    )


EXPERIMENT = Experiment(
    id="lbsp-7c",
    figures=("7c",),
    title="LBSP Fig. 7c: long flows, a link at a tenth of its rate",
    setup="8- and 16-ary fat-trees, 1 Gbps, 50 µs a link, the link between S2's leaf and an aggregation switch at 100"
    " Mbps, queues of 250 packets; flows of 100 MB, sent again and again",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in VARIANTS for panel in panels(name)),
    claims=claims.in_each(VARIANTS, STATEMENTS, headline=[f"{size}, {fabric.RENO}" for size in TREES]),
    headline=f"Reno and the 99.9th percentile of all flows (§4), both trees; {fabric.AS_IN_NS2}",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("flows", "those of Figs. 6b and 7a", "not given"),
        Assumption("slow link", "both directions", "not given; acknowledgements hardly fill it"),
        Assumption("repeated", "2 rounds of S1, 4 of the others (`--whole`: 12 and 24)", "not given"),
    ),
)
