"""Tables of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import units
from spinewise.measures.classes import TAIL_FROM
from spinewise.measures.entries import By
from spinewise.measures.links import hottest
from spinewise.measures.report import OnLinux, Operations, Report
from spinewise.measures.summary import ALL, ClassSummary, Distribution, Packets, Summary
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.show import offered
from spinewise.show.terminal import Grid, new_table
from spinewise.specs.carriers import kinds


def run_report(result: Result, by: By = "auto") -> RenderableType:
    """The output of `spinewise run`; its flows by traffic entry if there are several."""
    summary = result.summary()
    parts: list[RenderableType] = [fct_table(summary, by)]
    if result.rounds.jobs:
        parts += [rounds_table(result), Text("\n".join([*message_lines(result), *straggler_lines(result)]) + "\n")]
    if summary.links:
        parts.append(link_table(summary))
        parts.append(hot_table(result.report))
    parts.append(Text("\n".join(run_lines(result, summary))))
    return Group(*parts)


def fct_table(summary: Summary, by: By = "auto") -> Grid:
    """Flow completion time and slowdown by traffic entry and size class."""
    shown: list[tuple[str, ClassSummary]] = []
    apart = summary.asked and (by in ("entry", "both") or (by == "auto" and summary.mixed))
    if apart:
        shown += [(entry.name, found) for entry in summary.asked for found in with_flows(entry.classes)]
    if not apart or by == "both":
        name = "all of them" if summary.mixed else ""
        shown += [(name, found) for found in with_flows(summary.classes)]
    left = [*(["traffic"] if apart or summary.mixed else []), "class", "quantity"]
    heading = "Flows by traffic entry and size class" if apart else "Flows by size class"
    if not apart and summary.mixed:
        heading += f", {', '.join(entry.name for entry in summary.asked)} together"
    table = new_table(heading, left, ["flows", "unfinished", "mean", "p50", "p95", "p99", "p99.9"])
    before = ""
    for entry, found in shown:
        name, size = units.time_unit([found.fct_s.p50])
        whose = [entry if entry != before else ""] * (len(left) - 2)
        table.line(
            *whose, found.name, f"FCT [{name}]", f"{found.flows:,}", f"{found.unfinished:,}",
            *distribution(found.fct_s, size),
        )  # fmt: skip
        table.line(
            *[""] * (len(left) - 1), "slowdown", "", "", *distribution(found.slowdown, 1.0), end_section=True
        )  # fmt: skip
        before = entry
    return table


def with_flows(classes: Sequence[ClassSummary]) -> list[ClassSummary]:
    """The classes that have flows; only "all" if no more than one has."""
    parts = [found for found in classes if found.name != ALL and found.flows]
    return [*(parts if len(parts) > 1 else []), *(found for found in classes if found.name == ALL)]


def distribution(values: Distribution, size: float) -> list[str]:
    """Mean and percentiles in units of `size`."""
    return [units.digits(value / size) for value in (values.mean, values.p50, values.p95, values.p99, values.p999)]


def rounds_table(result: Result) -> Grid:
    """Collective operations, requests and other rounds by traffic entry: times and bandwidths."""
    jobs = result.rounds.jobs
    several = any(job.rounds > 1 for job in jobs)
    known = any(math.isfinite(job.busbw_gbyte_per_s) for job in jobs)
    bounds = any(math.isfinite(job.ideal_s) for job in jobs)
    table = new_table(
        "Rounds: collective operations, requests, incasts",
        ["traffic", "kind"],
        [
            *("hosts", "each", "rounds", "unfinished", "mean time"), *(["max time"] if several else []),
            *(["its ideal" if several else "ideal"] if bounds else []), *(["all"] if several else []),
            *(["algbw", "busbw"] if known else []),
        ],
    )  # fmt: skip
    for job in jobs:
        bandwidths = [gbyte_per_s(job.algbw_gbyte_per_s), gbyte_per_s(job.busbw_gbyte_per_s)]
        table.line(
            job.name,
            job.kind,
            job.hosts + (f" x {job.groups}" if job.groups > 1 else ""),
            job.size or units.NOTHING,
            f"{job.rounds:,}",
            f"{job.unfinished:,}",
            units.duration(job.mean_s),
            *([units.duration(job.max_s)] if several else []),
            *([units.duration(job.ideal_s)] if bounds else []),
            *([units.duration(job.total_s)] if several else []),
            *(bandwidths if known else []),
        )
    return table


def gbyte_per_s(value: float) -> str:
    """A bandwidth."""
    return f"{units.digits(value)} GB/s" if math.isfinite(value) else units.NOTHING


def message_lines(result: Result) -> list[str]:
    """Notes on incasts and requests whose message counts an answer that is not sent."""
    return [
        f"{job.name}: the message is {job.ranks} answers, as nccl-tests count a gather, that of the receiver with them;"
        f" {job.ranks - 1} are sent, {units.size(job.message_bytes * (job.ranks - 1) / job.ranks)}"
        for job in result.rounds.jobs
        if job.kind in GATHERS and job.message_bytes
    ]


GATHERS = ("incast", "rpc")
"""Kinds of rounds in which one host receives from others."""


def straggler_lines(result: Result) -> list[str]:
    """The slowest round of each traffic entry with rounds, its slowest step, the last flow, and the reason."""
    lines = []
    for job in result.rounds.jobs:
        one = job.slowest
        if one is None:
            continue
        # A trace numbers its batches, and those that stay within a server are not rounds here.
        number = f"batch {one.round} of the trace" if one.kind == "dag" else f"round {one.round}"
        which = number + (f" of group {one.group}" if job.groups > 1 else "")
        took = units.duration(one.time_s) if one.finished else "not finished"
        said = f"{job.name}: slowest {which}, {took}" if job.rounds > 1 else f"{job.name}: {took}"
        done = [step for step in one.steps if math.isfinite(step.time_s)]
        if done:
            step = max(done, key=lambda each: each.time_s)
            said += f"; slowest of {len(one.steps)} steps: {step.step}, {units.duration(step.time_s)}"
        late = result.rounds.straggler(one)
        lines.append(said + (f"; {late}" if late else ""))
    return lines


def link_table(summary: Summary) -> Grid:
    """Utilisation of the links by tier; losses, trims and pauses if there were any."""
    paused = any(tier["pauses"] for tier in summary.links)
    lost = any(tier["lost"] for tier in summary.links)
    trimmed = any(tier["trimmed"] for tier in summary.links)
    table = new_table(
        "Links over the whole run (Jain: how evenly they were used; 1: all equal)",
        ["tier"],
        [
            "links", "mean util.", "max util.", "Jain", "drops", *(["lost"] if lost else []),
            *(["trimmed", "headers lost"] if trimmed else []), "marks", *(["pauses", "paused"] if paused else []),
        ],
    )  # fmt: skip
    for tier in summary.links:
        pauses = [f"{tier['pauses']:,}", units.duration(tier["paused_s"]) if tier["pauses"] else "0"]
        table.line(
            str(tier["tier"]),
            str(tier["links"]),
            units.percent(tier["mean_utilisation"]),
            units.percent(tier["max_utilisation"]),
            units.digits(tier["jain"], 3),
            f"{tier['drops']:,}",
            *([f"{tier['lost']:,}"] if lost else []),
            *([f"{tier['trimmed']:,}", f"{tier['headers_lost']:,}"] if trimmed else []),
            f"{tier['marks']:,}",
            *(pauses if paused else []),
        )
    return table


def hot_table(report: Report) -> Grid:
    """The links in use longest, and those with the longest queues."""
    found = hottest(report["links"])
    shown = [*found.links, *(link for link in found.queues if link not in found.links)]
    sampled = any(link.max_use is not None for link in shown)
    table = new_table(
        "Hottest links and longest queues",
        ["link"],
        [
            "rate", "mean util.", *(["max util.", "queue p50", "queue p99"] if sampled else []),
            "longest queue", "marks", "drops",
        ],
    )  # fmt: skip
    for link in shown:
        samples = [
            units.NOTHING if link.max_use is None else units.percent(link.max_use),
            byte_count(link.queue_p50_bytes),
            byte_count(link.queue_p99_bytes),
        ]
        table.line(
            link.name,
            f"{units.count(link.rate_bps)}bps" if link.rate_bps else units.NOTHING,
            units.percent(link.mean_use),
            *(samples if sampled else []),
            byte_count(link.longest_queue_bytes),
            f"{link.marks:,}",
            f"{link.drops:,}",
        )
    return table


def byte_count(size: int | None) -> str:
    """A number of bytes; a dash if unknown."""
    return units.NOTHING if size is None else units.size(size)


def thin_tails(summary: Summary) -> list[str]:
    """A line about the classes whose percentiles are those of a few flows."""
    entries = [(entry.name, entry.classes) for entry in summary.asked] if summary.mixed else [("", summary.classes)]
    few = [
        f"{' '.join(filter(None, (entry, found.name)))} ({found.flows:,})"
        for entry, classes in entries
        for found in with_flows(classes)
        if 0 < found.flows < TAIL_FROM
    ]
    told = f"p99 and p99.9 of fewer than {TAIL_FROM} flows are about the slowest of them: {', '.join(few)}"
    return [told] if few else []


def run_lines(result: Result, summary: Summary) -> list[str]:
    """The facts below the tables."""
    report = result.report
    events, hops = int(report["events"]), int(report["packet_hops"])
    wall = float(report["wall_seconds"])
    lines = [*thin_tails(summary), *packet_lines(summary.packets, kinds(result.spec)), *udp_lines(result, summary)]
    lines.append("bytes that carry no data: " + overhead_line(summary))
    lines.extend(offered.lines(result.spec, report.get("loads")))
    if summary.faults:
        lines.append(fault_line(summary.faults))
    if summary.deadlock:
        lines.append(deadlock_line(summary.deadlock))
    lines.extend(operations_line(told) for told in report.get("operations", []))
    lines.extend(notice.line() for notice in summary.warnings)
    lines.append(
        linux_line(report["linux"], float(report["stop_ps"]) / 1e12)
        if "linux" in report
        else f"simulated {units.duration(float(report['stop_ps']) / 1e12)} in"
        f" {units.duration(wall, 3)} wall · {units.count(hops)} packet-hops"
        f" ({units.count(hops / wall if wall else math.nan)}/s) · {units.count(events)} events"
    )
    scheme = result.spec.get("scheme", {}).get("name")
    lines.append(
        f"{f'scheme {scheme} · ' if scheme else ''}seed {report['seed']} · outcome hash {report['outcome_hash']}"
        f" · spec hash {result.spec_hash[:16]} (terms: docs/glossary.md)"
    )
    return lines


def linux_line(told: OnLinux, seconds: float) -> str:
    """The facts about a run that Linux made."""
    trip = told["base_rtt_us"]
    words = [
        f"measured on Linux {told['kernel']} for {units.duration(seconds)}",
        f"{told['congestion']}, paths by {told['steered_by']}",
        *([] if trip is None else [f"least round trip {trip:.0f} µs (median)"]),
        f"the machine was busy for {units.percent(told['busy_share'])} of the time",
        *([f"{told['late_flows']} flows waited for their connection"] if told["late_flows"] else []),
        *told["notes"],
        f"the kernel does not report {', '.join(told['unmeasured'])}",
    ]
    return " · ".join(words)


def operations_line(told: Operations) -> str:
    """The progress of the operations of an entry."""
    return (
        f"operations of traffic[{told['entry']}]: {told['ended']:,} of {told['operations']:,} have ended,"
        f" the last at {units.duration(told['end_ps'] / 1e12)}"
    )


def fault_line(faults: dict[str, int]) -> str:
    """The effects of faults."""
    return (
        f"faults: {faults['lost']:,} packets lost on links · {faults['unroutable']:,} left without a route"
        f" · unfinished flows: {faults['cut_off']:,} cut off, {faults['out_of_time']:,} out of time"
    )


def deadlock_line(links: list[str]) -> str:
    """The deadlock, and what can be done."""
    return (
        f"DEADLOCK: pauses wait for each other in a circle on {', '.join(links)}, so no packet can move there;"
        " other routes, or buffers that never pause, would prevent it"
    )


def packet_lines(packets: Packets, transport: str) -> list[str]:
    """Sums over flows."""
    every = transport.split(" + ")
    answers = []
    if "rdma" in every:
        answers.append(f"NACKs {packets.nacks:,} · CNPs {packets.cnps:,}")
    if "uet" in every:
        answers.append(f"NACKs for trimmed packets {packets.nacks:,}")
    if not {"rdma", "uet"}.issuperset(every):
        answers.append(f"3-dupACK events {units.percent(packets.dupack3_ratio)}")
    return [
        f"data packets {packets.sent:,} · retransmitted {packets.retransmits:,}"
        f" · timeouts {packets.timeouts:,} · marked {packets.marks:,}",
        f"out of order {units.percent(packets.out_of_order_ratio)} · {' · '.join(answers)}",
    ]


def udp_lines(result: Result, summary: Summary) -> list[str]:
    """The outcome of UDP flows, which are in no table; empty if there are none. Without rows, the packets alone."""
    if not result.flows.num_rows:
        sources = [entry for entry in summary.entries if entry.udp]
        packets = sum(entry.packets.sent for entry in sources)
        return [f"UDP, which the tables leave out: {packets:,} packets sent"] if sources else []
    udp = ~numbers(result.flows, "tcp").astype(bool)
    if not udp.any():
        return []
    sent = f"{units.counted(int(udp.sum()), 'flow')}, {numbers(result.flows, 'packets')[udp].sum():,} packets sent"
    finished = udp & numbers(result.flows, "finished").astype(bool)
    took = float(numbers(result.flows, "fct_ps")[finished].max(initial=0)) / PS_PER_SECOND
    ended = f"; {finished.sum():,} arrived in full, the slowest after {units.duration(took)}" if finished.any() else ""
    return [f"UDP, which the tables leave out: {sent}{ended}"]


def overhead_line(summary: Summary) -> str:
    """Bytes by kind, with their share of all bytes made."""
    whole = summary.created_bytes
    return " · ".join(
        f"{name} {units.size(size)} ({units.percent(size / whole if whole else math.nan)})"
        for name, size in summary.overhead_bytes.items()
    )
