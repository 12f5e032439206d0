"""Labs and their runs as tables for people."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spinewise.comparison.cells import Comparison
from spinewise.lab.build import Status
from spinewise.lab.cost import PROGRAMS, Costs
from spinewise.lab.plan import Plan
from spinewise.lab.seen import Path, Seen
from spinewise.lab.sight import Agreement
from spinewise.lab.study import Fabric, Order, Study
from spinewise.measures import units
from spinewise.measures.plain import without_nan
from spinewise.runs.result import Result


def record(plan: Plan) -> dict[str, object]:
    """A plan, in a form for JSON."""
    return {
        "name": plan.name,
        "factor": plan.factor,
        "namespaces": [plan.namespace(node) for node in plan.nodes],
        "mtu": plan.fabric_mtu,
        "route_mtu": plan.mtu,
        "hosts": {host: plan.address(number) for number, host in enumerate(plan.hosts)},
        "ports": [
            {
                "link": port.link,
                "namespace": plan.namespace(port.node),
                "device": port.device,
                "address": port.address,
                "rate_bps": port.rate_bps,
                "queue_bytes": port.queue_bytes,
            }
            for port in plan.ports
        ],
    }


def plan(made: Plan) -> RenderableType:
    """Show a lab's plan."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("link", "namespace", "device", "address"):
        table.add_column(head)
    for head in ("rate", "queue"):
        table.add_column(head, justify="right")
    for port in made.ports:
        rate, queue = f"{units.count(port.rate_bps)}bps", units.size(port.queue_bytes)
        table.add_row(port.link, made.namespace(port.node), port.device, port.address, rate, queue)
    scale = (
        "rates and times are the spec's own"
        if made.factor == 1
        else f"rates are the spec's divided by {made.factor}, times are multiplied by it; bytes stay"
    )
    seconds = float(made.spec["run"]["until_us"]) / 1e6
    line = (
        f'lab "{made.name}": {len(made.hosts)} hosts, {len(made.leaves)} leaves, {len(made.spines)} spines; '
        f"{scale}; a run takes {seconds:g} s at most; MTU {made.fabric_mtu}, of routes {made.mtu}"
    )
    return Group(table, Text(line))


def labs(found: Sequence[Status]) -> RenderableType:
    """All labs."""
    if not found:
        return Text("there is no lab")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("lab")
    table.add_column("state")
    for head in ("hosts", "leaves", "spines", "factor", "namespaces", "processes"):
        table.add_column(head, justify="right")
    for one in found:
        numbers = (one.hosts, one.leaves, one.spines, one.factor, one.namespaces, one.processes)
        table.add_row(one.name, one.state, *(str(number) for number in numbers))
    return table


def sensed(found: Sequence[Seen], ways: Sequence[Path]) -> RenderableType:
    """Show what a scheme saw at each host, and the truth."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("series", "host"):
        table.add_column(head)
    for head in ("values", "p10", "median", "p90"):
        table.add_column(head, justify="right")
    for one in found:
        table.add_row(
            one.series, one.host, f"{one.values:,}", *(units.digits(value, 4) for value in (one.p10, one.p50, one.p90))
        )
    truth = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Paths as they are", title_justify="left")
    for head in ("from", "to", "over"):
        truth.add_column(head)
    truth.add_column("slowest link", justify="right")
    for way in ways:
        truth.add_row(way.source, way.target, way.spine, f"{units.count(way.rate_bps)}bps")
    return Group(table, truth)


METRIC_WORDS = {"fct_s.mean": "mean FCT", "fct_s.p99": "p99 FCT"}


def orders(study: Study) -> RenderableType:
    """Show the mean over seeds of each number with half its interval, on both sides, and whether the orders agree."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Linux and the simulator", title_justify="left")
    table.add_column("flows, quantity")
    table.add_column("scheme")
    for head in ("simulated", "vs first", "Linux", "vs first"):
        table.add_column(head, justify="right")
    found = study.orders()
    more = [*([holes(study)] if study.holes else []), *([alarms(study)] if study.watched_path_s else [])]
    if not found:
        return Group(*more) if more else Text("no flow has finished")
    for one in found:
        for place, variant in enumerate(study.linux.variants):
            cells = [word for comparison in (study.simulated, study.linux) for word in words_of(comparison, place, one)]
            what = f"{one.size_class}, {METRIC_WORDS[one.metric]}" if place == 0 else ""
            last = place + 1 == len(study.linux.variants)
            table.add_row(what, variant.label.rpartition(" (")[0], *cells, end_section=last)
    return Group(table, *(Text(order_line(one)) for one in found), *more)


def holes(study: Study) -> RenderableType:
    """Show the effect of a black hole: when traffic had left it, and the goodput meanwhile."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="The black hole", title_justify="left")
    table.add_column("scheme")
    for head in ("left it after, simulated", "Linux", "never", "goodput kept, simulated", "Linux"):
        table.add_column(head, justify="right")
    for there, here in zip(study.simulated.labels, study.linux.labels, strict=True):
        left = [study.hole(label, "left_s") for label in (there, here)]
        kept = [study.hole(label, "kept") for label in (there, here)]
        never = [sum(math.isinf(one.left_s) for one in study.holes[label]) for label in (there, here)]
        table.add_row(
            here.rpartition(" (")[0],
            *(f"{units.duration(one.mean, 3)} ±{units.duration(one.half, 2)}" if one.n else "never" for one in left),
            f"{never[0]}, {never[1]}",
            *(f"{one.mean:.1%} ±{one.half:.1%}" for one in kept),
        )
    return table


def alarms(study: Study) -> RenderableType:
    """Show how long agents watched paths without a fault, and how many they considered dead in that time."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Paths watched before any fault", title_justify="left")
    table.add_column("scheme")
    for head in ("runs", "paths, hours", "false alarms", "machine busy"):
        table.add_column(head, justify="right")
    every: list[Fabric] = []
    for label in study.linux.labels:
        ran = [one for one in study.fabrics[label] if one.watched_path_s]
        every += ran
        if ran:
            table.add_row(label.rpartition(" (")[0], *alarm_cells(ran))
    table.add_section()
    table.add_row("all", *alarm_cells(every))
    return table


def alarm_cells(ran: Sequence[Fabric]) -> tuple[str, str, str, str]:
    """Runs, hours of paths, alarms, and the median of how busy the machine was."""
    hours = sum(one.watched_path_s for one in ran) / 3600
    busy = statistics.median(one.busy_share or 0.0 for one in ran)
    return f"{len(ran)}", f"{hours:.2f}", f"{sum(one.alarms for one in ran)}", f"{busy:.0%}"


def words_of(comparison: Comparison, place: int, one: Order) -> tuple[str, str]:
    """A mean over seeds with half its interval, and how far it is from that of the first scheme."""
    label = comparison.labels[place]
    value = comparison.interval(label, None, one.size_class, one.metric)
    against = comparison.difference(label, None, one.size_class, one.metric)
    changed = "" if place == 0 else f"{against.mean:+.1%} ±{against.half:.1%}"
    return f"{units.duration(value.mean, 3)} ±{units.duration(value.half, 2)}", changed


def order_line(one: Order) -> str:
    """Whether Linux and the simulator order the schemes alike."""
    return (
        f"{one.size_class}, {METRIC_WORDS[one.metric]}: of {one.pairs} pairs both tell {one.agreeing} apart in the same"
        f" order and {one.opposed} in the opposite order; only Linux {one.linux_only}, only the simulator"
        f" {one.simulated_only}"
    )


def study_record(study: Study) -> dict[str, object]:
    """How Linux and the simulator order the schemes, in a form for JSON."""
    rows = [row for one in (study.linux, study.simulated) for row in one.rows()]
    sides = (study.linux, study.simulated)
    facts = {label: one.facts(label).flat() for one in sides for label in one.labels}
    fabrics = {label: [asdict(replace(one, goodput=None)) for one in ran] for label, ran in study.fabrics.items()}
    found = without_nan(
        {"orders": [asdict(one) for one in study.orders()], "rows": rows, "facts": facts, "fabrics": fabrics}
    )
    assert isinstance(found, dict)
    return found


def goodput_record(study: Study) -> dict[str, object]:
    """The goodput over time of every run, by label, in a form for JSON."""
    found = {label: [one.goodput for one in ran if one.goodput] for label, ran in study.fabrics.items()}
    return {label: [asdict(one) for one in runs] for label, runs in found.items()}


def agreement(found: Mapping[str, Mapping[str, Agreement]]) -> RenderableType:
    """Show how closely the schemes' views of their paths match the truth."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scheme")
    table.add_column("where", no_wrap=True)
    heads = (
        "values", "with queueing", "at one moment", "with what is free", "best is best", "if drawn", "class true",
        "as held", "in truth",
    )  # fmt: skip
    for head in heads:
        table.add_column(head, justify="right")
    for label, sides in found.items():
        for side, one in sides.items():
            shares = (one.best, one.best_drawn, one.classes, one.congested, one.congested_true)
            words = ["–" if value is None or math.isnan(value) else f"{value:.0%}" for value in shares]
            rhos = (one.rho, one.rho_moment, one.rho_free)
            table.add_row(label, side, f"{one.values:,}", *(correlation(rho) for rho in rhos), *words)
        table.add_section()
    return table


def correlation(value: float) -> str:
    """A correlation with its sign."""
    return "–" if math.isnan(value) else f"{value:+.2f}"


def cost(found: Costs) -> RenderableType:
    """Show throughput and CPU of every case: medians of the rounds, with minimum and maximum."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("offload")
    table.add_column("paths by")
    for head in ("Gbps", "CPU seconds a Gbit", "a daemon", "egress", "ingress"):
        table.add_column(head, justify="right")
    for case in found.cases:
        daemon = f"{statistics.median(case.agents_cpu_share):.1%} of a core" if case.agents_cpu_share else "–"
        programs = [units.duration(1e-9 * case.program_ns[name], 3) if case.program_ns else "–" for name in PROGRAMS]
        numbers = (spread(case.gbps), spread(case.cpu_s_per_gbit), daemon, *programs)
        table.add_row("on" if case.offload else "off", case.paths_by, *numbers)
    line = (
        f"{found.rounds} rounds of {found.seconds} s, all cases in turn; medians, with the least and the most. CPU is"
        f" what all {found.processors} processors did above their idle load just before"
        f" ({found.idle_share:.1%} of them). Egress, ingress: a run of the sender's program, a packet or super-packet."
    )
    return Group(table, Text(line))


def spread(values: Sequence[float]) -> str:
    """The median, with minimum and maximum."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def beside(linux: Result, simulated: Result) -> RenderableType:
    """Show completion times on Linux and the simulator's."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Linux and the simulator", title_justify="left")
    table.add_column("class")
    for head in ("flows", "mean, Linux", "simulated", "p99, Linux", "simulated", "unfinished, Linux", "simulated"):
        table.add_column(head, justify="right")
    for here, there in zip(linux.summary().classes, simulated.summary().classes, strict=True):
        times = [units.duration(one.fct_s.get(what)) for what in ("mean", "p99") for one in (here, there)]
        table.add_row(here.name, f"{here.flows:,}", *times, f"{here.unfinished:,}", f"{there.unfinished:,}")
    return table
