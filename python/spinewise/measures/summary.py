"""The results of a run: flow completion times by size class, links, loads, overheads.

Flows that had not finished when the run stopped are counted and left out of every mean and
percentile; a class with unfinished flows therefore looks better than it is (survivor bias), and every
table says so. UDP sources do not belong to any class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import html, stats
from spinewise.measures.afterwards import after_run, estimated
from spinewise.measures.classes import ALL, ClassSummary, least_slowdown, named, summarise_histogram, summarise_rows
from spinewise.measures.distribution import Distribution
from spinewise.measures.entries import EntrySummary, summarise_entries
from spinewise.measures.facts import Facts, facts_of
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.measures.notices import Notice, notices
from spinewise.measures.overlap import outlasted
from spinewise.measures.packets import Packets, ratio, sum_packets
from spinewise.measures.plain import plain, without_nan
from spinewise.measures.report import Link, Report
from spinewise.measures.units import counted, digits, duration
from spinewise.replies import Loads
from spinewise.shapes import Spec

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ALL",
    "PS_PER_SECOND",
    "ClassSummary",
    "Distribution",
    "EntrySummary",
    "Packets",
    "Summary",
    "ratio",
    "summarise",
    "without_nan",
]


class TierUse(TypedDict):
    """The use of the links of a tier."""

    tier: str
    links: int
    mean_utilisation: float
    max_utilisation: float
    jain: float
    drops: int
    lost: int
    marks: int
    longest_queue_bytes: int
    pauses: int
    paused_s: float
    trimmed: int
    headers_lost: int


@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    Attributes:
        classes: one for each size class of metrics.size_classes, "all" last; over all traffic entries.
        packets: sums over flows.
        facts: other events: drops, timeouts, the hottest link.
        entries: the same for each traffic entry, in order; empty if unknown.
        overhead_bytes: bytes on the wire that carry no data, by kind, each counted once.
        created_bytes: all bytes that hosts and switches made.
        loads: offered load by definition, as fractions of capacity.
        overloaded: whether the worst cut is offered more than it can carry for long.
        links: the use of the links, by tier.
        deadlock: links whose queues paused each other indefinitely, in order; empty if none did.
        faults: the effects of faults, in packets ("lost" on links, "unroutable" at switches) and unfinished flows
            ("cut_off" from each other, "out_of_time"); empty if nothing broke.
        warnings: settings that may be unintended, or results that may be misleading.
    """

    classes: list[ClassSummary]
    packets: Packets
    overhead_bytes: dict[str, int]
    created_bytes: int
    loads: dict[str, float]
    overloaded: bool
    facts: Facts = field(default_factory=Facts)
    entries: list[EntrySummary] = field(default_factory=list)
    links: list[TierUse] = field(default_factory=list)
    deadlock: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    warnings: list[Notice] = field(default_factory=list)

    def of(self, name: str = ALL, entry: str | None = None) -> ClassSummary:
        """The class of this name: of one traffic entry, or of all traffic.

        Raises:
            KeyError: there is no such entry or class.
        """
        return named(self.classes, name) if entry is None else self.entry(entry).of(name)

    def entry(self, name: str) -> EntrySummary:
        """The traffic entry of this name.

        Raises:
            KeyError: there is no such entry.
        """
        for found in self.entries:
            if found.name == name:
                return found
        there = ", ".join(found.name for found in self.entries)
        raise KeyError(f"no traffic entry {name!r}; there are {there or 'none in this result'}")

    @property
    def asked(self) -> list[EntrySummary]:
        """The entries whose flows complete: all but constant-rate UDP."""
        return [found for found in self.entries if not found.udp]

    @property
    def mixed(self) -> bool:
        """Whether `classes` mix the flows of several entries."""
        return len(self.asked) > 1

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON; NaN becomes None."""
        found = plain(self)
        assert isinstance(found, dict)
        return found

    def __repr__(self) -> str:
        every = self.of(ALL)
        lost = f", {every.unfinished:,} unfinished" if every.unfinished else ""
        of = f"; entries {', '.join(found.name for found in self.entries)}" if self.entries else ""
        return f"<Summary: {counted(every.flows, 'flow')}{lost}, mean FCT {duration(every.fct_s.mean)}{of}>"

    def _repr_html_(self) -> str:
        """A row for each class of each traffic entry that has flows, for notebooks."""
        heads = ["traffic", "class", "flows", "unfinished", "mean FCT", "p50", "p99", "mean slowdown", "p99"]
        scopes = [(one.name, one.classes) for one in self.asked] if self.mixed else [("", self.classes)]
        rows = [
            [
                *(name, found.name, f"{found.flows:,}", f"{found.unfinished:,}"),
                *(duration(found.fct_s.get(what)) for what in ("mean", "p50", "p99")),
                *(digits(found.slowdown.get(what)) for what in ("mean", "p99")),
            ]
            for name, classes in scopes
            for found in classes
            if found.flows
        ]
        return html.table("", heads, rows, 2)


def summarise(
    flows: pa.Table,
    report: Report,
    spec: Spec,
    method: stats.Method = "nearest_rank",
    above_ideal: Callable[[], Mapping[str, float]] = dict,
) -> Summary:
    """The summary of a run from its flow table, its report, its resolved spec and its rounds, which few runs need."""
    loads = report.get("loads")
    counters = report["counters"]
    has_rows = flows.num_rows > 0 or not report["flows"]
    packets = sum_packets(flows) if has_rows else Packets.of_totals(report["totals"])
    nodes = Nodes.of(spec)
    facts = facts_of(report, packets, nodes)
    entries = summarise_entries(flows, report, spec, method)
    classes = (
        summarise_rows(flows, spec.get("metrics", {}).get("size_classes", []), method)
        if has_rows
        else [summarise_histogram(entry, least_slowdown(spec)) for entry in report["classes"]]
    )
    return Summary(
        classes=classes,
        packets=packets,
        facts=facts,
        entries=entries,
        overhead_bytes={kind: int(size) for kind, size in facts.overhead_bytes.items()},
        created_bytes=int(counters["created"]["bytes"]),
        loads=known_loads(loads) if loads else {},
        overloaded=bool(loads and loads["overloaded"]),
        links=link_tiers(report["links"], nodes),
        deadlock=list(report.get("deadlock") or []),
        faults=fault_counts(report),
        warnings=[
            *notices(report.get("warnings") or []),
            *after_run(entries, facts, report, spec, above_ideal),
            *outlasted(flows, spec),
            *([] if has_rows else estimated(classes)),
        ],
    )


def known_loads(loads: Loads) -> dict[str, float]:
    """The loads by definition, without infinite ones."""
    of = {
        "payload_of_nominal": loads["payload_of_nominal"],
        "wire_of_available": loads["wire_of_available"],
        "wire_of_nominal": loads["wire_of_nominal"],
    }
    return {name: float(load) for name, load in of.items() if load is not None}


def fault_counts(report: Report) -> dict[str, int]:
    """Packets lost on links, packets without a port to leave by, and unfinished flows by reason, with faults."""
    if "unfinished" not in report:
        return {}
    counters = report["counters"]
    lost, unroutable = int(counters["lost"]["packets"]), int(counters["unroutable"])
    found = report["unfinished"]
    return {
        "lost": lost,
        "unroutable": unroutable,
        "cut_off": int(found["cut_off"]),
        "out_of_time": int(found["out_of_time"]),
    }


def link_tiers(links: Sequence[Link], nodes: Nodes = NUMBERED) -> list[TierUse]:
    """Utilisation over the whole run, drops, losses, marks, pauses and trims of the links, by tier (leaf->spine, …).

    Pauses count at the link whose sender was paused; `paused_s` sums the seconds of all its data queues.
    Trims count at the port that cut a packet; of those, `headers_lost` had no room for the header either.
    """
    tiers: dict[str, list[Link]] = {}
    for link in links:
        tiers.setdefault(nodes.tier(str(link["name"])), []).append(link)
    result: list[TierUse] = []
    for name, members_ in tiers.items():
        used = np.array([float(link["utilisation"]) for link in members_])
        result.append(
            {
                "tier": name,
                "links": len(members_),
                "mean_utilisation": stats.mean(used),
                "max_utilisation": float(used.max()),
                "jain": stats.jain(used),
                "drops": sum(int(link["drops"]) for link in members_),
                "lost": sum(int(link.get("lost", 0)) for link in members_),
                "marks": sum(int(link["marks"]) for link in members_),
                "longest_queue_bytes": max(int(link["longest_queue_bytes"]) for link in members_),
                "pauses": sum(int(link["pauses"]) for link in members_),
                "paused_s": sum(int(link["paused_ps"]) for link in members_) / PS_PER_SECOND,
                "trimmed": sum(int(link.get("trimmed", 0)) for link in members_),
                "headers_lost": sum(int(link.get("headers_lost", 0)) for link in members_),
            }
        )
    return result


def offered_on_the_wire(report: Report) -> float:
    """Offered load in bytes on the wire over the capacity of the worst cut; NaN if no load was requested."""
    loads = report["loads"]
    found = None if loads is None else loads["wire_of_available"]
    return math.nan if found is None else float(found)
