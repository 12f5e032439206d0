"""The record of a run: the judged value, and other facts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures.report import Link
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure


@dataclass(frozen=True)
class Row:
    """A run in numbers; packets are counted over all flows.

    Attributes:
        value: the judged value: seconds, or a slowdown.
        mean_fct_s: mean completion time of the flows that are judged.
        other_s: until the last flow of the other traffic entries was done; NaN without any.
        flows, unfinished: the numbers for all traffic.
        sent: data packets, those sent again included.
        again: data packets sent again.
        timeouts: retransmission timeouts.
        marked: data packets that arrived with a congestion mark.
        trimmed_up, trimmed_down, trimmed_last: packets trimmed on the way up, on the way down, and at ports to hosts.
        dropped: packets dropped at full queues and where no route was left.
        lost: packets lost on links.
        out_of_order: share of packets that arrived behind a later one of their flow.
        moved: share of packets that left their first leaf by another uplink than the previous one.
        imbalance: (most - least) / mean use of a switch's equal links, both summed over samples and switches.
        faulty: the bytes on the leaf's first uplink, both ways, over the mean of its others.
        paused_s: seconds of pauses, summed over all queues.
        messages: share of bytes that carry no data: answers, probes, headers and messages of schemes.
        packet_hops: links crossed by packets.
        wall_s: how long the run took.
        outcome, traffic: first bytes of the hashes of what happened and of what was offered, hex.
    """

    value: float
    mean_fct_s: float
    other_s: float
    flows: int
    unfinished: int
    sent: int
    again: int
    timeouts: int
    marked: int
    trimmed_up: int
    trimmed_down: int
    trimmed_last: int
    dropped: int
    lost: int
    out_of_order: float
    moved: float
    imbalance: float
    faulty: float
    paused_s: float
    messages: float
    packet_hops: int
    wall_s: float
    outcome: str
    traffic: str


TIERS = ("host", "leaf", "aggregation", "core")
HASH_HEX = 16


Statistic = Literal["last", "mean", "p95", "p99 slowdown"]
"""A statistic of an entry: the time until its last flow or all rounds are done, or of its flows' times or slowdowns."""


@dataclass(frozen=True)
class Asked:
    """The judged value: a statistic of a traffic entry."""

    judged: str
    statistic: Statistic


def tier(node: str) -> int:
    """The height of a node's tier."""
    return TIERS.index(node.rstrip("0123456789"))


def trimmed(links: Iterable[Link]) -> tuple[int, int, int]:
    """Packets trimmed on the way up, on the way down, and at ports to hosts."""
    found = [0, 0, 0]
    for link in links:
        begin, _, end = link["name"].partition("->")
        place = 2 if tier(end) == 0 else int(tier(end) < tier(begin))
        found[place] += int(link.get("trimmed", 0))
    return found[0], found[1], found[2]


def faulty_share(links: Iterable[Link], leaf: str, first: str) -> float:
    """Bytes carried by the link of `leaf` to `first`, over the mean of its other uplinks, both ways."""
    carried: dict[str, int] = {}
    for link in links:
        begin, _, end = link["name"].partition("->")
        other = end if begin == leaf else begin
        if leaf in (begin, end) and not other.startswith("host"):
            carried[other] = carried.get(other, 0) + int(link["bytes"])
    rest = [size for name, size in carried.items() if name != first]
    return carried[first] / (sum(rest) / len(rest)) if any(rest) else math.nan


def judged(asked: Asked, result: Result) -> float:
    """The judged number; infinite if one of its flows had not finished."""
    entry = result.summary().of("all", asked.judged)
    if entry.unfinished:
        return math.inf
    if asked.statistic == "mean":
        return entry.fct_s.mean
    if asked.statistic == "p95":
        return entry.fct_s.p95
    if asked.statistic == "p99 slowdown":
        return entry.slowdown.p99
    (job,) = [one for one in result.rounds.jobs if one.name == asked.judged]
    return float(job.total_s)


def entry_number(result: Result, name: str) -> int:
    """The place of a traffic entry among those of a run."""
    return [entry["name"] for entry in result.spec["traffic"]].index(name)


def others(asked: Asked, result: Result) -> float:
    """The time until the last flow of the other entries was done."""
    theirs = numbers(result.flows, "entry") != entry_number(result, asked.judged)
    ends = numbers(result.flows, "start_ps")[theirs] + numbers(result.flows, "fct_ps")[theirs]
    return float(np.max(ends)) / PS_PER_SECOND if len(ends) else math.nan


def row(asked: Asked, leaf: str, first: str, _spec: Spec, result: Result) -> Row:
    """Make the record of a run."""
    report, summary = result.report, result.summary()
    totals, counters, everything = report["totals"], report["counters"], summary.of("all")
    up, down, last = trimmed(report["links"])
    return Row(
        value=judged(asked, result),
        mean_fct_s=summary.of("all", asked.judged).fct_s.mean,
        other_s=others(asked, result),
        flows=everything.flows,
        unfinished=everything.unfinished,
        sent=int(totals["sent"]),
        again=int(totals["retransmits"]),
        timeouts=int(totals["timeouts"]),
        marked=int(totals["marks"]),
        trimmed_up=up,
        trimmed_down=down,
        trimmed_last=last,
        dropped=int(counters["dropped"]["packets"]),
        lost=int(counters["lost"]["packets"]),
        out_of_order=int(totals["out_of_order"]) / max(int(totals["sent"]), 1),
        moved=int(totals["reroutes"] or 0) / max(int(totals["sent"]), 1),
        imbalance=summary.facts.imbalance,
        faulty=faulty_share(report["links"], leaf, first),
        paused_s=summary.facts.paused_s,
        messages=summary.facts.overhead_share,
        packet_hops=int(report["packet_hops"]),
        wall_s=float(report["wall_seconds"]),
        outcome=str(report["outcome_hash"])[:HASH_HEX],
        traffic=str(report["traffic_hash"])[:HASH_HEX],
    )


def kept(asked: Asked, leaf: str, first: str) -> Measure[Row]:
    """The measure for the runs of a workload; `leaf` and `first` are the ends of the link that may be faulty."""
    return Measure("edge-2026", Row, partial(row, asked, leaf, first))
