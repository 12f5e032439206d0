"""What a run comes to: flow completion times by size class, links, loads, overheads.

Flows that had not finished when the run stopped are counted and left out of every mean and
percentile; a class with unfinished flows therefore looks better than it is (survivor bias), and every
table says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from spinewise import stats
from spinewise.tables import numbers

PS_PER_SECOND = 1e12
# Above this share of the capacity left on the worst cut, results depend on how long the run lasts.
OVERLOADED_ABOVE = 0.95

ALL = "all"
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


@dataclass(frozen=True)
class ClassSummary:
    """One size class.

    Attributes:
        name: "short", "long", … or "all".
        flows: flows of this class that started.
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
class Summary:
    """A run in numbers.

    Attributes:
        classes: one entry per size class, "all" last.
        packets: data packets sent by flows, retransmissions included.
        retransmits: data packets sent again.
        timeouts: retransmission timeouts.
        out_of_order_ratio: arrivals behind a later byte, over data packets sent.
        dupack3_ratio: events of three duplicate ACKs, over data packets sent.
        loads: offered load by definition (payload, wire, available), as fractions.
        overloaded: whether the worst cut is offered more than it can carry for long.
        counters: the engine's counters, as it names them.
        links: how busy the links were, by tier.
    """

    classes: list[ClassSummary]
    packets: int
    retransmits: int
    timeouts: int
    out_of_order_ratio: float
    dupack3_ratio: float
    loads: dict[str, float]
    overloaded: bool
    counters: dict[str, Any]
    links: list[dict[str, Any]] = field(default_factory=list)

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
    loads = report.get("loads", {})
    packets = int(numbers(flows, "packets").sum())
    return Summary(
        classes=summarise_classes(flows, size_classes, method),
        packets=packets,
        retransmits=int(numbers(flows, "retransmits").sum()),
        timeouts=int(numbers(flows, "timeouts").sum()),
        out_of_order_ratio=ratio(int(numbers(flows, "out_of_order").sum()), packets),
        dupack3_ratio=ratio(int(numbers(flows, "dupack3_events").sum()), packets),
        loads={k: float(v) for k, v in loads.items() if isinstance(v, int | float)},
        overloaded=is_overloaded(loads),
        counters=dict(report.get("counters", {})),
        links=link_tiers(report),
    )


def summarise_classes(
    flows: Any,
    size_classes: Sequence[Mapping[str, Any]],
    method: stats.Method,
) -> list[ClassSummary]:
    """One `ClassSummary` per size class and one for all flows."""
    size = numbers(flows, "size_bytes")
    finished = numbers(flows, "finished").astype(bool)
    fct_s = numbers(flows, "fct_ps") / PS_PER_SECOND
    slowdown = numbers(flows, "slowdown")
    result = []
    for entry in [*size_classes, {"name": ALL}]:
        inside = members(size, entry)
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


def is_overloaded(loads: Mapping[str, Any]) -> bool:
    """Whether the offered load exceeds what the worst cut carries for long."""
    if "overloaded" in loads:
        return bool(loads["overloaded"])
    return float(loads.get("available", 0.0)) > OVERLOADED_ABOVE


def link_tiers(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Utilisation, drops and marks of the links, grouped by tier (leaf->spine, host->leaf, …)."""
    seconds = float(report.get("simulated_ps", 0)) / PS_PER_SECOND
    tiers: dict[str, list[Mapping[str, Any]]] = {}
    for link in report.get("links", []):
        tiers.setdefault(str(link.get("tier", "links")), []).append(link)
    result = []
    for tier, links in tiers.items():
        used = np.array([utilisation(link, seconds) for link in links])
        result.append(
            {
                "tier": tier,
                "links": len(links),
                "mean_utilisation": stats.mean(used),
                "max_utilisation": float(used.max()) if used.size else math.nan,
                "jain": stats.jain(used),
                "drops": sum(int(link.get("drops", 0)) for link in links),
                "marks": sum(int(link.get("marks", 0)) for link in links),
            }
        )
    return result


def utilisation(link: Mapping[str, Any], seconds: float) -> float:
    """Share of a link's nominal rate that was used over the whole run; NaN when it is unknown."""
    capacity = float(link.get("rate_bps", 0)) * seconds / 8.0
    return float(link.get("tx_bytes", 0)) / capacity if capacity > 0.0 else math.nan


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
