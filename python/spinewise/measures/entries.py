"""Traffic entries by name, and the results of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import stats
from spinewise.measures.classes import ALL, ClassSummary, least_slowdown, named, summarise_histogram, summarise_rows
from spinewise.measures.packets import Packets, sum_packets
from spinewise.measures.report import EntryCounts, Report
from spinewise.measures.tables import numbers
from spinewise.shapes import SizeClass, Spec, Traffic

if TYPE_CHECKING:
    import pyarrow as pa

Mask = npt.NDArray[np.bool_]
By = Literal["auto", "entry", "class", "both"]
"""How flows are grouped: by traffic entry, all together, or both; auto: by entry if there are several."""

UDP = "udp"
WAITING = frozenset({"rpc", "all_reduce", "all_to_all", "dag"})
"""Kinds of traffic in which flows wait for others; a list of flows with rounds has such flows too."""


@dataclass(frozen=True)
class Entry:
    """A [[traffic]] entry.

    Attributes:
        name: its own, or its default name.
        kind: the kind of traffic.
        size_classes: the size classes of its flows.
        waits: whether flows wait for others, and may never begin.
    """

    name: str
    kind: str
    size_classes: Sequence[SizeClass]
    waits: bool = False


@dataclass(frozen=True)
class EntrySummary:
    """The results of the flows of one traffic entry.

    Attributes:
        name: the name of the entry.
        kind: the kind of traffic.
        classes: one per size class of the entry, "all" last; empty if unknown.
        packets: sums over its flows.
        udp: whether its flows are constant-rate sources, which belong to no class.
    """

    name: str
    kind: str
    classes: list[ClassSummary]
    packets: Packets
    udp: bool = False

    def of(self, name: str = ALL) -> ClassSummary:
        """The class of this name.

        Raises:
            KeyError: there is no such class.
        """
        return named(self.classes, name, f"size class of traffic {self.name!r}")


def ended_s(spec: Spec, report: Report) -> dict[str, float]:
    """When all operations of each entry of kind "dag" had ended, in seconds from the start; NaN if not all did."""
    entries = entries_of(spec)
    return {
        entries[told["entry"]].name: told["end_ps"] / PS_PER_SECOND if told["ended"] == told["operations"] else math.nan
        for told in report.get("operations", [])
    }


def entries_of(spec: Spec) -> list[Entry]:
    """The traffic entries of a resolved spec, named as the engine names them."""
    traffic = spec.get("traffic") or []
    classes = spec.get("metrics", {}).get("size_classes", [])
    return [
        Entry(name, str(entry.get("kind", "")), entry.get("size_classes") or classes, has_waiting(entry))
        for name, entry in zip(names(traffic), traffic, strict=True)
    ]


def has_waiting(entry: Traffic) -> bool:
    """Whether a traffic entry has flows that wait for others."""
    return entry.get("kind") in WAITING or (entry.get("kind") == "flows" and entry.get("rounds", 1) > 1)


def begun(flows: pa.Table, spec: Spec) -> Mask:
    """Which flows had begun: all but those that would have waited for others, and have not sent even a SYN in vain."""
    waits = np.array([one.waits for one in entries_of(spec)])[numbers(flows, "entry")]
    silent = (numbers(flows, "packets") == 0) & (numbers(flows, "timeouts") == 0)
    never = waits & silent & ~numbers(flows, "finished").astype(bool)
    return np.asarray(~never)


def names(traffic: Sequence[Traffic]) -> list[str]:
    """The name of each entry: its own; else its kind, with its place if others have the same kind."""
    kinds = [str(entry.get("kind", "")) for entry in traffic]
    given = [entry.get("name") for entry in traffic]
    taken = {str(name) for name in given if name is not None}
    return [
        str(name) if name is not None else kind if kinds.count(kind) == 1 and kind not in taken else f"{kind}-{place}"
        for place, (name, kind) in enumerate(zip(given, kinds, strict=True))
    ]


def summarise_entries(flows: pa.Table, report: Report, spec: Spec, method: stats.Method) -> list[EntrySummary]:
    """Every entry of a resolved spec in its order; from a row per flow, or from the engine's counts."""
    entries, least = entries_of(spec), least_slowdown(spec)
    if flows.num_rows > 0 and "entry" in flows.column_names:
        of = numbers(flows, "entry")
        return [of_rows(flows, of == place, entry, method) for place, entry in enumerate(entries)]
    if report.get("entries"):
        return [of_report(entry, least) for entry in report["entries"]]
    if len(entries) == 1 and flows.num_rows == 0:
        # An older result without rows: the counts of all flows are those of these.
        only, classes = entries[0], [summarise_histogram(found, least) for found in report.get("classes", [])]
        if classes:
            return [EntrySummary(only.name, only.kind, classes, Packets.of_totals(report["totals"]))]
    return []


def of_rows(flows: pa.Table, inside: npt.NDArray[np.bool_], entry: Entry, method: stats.Method) -> EntrySummary:
    """One entry from a row per flow."""
    # Where all rows are this entry's, no copy: taking some of a table costs 7 MB for pyarrow's functions alone.
    mine = flows if inside.all() else flows.filter(mask(inside))
    udp = bool(mine.num_rows) and not numbers(mine, "tcp").any()
    return EntrySummary(
        name=entry.name,
        kind=entry.kind,
        classes=[] if udp else summarise_rows(mine, entry.size_classes, method),
        packets=sum_packets(mine),
        udp=udp or (not mine.num_rows and entry.kind == UDP),
    )


def mask(inside: npt.NDArray[np.bool_]) -> pa.Array:
    """A mask of rows as an Arrow array."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    return pa.array(np.asarray(inside, dtype=np.bool_))


def of_report(entry: EntryCounts, least: float) -> EntrySummary:
    """One entry from the engine's counts; `least` is that of its slowdowns."""
    udp = bool(entry["udp"])
    return EntrySummary(
        name=str(entry["name"]),
        kind=str(entry["kind"]),
        classes=[] if udp else [summarise_histogram(found, least) for found in entry["classes"]],
        packets=Packets.of_totals(entry["totals"]),
        udp=udp,
    )
