"""PDLB Figs. 8a-c and 9a-b: short and long flows while the bad paths get slower.

Set-up T0-C: the fabric of Fig. 7 at 10 Gbps, good paths with a round-trip time of 200 µs, four of eight paths bad, at
1.5 to 3.5 times that; 100 DCTCP flows of the data mining workload, Poisson; LetFlow's gap is 500 µs.
"""

from __future__ import annotations

import random

from spinewise.papers.pdlb import transports
from spinewise.papers.pdlb.measure.fig08 import measure
from spinewise.reproduction import claims, shapes
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
from spinewise.shapes import Spec, Transport
from spinewise.specs.variants import parse_list

# The last is not in the paper: PDLB's limit of 44 packets and its random draw, without anything adaptive.
FIXED = "44 random"
SCHEMES = "rps@RPS,ecmp@ECMP,letflow@LetFlow,presto@Presto,pdlb@PDLB,flowcell:packets=44@44 random"
RATIOS = (1.5, 2.0, 2.5, 3.0, 3.5)
PATHS, BAD_PATHS = 8, 4
GOOD_RTT_NS = 200_000
LINK_DELAY_NS = GOOD_RTT_NS // 8

TRANSPORTS = transports.TRANSPORTS | transports.BOUND


def spec(ratio: float, seed: int, transport: Transport) -> Spec:
    """The spec at this ratio of round-trip times; the seed draws the bad paths."""
    bad_link = shapes.override_of_path(round(GOOD_RTT_NS * ratio), LINK_DELAY_NS)
    bad = sorted(random.Random(seed).sample(range(PATHS), BAD_PATHS))
    return {
        "name": f"PDLB Figs. 8 and 9, ratio {ratio:g}",
        "preset": "datacenter",
        "topology": {
            "leaves": 2,
            "spines": PATHS,
            "hosts_per_leaf": 100,
            "host_rate_gbps": 10,
            "fabric_rate_gbps": 10,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": [{"spine": spine, "delay_ns": bad_link} for spine in bad],
        },
        "switch": {"buffer_bytes": transports.BUFFER_BYTES, "ecn_threshold_bytes": transports.ECN_BYTES},
        "transport": {"kind": "dctcp", **transport},
        "traffic": [{"kind": "poisson", "cdf": "data_mining", "load": 0.3, "pairs": "one_to_one", "max_flows": 100}],
        "run": {"until_us": 120_000_000},
    }


def runs(effort: Effort) -> list[Run]:
    """Every scheme at every ratio, under all transports, over seeds."""
    ratios = effort.choose(full=RATIOS, quick=(1.5, 3.5))
    return [
        Run(variant.label, ratio, seed, variant.apply(spec(ratio, seed, keys)), transport)
        for transport, keys in TRANSPORTS.items()
        for ratio in ratios
        for seed in range(1, 1 + effort.choose(full=5, quick=2, whole=15))
        for variant in parse_list(SCHEMES)
    ]


def others_than(measured: Measured, name: str) -> list[str]:
    """The paper's other curves."""
    return measured.others(name, FIXED)


def rps_grows(measured: Measured) -> Verdict:
    """RPS retransmits most of short flows, and more with every step of the ratio."""
    return claims.combined(
        [
            claims.higher(measured, "RPS", others_than(measured, "RPS"), "short_retransmits"),
            claims.growing(measured, "RPS", "short_retransmits"),
        ]
    )


def pdlb_short_fastest(measured: Measured) -> Verdict:
    """PDLB's short flows are done first, on average and at the 99th percentile."""
    others = others_than(measured, "PDLB")
    return claims.combined(claims.lower(measured, "PDLB", others, f"short_{key}_fct_s") for key in ("mean", "p99"))


def cells_retransmit_some(measured: Measured) -> Verdict:
    """Long flows of Presto and PDLB retransmit something, those of ECMP and LetFlow nothing."""
    return claims.combined(
        claims.higher(measured, curve, ["ECMP", "LetFlow"], "long_retransmits") for curve in ("Presto", "PDLB")
    )


def rps_retransmits_most(measured: Measured) -> Verdict:
    """Long flows of RPS retransmit most."""
    return claims.higher(measured, "RPS", others_than(measured, "RPS"), "long_retransmits")


def pdlb_long_highest(measured: Measured) -> Verdict:
    """PDLB has the highest throughput of long flows."""
    return claims.higher(measured, "PDLB", others_than(measured, "PDLB"), "long_throughput_gbps")


def unaffected(measured: Measured) -> Verdict:
    """PDLB's throughput of long flows does not fall from the smallest ratio to the largest."""
    place = ("PDLB", "long_throughput_gbps", measured.xs[0], measured.xs[-1])
    change, text = claims.step(measured, *place), claims.step_text(measured, *place)
    if not change.excludes_zero:
        return claims.line(claims.unsure(change), text)
    return claims.line(Status.FAILS if change.mean < 0.0 else Status.HOLDS, text)


STATEMENTS = (
    Claim("C0-13", "8a", "RPS: retransmissions of short flows highest, growing sharply", rps_grows),
    Claim("C0-14", "8b,c", "PDLB: shortest mean and p99 of short flows in all cases", pdlb_short_fastest),
    Claim("C0-15a", "9a", "Presto, PDLB: some retransmissions of long flows", cells_retransmit_some),
    Claim("C0-15b", "9a", "RPS: most retransmissions of long flows", rps_retransmits_most),
    Claim("C0-16a", "9b", "PDLB: highest throughput of long flows", pdlb_long_highest),
    Claim("C0-16b", "9b", "PDLB: not affected by the ratio", unaffected),
)


def panels(transport: str) -> tuple[Panel, ...]:
    """The five panels under one transport."""
    x = "RTT of bad paths over good"
    return (
        shapes.share("8a", "short_retransmits", "retransmissions, short flows", x, of="packets", variant=transport),
        shapes.mean_fct("8b", x, size="short", variant=transport),
        shapes.p99_fct("8c", x, size="short", variant=transport),
        shapes.share("9a", "long_retransmits", "retransmissions, long flows", x, of="packets", variant=transport),
        Panel("9b", "long_throughput_gbps", "total throughput, long flows", x, "Gbps", 1.0, transport),
    )


EXPERIMENT = Experiment(
    id="pdlb-8",
    figures=("8a", "8b", "8c", "9a", "9b"),
    title="PDLB Figs. 8 and 9: short and long flows over the asymmetry of the paths",
    setup="8 paths of 10 Gbps, 4 bad; RTT of good paths 200 µs; 100 DCTCP flows of data mining",
    runs=runs,
    measure=measure,
    panels=tuple(panel for transport in TRANSPORTS for panel in panels(transport)),
    claims=claims.in_each(TRANSPORTS, STATEMENTS, headline=[transports.THREE]),
    headline="three duplicate ACKs (RFC 5681), as TCP had in the ns-2 that the paper ran",
    assumptions=(
        Assumption("load", "0.3 of the leaf uplinks", "the paper gives none; at 0.4 one draw overloads a sender"),
        Assumption("sizes", "the data_mining workload, mean 7.49 MB", "the mean the paper quotes"),
        Assumption("hosts", "100 under each leaf, each sending to its counterpart", "as in pdlb-7"),
        Assumption("bad paths", "four drawn by the seed, slow in both directions", "the paper says randomly chosen"),
        Assumption("queues", "250 x 1460 bytes, marking above 65 x 1460 bytes", "as in pdlb-7"),
        Assumption("transport", "as in pdlb-7; RACK-TLP; one tolerating reordering", "the authors' script has SACK"),
        Assumption(
            "throughput",
            "sum over long flows of size over completion time",
            "the paper does not define total throughput",
        ),
    ),
    notes=(
        "44 random: fixed flowcells of 44 packets, each on a path drawn at random, without probes; not in the paper.",
        "A long flow has 100,000 bytes or more; the largest of the workload has 1 GB.",
    ),
)
