"""A run as a part of a page: its results, its flows, its links, its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spinewise.figures.kinds import UnfitError
from spinewise.figures.of_run import spreads
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import units
from spinewise.measures.collectives import Job
from spinewise.measures.links import hottest
from spinewise.measures.summary import ALL, Summary
from spinewise.measures.tables import numbers
from spinewise.page import charts
from spinewise.page.grids import table
from spinewise.page.model import Answer, Answers, Charts, Item, Part, Section, Words
from spinewise.runs.result import Result
from spinewise.show import run_tables
from spinewise.writing import json_text


def part(result: Result, name: str, extra: tuple[Section, ...] = ()) -> Part:
    """The part of a run; `extra` sections (replay, steps) come after its distributions."""
    summary = result.summary()
    links: list[Item] = [table(run_tables.link_table(summary)), table(run_tables.hot_table(result.report))]
    return Part(
        title=str(result.spec.get("name", name)),
        kind="run",
        subtitle=result.title(),
        sections=(
            Section("Outcome", (Answers(tuple(answers(result, summary))), *warnings(summary))),
            Section("Completion times", (table(run_tables.fct_table(summary)), *rounds(result))),
            *distributions(result),
            *extra,
            *([Section("Links", tuple(links))] if summary.links else []),
            Section("The run", (Words(tuple(run_tables.run_lines(result, summary)), listed=True), spec(result))),
        ),
    )


def labels(runs: Sequence[tuple[str, Result]]) -> list[tuple[str, Result]]:
    """Runs with their names: the scheme, and if that is ambiguous, the folder."""
    schemes = [str(result.spec["scheme"].get("name", name)) for name, result in runs]
    return [
        (scheme if schemes.count(scheme) == 1 else f"{scheme} ({name})", result)
        for scheme, (name, result) in zip(schemes, runs, strict=True)
    ]


def answers(result: Result, summary: Summary) -> list[Answer]:
    """The answers that a reader wants first: how long flows took, what was lost, which link was hottest."""
    found = [flows(summary, None if not summary.mixed else one.name) for one in summary.asked]
    found += [
        Answer(
            f"{job.name}, {job.kind} of {job.who}",
            units.duration(job.total_s if job.rounds > 1 else job.mean_s, 3),
            (
                of_job(job),
                *([f"ideal of the slowest {units.duration(job.ideal_s, 3)}"] if math.isfinite(job.ideal_s) else []),
            ),
            "bad" if job.unfinished else "head",
        )
        for job in result.rounds.jobs
    ]
    hot = hottest(result.report["links"], len(result.report["links"]))
    if hot.links:
        link = hot.links[0]
        # The table of queues has those first whose 99th percentile is the highest.
        queue = max(hot.queues, key=lambda one: one.longest_queue_bytes, default=None)
        more = [f"in use for {units.percent(link.mean_use)} of the run"]
        if queue:
            more.append(f"longest queue: {units.size(queue.longest_queue_bytes)} at {queue.name}")
        found.append(Answer("hottest link", link.name, tuple(more)))
    return [*found, lost(summary)]


def of_job(job: Job) -> str:
    """The slowest of several rounds, or the bandwidth of one."""
    if job.rounds > 1:
        return f"{job.rounds} rounds, the slowest {units.duration(job.max_s, 3)}"
    return f"bus bandwidth {run_tables.gbyte_per_s(job.busbw_gbyte_per_s)}"


def flows(summary: Summary, entry: str | None) -> Answer:
    """Completion times of one traffic entry, or of all traffic."""
    every = summary.of(ALL, entry)
    late = f", {every.unfinished:,} unfinished" if every.unfinished else ""
    return Answer(
        f"{entry + ', ' if entry else ''}p99 completion time",
        units.duration(every.fct_s.p99, 3),
        (
            f"mean {units.duration(every.fct_s.mean, 3)}, slowdown {units.digits(every.slowdown.mean, 3)} on average,"
            f" {units.digits(every.slowdown.p99, 3)} at p99",
            f"{every.flows:,} flows{late}",
        ),
        "bad" if every.unfinished else "head",
    )


def lost(summary: Summary) -> Answer:
    """Drops and timeouts."""
    facts, packets = summary.facts, summary.packets
    more = [f"{units.counted(packets.timeouts, 'timeout')}, {units.counted(packets.retransmits, 'packet')} sent again"]
    if facts.dropped_at:
        more.append(f"most drops at {facts.dropped_at}: {units.count(facts.dropped_there)}")
    if summary.faults:
        more.append(f"faults: {summary.faults['lost']:,} packets lost on links")
    trims = [one for one in summary.links if one["trimmed"]]
    if trims:
        by_tier = ", ".join(f"{one['tier']} {one['trimmed']:,}" for one in trims)
        gone = sum(one["headers_lost"] for one in trims)
        more.append(f"trimmed: {by_tier}; headers lost: {gone:,}")
    return Answer("packets dropped: full queues, or no route left", units.count(facts.drops), tuple(more))


def warnings(summary: Summary) -> list[Item]:
    """Warnings about settings that may be unintended."""
    lines = [notice.line() for notice in summary.warnings]
    if summary.deadlock:
        lines.insert(0, run_tables.deadlock_line(summary.deadlock))
    if summary.overloaded:
        lines.insert(0, "OVERLOADED: the results depend on how long the run lasts.")
    return [Words(tuple(lines), listed=True)] if lines else []


def rounds(result: Result) -> list[Item]:
    """The table of rounds, and why the slowest were late."""
    if not result.rounds.jobs:
        return []
    lines = (*run_tables.message_lines(result), *run_tables.straggler_lines(result))
    return [table(run_tables.rounds_table(result)), Words(lines, listed=True)]


def distributions(result: Result) -> list[Section]:
    """The distributions of completion times, with a curve for each traffic entry."""
    try:
        found = spreads(result)
    except UnfitError as why:
        return [Section("Distributions", (Words((f"Not shown: this {why}.",)),))]
    looks = charts.looked(list(found))
    together = {"": {name: [one] for name, one in found.items()}}
    flows_of = ", ".join(f"{name} {one.flows:,}" for name, one in found.items())
    note = f"Finished flows: {flows_of}. Each further nine (90 %, 99 %, …) has the same height.{beyond(result)}"
    items: list[Item] = [Charts(tuple(charts.spreads(together, looks)), note)]
    by_size = charts.sizes({name: {name: [one]} for name, one in found.items()}, looks)
    if by_size:
        items.append(Charts(tuple(by_size), "Flow sizes in bins, four a decade."))
    return [Section("Distributions", tuple(items))]


def beyond(result: Result) -> str:
    """A note on the last flows, before which curves end; empty if rows of flows were not kept."""
    ended = numbers(result.flows, "tcp").astype(bool) & numbers(result.flows, "finished").astype(bool)
    if not ended.any():
        return ""
    flow, fct, slowdown = (numbers(result.flows, name)[ended] for name in ("flow", "fct_ps", "slowdown"))
    last, worst = int(fct.argmax()), int(slowdown.argmax())
    took = units.duration(float(fct[last]) / PS_PER_SECOND, 3)
    return (
        f" Curves end before the last flow: the longest took {took} (flow {flow[last]}), and the greatest slowdown is"
        f" {units.digits(float(slowdown[worst]), 3)} (flow {flow[worst]})."
    )


def spec(result: Result) -> Words:
    """The resolved spec, to be opened."""
    text = json_text(result.spec)
    return Words((text,), verbatim=True, summary="The whole spec, with every default")
