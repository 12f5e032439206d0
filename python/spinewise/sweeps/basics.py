"""The measurements of every stored run, whatever its purpose: completion times, events, and the use of its links.

These are numbers by name, so that a store can be queried about all of its runs without reading more of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spinewise.measures.links import longest_queue_bytes
from spinewise.measures.report import Link
from spinewise.measures.summary import ALL, ClassSummary, Summary
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.measures import Measure


@dataclass(frozen=True)
class Times:
    """Flows of one size class, of one traffic entry or of all traffic ("all"); times in seconds, NaN without flows."""

    entry: str
    size_class: str
    flows: int
    unfinished: int
    fct_mean_s: float
    fct_p50_s: float
    fct_p95_s: float
    fct_p99_s: float
    fct_p999_s: float
    slowdown_mean: float
    slowdown_p50: float
    slowdown_p95: float
    slowdown_p99: float
    slowdown_p999: float


@dataclass(frozen=True)
class Round:
    """Collective operations, requests or incasts of a traffic entry: the numbers of `measures.collectives.Job`."""

    entry: str
    numbers: dict[str, int | float]


@dataclass(frozen=True)
class Numbers:
    """A run in numbers.

    Attributes:
        times: by traffic entry and size class; "all" for both is all traffic.
        facts: other events, by the names of `measures.facts.Facts.flat`.
        loads: offered load by definition, as fractions of capacity.
        overloaded: whether the worst cut was offered more than it can carry for long.
        collectives: rounds of the traffic entries that have some.
    """

    times: list[Times]
    facts: dict[str, float | str | None]
    loads: dict[str, float]
    overloaded: bool
    collectives: list[Round]


@dataclass(frozen=True)
class LinkUse:
    """A link between two switches over the whole run; None if `metrics.facts` was off, or there is no queue."""

    name: str
    use: float
    use_max: float | None
    bytes: int
    drops: int
    marks: int
    lost: int
    longest_queue_bytes: int
    queue_p99_bytes: int | None
    paused_s: float


def numbers(_spec: Spec, result: Result) -> Numbers:
    """A run in numbers."""
    summary = result.summary()
    jobs = [Round(job.name, {name: float(value) for name, value in vars(job).items() if isinstance(value, int | float)})
            for job in result.rounds.jobs]  # fmt: skip
    return Numbers(list(times(summary)), summary.facts.flat(), summary.loads, summary.overloaded, jobs)


def times(summary: Summary) -> Iterator[Times]:
    """The completion times by traffic entry and size class, all traffic first."""
    yield from (row(ALL, found) for found in summary.classes)
    for entry in summary.asked:
        yield from (row(entry.name, found) for found in entry.classes)


def row(entry: str, found: ClassSummary) -> Times:
    """One class of flows."""
    fct, slow = found.fct_s, found.slowdown
    return Times(
        entry, found.name, found.flows, found.unfinished,
        fct.mean, fct.p50, fct.p95, fct.p99, fct.p999,
        slow.mean, slow.p50, slow.p95, slow.p99, slow.p999,
    )  # fmt: skip


def links(_spec: Spec, result: Result) -> list[LinkUse]:
    """The links between switches."""
    return [use_of(link) for link in result.report["links"] if link["fabric"]]


def use_of(link: Link) -> LinkUse:
    """One link of a report."""
    queue = link.get("queue_bytes")
    return LinkUse(
        name=link["name"],
        use=link["utilisation"],
        use_max=link.get("use_max"),
        bytes=link["bytes"],
        drops=link["drops"],
        marks=link["marks"],
        lost=link["lost"],
        longest_queue_bytes=longest_queue_bytes(link),
        queue_p99_bytes=queue["p99"] if queue else None,
        paused_s=link["paused_ps"] / 1e12,
    )


NUMBERS = Measure("numbers", Numbers, numbers)
LINKS = Measure("links", list[LinkUse], links)
BASICS = (NUMBERS, LINKS)
