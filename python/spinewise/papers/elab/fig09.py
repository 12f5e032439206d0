"""ELAB Figs. 9 and 10: two flows of 300 MB into one rack, one link at a fifth of its rate (set-up T4-B)."""

from __future__ import annotations

from functools import partial

from spinewise.papers.elab import fabric
from spinewise.papers.elab.labels import (
    CLOVE,
    DCTCP,
    ELAB,
    FLOWLETS,
    HERMES,
    HIDDEN,
    MAIN,
    ORACLE,
    RACK,
    SLOW,
    TOLERANT,
)
from spinewise.papers.elab.measure.fig09 import FIRST, SECOND, measure
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
from spinewise.reproduction.shapes import Variation
from spinewise.shapes import ListedFlow, Override, Spec, Topology

SCHEMES = fabric.schemes("ECMP", CLOVE, SLOW, FLOWLETS, HERMES, ELAB, HIDDEN, ORACLE)
FLOW_BYTES = 300_000_000
# Not given: here 10 Gbps, as in the other set-ups, and 40 for "infinite" ones.
WIDE = f"{MAIN}, hosts at 40 Gbps"
VARIATIONS = {
    MAIN: Variation(MAIN),
    RACK: Variation(RACK),
    TOLERANT: Variation(TOLERANT),
    DCTCP: Variation(DCTCP),
    WIDE: Variation(MAIN, {"topology.host_rate_gbps": 40}),
}
# ECMP has four outcomes; the last two variations matter only for their size.
SEEDS = {MAIN: 8, RACK: 8, TOLERANT: 8, DCTCP: 5, WIDE: 5}


def spec(transport: str) -> Spec:
    """The spec without a scheme: hosts 0 (leaf 1) and 2 (leaf 2) send to hosts 4 and 5 (leaf 3)."""
    slow: Override = {"leaf": 1, "spine": 0, "rate_gbps": 2}
    topology: Topology = {"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "fabric_rate_gbps": 10, "override": [slow]}
    made = fabric.spec("T4-B", topology, 600_000, 180_000, transport)
    flows: list[ListedFlow] = [
        {"src": src, "dst": dst, "size_bytes": FLOW_BYTES, "start_ns": 0} for src, dst in ((0, 4), (2, 5))
    ]
    made["traffic"] = [{"kind": "flows", "list": flows}]
    made["metrics"]["series_interval_us"] = 2000
    made["run"] = {"until_us": 60_000_000}
    return made


def runs(effort: Effort) -> list[Run]:
    """Every scheme in every variation, over seeds: ECMP's hashes differ with them."""
    return [
        Run(scheme.label, 0.0, seed, fabric.under(scheme, variation.of(spec(variation.name))), name)
        for name, variation in VARIATIONS.items()
        for seed in range(1, 1 + effort.choose(full=SEEDS[name], quick=3))
        for scheme in SCHEMES
    ]


def elab_is_faster(measured: Measured) -> Verdict:
    """Mean completion time below ECMP's, CLOVE's and Hermes' by 31, 24 and 3 %."""
    numbers_of = {"ECMP": 0.31, CLOVE: 0.24, HERMES: 0.03}
    return claims.graded(
        claims.reduction(measured, ELAB, other, "mean_fct_s", 0.0, claimed=share) for other, share in numbers_of.items()
    )


def other_cloves(measured: Measured) -> Verdict:
    """The same against other readings of CLOVE."""
    return claims.graded(
        claims.reduction(measured, ELAB, other, "mean_fct_s", 0.0, claimed=0.24) for other in (SLOW, FLOWLETS)
    )


def faster_than_placement(placement: int, measured: Measured) -> Verdict:
    """ELAB against ECMP with flows that its hashes placed like this."""
    seeds = {m.run.seed for m in measured.at("ECMP", 0.0) if m.values["placement"] == placement}
    part = Measured([m for m in measured.measurements if m.run.seed in seeds], measured.variant)
    return claims.reduction(part, ELAB, "ECMP", "mean_fct_s", 0.0, claimed=0.31)


def avoid_each_other(curve: str, measured: Measured) -> Verdict:
    """F2 mostly over spine 2, F1 mostly over spine 1."""
    return claims.graded(
        [
            claims.below_limit(measured, curve, "F2_first", 0.5, 0.0),
            claims.above_limit(measured, curve, "F1_first", 0.5, 0.0),
        ]
    )


def by_the_broken_spine(curve: str, measured: Measured) -> Verdict:
    """More of F2 goes over spine 1 than under ELAB."""
    return claims.higher(measured, curve, [ELAB], "F2_first", [0.0])


STATEMENTS = (
    Claim("C4-07", "9", "ELAB's mean FCT lower by, in %: ECMP 31, CLOVE 24, Hermes 3", elab_is_faster),
    claims.beside("C4-07", "9", "the same: 24", other_cloves, "other CLOVEs"),
    *(
        claims.beside(
            "C4-07", "9", "the same against ECMP: 31", partial(faster_than_placement, one),
            f"against ECMP that sends F1, F2 over spines {one // 10}, {one % 10}",
        )
        for one in (11, 12, 21, 22)
    ),
    Claim("C4-08", "10", "ELAB: F2 mostly over spine 2, F1 mostly over spine 1", partial(avoid_each_other, ELAB)),
    claims.beside("C4-08", "10", "the same", partial(avoid_each_other, HIDDEN), "marks hidden"),
    *(
        Claim("C4-17", "10", f"more of F2 over spine 1 under {one} than under ELAB", partial(by_the_broken_spine, one),
              one, one in (CLOVE, HERMES))
        for one in (CLOVE, SLOW, FLOWLETS, HERMES)
    ),
)  # fmt: skip


def panels(name: str) -> tuple[Panel, ...]:
    """Fig. 9 as the paper draws it and in ms, and the splits of Fig. 10."""
    return (
        Panel(
            "9", "mean_fct_s", "mean completion time over ECMP's", "", "times ECMP's", variant=name, over="ECMP",
            side_by_side=True,
        ),
        Panel("9", "mean_fct_s", "mean completion time", "", "ms", 1e3, name, side_by_side=True),
        *(
            Panel("10", f"{flow}_split", f"{flow} over spine 1, one seed", "ms", "%", 100.0, name, timeline=True)
            for flow in (FIRST, SECOND)
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    id="elab-9",
    figures=("9", "10"),
    title="ELAB Figs. 9 and 10: two flows into one rack, one link at a fifth of its rate",
    setup="3 leaves, 2 spines, 10 Gbps, leaf 2 to spine 1 at 2 Gbps, 160 µs RTT; queues of 600 kB, marks at 180 kB;"
    " two flows of 300 MB",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in VARIATIONS for panel in panels(name)),
    claims=claims.in_each(VARIATIONS, STATEMENTS, headline=[MAIN]),
    headline=fabric.HEADLINE,
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("hosts", "each flow has its own two hosts, linked at 10 Gbps; at 40 beside it", "not given"),
        Assumption(
            "ECMP", "the mean over hashes, and each of the four placements alone", "one run, or many, is not said"
        ),
        Assumption("seeds", "8; 5 of the last two variations", "ECMP has four outcomes"),
    ),
)
