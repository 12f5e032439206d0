"""The hottest links, and the queues that were longest."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from spinewise.measures.report import Link

FEW = 3
"""The number of links named by default."""


@dataclass(frozen=True)
class HotLink:
    """A link worth reporting.

    Attributes:
        name: such as leaf0->spine1.
        rate_bps: its rate, bits per second; 0 if the report of an older version lacks it.
        mean_use: share of the run for which it was sending.
        max_use: the greatest share of one sample interval; None without `metrics.facts`.
        longest_queue_bytes: the longest queue known, see `longest_queue_bytes`.
        queue_p50_bytes: half of the samples of the queue are no longer; None without `metrics.facts`, and at NICs that
            have no queue.
        queue_p99_bytes: likewise 99 in 100.
        marks: packets marked CE at its port.
        drops: packets dropped there.
    """

    name: str
    rate_bps: int
    mean_use: float
    max_use: float | None
    longest_queue_bytes: int
    queue_p50_bytes: int | None
    queue_p99_bytes: int | None
    marks: int
    drops: int


@dataclass(frozen=True)
class Hottest:
    """The links with the greatest load.

    Attributes:
        links: by mean use, the greatest first; only those that have sent.
        queues: by the longest queue (with `metrics.facts`: by its 99th percentile, then the longest), the greatest
            first; only those that had one.
    """

    links: list[HotLink]
    queues: list[HotLink]


def hottest(links: Sequence[Link], most: int = FEW) -> Hottest:
    """The links of a report (`report["links"]`) with the greatest use and with the longest queues, `most` of each.

    Links that are equal are in the order of the report.
    """
    # A large fabric has 100,000 links, of which few are reported.
    queued = heapq.nlargest(most, (link for link in links if longest_queue_bytes(link)), key=queue_order)
    return Hottest(busiest(links, most), [hot_link(link) for link in queued])


def busiest(links: Iterable[Link], most: int) -> list[HotLink]:
    """The links with the greatest use, at most this many; only those that have sent."""
    used = heapq.nlargest(most, (link for link in links if link["utilisation"] > 0), key=itemgetter("utilisation"))
    return [hot_link(link) for link in used]


def queue_order(link: Link) -> tuple[int, int]:
    """What the longest queues are ordered by."""
    queue = link.get("queue_bytes")
    return int(queue["p99"]) if queue else 0, longest_queue_bytes(link)


def hot_link(link: Link) -> HotLink:
    """A link of a report."""
    queue = link.get("queue_bytes")
    return HotLink(
        name=str(link["name"]),
        rate_bps=int(link.get("rate_bps", 0)),
        mean_use=float(link["utilisation"]),
        max_use=link.get("use_max"),
        longest_queue_bytes=longest_queue_bytes(link),
        queue_p50_bytes=int(queue["p50"]) if queue else None,
        queue_p99_bytes=int(queue["p99"]) if queue else None,
        marks=int(link["marks"]),
        drops=int(link["drops"]),
    )


def longest_queue_bytes(link: Link) -> int:
    """The longest queue that a packet found at its port, or, with `metrics.facts`, that a sample found if longer.

    A sample also counts the last packet.
    """
    queue = link.get("queue_bytes")
    return max(int(link["longest_queue_bytes"]), int(queue["max"]) if queue else 0)
