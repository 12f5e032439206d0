"""Events in a run besides completion times: drops, timeouts, the hottest link, how evenly paths were used.

What an engine does not report (an older one, or one without samples) is NaN or None, and never zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import links as links_
from spinewise.measures.links import HotLink
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.measures.packets import Packets, ratio
from spinewise.measures.report import Account, Counters, Link, Report

OVERHEAD: dict[str, Callable[[Counters], Account | None]] = {
    "acks": lambda counters: counters.get("acks"),
    "handshakes": lambda counters: counters.get("handshakes"),
    "probes": lambda counters: counters.get("probes"),
    "messages": lambda counters: counters.get("messages"),
    "pause frames": lambda counters: counters.get("pause_frames"),
}
"""Bytes that carry no data, by their usual name, with the counter in the report."""
HEADERS = "scheme headers"


@dataclass(frozen=True)
class LinkUse:
    """The link of a kind that was in use longest; over several runs, the most frequent name, and means.

    Attributes:
        name: the name of the link.
        mean_use: share of the whole run for which it was sending.
        max_use: the greatest share of any interval between two samples.
        queue_p50, queue_p99: bytes that waited for it, over the samples.
    """

    name: str
    mean_use: float
    max_use: float = math.nan
    queue_p50: float = math.nan
    queue_p99: float = math.nan


@dataclass(frozen=True)
class Facts:
    """Events in a run, or on average in several; counts of packets are per run, over all flows but UDP.

    Attributes:
        drops: packets dropped at full queues and where no route was left, including control and UDP.
        trims: packets trimmed at full queues; NaN where switches do not trim.
        marks: data packets that arrived marked CE.
        timeouts: retransmission timeouts.
        retransmits: data packets sent again; spurious: those of them that had arrived, according to duplicate SACK.
        out_of_order_share: arrivals behind a later byte of their flow, over packets sent.
        reroutes: packets that left their first leaf by another uplink than the flow's previous one.
        overhead_bytes: bytes that carry no data, by kind.
        overhead_share: all of them, over all bytes that hosts and switches made.
        paused_s: seconds for which flow control paused queues, summed.
        hottest: the link between switches that was in use longest.
        hottest_edge: the same of the links to and from hosts; no scheme has a choice there.
        dropped_at: the link with the most drops; None if there were none.
        dropped_there: packets dropped there.
        host_port: the port to a host with the most drops; None if there were none.
        host_port_drops: packets dropped there.
        run_s: simulated seconds; shares of the run are small where it was long.
        imbalance: (most - least) / mean use of the links of equal cost of a switch (CONGA §5), both summed over samples
            and switches before they are divided.
    """

    drops: float = math.nan
    trims: float = math.nan
    marks: float = math.nan
    timeouts: float = math.nan
    retransmits: float = math.nan
    spurious: float = math.nan
    out_of_order_share: float = math.nan
    reroutes: float = math.nan
    overhead_bytes: dict[str, float] = field(default_factory=dict)
    overhead_share: float = math.nan
    paused_s: float = math.nan
    hottest: LinkUse | None = None
    hottest_edge: LinkUse | None = None
    dropped_at: str | None = None
    dropped_there: float = math.nan
    imbalance: float = math.nan
    run_s: float = math.nan
    host_port: str | None = None
    host_port_drops: float = math.nan

    def get(self, name: str) -> float:
        """A number by name: ``timeouts``, ``hottest.max_use``, ``overhead_bytes.probes``; NaN if unknown.

        Raises:
            KeyError: there is no such fact.
        """
        head, dot, rest = name.partition(".")
        if head == "overhead_bytes" and rest in self.overhead_bytes:
            return self.overhead_bytes[rest]
        if head in ("hottest", "hottest_edge") and dot and rest in LINK_NUMBERS:
            link = getattr(self, head)
            return math.nan if link is None else float(getattr(link, rest))
        if not dot and head in NUMBERS:
            return float(getattr(self, head))
        known = [
            *NUMBERS,
            *(f"hottest.{one}" for one in LINK_NUMBERS),
            *map("overhead_bytes.{}".format, self.overhead_bytes),
        ]
        raise KeyError(f"no fact {name!r}; there are {', '.join(known)}")

    def flat(self) -> dict[str, float | str | None]:
        """One number or word by name, as in columns of a table."""
        made: dict[str, float | str | None] = {name: self.get(name) for name in NUMBERS}
        made |= {f"overhead_{kind.replace(' ', '_')}_bytes": size for kind, size in self.overhead_bytes.items()}
        for which in ("hottest", "hottest_edge"):
            link = getattr(self, which)
            made |= {f"{which}_name": None if link is None else link.name}
            made |= {f"{which}_{name}": self.get(f"{which}.{name}") for name in LINK_NUMBERS}
        return made | {"dropped_at": self.dropped_at, "host_port": self.host_port}


NUMBERS = tuple(one.name for one in fields(Facts) if one.type == "float")
LINK_NUMBERS = tuple(one.name for one in fields(LinkUse) if one.type == "float")


def facts_of(report: Report, packets: Packets, nodes: Nodes = NUMBERED) -> Facts:
    """The facts of a run from its report, the sums over its flows, and what its nodes are called."""
    counters, links = report["counters"], report["links"]
    overhead = {name: float(found["bytes"]) if (found := of(counters)) else 0.0 for name, of in OVERHEAD.items()}
    overhead[HEADERS] = float(counters["scheme_header_bytes"])
    reroutes = report["totals"].get("reroutes") if "totals" in report else None
    balance, fallen = report.get("balance"), counters.get("dropped")
    trimmed = counters.get("trimmed")
    worst = max(links, key=lambda link: int(link["drops"]), default=None)
    dropped = int(worst["drops"]) if worst else 0
    ports = [link for link in links if nodes.leads_to_host(str(link["name"]))]
    port = max(ports, key=lambda link: int(link["drops"]), default=None)
    return Facts(
        drops=math.nan if fallen is None else float(fallen["packets"]),
        trims=math.nan if trimmed is None else float(trimmed["packets"]),
        marks=float(packets.marks),
        timeouts=float(packets.timeouts),
        retransmits=float(packets.retransmits),
        spurious=float(packets.spurious_retransmits),
        out_of_order_share=packets.out_of_order_ratio,
        reroutes=math.nan if reroutes is None else float(reroutes),
        overhead_bytes=overhead,
        overhead_share=ratio(int(sum(overhead.values())), int(counters["created"]["bytes"])),
        paused_s=sum(int(link.get("paused_ps", 0)) for link in links) / PS_PER_SECOND,
        hottest=hottest(link for link in links if between_switches(link, nodes)),
        hottest_edge=hottest(link for link in links if not between_switches(link, nodes)),
        dropped_at=str(worst["name"]) if worst and dropped else None,
        dropped_there=float(dropped),
        imbalance=math.nan if balance is None else float(balance["imbalance_mean"]),
        run_s=float(report["stop_ps"]) / PS_PER_SECOND,
        host_port=str(port["name"]) if port and port["drops"] else None,
        host_port_drops=float(port["drops"]) if port else 0.0,
    )


def between_switches(link: Link, nodes: Nodes) -> bool:
    """Whether a link joins two switches."""
    return bool(link["fabric"] if "fabric" in link else nodes.between_switches(str(link["name"])))


def hottest(links: Iterable[Link]) -> LinkUse | None:
    """The link in use longest; None if there are none, or none was used."""
    found = links_.busiest(links, 1)
    return link_use(found[0]) if found else None


def link_use(link: HotLink) -> LinkUse:
    """The facts about a link, as numbers that can be averaged."""

    def known(value: float | None) -> float:
        return math.nan if value is None else float(value)

    return LinkUse(
        link.name, link.mean_use, known(link.max_use), known(link.queue_p50_bytes), known(link.queue_p99_bytes)
    )


def mean_facts(found: Sequence[Facts]) -> Facts:
    """Means over runs; for links and places the most frequent one, with means over all."""
    numbers = {name: mean([one.get(name) for one in found]) for name in NUMBERS}
    kinds = found[0].overhead_bytes
    return Facts(
        **numbers,
        overhead_bytes={kind: mean([one.overhead_bytes.get(kind, 0.0) for one in found]) for kind in kinds},
        hottest=mean_link([one.hottest for one in found]),
        hottest_edge=mean_link([one.hottest_edge for one in found]),
        dropped_at=most_common([one.dropped_at for one in found]),
        host_port=most_common([one.host_port for one in found]),
    )


def mean_link(found: Sequence[LinkUse | None]) -> LinkUse | None:
    """The most frequent name, and means over all."""
    links = [link for link in found if link is not None]
    name = most_common([link.name for link in links])
    if name is None:
        return None
    return LinkUse(name, **{number: mean([getattr(link, number) for link in links]) for number in LINK_NUMBERS})


def most_common(found: Sequence[str | None]) -> str | None:
    """The most frequent word, the first of several; None if there is none."""
    words = Counter(word for word in found if word is not None)
    return words.most_common(1)[0][0] if words else None


def mean(values: Sequence[float]) -> float:
    """The mean of the known values."""
    known = [value for value in values if math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan
