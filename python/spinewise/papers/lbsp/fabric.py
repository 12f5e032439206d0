"""Parts shared by the experiments on LBSP: the set-ups T1-A to T1-D, the schemes, checks, and the assumptions.

The paper ran ns-2 and names few of its settings: where it is silent, ns-2's own defaults apply (segments of 1000 bytes,
a first window of two), with today's usual ones beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spinewise.measures import stats
from spinewise.papers.lbsp.tree import LARGE, QUIET_US, SMALL, Tree
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Measured, Status, Verdict
from spinewise.reproduction.words import named
from spinewise.shapes import ListedFlow, Spec, Topology, Traffic, Transport
from spinewise.specs.variants import Variant, parse

Floats = NDArray[np.float64]

SEGMENT_BYTES, HEADER_BYTES = 1000, 40
LONG_BYTES = 100_000_000

NEWRENO, RACK, USUAL = "NewReno", "RACK-TLP", "Reno, segments of 1460"
RENO = "Reno"
TRANSPORTS: Mapping[str, Transport] = {
    RENO: {"kind": "reno"},
    NEWRENO: {"kind": "newreno"},
    RACK: {"kind": "newreno", "recovery": "rack"},
    USUAL: {"kind": "reno", "mss_bytes": 1460, "initial_window_segments": 10},
}

LBSP, NS2, SCATTER, RANDOM = "LBSP", "scatter as in ns-2", "scatter", "random scatter"
# The paper's "original packet scatter scheme" may be any of these. The first heads the verdicts, because the paper ran
# ns-2: there a switch takes turns separately for each destination. In the second it does so for all packets together.
BASELINES = (NS2, SCATTER, RANDOM)
AS_IN_NS2 = "scatter with a pointer per destination, as in ns-2, which the paper ran"
_OF = {LBSP: "lbsp", NS2: "packet_scatter:pointer=destination", SCATTER: "packet_scatter", RANDOM: "rps"}


def schemes(*labels: str) -> list[Variant]:
    """The schemes with these labels."""
    return [parse(f"{_OF[label]}@{label}") for label in labels or _OF]


def spec(name: str, topology: Topology, transport: str) -> Spec:
    """A spec without scheme and traffic: queues of 250 packets, a timer of 20 ms."""
    return {
        "name": f"LBSP {name}, {transport}",
        "preset": "datacenter",
        "topology": deepcopy(topology),
        "switch": {"buffer_packets": 250},
        "transport": {
            "min_rto_us": 20_000,
            "initial_rto_us": 20_000,
            "mss_bytes": SEGMENT_BYTES,
            "header_bytes": HEADER_BYTES,
            "initial_window_segments": 2,
            **TRANSPORTS[transport],
        },
        "run": {"until_us": 4_000_000_000},
    }


def long_flows(tree: Tree, rounds: int, seed: int, size_bytes: int = LONG_BYTES) -> list[Traffic]:
    """Fig. 3: two flows S1 to D1, one S2 to D2 and one S3 to D3; at k = 16 one more from the pod of S1 and S2.

    S1's flows share its link and take twice as long, so the others are sent twice as often. D1 and D2 differ in the
    lowest bit alone: with A11-T11 avoided, S1 and S2 are in one path group. Starts are up to 10 ms apart.
    """
    source, other, target = tree.leaf // tree.half, tree.k // 2, 1
    to = [tree.host(target, 1, number) for number in range(4)]
    shared = [(tree.host(source, 2 if tree is SMALL else 6, 0), to[0])] * 2
    single = [(tree.leaf * tree.half, to[1]), (tree.host(other, 0, 0), to[3])]
    if tree is LARGE:
        single.append((tree.host(source, 0, 0), to[2]))
    starts = iter(np.random.default_rng(seed).uniform(QUIET_US, 2 * QUIET_US, len(shared) + len(single)))

    def entry(pairs: Iterable[tuple[int, int]], times: int) -> Traffic:
        listed: list[ListedFlow] = [
            {"src": src, "dst": dst, "size_bytes": size_bytes, "start_ns": round(1e3 * float(next(starts)))}
            for src, dst in pairs
        ]
        return {"kind": "flows", "list": listed, "rounds": times}

    return [entry(shared, rounds), entry(single, 2 * rounds)]


def relabelled(measured: Measured, places: Mapping[str, float], x: float) -> Measured:
    """The measurements at `x` of some variants, each at a place of its own, to compare variants with each other."""
    return Measured(
        [
            replace(one, run=replace(one.run, x=places[one.run.variant]))
            for one in measured.measurements
            if one.run.variant in places and one.run.x == x
        ]
    )


def unchanged(measured: Measured, curve: str, metric: str, before: float, after: float, *, within: float) -> Verdict:
    """`metric` of `curve` at x = `after` is within a share of its value at `before`."""
    change = claims.step(measured, curve, metric, before, after)
    bound = within * measured.interval(curve, before, metric).mean
    status = claims.unsure(change)
    if change.n >= 2 and max(abs(change.low), abs(change.high)) <= bound:
        status = Status.HOLDS
    elif change.n >= 2 and (change.low > bound or change.high < -bound):
        status = Status.FAILS
    text = claims.step_text(measured, curve, metric, before, after)
    text += f", within ±{100 * within:g} %"
    return claims.bounded(status, text, p=claims.beyond(abs(change.mean) - bound, change))


def grows(measured: Measured, curve: str, metric: str, before: float, after: float, *, factor: float) -> Verdict:
    """`metric` of `curve` at x = `after` is at least `factor` times its value at `before`, seed by seed."""
    late, early = (np.asarray(measured.values(curve, x, metric)) for x in (after, before))
    ratio = stats.t_interval(late / early)
    status = claims.unsure(ratio)
    if ratio.n >= 2 and ratio.low >= factor:
        status = Status.HOLDS
    elif ratio.n >= 2 and ratio.high < factor:
        status = Status.FAILS
    text = f"{named(metric)} of {curve} from {before:g} to {after:g}: {ratio.mean:.1f} ±{ratio.half:.1f} times"
    return claims.bounded(status, f"{text}, at least {factor:g}", p=claims.beyond(factor - ratio.mean, ratio))


ASSUMPTIONS = (
    Assumption("packets", "1000 bytes and 40 of headers, first window 2", "not given; ns-2's defaults (from memory)"),
    Assumption("window", "no limit but congestion", "not given; ns-2's default of 20 packets would leave 0.3 Gbps"),
    Assumption("timer", "least and first timeout 20 ms", "'set the retransmission timer to 20 ms'"),
    Assumption("failures", "there from the start; LBSP learns of them by its messages before flows begin", "not given"),
    Assumption(
        "original packet scatter",
        "in turn with a pointer per switch and destination host, as ns-2.35's multipath classifier has it; beside it"
        " one pointer a switch, and at random (RPS, which is cited)",
        "not said, but the paper ran ns-2; routes avoid what is down, as those of ns-2 do",
    ),
    Assumption("NIC", "takes packets from TCP as its line is free: nothing is dropped in a host", "not given"),
)
