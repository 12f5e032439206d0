"""What the experiments on LBSP share: the set-ups T1-A to T1-D, what fails in them, the schemes, and what is read off.

The paper ran ns-2 and names few of its settings: where it is silent, ns-2's own defaults stand (segments of 1000 bytes,
a first window of two), with today's usual ones beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinewise.measures import stats
from spinewise.measures.tables import numbers
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Measured, Status, Verdict
from spinewise.runs.result import Result
from spinewise.specs.variants import Variant, parse

Floats = NDArray[np.float64]

LINK_DELAY_NS = 50_000
SEGMENT_BYTES, HEADER_BYTES = 1000, 40
LONG_BYTES = 100_000_000
# Messages of failures, there from the start, have come by then.
QUIET_US = 10_000

NEWRENO, RACK, USUAL = "NewReno", "RACK-TLP", "Reno, segments of 1460"
RENO = "Reno"
TRANSPORTS: Mapping[str, Mapping[str, Any]] = {
    RENO: {"kind": "reno"},
    NEWRENO: {"kind": "newreno"},
    RACK: {"kind": "newreno", "recovery": "rack"},
    USUAL: {"kind": "reno", "mss_bytes": 1460, "initial_window_segments": 10},
}

LBSP, SCATTER, RANDOM = "LBSP", "scatter", "random scatter"
# The paper's "original packet scatter scheme" may be either.
BASELINES = (SCATTER, RANDOM)
_OF = {LBSP: "lbsp", SCATTER: "packet_scatter", RANDOM: "rps"}

# Conditions, as they stand on the axis of a figure.
WHOLE, LINK, SWITCH, DEGRADED = 0.0, 1.0, 2.0, 3.0
CONDITIONS = (WHOLE, LINK, SWITCH, DEGRADED)
AXIS = "0 whole, 1 link, 2 switch down, 3 link slow"
DEGRADED_GBPS = 0.1


@dataclass(frozen=True)
class Tree:
    """A k-ary fat-tree and the place of its failure: the leaf `leaf` and the last aggregation switch of its pod.

    Attributes:
        k: ports of a switch.
        leaf: S2's leaf: the last one of pod 2 at k = 8 (T11 of Fig. 3).
    """

    k: int
    leaf: int

    @property
    def half(self) -> int:
        """Uplinks of a leaf, leaves of a pod, hosts of a leaf."""
        return self.k // 2

    @property
    def aggregation(self) -> int:
        """The aggregation switch of the failure: A11 at k = 8."""
        return self.leaf // self.half * self.half + self.half - 1

    def overrides(self, condition: float) -> list[dict[str, Any]]:
        """What is wrong with the tree."""
        link = {"leaf": self.leaf, "aggregation": self.aggregation}
        wrong: Mapping[float, list[dict[str, Any]]] = {
            WHOLE: [],
            LINK: [link | {"up": False}],
            SWITCH: [{"aggregation": self.aggregation, "up": False}],
            DEGRADED: [link | {"rate_gbps": DEGRADED_GBPS}],
        }
        return wrong[condition]

    def topology(self, override: Sequence[Mapping[str, Any]] = (), core_gbps: float = 1.0) -> dict[str, Any]:
        """§4: every link 1 Gbps and 50 µs; links of cores may be slower."""
        return {
            "kind": "fat_tree",
            "k": self.k,
            **dict.fromkeys(("host_rate_gbps", "fabric_rate_gbps"), 1),
            "core_rate_gbps": core_gbps,
            **dict.fromkeys(("host_delay_ns", "fabric_delay_ns", "core_delay_ns"), LINK_DELAY_NS),
            "override": [dict(one) for one in override],
        }

    def host(self, pod: int, leaf: int, number: int) -> int:
        """A host by its pod, its leaf in that and its number there."""
        return (pod * self.half + leaf) * self.half + number


SMALL, LARGE = Tree(8, 11), Tree(16, 23)


def schemes(*labels: str) -> list[Variant]:
    """These schemes with their labels."""
    return [parse(f"{_OF[label]}@{label}") for label in labels or _OF]


def spec(name: str, topology: Mapping[str, Any], transport: str) -> dict[str, Any]:
    """A spec without scheme and traffic: queues of 250 packets, a timer of 20 ms."""
    return {
        "name": f"LBSP {name}, {transport}",
        "preset": "datacenter",
        "topology": deepcopy(dict(topology)),
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


def long_flows(tree: Tree, rounds: int, seed: int, size_bytes: int = LONG_BYTES) -> list[dict[str, Any]]:
    """Fig. 3: two flows S1 to D1, one S2 to D2 and one S3 to D3; at k = 16 one more from the pod of S1 and S2.

    S1's flows share its link and take twice as long, so the others are sent twice as often. D1 and D2 differ in the
    lowest bit alone: with A11-T11 avoided S1 and S2 are of one path group. Starts are up to 10 ms apart.
    """
    source, other, target = tree.leaf // tree.half, tree.k // 2, 1
    to = [tree.host(target, 1, number) for number in range(4)]
    shared = [(tree.host(source, 2 if tree is SMALL else 6, 0), to[0])] * 2
    single = [(tree.leaf * tree.half, to[1]), (tree.host(other, 0, 0), to[3])]
    if tree is LARGE:
        single.append((tree.host(source, 0, 0), to[2]))
    starts = iter(np.random.default_rng(seed).uniform(QUIET_US, 2 * QUIET_US, len(shared) + len(single)))

    def entry(pairs: Iterable[tuple[int, int]], times: int) -> dict[str, Any]:
        listed = [
            {"src": src, "dst": dst, "size_bytes": size_bytes, "start_ns": round(1e3 * float(next(starts)))}
            for src, dst in pairs
        ]
        return {"kind": "flows", "list": listed, "rounds": times}

    return [entry(shared, rounds), entry(single, 2 * rounds)]


def flows_of(result: Result, tree: Tree) -> dict[str, Any]:
    """The flows of each pair of Fig. 3, as masks."""
    source = numbers(result.flows, "src")
    s2, s3 = tree.leaf * tree.half, tree.host(tree.k // 2, 0, 0)
    shared = result.spec["traffic"][0]["list"][0]["src"]
    return {"S1": source == shared, "S2": source == s2, "S3": source == s3}


def packets(result: Result) -> dict[str, float]:
    """Packets sent again and out of order, as shares of those sent; timeouts, and drops at queues."""
    sent = float(numbers(result.flows, "packets").sum(dtype=np.int64))
    shares = {"resent": "retransmits", "out_of_order": "out_of_order"}
    found = {key: float(numbers(result.flows, name).sum(dtype=np.int64)) / sent for key, name in shares.items()}
    return found | {
        "timeouts": float(numbers(result.flows, "timeouts").sum(dtype=np.int64)),
        "drops": float(sum(link["drops"] for link in result.report["links"])),
    }


def completion(result: Result, inside: Any = None) -> dict[str, float]:
    """Mean and 99.9th percentile of completion times in s; of fewer than a thousand flows the latter is the slowest."""
    done = numbers(result.flows, "finished").astype(bool)
    fct = numbers(result.flows, "fct_ps")[done if inside is None else done & inside].astype(float) / 1e12
    return {"mean_s": stats.mean(fct), "p999_s": stats.percentile(fct, 0.999)}


# A link up between switches, by its name.
UPLINK = re.compile(r"(leaf|aggregation)(\d+)->(aggregation|core)(\d+)")


def relabelled(measured: Measured, places: Mapping[str, float], x: float) -> Measured:
    """The measurements at `x` of some variants, each at a place of its own: to compare one variant with another."""
    return Measured(
        [
            replace(one, run=replace(one.run, x=places[one.run.variant]))
            for one in measured.measurements
            if one.run.variant in places and one.run.x == x
        ]
    )


def unchanged(measured: Measured, curve: str, metric: str, before: float, after: float, *, within: float) -> Verdict:
    """`metric` of `curve` at x = `after` lies within a share of what it is at `before`."""
    change = claims.step(measured, curve, metric, before, after)
    bound = within * measured.interval(curve, before, metric).mean
    status = Status.OPEN
    if change.n >= 2 and max(abs(change.low), abs(change.high)) <= bound:
        status = Status.HOLDS
    elif change.n >= 2 and (change.low > bound or change.high < -bound):
        status = Status.FAILS
    text = claims.step_text(measured, curve, metric, before, after)
    return claims.line(status, f"{text}, within ±{100 * within:g} %")


def grows(measured: Measured, curve: str, metric: str, before: float, after: float, *, factor: float) -> Verdict:
    """`metric` of `curve` at x = `after` is at least `factor` times what it is at `before`, seed by seed."""
    late, early = (np.asarray(measured.values(curve, x, metric)) for x in (after, before))
    ratio = stats.t_interval(late / early)
    status = Status.OPEN
    if ratio.n >= 2 and ratio.low >= factor:
        status = Status.HOLDS
    elif ratio.n >= 2 and ratio.high < factor:
        status = Status.FAILS
    text = f"{metric} of {curve} from x={before:g} to {after:g}: {ratio.mean:.1f} ±{ratio.half:.1f} times"
    return claims.line(status, f"{text}, at least {factor:g}")


ASSUMPTIONS = (
    Assumption("packets", "1000 bytes and 40 of headers, first window 2", "not given; ns-2's defaults (from memory)"),
    Assumption("window", "no limit but congestion", "not given; ns-2's default of 20 packets would leave 0.3 Gbps"),
    Assumption("timer", "least and first timeout 20 ms", "'set the retransmission timer to 20 ms'"),
    Assumption("failures", "there from the start; LBSP learns of them by its messages before flows begin", "not given"),
    Assumption(
        "original packet scatter",
        "in turn (ns-2's multipath classifier, one pointer a switch) and at random (RPS, which is cited), both",
        "not said; routes avoid what is down, as those of ns-2 do",
    ),
    Assumption("NIC", "takes packets from TCP as its line is free: nothing is dropped in a host", "not given"),
)
