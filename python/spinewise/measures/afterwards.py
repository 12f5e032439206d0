"""Warnings that only a finished run can give: tails due to timers, unused parameters, an idle fabric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from spinewise.magnitudes import PS_PER_US
from spinewise.measures.classes import ALL, TAILS, ClassSummary
from spinewise.measures.entries import EntrySummary
from spinewise.measures.facts import Facts
from spinewise.measures.notices import Notice
from spinewise.measures.report import Report
from spinewise.measures.units import counted, digits, duration, percent, size
from spinewise.replies import Loads
from spinewise.shapes import Spec, Switch, Traffic, Transport
from spinewise.specs.carriers import key_of, transport_of, transports

US = 1e-6
NEAR = 0.05
"""How near to the timeout a percentile must be, as a share of it."""
FAR = 1.25
"""The factor beyond which a load is far from the requested one."""
MANY = 10_000
"""The number of data packets above which it is surprising that something never happened."""
SOME = 100
"""The number of data packets below which a run is just a trial, and idle links are not surprising."""
WITHIN_RACKS = (
    "No packet crossed a link between switches: no flow leaves its rack, or no link there was up, and no scheme had a"
    " choice. Hosts are numbered rack by rack."
)
ESTIMATED = (
    "The run had more flows than this: percentiles are estimates from a histogram, each off by less than 3.2 %, which"
    " no ± counts."
)
GONE = {
    "consumed": "consumed by the scheme",
    "dropped": "dropped",
    "lost": "lost on links",
}
"""Accounts of packets that never arrive, in words that follow a number."""
NO_CHOICE = ("no_packet_in_fabric", "one_path")
"""Codes of conditions that leave no scheme a choice of paths."""
IDLE_FABRIC = "idle_fabric"
"""Code of a run in which a choice of paths could have gained next to nothing."""
TAIL_IS_TIMEOUT = "tail_is_timeout"
"""Code of a size class whose slowest flows waited for a timer."""
IDLE = 0.05
"""The share of sending below which links between switches count as hardly used."""
NEAR_IDEAL = 0.03
"""The share above the unbeatable time below which nothing can be gained."""
BUSY_HOSTS = 0.5
"""The share of the run from which a sending host link counts as the one that all wait for."""
STAY = ("ecmp", "wcmp", "hedera", "lbsp")
"""Schemes that keep the packets of a flow on its path, or that rarely move flows by design."""


def after_run(
    entries: Sequence[EntrySummary],
    facts: Facts,
    report: Report,
    spec: Spec,
    above_ideal: Callable[[], Mapping[str, float]] = dict,
) -> list[Notice]:
    """Warnings about results that may be misleading, from the results of a run and its resolved spec.

    `above_ideal` computes the share by which rounds are above their ideals, for each entry that has some.
    """
    found = [notice for place, entry in enumerate(entries) for notice in timer_tails(entry, spec, place)]
    sent = sum(entry.packets.sent for entry in entries)
    if sent >= MANY:
        found.extend(never_used(facts, report, spec))
    found.extend(other_load(report["flows"], report.get("loads"), spec))
    fabric = [link for link in report["links"] if link.get("fabric")]
    stayed = sent and report["links"] and "linux" not in report
    stayed = stayed and not any(link.get("packets", 1) or link.get("drops") for link in fabric)
    cut = list(cut_short(entries, report, spec))
    if stayed and not (cut and all_under_way(report)):
        found.append(Notice("no_packet_in_fabric", "traffic", WITHIN_RACKS))
    if sent and "linux" not in report:
        found.extend(none_arrived(report))
    if sent >= SOME and "linux" not in report:
        found.extend(idle_fabric(entries, facts, above_ideal))
    return found + cut


def cut_short(entries: Sequence[EntrySummary], report: Report, spec: Spec) -> Iterator[Notice]:
    """Flows that had not finished at the latest end that the spec allows, except those that faults cut off."""
    until_us = (spec.get("run") or {}).get("until_us")
    if until_us is None or report["stop_ps"] < until_us * PS_PER_US or report.get("deadlock") or "linux" in report:
        return
    every = [entry.of(ALL) for entry in entries if not entry.udp]
    flows, unfinished = sum(one.flows for one in every), sum(one.unfinished for one in every)
    # Reports of older engines have UDP sources among these.
    left = min(report["unfinished"]["out_of_time"], unfinished) if "unfinished" in report else unfinished
    if not left:
        return
    before = ", before any packet arrived" if all_under_way(report) else ""
    text = (
        f"This ended the run after {until_us:.12g} us{before}: {left:,} of {counted(flows, 'flow')} had not finished."
    )
    yield Notice("ended_early", "run.until_us", text)


def none_arrived(report: Report) -> Iterator[Notice]:
    """A warning that no packet reached a host, and why."""
    counters: Mapping[str, object] = report["counters"]
    gone = {what: number for name, what in GONE.items() if (number := packets_in(counters, name))}
    if gone and not packets_in(counters, "delivered"):
        told = ", ".join(f"{number:,} {what}" for what, number in gone.items())
        yield Notice("no_packet_arrived", "traffic", f"No packet arrived at a host: {told}.")


def packets_in(counters: Mapping[str, object], name: str) -> int:
    """The packets of one account of a report."""
    match counters.get(name):
        case {"packets": int(number)} | int(number):
            return number
    return 0


def all_under_way(report: Report) -> bool:
    """Whether all packets of a run were still in flight at its end: none had arrived, none was lost."""
    return not any(packets_in(report["counters"], name) for name in ("delivered", "unroutable", *GONE))


def estimated(classes: Sequence[ClassSummary]) -> Iterator[Notice]:
    """A warning that percentiles are estimates, if a run kept histograms and no rows."""
    if any(found.flows > found.unfinished for found in classes):
        yield Notice("percentiles_estimated", "metrics.keep_flows_up_to", ESTIMATED)


def idle_fabric(
    entries: Sequence[EntrySummary], facts: Facts, above_ideal: Callable[[], Mapping[str, float]]
) -> Iterator[Notice]:
    """A warning that links between switches were hardly used, and that no scheme could make things much faster."""
    if facts.hottest is None or facts.hottest.mean_use >= IDLE:
        return
    of_rounds = above_ideal()
    asked = [entry for entry in entries if not entry.udp]
    above = [of_rounds.get(entry.name, tail_above_ideal(entry)) for entry in asked]
    if not above or not all(share <= NEAR_IDEAL for share in above):
        return
    what, more = "flows", "more of them would tell schemes apart"
    if all(entry.name in of_rounds for entry in asked):
        what, more = "rounds", "at this size they are latency, and more bytes would tell schemes apart"
    if facts.hottest_edge is not None and facts.hottest_edge.mean_use >= BUSY_HOSTS:
        more = "they wait for the links of hosts"
    use = f"the busiest ({facts.hottest.name}) for {percent(facts.hottest.mean_use, 2)} of the run"
    took = f"{what} took at most {percent(max(above), 2)} more than a time that no scheme can beat"
    none = f"No choice of paths makes them shorter by more than that: {more}."
    yield Notice(IDLE_FABRIC, "traffic", f"Links between switches were hardly used, {use}, and {took}. {none}")


def tail_above_ideal(entry: EntrySummary) -> float:
    """The share by which the p99 of an entry's flows is above their ideal; NaN if unknown."""
    whole = entry.of(ALL)
    return math.nan if whole.unfinished else whole.slowdown.p99 - 1.0


def timeouts_of(transport: Transport) -> list[tuple[str, float, float]]:
    """Keys of the minimum retransmission timeouts, each with its seconds and how much later it may expire."""
    kind, tick = transport.get("kind"), 0.0
    if kind == "uet" or (kind == "rdma" and transport.get("recovery") != "irn"):
        keys = ["rto_us"]
    elif kind == "rdma":
        keys = ["rto_low_us", "rto_high_us"]
    else:
        keys, tick = ["min_rto_us"], float(transport.get("rto_tick_us") or 0)
    given: Mapping[str, object] = transport
    found = ((key, given.get(key)) for key in keys)
    return [(key, value * US, tick * US) for key, value in found if isinstance(value, int | float)]


def timer_tails(entry: EntrySummary, spec: Spec, place: int = 0) -> Iterator[Notice]:
    """Classes of the entry at a place whose tail is a timeout: one timer plus the usual time of flows."""
    if not entry.packets.timeouts:
        return
    for key, timeout, late in timeouts_of(transport_of(spec, place)):
        for size_class in entry.classes:
            fct = size_class.fct_s
            if size_class.name == ALL or not fct.p50 < timeout / 2:
                continue
            most = timeout * (1 + NEAR) + late + fct.p50
            at = [
                name
                for name in TAILS
                if timeout * (1 - NEAR) <= fct.get(name) <= most
                and size_class.tail_waited(name, entry.packets.timeouts)
            ]
            if at:
                yield Notice(
                    TAIL_IS_TIMEOUT,
                    key_of(spec, place, key),
                    f"{' and '.join(at)} of {size_class.name} flows of {entry.name}"
                    f" ({', '.join(duration(fct.get(name)) for name in at)})"
                    f" {'is' if len(at) == 1 else 'are'} this timeout of {duration(timeout)} and little"
                    f" else ({counted(entry.packets.timeouts, 'timeout')}):"
                    f" a scheme that does not prevent losses cannot change {'it' if len(at) == 1 else 'them'}.",
                    entry.name,
                    size_class.name,
                )


def other_load(flows: int, loads: Loads | None, spec: Spec) -> Iterator[Notice]:
    """A load that is far from the requested one, if all traffic is drawn for a load between racks."""
    traffic = spec.get("traffic") or []
    spans = {(entry.get("start_us"), entry.get("duration_us")) for entry in traffic}
    if loads is None or not flows or len(spans) != 1 or not all(fills_uplinks(entry) for entry in traffic):
        return
    asked, drawn = sum(float(entry["load"]) for entry in traffic), float(loads["payload_of_nominal"])
    if not asked / FAR <= drawn <= asked * FAR:
        yield Notice(
            "other_load",
            "traffic[0].load" if len(traffic) == 1 else "traffic",
            f"asked for load {asked:g}, and {digits(drawn, 2)} was drawn: {counted(flows, 'flow')}"
            f" {'is' if flows == 1 else 'are'} too few for the mean of sizes; a longer duration_us helps.",
        )


def fills_uplinks(entry: Traffic) -> bool:
    """Whether the load of an entry is defined on all uplinks, as in reports."""
    return (
        entry.get("kind") == "poisson"
        and entry.get("load_of") == "leaf_uplinks"
        and entry.get("pairs") == "inter_rack"
        and not entry.get("hosts")
        and not entry.get("max_flows")
    )


def never_used(facts: Facts, report: Report, spec: Spec) -> Iterator[Notice]:
    """Parameters that nothing in the run used."""
    switch = spec.get("switch") or {}
    threshold = next((key for key in THRESHOLDS if switch.get(key)), None)
    if threshold and any(map(reads_marks, transports(spec))) and facts.marks == 0:
        why = unmarked(report, switch)
        text = f"No packet was marked{why}, so the transport's reaction to marks was never exercised."
        yield Notice("no_mark_seen", f"switch.{threshold}", text)
    if switch.get("pfc") and not report["counters"].get("pause_frames", {}).get("packets"):
        text = "No pause was sent: without flow control the result would be the same."
        yield Notice("no_pause_seen", "switch.pfc", text)
    scheme = str((spec.get("scheme") or {}).get("name", "ecmp"))
    if scheme not in STAY and moved(facts, report) == 0:
        text = f"{scheme} never moved a flow: it had no reason to, or its parameters prevented it."
        if chooses_behind_leaf(spec):
            text = (
                f"Under {scheme} no flow left its first leaf by another uplink. Moves at the switches behind it are not"
                " counted: `spinewise explain RUN --flow N` tells those of a flow."
            )
        yield Notice("no_reroute_seen", "scheme.params", text)


MARKED = ("dctcp", "ecn", "dcqcn")
"""Congestion controls that always read marks; the packets of others, such as HPCC and TIMELY, cannot be marked."""
THRESHOLDS = ("ecn_threshold_packets", "ecn_threshold_bytes", "ecn_threshold_us", "ecn_max_bytes")


def reads_marks(transport: Transport) -> bool:
    """Whether a transport reads marks: by one of `MARKED`, as CUBIC if told to, or as Ultra Ethernet always does."""
    kind = transport.get("kind")
    if kind == "uet" or transport.get("cubic_ecn"):
        return True
    return (transport.get("congestion_control", "dcqcn") if kind == "rdma" else kind) in MARKED


def unmarked(report: Report, switch: Switch) -> str:
    """The reason why no packet was marked, from the link with the longest queue."""
    longest = max(report["links"], key=lambda link: link["longest_queue_bytes"], default=None)
    if longest is None or longest["longest_queue_bytes"] <= marked_from_bytes(switch, longest.get("rate_bps", 0)):
        return ": no queue grew so long"
    return f", though up to {size(longest['longest_queue_bytes'])} waited for {longest['name']}"


def marked_from_bytes(switch: Switch, rate_bps: int) -> float:
    """The queue length at which all packets of a link of this rate are marked; infinite if packets are counted."""
    if switch.get("ecn_threshold_packets"):
        return math.inf
    given: Mapping[str, object] = switch
    step, micros, ramp = (given.get(key) for key in THRESHOLDS[1:])
    known = [float(value) if isinstance(value, int | float) else 0.0 for value in (step, micros, ramp)]
    return known[2] or known[0] + known[1] * US * rate_bps / 8


def chooses_behind_leaf(spec: Spec) -> bool:
    """Whether switches behind the first leaf may have a choice, too: what they move, nobody counts."""
    fabric = spec.get("topology") or {}
    return fabric.get("kind", "leaf_spine") != "leaf_spine" or fabric.get("parallel_links", 1) > 1


def moved(facts: Facts, report: Report) -> float:
    """How often a packet took another path than the flow's previous one; NaN if that was not counted.

    Changes of the host's tag count, and changes of uplink at the first leaf.
    """
    changes = report["totals"].get("path_changes") if "totals" in report else None
    if changes:
        return float(changes)
    return facts.reroutes if not math.isnan(facts.reroutes) else math.nan
