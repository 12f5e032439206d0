"""PDLB Figs. 10a-c: adaptive against fixed granularity while one of four paths is congested.

Set-up T0-D: leaf-spine with four paths, round-trip time 200 µs, buffers of 100 packets, two TCP flows of
30 MB, a UDP flow of 500 Mbps on each path; on one path it sends 800 Mbps from 100 to 200 ms. PDLB
samples every 500 µs.

As printed, links run at 10 Gbps. That cannot show the claims of the figure: two flows of 30 MB need 24 ms
at line rate and are over before the window opens, and 800 Mbps of 10 Gbps makes no queue. "Two flows fill two of
four paths" and the window fit paths of 1 Gbps, so the experiment is run in both versions.
"""

from __future__ import annotations

import random
from functools import partial

from spinewise.papers.pdlb.measure.fig10 import END_MS, HOSTS_PER_LEAF, PATHS, SENDERS, STEP_MS, WINDOW_MS, measure
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
from spinewise.shapes import ListedFlow, Override, Spec, Step, Traffic
from spinewise.specs.variants import Variant, parse_list

SCHEMES = (
    "pdlb:period_us=500:record=ticks@PDLB,"
    "flowcell:packets=1@1 packet,flowcell:packets=16@16 packets,flowcell:packets=44@44 packets,"
    "flowcell:packets=1000000@whole flow"
)
FIXED = ("1 packet", "16 packets", "44 packets", "whole flow")
# Use of the paths as drawn, with UDP, and by payload of TCP alone.
DRAWN, PAYLOAD = "utilisation", "tcp_share"
PRINTED, REPAIRED = "as printed", "1 Gbps paths"
VERSIONS = {PRINTED: 10, REPAIRED: 1}

LINK_DELAY_NS = 200_000 // 8
# Rates of the UDP flow of each path, and of that on the hot one in the window.
UDP_GBPS, HOT_UDP_GBPS = 0.5, 0.8
HALF = 0.5


def udp_leaf(path: int) -> int:
    """The leaf that sends the UDP flow of a path: linked only to the spine of that path."""
    return 2 + path


def udp(path: int, hot: int) -> Traffic:
    """The UDP flow on a path."""
    start, end = (int(ms * 1e3) for ms in WINDOW_MS)
    surge: list[Step] = [{"at_us": start, "rate_gbps": HOT_UDP_GBPS}, {"at_us": end, "rate_gbps": UDP_GBPS}]
    return {
        "kind": "udp",
        "src": udp_leaf(path) * HOSTS_PER_LEAF,
        "dst": HOSTS_PER_LEAF + 2 + path,
        "schedule": [{"at_us": 0, "rate_gbps": UDP_GBPS}, *(surge if path == hot else [])],
    }


def spec(rate_gbps: int, seed: int) -> Spec:
    """The spec at this link rate; the seed draws the hot path."""
    hot = random.Random(seed).randrange(PATHS)
    cut: list[Override] = [
        {"leaf": udp_leaf(path), "spine": other, "up": False}
        for path in range(PATHS)
        for other in range(PATHS)
        if other != path
    ]
    flows: list[ListedFlow] = [{"src": k, "dst": HOSTS_PER_LEAF + k, "size_bytes": 30_000_000} for k in range(2)]
    return {
        "name": f"PDLB Fig. 10, {rate_gbps} Gbps",
        "preset": "datacenter",
        "topology": {
            "leaves": 2 + PATHS,
            "spines": PATHS,
            "hosts_per_leaf": HOSTS_PER_LEAF,
            "host_rate_gbps": rate_gbps,
            "fabric_rate_gbps": rate_gbps,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": cut,
        },
        "switch": {"buffer_packets": 100, "ecn_threshold_packets": 0},
        "transport": {"kind": "newreno"},
        "traffic": [{"kind": "flows", "list": flows}, *(udp(path, hot) for path in range(PATHS))],
        "run": {"stop": "time", "until_us": (END_MS + STEP_MS) * 1e3},
        "metrics": {"series_interval_us": STEP_MS * 1e3},
    }


def runs(effort: Effort) -> list[Run]:
    """Every scheme in both versions, over seeds."""
    return [
        Run(variant.label, 0.0, seed, variant.apply(spec(rate, seed)), version)
        for version, rate in VERSIONS.items()
        for seed in range(1, 1 + effort.choose(full=20, quick=3))
        for variant in variants()
    ]


def variants() -> list[Variant]:
    """PDLB and the fixed granularities."""
    return parse_list(SCHEMES)


def flows_last(measured: Measured) -> Verdict:
    """Judge whether the flows last until the window closes."""
    share = min(measured.interval(curve, 0.0, "active inside").mean for curve in measured.curves)
    ends = max(max(measured.values(curve, 0.0, "last end ms")) for curve in measured.curves)
    text = f"TCP sends in at least {100 * share:.0f} % of the window's intervals, last in that up to {ends:g} ms"
    return claims.line(Status.HOLDS if share >= 1.0 else Status.FAILS, text, comparisons=0)


def no_traffic(measured: Measured) -> Verdict | None:
    """A verdict of not testable, if there is no TCP in the window to judge; else None."""
    found = flows_last(measured)
    if found.status is Status.HOLDS:
        return None
    return claims.line(Status.UNTESTED, found.evidence[0].partition(": ")[2])


def coarser_inside(measured: Measured) -> Verdict:
    """PDLB's granularity is larger inside the window than before and after it."""
    return no_traffic(measured) or claims.combined(
        claims.metric_above(measured, "PDLB", "granularity inside", f"granularity {part}", 0.0)
        for part in ("before", "after")
    )


def reorders_little_more(measured: Measured) -> Verdict:
    """PDLB reorders more inside the window than before it, and less than single packets do."""
    return no_traffic(measured) or claims.combined(
        [
            claims.metric_above(measured, "PDLB", "dupack3 inside", "dupack3 before", 0.0),
            claims.lower(measured, "PDLB", ["1 packet"], "dupack3 inside"),
        ]
    )


def part(measured: Measured) -> str:
    """The period in which utilisation is judged: the window, or all the time with TCP if it has ended by then."""
    return "inside" if flows_last(measured).status is Status.HOLDS else "active"


def fixed_below_half(rate_gbps: float, measured: Measured) -> Verdict:
    """Fixed granularities leave more than half of the paths unused; not testable if UDP alone uses half."""
    if part(measured) == "inside" and udp_share(rate_gbps) >= HALF:
        return cannot_hold(rate_gbps, measured)
    name = f"utilisation {part(measured)}"
    return claims.combined(claims.below_limit(measured, curve, name, HALF, 0.0) for curve in FIXED)


def udp_share(rate_gbps: float) -> float:
    """The share of the paths that UDP alone requires in the window."""
    return ((PATHS - 1) * UDP_GBPS + HOT_UDP_GBPS) / (PATHS * rate_gbps)


def cannot_hold(rate_gbps: float, measured: Measured) -> Verdict:
    """A verdict that no granularity can satisfy the claim with UDP counted."""
    least = min(measured.interval(curve, 0.0, "utilisation inside").mean for curve in FIXED)
    text = (
        f"cannot hold by construction: UDP alone is ({PATHS - 1} x {UDP_GBPS:g} + {HOT_UDP_GBPS:g}) / {PATHS} ="
        f" {100 * udp_share(rate_gbps):g} % of paths of {rate_gbps:g} Gbps in the window;"
        f" measured at least {100 * least:.0f} %"
    )
    return claims.line(Status.UNTESTED, text)


def cannot_fail(measured: Measured) -> Verdict:
    """A verdict that the claim does not test TCP: two senders, each at one path's rate, fill at most two of four."""
    name = f"tcp_share {part(measured)}"
    most = max(measured.interval(curve, 0.0, name).mean for curve in FIXED)
    text = (
        f"cannot fail by construction: {len(SENDERS)} senders at the rate of a path cannot fill more than"
        f" {100 * len(SENDERS) / PATHS:g} % of {PATHS} paths; measured at most {100 * most:.0f} %"
    )
    return claims.line(Status.UNTESTED, text)


def pdlb_uses_more(metric: str, measured: Measured) -> Verdict:
    """PDLB uses more of the paths than any fixed granularity."""
    return claims.higher(measured, "PDLB", FIXED, f"{metric} {part(measured)}")


def statements(rate_gbps: float) -> tuple[Claim, ...]:
    """The paper's statements about the figure, on paths of this rate."""
    below_half = partial(fixed_below_half, rate_gbps)
    more, more_payload = (partial(pdlb_uses_more, metric) for metric in (DRAWN, PAYLOAD))
    return (
        Claim("C0-17", "10a", "granularity small before 100 ms and after 200 ms, larger between", coarser_inside),
        Claim("C0-18", "10b", "a little more reordering of PDLB from 100 to 200 ms", reorders_little_more),
        Claim("C0-19a", "10c", "fixed sizes: utilisation below 50 %, UDP counted", below_half),
        Claim("C0-19b", "10c", "fixed sizes: utilisation below 50 %, TCP alone", cannot_fail),
        Claim("C0-20", "10c", "PDLB: utilisation higher than with fixed sizes", more),
        claims.beside("C0-20", "10c", "PDLB: more payload of TCP than with fixed sizes", more_payload, "payload"),
        Claim("own-window", "10", "the flows last until the window closes", flows_last),
    )


def panels(version: str) -> tuple[Panel, ...]:
    """The three panels of one version."""
    time = "time [ms]"
    return (
        Panel("10a", "granularity", "granularity", time, "packets", 1.0, version, timeline=True),
        Panel("10b", "dupack3", "3-dupACK events", time, "% of packets sent", 100.0, version, timeline=True),
        Panel("10c", "utilisation", "utilisation of the paths", time, "%", 100.0, version, timeline=True),
    )


EXPERIMENT = Experiment(
    id="pdlb-10",
    figures=("10a", "10b", "10c"),
    title="PDLB Fig. 10: adaptive against fixed granularity",
    setup=(
        "4 paths, RTT 200 µs, buffers of 100 packets; 2 TCP flows of 30 MB; UDP of 500 Mbps on each path,"
        " 800 Mbps on one from 100 to 200 ms"
    ),
    runs=runs,
    measure=measure,
    panels=tuple(panel for version in VERSIONS for panel in panels(version)),
    claims=tuple(
        claim
        for version, rate in VERSIONS.items()
        for claim in claims.in_each([version], statements(rate), headline=[REPAIRED])
    ),
    headline="paths of 1 Gbps: the paper's window needs flows of 30 MB to last 200 ms, which they do not at 10 Gbps;"
    " of utilisation what is drawn, UDP counted",
    assumptions=(
        Assumption(
            "link rate",
            "10 Gbps as printed, and 1 Gbps",
            "at 10 Gbps the flows end before the window opens; see the head of the file",
        ),
        Assumption("TCP", "NewReno without ECN, duplicate ACK threshold 3", "the paper says TCP, not DCTCP, here"),
        Assumption(
            "UDP path",
            "each UDP flow comes from a leaf of its own that is linked to one spine only",
            "the paper pins a flow to each path and does not say how; the shared bottleneck is the"
            " spine's link to the receivers",
        ),
        Assumption("hot path", "drawn by the seed", "the paper says randomly selected"),
        Assumption("fixed sizes", "1, 16 and 44 packets, and whole flows", "the paper does not name the fixed sizes"),
        Assumption(
            "utilisation",
            "mean of the four links from the spines to the receivers' leaf, UDP included; and TCP payload alone",
            "the paper does not define it; UDP alone is 50 % of paths of 1 Gbps",
        ),
        Assumption("time step", f"{STEP_MS:g} ms", "the paper does not say"),
    ),
    notes=(
        "As printed, both flows end before the window closes: what is shown then is UDP alone, or nothing; utilisation"
        " is judged while there is TCP.",
        "Which assumptions matter: pdlb-10-variations.",
    ),
)
