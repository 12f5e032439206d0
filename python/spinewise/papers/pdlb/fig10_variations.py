"""Find which open assumption decides the outcome of PDLB Fig. 10: each varied alone, on paths of 1 Gbps.

Every variation of the set-up is run with PDLB and the fixed granularities; every variation of PDLB's own parameters
with PDLB alone, beside the fixed granularities of the set-up it shares.
"""

from __future__ import annotations

from functools import partial

from spinewise.papers.pdlb import fig10
from spinewise.papers.pdlb.measure.fig10 import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict
from spinewise.reproduction.shapes import Variation
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

FIXED_SCHEMES = fig10.SCHEMES.partition(",")[2]


def pdlb(name: str, text: str) -> Variation:
    """Parameters of PDLB changed (":key=value")."""
    return Variation(name, schemes={"PDLB": text})


VARIATIONS = (
    Variation("as pdlb-10"),
    # The set-up.
    Variation("hosts at 10 Gbps", {"topology.host_rate_gbps": 10}),
    Variation("DCTCP, K = 65", {"transport.kind": "dctcp", "switch.ecn_threshold_packets": 65}),
    Variation("DCTCP, K = 20", {"transport.kind": "dctcp", "switch.ecn_threshold_packets": 20}),
    Variation("reordering tolerated", {"transport.dupack_threshold": 0}),
    Variation(
        "reordering tolerated, DCTCP, K = 20",
        {"transport.dupack_threshold": 0, "transport.kind": "dctcp", "switch.ecn_threshold_packets": 20},
    ),
    Variation("initial window 2", {"transport.initial_window_segments": 2}),
    # PDLB.
    pdlb("gate of 30 packets (360 µs)", ":gate_packets=30"),
    pdlb("gate of 8 packets (96 µs)", ":gate_packets=8"),
    pdlb("classifier 2x mean, as printed", ":classifier=gt_2x_mean"),
    pdlb("classifier 2x least", ":classifier=gt_2x_min"),
    pdlb("model as printed", ":model=paper"),
    pdlb("model repaired", ":model=repaired"),
    pdlb("model of the authors' code", ":model=released"),
    pdlb("ACK timestamps, no probes", ":estimate=ack_timestamps"),
    pdlb("share of slow ACKs, no probes", ":estimate=ack_share"),
    pdlb("delay there and back", ":delay=rtt"),
    pdlb("period 100 µs", ":period_us=100"),
    pdlb("cells in turn", ":dispatch=round_robin"),
    pdlb("outer tags, hashed", ":path_tag=outer"),
)


def schemes(variation: Variation) -> str:
    """PDLB in this variation, and the fixed granularities if the set-up differs."""
    own = f"pdlb:period_us=500:record=ticks{variation.added('PDLB')}@PDLB"
    return own if variation.schemes else f"{own},{FIXED_SCHEMES}"


def spec(variation: Variation, seed: int) -> Spec:
    """Fig. 10's spec at 1 Gbps in this variation."""
    return variation.of(fig10.spec(1, seed))


def runs(effort: Effort) -> list[Run]:
    """Every variation over seeds."""
    return [
        Run(scheme.label, 0.0, seed, scheme.apply(spec(variation, seed)), variation.name)
        for variation in VARIATIONS
        for seed in range(1, 1 + effort.choose(full=20, quick=4))
        for scheme in parse_list(schemes(variation))
    ]


def coarser_inside(variation: str, measured: Measured) -> Verdict:
    """PDLB's granularity is larger inside the window than before and after it."""
    return claims.combined(
        claims.metric_above(measured.within(variation), "PDLB", "granularity inside", f"granularity {part}", 0.0)
        for part in ("before", "after")
    )


def pdlb_uses_more(variation: str, metric: str, measured: Measured) -> Verdict:
    """PDLB uses more of the paths in the window than any fixed granularity."""
    return claims.higher(measured.within(variation), "PDLB", fig10.FIXED, f"{metric} inside")


# The word in a claim for a use of the paths, and the prefix of the name of its variation.
USES = (
    (fig10.DRAWN, "PDLB: above fixed sizes", ""),
    (fig10.PAYLOAD, "PDLB: payload of TCP above fixed sizes", "payload, "),
)


EXPERIMENT = Experiment(
    id="pdlb-10-variations",
    figures=(),
    title="PDLB Fig. 10, own addition: every open assumption varied alone",
    setup="as pdlb-10 with paths of 1 Gbps, one thing changed at a time",
    runs=runs,
    measure=measure,
    panels=(),
    claims=(
        *(
            Claim("C0-17", "10a", "larger cells inside the window", partial(coarser_inside, one.name), one.name, False)
            for one in VARIATIONS
        ),
        *(
            claims.beside("C0-20", "10c", text, partial(pdlb_uses_more, one.name, metric), f"{before}{one.name}")
            for metric, text, before in USES
            for one in VARIATIONS
            if not one.schemes
        ),
    ),
    headline="none: that of pdlb-10 is",
    assumptions=(Assumption("all else", "as in pdlb-10", "so that one thing differs at a time"),),
    notes=(
        "`python -m spinewise.papers.pdlb.tables DIR` prints granularity, reordering and utilisation by variation.",
    ),
)
