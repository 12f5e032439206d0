"""Find which open assumption decides the outcome of PDLB Fig. 7: each varied alone, everything else as in pdlb-7.

First suspect our code and our reading: every parameter of the scheme that the paper leaves open or contradicts itself
on, and every assumption about traffic, hosts, queues and transport, at one and at four hot paths.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from spinewise.papers.pdlb import fig07
from spinewise.papers.pdlb.measure.fig07 import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Status, Verdict
from spinewise.reproduction.shapes import Variation
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

HOT_PATHS = (1, 4)
RATE = "traffic[0].arrivals_per_second"
Check = Callable[[Measured], Verdict]
BOTH_RATES_1G = {"topology.host_rate_gbps": 1, "topology.fabric_rate_gbps": 1}


def pdlb(name: str, text: str) -> Variation:
    """Parameters of PDLB changed (":key=value")."""
    return Variation(name, schemes={"PDLB": text})


VARIATIONS = (
    Variation("as pdlb-7"),
    # Traffic and hosts.
    Variation("arrivals 20,000/s (9 % load)", {RATE: 20_000}),
    Variation("arrivals 200,000/s (90 % load)", {RATE: 200_000}),
    Variation("arrivals 400,000/s (overload)", {RATE: 400_000}),
    Variation("all flows within 100 µs", {RATE: 2_000_000}),
    Variation("16 hosts per leaf", {"topology.hosts_per_leaf": 16}),
    Variation("64 hosts, 90 % load", {"topology.hosts_per_leaf": 64, RATE: 200_000}),
    Variation("sizes 50 KB to 20 MB", {"traffic[0].max_bytes": 20_000_000, RATE: 20_000}),
    Variation("all links 1 Gbps", {**BOTH_RATES_1G, RATE: 10_000}),
    Variation("hosts 1 Gbps, paths 10", {"topology.host_rate_gbps": 1}),
    # Queues.
    Variation("queues counted in packets", {"switch": {"buffer_packets": 250, "ecn_threshold_packets": 65}}),
    Variation(
        "the same, 64 hosts, 90 % load",
        {
            "switch": {"buffer_packets": 250, "ecn_threshold_packets": 65},
            "topology.hosts_per_leaf": 64,
            RATE: 200_000,
        },
    ),
    Variation("K = 20 packets", {"switch.ecn_threshold_bytes": 29_200}),
    Variation("K = 200 packets", {"switch.ecn_threshold_bytes": 292_000}),
    # Transport.
    Variation("reordering tolerated", {"transport.dupack_threshold": 0}),
    Variation("reordering tolerated, 90 % load", {"transport.dupack_threshold": 0, RATE: 200_000}),
    Variation("10 duplicate ACKs", {"transport.dupack_threshold": 10}),
    Variation("initial window 2", {"transport.initial_window_segments": 2}),
    Variation("least timeout 1 ms, overload", {"transport.min_rto_us": 1_000, RATE: 400_000}),
    Variation("ACK every second packet", {"transport.delayed_ack_segments": 2}),
    Variation("NewReno without ECN", {"transport.kind": "newreno"}),
    # PDLB.
    pdlb("cells in turn", ":dispatch=round_robin"),
    pdlb("ACK timestamps, no probes", ":estimate=ack_timestamps"),
    pdlb("share of slow ACKs, no probes", ":estimate=ack_share"),
    pdlb("no probes, cells in turn", ":estimate=ack_timestamps:dispatch=round_robin"),
    pdlb("probes of 1500 bytes", ":probe_bytes=1500"),
    pdlb("delay there and back", ":delay=rtt"),
    pdlb("classifier 2x mean, as printed", ":classifier=gt_2x_mean"),
    pdlb("classifier 2x least", ":classifier=gt_2x_min"),
    pdlb("gate of 30 packets (36 µs)", ":gate_packets=30"),
    pdlb("model as printed", ":model=paper"),
    pdlb("model repaired", ":model=repaired"),
    pdlb("model of the authors' code", ":model=released"),
    pdlb("sizes of 2^n KB", ":search=powers_of_two_kb"),
    pdlb("new pairs start with 1 packet", ":initial_packets=1"),
    Variation(
        "16 hosts, 1 packet first, plans kept",
        {"topology.hosts_per_leaf": 16},
        {"PDLB": ":initial_packets=1:stale_after_us=1e9"},
    ),
    Variation(
        "16 hosts to 16, scope sender",
        {"topology.hosts_per_leaf": 16, "traffic[0].pairs": "leaf_pair"},
        {"PDLB": ":scope=sender"},
    ),
    pdlb("outer tags, hashed", ":path_tag=outer"),
)

# Those of a quick effort: one of each kind, the most telling.
MAIN = (
    "as pdlb-7",
    "arrivals 200,000/s (90 % load)",
    "all links 1 Gbps",
    "reordering tolerated",
    "no probes, cells in turn",
    "classifier 2x mean, as printed",
    "model as printed",
    "new pairs start with 1 packet",
)


def schemes(variation: Variation) -> str:
    """PDLB in this variation, and the other schemes unchanged."""
    return f"rps@RPS,ecmp@ECMP,letflow@LetFlow,presto@Presto,pdlb:record=ticks{variation.added('PDLB')}@PDLB"


def spec(variation: Variation, hot: int) -> Spec:
    """Fig. 7's spec in this variation."""
    return variation.of(fig07.base(hot))


def runs(effort: Effort) -> list[Run]:
    """Every variation, at one and at four hot paths, over seeds; in a quick effort, some, with PDLB and Presto."""
    return [
        Run(scheme.label, float(hot), seed, scheme.apply(spec(variation, hot)), variation.name)
        for variation in VARIATIONS
        if effort is not Effort.QUICK or variation.name in MAIN
        for hot in HOT_PATHS
        for seed in range(1, 1 + effort.choose(full=10, quick=2))
        for scheme in parse_list(schemes(variation))
        if effort is not Effort.QUICK or scheme.label in ("PDLB", "Presto")
    ]


def pdlb_beats_presto(measured: Measured) -> Verdict:
    """PDLB completes flows sooner than Presto."""
    return claims.lower(measured, "PDLB", ["Presto"], "mean_fct_s")


def of_all(check: Check, measured: Measured) -> Verdict:
    """A check on all schemes, if all were run."""
    if "ECMP" not in measured.curves:
        return claims.line(Status.UNTESTED, "PDLB and Presto alone were run")
    return check(measured)


CHECKS: tuple[tuple[str, str, str, Check], ...] = (
    ("C0-10a", "7b", "PDLB: highest utilisation", partial(of_all, fig07.pdlb_uses_most)),
    ("C0-10b", "7c", "PDLB: lowest mean FCT", partial(of_all, fig07.pdlb_fastest)),
    ("C0-11b", "7c", "ECMP: mean FCT longer than the median of all others", partial(of_all, fig07.ecmp_is_poor)),
    ("C0-12", "7c", "PDLB beats Presto", pdlb_beats_presto),
)

EXPERIMENT = Experiment(
    id="pdlb-7-variations",
    figures=(),
    title="PDLB Fig. 7, own addition: every open assumption varied alone",
    setup="as pdlb-7 at one and at four hot paths, one thing changed at a time",
    runs=runs,
    measure=measure,
    panels=(),
    claims=tuple(
        Claim(key, figure, text, claims.within(one.name, check), reading=one.name, headline=False)
        for key, figure, text, check in CHECKS
        for one in VARIATIONS
    ),
    headline="none: that of pdlb-7 is",
    assumptions=(Assumption("all else", "as in pdlb-7", "so that one thing differs at a time"),),
    notes=(
        f"Ten seeds each, enough for differences of a few percent. A quick effort has two seeds of {len(MAIN)} of the"
        f" {len(VARIATIONS)} variations, PDLB and Presto alone; the checks of the rest are not testable then.",
        "`python -m spinewise.papers.pdlb.tables DIR` prints all schemes against Presto, by variation.",
    ),
)
