"""What a run comes to: flow completion times by size class, links, loads, overheads.

Flows that had not finished when the run stopped are counted and left out of every mean and
percentile; a class with unfinished flows therefore looks better than it is (survivor bias), and every
table says so. UDP sources are no flows of any class.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from spinewise.measures import stats
from spinewise.measures.notices import Notice, notices
from spinewise.measures.tables import numbers

PS_PER_SECOND = 1e12

ALL = "all"
UPLINKS = "leaf->spine"
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class Distribution:
    """Mean and percentiles of one quantity over the finished flows of a class."""

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float

    @classmethod
    def of(cls, values: stats.Floats, method: stats.Method = "nearest_rank") -> Distribution:
        """Of a set of values; all NaN when it is empty."""
        quantiles = stats.percentiles(values, list(QUANTILES.values()), method)
        return cls(stats.mean(values), *quantiles)

    @classmethod
    def of_histogram(cls, mean: float | None, bins: Sequence[Sequence[int]], unit: float) -> Distribution:
        """Of (lower edge, count) pairs in ascending order: a percentile is the lower edge of its bin.

        The engine's bins are at most 1/32 wide, so a percentile is at most 3 % too low.
        """
        edges = np.array([edge for edge, _ in bins], dtype=np.float64)
        ends = np.cumsum([count for _, count in bins])
        total = int(ends[-1]) if len(bins) else 0
        quantiles = [
            float(edges[np.searchsorted(ends, min(stats.rank(p, total), total - 1), side="right")]) * unit
            if total
            else math.nan
            for p in QUANTILES.values()
        ]
        return cls(math.nan if mean is None else mean, *quantiles)


@dataclass(frozen=True)
class ClassSummary:
    """One size class.

    Attributes:
        name: "short", "long", … or "all".
        flows: flows of this class.
        unfinished: those that had not finished when the run stopped.
        fct_s: flow completion time in seconds, of finished flows.
        slowdown: completion time over that of the same flow alone, of finished flows.
    """

    name: str
    flows: int
    unfinished: int
    fct_s: Distribution
    slowdown: Distribution


@dataclass(frozen=True)
class Packets:
    """Data packets of flows, and what was said of them, summed over the run; UDP not included.

    Attributes:
        sent: retransmissions included.
        retransmits: sent again.
        timeouts: retransmission timeouts.
        out_of_order: arrivals behind a later byte of the flow.
        dupack3_events: times a third duplicate acknowledgement arrived (TCP).
        marks: arrivals marked CE.
        nacks: NACKs that reached a sender (RDMA).
        cnps: congestion notifications that reached a sender (RDMA).
    """

    sent: int
    retransmits: int
    timeouts: int
    out_of_order: int
    dupack3_events: int
    marks: int
    nacks: int
    cnps: int

    @property
    def out_of_order_ratio(self) -> float:
        """Arrivals out of order over packets sent."""
        return ratio(self.out_of_order, self.sent)

    @property
    def dupack3_ratio(self) -> float:
        """Third duplicate acknowledgements over packets sent, PDLB's measure of reordering."""
        return ratio(self.dupack3_events, self.sent)


@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    Attributes:
        classes: one entry per size class, "all" last.
        packets: sums over flows.
        overhead_bytes: bytes on the wire that carry no data, by kind, each counted once.
        created_bytes: all bytes that hosts and switches made.
        loads: offered load by definition, as fractions of capacity.
        overloaded: whether the worst cut is offered more than it can carry for long.
        links: how busy the links were, by tier.
        deadlock: links whose queues paused each other for ever, in order; empty if none did.
        faults: what faults came to, in packets ("lost" on links, "unroutable" at switches) and unfinished flows
            ("cut_off" from each other, "out_of_time"); empty if nothing broke.
        warnings: what may not be what was meant, or not mean what it seems.
    """

    classes: list[ClassSummary]
    packets: Packets
    overhead_bytes: dict[str, int]
    created_bytes: int
    loads: dict[str, float]
    overloaded: bool
    links: list[dict[str, Any]] = field(default_factory=list)
    deadlock: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    warnings: list[Notice] = field(default_factory=list)

    def of(self, name: str) -> ClassSummary:
        """The class of this name."""
        for found in self.classes:
            if found.name == name:
                return found
        raise KeyError(f"no size class {name!r}; there are {[c.name for c in self.classes]}")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes None."""
        plain = without_nan(asdict(self))
        assert isinstance(plain, dict)
        return plain


def summarise(
    flows: Any,
    report: Mapping[str, Any],
    size_classes: Sequence[Mapping[str, Any]],
    method: stats.Method = "nearest_rank",
) -> Summary:
    """The summary of a run from its flow table, its report and the size classes of its spec."""
    loads = report.get("loads") or {}
    counters = report["counters"]
    has_rows = flows.num_rows > 0 or not report["flows"]
    return Summary(
        classes=summarise_rows(flows, size_classes, method)
        if has_rows
        else [summarise_histogram(entry) for entry in report["classes"]],
        packets=sum_packets(flows) if has_rows else Packets(**report["totals"]),
        overhead_bytes={
            "acks": int(counters["acks"]["bytes"]),
            "handshakes": int(counters.get("handshakes", {}).get("bytes", 0)),
            "probes": int(counters["probes"]["bytes"]),
            "messages": int(counters["messages"]["bytes"]),
            "pause frames": int(counters["pause_frames"]["bytes"]),
            "scheme headers": int(counters["scheme_header_bytes"]),
        },
        created_bytes=int(counters["created"]["bytes"]),
        loads={k: float(v) for k, v in loads.items() if k != "overloaded" and v is not None},
        overloaded=bool(loads.get("overloaded", False)),
        links=link_tiers(report["links"]),
        deadlock=list(report.get("deadlock") or []),
        faults=fault_counts(report),
        warnings=notices(report.get("warnings") or []),
    )


def fault_counts(report: Mapping[str, Any]) -> dict[str, int]:
    """Packets lost on links, packets no port was left for, and unfinished flows by reason; of a run with faults."""
    if "unfinished" not in report:
        return {}
    counters = report["counters"]
    lost, unroutable = int(counters["lost"]["packets"]), int(counters["unroutable"])
    return {"lost": lost, "unroutable": unroutable} | {why: int(n) for why, n in report["unfinished"].items()}


def summarise_rows(flows: Any, size_classes: Sequence[Mapping[str, Any]], method: stats.Method) -> list[ClassSummary]:
    """One `ClassSummary` per size class and one for all flows, from a row per flow."""
    size = numbers(flows, "size_bytes")
    tcp = numbers(flows, "tcp").astype(bool)
    finished = numbers(flows, "finished").astype(bool)
    fct_s = numbers(flows, "fct_ps") / PS_PER_SECOND
    slowdown = numbers(flows, "slowdown")
    result = []
    for entry in [*size_classes, {"name": ALL}]:
        inside = tcp & members(size, entry)
        done = inside & finished
        result.append(
            ClassSummary(
                name=str(entry["name"]),
                flows=int(inside.sum()),
                unfinished=int((inside & ~finished).sum()),
                fct_s=Distribution.of(fct_s[done], method),
                slowdown=Distribution.of(slowdown[done], method),
            )
        )
    return result


def members(size_bytes: Any, entry: Mapping[str, Any]) -> Any:
    """Which flows belong to a class: from_bytes ≤ size < below_bytes, each bound optional."""
    lower = entry.get("from_bytes") or 0
    upper = entry.get("below_bytes") or math.inf
    return (size_bytes >= lower) & (size_bytes < upper)


def summarise_histogram(entry: Mapping[str, Any]) -> ClassSummary:
    """One class from the engine's exact counts and histograms."""
    fct_ps, slowdown = entry["mean_fct_ps"], entry["mean_slowdown"]
    return ClassSummary(
        name=str(entry["name"]),
        flows=int(entry["flows"]),
        unfinished=int(entry["flows"]) - int(entry["finished"]),
        fct_s=Distribution.of_histogram(
            None if fct_ps is None else fct_ps / PS_PER_SECOND, entry["fct_ps_histogram"], 1 / PS_PER_SECOND
        ),
        slowdown=Distribution.of_histogram(slowdown, entry["slowdown_thousandths_histogram"], 1e-3),
    )


def sum_packets(flows: Any) -> Packets:
    """Sums over all flows but UDP."""
    tcp = numbers(flows, "tcp").astype(bool)
    names = ("packets", "retransmits", "timeouts", "out_of_order", "dupack3_events", "marks", "nacks", "cnps")
    return Packets(*(int(numbers(flows, name)[tcp].sum(dtype=np.int64)) for name in names))


def link_tiers(links: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Utilisation over the whole run, drops, losses, marks and pauses of the links, by tier (leaf->spine, …).

    Pauses count at the link whose sender was paused; `paused_s` adds up the seconds of all its data queues.
    """
    tiers: dict[str, list[Mapping[str, Any]]] = {}
    for link in links:
        tiers.setdefault(tier(str(link["name"])), []).append(link)
    result = []
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
            }
        )
    return result


def tier(link_name: str) -> str:
    """The tier of a link: "leaf0->spine3#1" is of "leaf->spine"."""
    return re.sub(r"\d+(#\d+)?", "", link_name)


def uplink_utilisation(report: Mapping[str, Any], seconds: float) -> float:
    """Mean share of `seconds` for which the leaf uplinks were sending; NaN when there are none."""
    used = [float(link["utilisation"]) for link in report["links"] if tier(link["name"]) == UPLINKS]
    whole = float(report["stop_ps"]) / PS_PER_SECOND
    return stats.mean(used) * whole / seconds if seconds > 0.0 else math.nan


def ratio(part: int, whole: int) -> float:
    """`part / whole`, NaN when the whole is empty."""
    return part / whole if whole else math.nan


def without_nan(value: Any) -> Any:
    """`value` with every NaN and infinity below it replaced by None, which JSON can say."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
