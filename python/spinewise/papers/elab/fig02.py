"""ELAB Figs. 2, 3, 4, 7: one TCP flow over paths of 3 and 6 Gbps (set-up T4-A): utilisation, and the split in time."""

from __future__ import annotations

from functools import partial

from spinewise.papers.elab import fabric
from spinewise.papers.elab.fabric import TRANSPORTS
from spinewise.papers.elab.labels import CLOVE, ELAB, FLOWLETS, HERMES, HIDDEN, MAIN, MASKED, ORACLE, RACK, SLOW
from spinewise.papers.elab.measure.fig02 import CUT, PAPERS, SECOND, SPLITS, measure
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
from spinewise.shapes import Spec, Topology

SCHEMES = fabric.schemes("ECMP", CLOVE, SLOW, FLOWLETS, HERMES, ELAB, HIDDEN, MASKED, ORACLE)
RATES = (1.0, PAPERS, 6.0)
# Shares of path 1 in splits of 1:2, 2:3 and 4:9.
HALF, TWO_THIRDS, FOUR_NINTHS = 1 / 3, 2 / 5, 4 / 13


def spec(rate_gbps: float, transport: str, size_bytes: int) -> Spec:
    """The spec without a scheme: one flow."""
    topology: Topology = {
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 1,
        "override": fabric.slow_paths({0: rate_gbps, 1: SECOND}),
    }
    made = fabric.spec("T4-A", topology, 1_800_000, 600_000, transport)
    made["traffic"] = [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": size_bytes, "start_ns": 0}]}]
    made["metrics"]["series_interval_us"] = 1000
    made["run"] = {"until_us": 100_000_000}
    return made


def runs(effort: Effort) -> list[Run]:
    """Every scheme under every transport, over seeds."""
    size_bytes = effort.choose(full=1_000_000_000, quick=600_000_000)
    transports = effort.choose(full=tuple(TRANSPORTS), quick=(MAIN, RACK))

    def rates(transport: str) -> tuple[float, ...]:
        return RATES if transport == MAIN and effort is not Effort.QUICK else (PAPERS,)

    return [
        Run(scheme.label, rate, seed, fabric.under(scheme, spec(rate, transport, size_bytes)), transport)
        for transport in transports
        for rate in rates(transport)
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in SCHEMES
    ]


def paper_has(curve: str, share: float, within: float, measured: Measured) -> Verdict:
    """Utilisation within this number of points of the paper's."""
    return claims.near(measured, curve, "utilisation", PAPERS, share, within=within)


def far_below(limit: float, measured: Measured) -> Verdict:
    """CLOVE and Hermes use less than this share."""
    return claims.graded(
        claims.below_limit(measured, curve, "utilisation", limit, PAPERS) for curve in (CLOVE, SLOW, FLOWLETS, HERMES)
    )


def swings(curve: str, low: float, high: float, measured: Measured) -> Verdict:
    """All but the outermost tenths of the time, path 1's share lies between these, and comes near to both."""
    ends = (("first_p05", low), ("first_p95", high))
    return claims.combined(claims.near(measured, curve, key, PAPERS, want, within=0.03) for key, want in ends)


def between_the_paths(measured: Measured) -> Verdict:
    """Hermes: near 1:2 over the whole run (between 1:4 and 1:1), and mostly on one path alone."""
    share = measured.interval(HERMES, PAPERS, "first")
    centre = share.low > 1 / 5 and share.high < 1 / 2
    off = share.high < 1 / 5 or share.low > 1 / 2
    text = f"Hermes: share of path 1 {claims.number(share.mean)} ±{claims.number(share.half)}; 1:2 is 0.333"
    return claims.graded(
        [
            claims.bounded(Status.HOLDS if centre else Status.FAILS if off else claims.unsure(share), text),
            claims.above_limit(measured, HERMES, "one_path", 0.5, PAPERS),
        ]
    )


def tracks(measured: Measured) -> Verdict:
    """ELAB: path 1's share within 0.03 of a third on average, half of the time within 0.05."""
    return claims.graded(
        [
            claims.near(measured, ELAB, "first", PAPERS, HALF, within=0.03),
            claims.near(measured, ELAB, "first_p25", PAPERS, HALF, within=0.05),
            claims.near(measured, ELAB, "first_p75", PAPERS, HALF, within=0.05),
        ]
    )


def more_than_a_tenth(measured: Measured) -> Verdict:
    """ELAB's utilisation is above CLOVE's and Hermes' by more than 10 %, the whole interval."""
    return claims.graded(
        claims.exceeds(measured, ELAB, other, "utilisation", PAPERS, by=0.10)
        for other in (CLOVE, SLOW, FLOWLETS, HERMES)
    )


def gains(claimed: float, measured: Measured) -> Verdict:
    """Judge how far ELAB's utilisation is above CLOVE's and Hermes'."""
    return claims.graded(
        claims.increase(measured, ELAB, other, "utilisation", PAPERS, claimed=claimed)
        for other in (CLOVE, SLOW, FLOWLETS, HERMES)
    )


STATEMENTS = (
    Claim(
        "C4-01",
        "2",
        "split by bandwidth: 99.8 % of both paths (within 3 points)",
        partial(paper_has, ORACLE, 0.998, 0.03),
    ),
    Claim("C4-02", "2", "ELAB: 87 % (within 5 points)", partial(paper_has, ELAB, 0.87, 0.05)),
    claims.beside("C4-02", "2", "the same", partial(paper_has, HIDDEN, 0.87, 0.05), "marks hidden"),
    claims.beside(
        "C4-02", "2", "the same", partial(paper_has, MASKED, 0.87, 0.05), "marks hidden unless all paths have them"
    ),
    Claim("C4-03", "2", "CLOVE, Hermes: far below the best (less than 80 %)", partial(far_below, 0.8)),
    Claim("C4-04", "3", "CLOVE swings between 4:9 and 2:3", partial(swings, CLOVE, FOUR_NINTHS, TWO_THIRDS)),
    claims.beside("C4-04", "3", "the same", partial(swings, SLOW, FOUR_NINTHS, TWO_THIRDS), "cuts 4 ms apart"),
    Claim("C4-05", "4", "Hermes: near 1:2 in the middle, with large swings", between_the_paths),
    Claim("C4-06", "7", "ELAB splits near 1:2", tracks),
    Claim("C4-13", "2", "asymmetric: throughput 10 to 20 % above CLOVE and Hermes", partial(gains, 0.10)),
    Claim("C4-14", "2", "conclusion: throughput more than 10 % higher", more_than_a_tenth),
)


# Other rates of path 1 are run only under the first transport.
OTHER_RATES = (Panel("2", "utilisation", "the same over other paths 1", "path 1, Gbps", "% of both", 100.0, MAIN),)


def panels(transport: str) -> tuple[Panel, ...]:
    """Fig. 2, and one seed's splits and throughput."""
    return (
        Panel(
            "2", "utilisation", "goodput, headers added", "", "% of both", 100.0, transport,
            at=PAPERS, side_by_side=True,
        ),
        *(OTHER_RATES if transport == MAIN else ()),
        *(
            Panel(
                figure, f"split_{figure}", "path 1 : path 2, one seed", "ms", f"ratio, cut at {CUT:g}",
                variant=transport, timeline=True, at=PAPERS,
            )
            for figure in SPLITS
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    id="elab-2",
    figures=("2", "3", "4", "7"),
    title="ELAB Figs. 2, 3, 4, 7: one flow over paths of 3 and 6 Gbps",
    setup="2 leaves, 2 spines, 160 µs RTT, queues of 1.8 MB, marks at 600 kB; one flow of 1 GB (quick: 0.6 GB)",
    runs=runs,
    measure=measure,
    panels=tuple(panel for transport in TRANSPORTS for panel in panels(transport)),
    claims=claims.in_each(TRANSPORTS, STATEMENTS, headline=[MAIN]),
    headline=fabric.HEADLINE,
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("slow links", "both links of a path, in both directions", "queues are said to be the leaf's"),
        Assumption(
            "flow", "one flow of 1 GB", "not given; at 9 Gbps 0.9 s, and ECN-TCP takes about 0.5 s from cut to cut"
        ),
        Assumption(
            "utilisation",
            "the flow with headers, once, over its completion time and 9 Gbps",
            "resent packets use a path for nothing",
        ),
        Assumption("split", "what the leaf gives to its two uplinks, per ms", "the flow's speed on each path"),
    ),
)
