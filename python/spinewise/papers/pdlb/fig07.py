"""PDLB Figs. 7a-c: basic performance while the number of hot paths grows from one to four.

Set-up T0-B: two leaves, eight spines (Fig. 2), 10 Gbps up and down; good paths have a round-trip time of
100 µs, hot ones 300 µs; 200 DCTCP flows of 50 to 200 KB with heavy-tailed sizes.
"""

from __future__ import annotations

from statistics import mean, median

from spinewise.measures.stats import paired_difference
from spinewise.papers.pdlb import transports
from spinewise.papers.pdlb.measure.fig07 import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Run,
    Verdict,
)
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

SCHEMES = "rps@RPS,ecmp@ECMP,letflow@LetFlow,presto@Presto,pdlb:record=ticks@PDLB"
HOT_PATHS = (1, 2, 3, 4)
X = "hot paths of 8"


# A round trip crosses eight links: four of hosts, four between leaves and spines.
GOOD_RTT_NS, HOT_RTT_NS = 100_000, 300_000
LINK_DELAY_NS = GOOD_RTT_NS // 8
HOT_FABRIC_DELAY_NS = shapes.override_of_path(HOT_RTT_NS, LINK_DELAY_NS)


def base(hot_paths: int) -> Spec:
    """The spec with this number of hot paths; the spines with the lowest numbers are hot."""
    return {
        "name": f"PDLB Fig. 7, {hot_paths} hot paths",
        "preset": "datacenter",
        "topology": {
            "leaves": 2,
            "spines": 8,
            "hosts_per_leaf": 200,
            "host_rate_gbps": 10,
            "fabric_rate_gbps": 10,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": [{"spine": spine, "delay_ns": HOT_FABRIC_DELAY_NS} for spine in range(hot_paths)],
        },
        "switch": {"buffer_bytes": transports.BUFFER_BYTES, "ecn_threshold_bytes": transports.ECN_BYTES},
        "transport": {"kind": "dctcp"},
        "traffic": [{"kind": "on_off", "flows": 200, "min_bytes": 50_000, "max_bytes": 200_000}],
    }


def runs(effort: Effort) -> list[Run]:
    """Every scheme at every number of hot paths, over seeds."""
    return [
        Run(variant.label, float(hot), seed, variant.apply(base(hot)))
        for hot in HOT_PATHS
        for seed in range(1, 1 + effort.choose(full=30, quick=5))
        for variant in parse_list(SCHEMES)
    ]


def few_reorderings(measured: Measured) -> Verdict:
    """ECMP and LetFlow never reorder."""
    return claims.combined(claims.zero(measured, curve, "out_of_order") for curve in ("ECMP", "LetFlow"))


def rps_reorders_most(measured: Measured) -> Verdict:
    """RPS reorders most, and more with every hot path."""
    others = measured.others("RPS")
    return claims.combined(
        [
            claims.higher(measured, "RPS", others, "out_of_order"),
            claims.growing(measured, "RPS", "out_of_order"),
        ]
    )


def pdlb_uses_most(measured: Measured) -> Verdict:
    """PDLB uses the paths most: by all bytes, as drawn, and by payload only."""
    others = measured.others("PDLB")
    return claims.combined(claims.higher(measured, "PDLB", others, key) for key in ("utilisation", "goodput_share"))


def pdlb_fastest(measured: Measured) -> Verdict:
    """PDLB has the lowest mean completion time."""
    return claims.lower(measured, "PDLB", measured.others("PDLB"), "mean_fct_s")


def rps_slowest(measured: Measured) -> Verdict:
    """RPS has the longest mean completion time."""
    return claims.higher(measured, "RPS", measured.others("RPS"), "mean_fct_s")


def ecmp_is_poor(measured: Measured) -> Verdict:
    """ECMP's mean completion time is longer than the median of all others."""
    return claims.graded(behind_the_middle(measured, x) for x in measured.xs)


def behind_the_middle(measured: Measured, x: float) -> Verdict:
    """ECMP's mean completion time less the median of the other schemes', seed by seed."""
    rest = [measured.by_seed(one, x, "mean_fct_s") for one in measured.others("ECMP")]
    own = measured.by_seed("ECMP", x, "mean_fct_s")
    seeds = [seed for seed in own if all(seed in one for one in rest)]
    its = [median(one[seed] for one in rest) for seed in seeds]
    change = paired_difference([own[seed] for seed in seeds], its)
    base = mean(its)
    text = (
        f"mean FCT at {x:g}: ECMP {claims.amount('mean_fct_s', base + change.mean)} against a median of all others of"
    )
    return claims.told(change, f"{text} {claims.amount('mean_fct_s', base)} ({claims.percent(change, base)})")


def ecmp_slower_than_pdlb(measured: Measured) -> Verdict:
    """The same against PDLB alone."""
    return claims.graded(claims.higher(measured, "ECMP", ["PDLB"], "mean_fct_s", [x]) for x in measured.xs)


def pdlb_beats_presto(measured: Measured) -> Verdict:
    """PDLB completes flows sooner than Presto."""
    return claims.lower(measured, "PDLB", ["Presto"], "mean_fct_s")


EXPERIMENT = Experiment(
    id="pdlb-7",
    figures=("7a", "7b", "7c"),
    title="PDLB Fig. 7: basic performance over the number of hot paths",
    setup="2 leaves, 8 spines, 10 Gbps, RTT 100 µs, hot paths 300 µs; 200 DCTCP flows of 50–200 KB",
    runs=runs,
    measure=measure,
    panels=(
        shapes.share("7a", "out_of_order", "out-of-order arrivals", X, of="packets"),
        shapes.share("7b", "utilisation", "utilisation of the paths while busy", X),
        shapes.mean_fct("7c", X),
    ),
    claims=(
        Claim("C0-09a", "7a", "out-of-order ratio: ECMP and LetFlow have none", few_reorderings),
        Claim("C0-09b", "7a", "RPS reorders most, growing with the hot paths", rps_reorders_most),
        Claim("C0-10a", "7b", "PDLB: highest utilisation", pdlb_uses_most),
        Claim("C0-10b", "7c", "PDLB: lowest mean FCT", pdlb_fastest),
        Claim("C0-11a", "7c", "RPS has the worst mean FCT", rps_slowest),
        Claim("C0-11b", "7c", "ECMP's mean FCT is longer than the median of all others", ecmp_is_poor),
        claims.beside("C0-11b", "7c", "ECMP's mean FCT is longer than PDLB's", ecmp_slower_than_pdlb, "against PDLB"),
        Claim("C0-12", "7c", "PDLB beats Presto", pdlb_beats_presto),
    ),
    assumptions=(
        Assumption(
            "hosts",
            "200 under each leaf, each sending to its counterpart",
            "the authors' ns-2 script gives each flow a sender and a receiver of its own",
        ),
        Assumption(
            "arrivals",
            "the defaults of the on_off workload (100,000 flows/s while ON, 500 µs ON, 500 ± 150 µs OFF)",
            "no rate or period is given; these offer 45 % of the eight paths on average",
        ),
        Assumption("tail", "bounded Pareto of index 1.2", "no tail index is given"),
        Assumption(
            "ECN",
            "marking above 65 x 1460 bytes",
            "the authors' script has K = 65 at 1 Gbps, and counts in bytes; nothing is said of 10 Gbps",
        ),
        Assumption("buffer", "250 x 1460 bytes per output", "given for the first experiment of the paper only"),
        Assumption(
            "transport",
            "DCTCP over NewReno, 3 duplicate ACKs, initial window 10, least timeout 10 ms",
            "DCTCP is given; the authors' script has SACK, which is not among the variations: they bracket it",
        ),
        Assumption("delay", "shared equally by the links of a good path", "the authors' script uses RTT/8"),
        Assumption(
            "utilisation",
            "bytes on the senders' uplinks over their capacity from the first start to the last end",
            "the paper does not define it; probes and retransmissions count, so payload is judged as well",
        ),
        Assumption(
            "out of order",
            "arrivals of data behind a later byte of their flow, over packets sent",
            "the paper's rule: a sequence number below one already seen",
        ),
    ),
    headline="C0-11b, 'relatively poor' of ECMP: among all five schemes, for it is said of the whole figure",
    notes=(
        "Which of these assumptions matter: pdlb-7-variations. What any choice of flowcell size up to PDLB's limit"
        " could reach: pdlb-7-granularity.",
    ),
)
