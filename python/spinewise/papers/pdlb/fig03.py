"""PDLB Figs. 3a, 3b, 4a, 4b: flowcells of a fixed size, from one packet to 44, while some paths are slow.

Set-up T0-A: two leaves, eight spines (Fig. 2), paths of 1 Gbps, buffers of 250 packets; ten DCTCP flows of 10,000
packets, each between hosts of its own; cells on paths drawn at random ("randomly spreads"). Good paths have a
round-trip time of 100 µs, congested ones 300 or 600 µs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

from spinewise.papers.pdlb import transports
from spinewise.papers.pdlb.measure.fig03 import measure
from spinewise.reproduction import claims, readings, shapes
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
from spinewise.shapes import ListedFlow, Spec, Transport

TRANSPORTS = transports.TRANSPORTS | transports.BOUND

PATHS, FLOWS = 8, 10
FLOW_PACKETS = 10_000
GOOD_RTT_NS = 100_000
LINK_DELAY_NS = GOOD_RTT_NS // 8
BAD_RTTS_US = (300, 600)
BAD_COUNTS = (1, 2, 4)
# Fig. 3's curves differ by the delay; the paper's verification of its model has two slow paths.
OF_FIG_3 = 2
SIZES = (1, 2, 4, 8, 16, 32, 44)
SYMMETRIC = "symmetric"
X = "packets per flowcell"


def curve(bad: int, rtt_us: int) -> str:
    """Name of a line."""
    return f"{bad} at {rtt_us} µs" if bad else SYMMETRIC


SLOW = tuple(curve(bad, rtt) for rtt in BAD_RTTS_US for bad in BAD_COUNTS)


def spec(bad: int, bad_rtt_us: int, gran: int, transport: Transport) -> Spec:
    """`bad` slow paths, those of the spines with the lowest numbers, and cells of `gran` packets."""
    slow = shapes.override_of_path(1000 * bad_rtt_us, LINK_DELAY_NS)
    size = FLOW_PACKETS * transports.PACKET_BYTES
    flows: list[ListedFlow] = [{"src": k, "dst": FLOWS + k, "size_bytes": size} for k in range(FLOWS)]
    return {
        "name": f"PDLB Figs. 3 and 4, {curve(bad, bad_rtt_us)}",
        "preset": "datacenter",
        "topology": {
            "leaves": 2,
            "spines": PATHS,
            "hosts_per_leaf": FLOWS,
            "host_rate_gbps": 1,
            "fabric_rate_gbps": 1,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": [{"spine": spine, "delay_ns": slow} for spine in range(bad)],
        },
        "switch": {"buffer_bytes": transports.BUFFER_BYTES, "ecn_threshold_bytes": transports.ECN_BYTES},
        "transport": {"kind": "dctcp", **transport},
        "scheme": {"name": "flowcell", "params": {"packets": gran, "dispatch": "random"}},
        "traffic": [{"kind": "flows", "list": flows}],
        "run": {"until_us": 120_000_000},
    }


def runs(effort: Effort) -> list[Run]:
    """Every size on every set of slow paths, under all transports, over seeds."""
    sizes = effort.choose(full=SIZES, quick=(1, 8, 44))
    sets = [(0, GOOD_RTT_NS // 1000), *((bad, rtt) for rtt in BAD_RTTS_US for bad in BAD_COUNTS)]
    return [
        Run(curve(bad, rtt), float(gran), seed, spec(bad, rtt, gran, keys), name)
        for name, keys in TRANSPORTS.items()
        for bad, rtt in sets
        for gran in sizes
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
    ]


def u_shape(metric: str, measured: Measured) -> Verdict:
    """Declines and then rises with the size, for each delay of the slow paths."""
    slow = (curve(OF_FIG_3, rtt) for rtt in BAD_RTTS_US)
    return claims.combined(claims.bend(measured, one, metric, valley=1.0) for one in slow)


def finer_reorders_more(measured: Measured) -> Verdict:
    """3-dupACK events become fewer with the size, on every set of slow paths."""
    return claims.graded(claims.trend(measured, one, "dupack3", rising=-1.0) for one in SLOW)


def more_slow_reorder_more(measured: Measured) -> Verdict:
    """3-dupACK events become more with each further slow path, at every size and delay."""
    pairs = [(curve(b, rtt), curve(a, rtt)) for rtt in BAD_RTTS_US for a, b in pairwise(BAD_COUNTS)]
    return claims.graded(
        claims.higher(measured, more, [fewer], "dupack3", [x]) for more, fewer in pairs for x in measured.xs
    )


def finer_uses_more(metric: str, measured: Measured) -> Verdict:
    """Judge whether, on equal paths, the use falls with the size."""
    return claims.trend(measured, SYMMETRIC, metric, rising=-1.0)


def peaked(metric: str, measured: Measured) -> Verdict:
    """Judge whether, on unequal paths, the use is highest at an intermediate size."""
    return claims.combined(claims.bend(measured, one, metric, valley=-1.0) for one in SLOW)


STATEMENTS = (
    Claim("C0-02", "3a", "mean FCT declines, then rises with the size (2 slow paths)", partial(u_shape, readings.MEAN)),
    Claim("C0-03", "3b", "so does the 99th percentile", partial(u_shape, readings.P99)),
    Claim("C0-04", "4a", "the smaller the cells, the more 3-dupACK events", finer_reorders_more),
    Claim("C0-05", "4a", "the more slow paths, the more of them", more_slow_reorder_more),
    Claim(
        "C0-06", "4b", "equal paths: utilisation rises as cells get smaller", partial(finer_uses_more, "utilisation")
    ),
    Claim(
        "C0-06",
        "4b",
        "the same of payload alone",
        partial(finer_uses_more, "payload"),
        reading="payload",
        headline=False,
    ),
    Claim("C0-07", "4b", "unequal paths: utilisation is highest at a size between", partial(peaked, "utilisation")),
    Claim("C0-07", "4b", "the same of payload alone", partial(peaked, "payload"), reading="payload", headline=False),
)


def panels(name: str) -> tuple[Panel, ...]:
    """The four panels under one transport, and the effect of retransmissions on the last."""
    made = (
        shapes.mean_fct("3a", X, variant=name, unit="ms"),
        shapes.p99_fct("3b", X, variant=name, unit="ms"),
        shapes.share("4a", "dupack3", "3-dupACK events", X, of="packets sent", variant=name),
        shapes.share("4b", "utilisation", "utilisation of the paths while busy", X, variant=name),
        shapes.share("4b", "payload", "payload over all paths' rate", X, variant=name),
        shapes.share("4a", "resent", "packets sent again", X, of="packets sent", variant=name),
    )
    return tuple(replace(panel, log_x=True) for panel in made)


ASSUMPTIONS = (
    Assumption("hosts", "ten under each leaf at 1 Gbps, each sending to its counterpart", "one receiver per sender"),
    Assumption("dispatch", "each cell on a path drawn at random", "the text says RPS, and Presto, which takes turns"),
    Assumption("slow paths", "0, 1, 2 or 4 of 8; Fig. 3 with 2", "no number is given but in the model verification"),
    Assumption("300 and 600 µs", "two experiments", "the figure's legend is lost"),
    Assumption("starts", "all at once", "not given; seeds differ by the cells' paths"),
    Assumption("queues", "250 x 1460 bytes, marking above 65 x 1460 bytes", "buffer given; K of the authors' script"),
    Assumption("transport", "DCTCP, initial window 10, least timeout 10 ms", "DCTCP is given"),
    Assumption("99th percentile", "the slowest of the ten flows", "of ten flows it is the maximum"),
)

EXPERIMENT = Experiment(
    id="pdlb-3",
    figures=("3a", "3b", "4a", "4b"),
    title="PDLB Figs. 3 and 4: flowcells of a fixed size",
    setup="2 leaves, 8 paths of 1 Gbps, RTT 100 µs, slow ones 300 or 600 µs; 10 DCTCP flows of 10,000 packets",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in TRANSPORTS for panel in panels(name)),
    claims=claims.in_each(TRANSPORTS, STATEMENTS, headline=[transports.THREE]),
    headline="three duplicate ACKs (RFC 5681), as TCP had in the ns-2 that the paper ran; utilisation as drawn",
    assumptions=ASSUMPTIONS,
    notes=(
        "Ten flows ask for 10 of the 8 Gbps that the paths have, and take what they get: a closed test has no load.",
        "Bytes sent again keep paths busy: payload is judged beside utilisation.",
    ),
)
