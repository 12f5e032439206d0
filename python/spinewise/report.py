"""Tables for the terminal: of one run, and of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spinewise import units
from spinewise.result import Result
from spinewise.stats import Interval
from spinewise.summary import Distribution, Packets, Summary
from spinewise.sweep import Comparison

PLAIN_WIDTH = 118


def console(*, stderr: bool = False) -> Console:
    """A console that does not squeeze its tables when nobody's terminal is attached."""
    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)


class Grid(Table):
    """A table whose cells are shown as they are: brackets in a label are no markup."""

    def line(self, *cells: str, end_section: bool = False) -> None:
        """Add a row."""
        self.add_row(*(Text(cell) for cell in cells), end_section=end_section)


def new_table(title: str, left: Sequence[str], right: Iterable[str]) -> Grid:
    """An empty table: some left-aligned columns, then right-aligned ones."""
    table = Grid(title=title or None, title_justify="left", title_style="bold", header_style="", box=SIMPLE_HEAD)
    for name in left:
        table.add_column(Text(name))
    for name in right:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


# ---- one run ----


def run_report(result: Result) -> RenderableType:
    """Everything `spinewise run` prints."""
    summary = result.summary()
    parts: list[RenderableType] = [fct_table(summary)]
    if summary.links:
        parts.append(link_table(summary))
    parts.append(Text("\n".join(run_lines(result, summary))))
    return Group(*parts)


def fct_table(summary: Summary) -> Grid:
    """Flow completion time and slowdown by size class."""
    table = new_table(
        "Flows by size class",
        ["class", "quantity"],
        ["flows", "unfinished", "mean", "p50", "p95", "p99", "p99.9"],
    )
    for found in summary.classes:
        name, size = units.time_unit([found.fct_s.p50])
        table.line(
            found.name, f"FCT [{name}]", str(found.flows), str(found.unfinished),
            *distribution(found.fct_s, size),
        )  # fmt: skip
        table.line("", "slowdown", "", "", *distribution(found.slowdown, 1.0), end_section=True)
    return table


def distribution(values: Distribution, size: float) -> list[str]:
    """Mean and percentiles in units of `size`."""
    return [units.digits(value / size) for value in (values.mean, values.p50, values.p95, values.p99, values.p999)]


def link_table(summary: Summary) -> Grid:
    """Utilisation of the links by tier; losses and pauses where there were any."""
    paused = any(tier["pauses"] for tier in summary.links)
    lost = any(tier["lost"] for tier in summary.links)
    table = new_table(
        "Links over the whole run",
        ["tier"],
        [
            "links", "mean util.", "max util.", "Jain", "drops", *(["lost"] if lost else []), "marks",
            *(["pauses", "paused"] if paused else []),
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
            f"{tier['marks']:,}",
            *(pauses if paused else []),
        )
    return table


def run_lines(result: Result, summary: Summary) -> list[str]:
    """The facts below the tables."""
    report = result.report
    events, hops = int(report["events"]), int(report["packet_hops"])
    wall = float(report["wall_seconds"])
    lines = [packet_line(summary.packets, transport_of(result))]
    lines.append("bytes that carry no data: " + overhead_line(summary))
    if summary.loads:
        words = [f"{name.replace('_', ' ')} {units.digits(x, 3)}" for name, x in summary.loads.items()]
        lines.append("offered load: " + " · ".join(words))
    if summary.overloaded:
        lines.append("OVERLOADED: the results depend on how long the run lasts")
    if summary.faults:
        lines.append(fault_line(summary.faults))
    if summary.deadlock:
        lines.append(deadlock_line(summary.deadlock))
    lines.append(
        f"simulated {units.duration(float(report['stop_ps']) / 1e12)} in"
        f" {units.duration(wall, 3)} wall · {units.count(hops)} packet-hops"
        f" ({units.count(hops / wall if wall else math.nan)}/s) · {units.count(events)} events"
    )
    lines.append(f"outcome {report['outcome_hash']} · spec {result.spec_hash[:16]} · seed {report['seed']}")
    return lines


def fault_line(faults: dict[str, int]) -> str:
    """What faults came to."""
    return (
        f"faults: {faults['lost']:,} packets lost on links · {faults['unroutable']:,} left without a route"
        f" · unfinished flows: {faults['cut_off']:,} cut off, {faults['out_of_time']:,} out of time"
    )


def deadlock_line(links: list[str]) -> str:
    """What happened, and what can be done."""
    return (
        f"DEADLOCK: pauses wait for each other on {', '.join(links)}, and nothing passes there any more;"
        " other routes, or buffers that never pause, would prevent it"
    )


def transport_of(result: Result) -> str:
    """The transport of its flows."""
    return str(result.spec.get("transport", {}).get("kind", ""))


def packet_line(packets: Packets, transport: str) -> str:
    """Sums over flows."""
    if transport == "rdma":
        answers = f"NACKs {packets.nacks:,} · CNPs {packets.cnps:,}"
    else:
        answers = f"3-dupACK events {units.percent(packets.dupack3_ratio)}"
    return (
        f"data packets {packets.sent:,} · retransmitted {packets.retransmits:,}"
        f" · timeouts {packets.timeouts:,} · marked {packets.marks:,}\n"
        f"out of order {units.percent(packets.out_of_order_ratio)}"
        f" · {answers}"
    )


def overhead_line(summary: Summary) -> str:
    """Bytes by kind, with their share of all bytes made."""
    whole = summary.created_bytes
    return " · ".join(
        f"{name} {units.count(size)}B ({units.percent(size / whole if whole else math.nan)})"
        for name, size in summary.overhead_bytes.items()
    )


# ---- a comparison ----


def comparison_report(comparison: Comparison) -> RenderableType:
    """Everything `spinewise compare` prints."""
    return Group(
        comparison_table(comparison, "fct_s.mean", "Mean FCT"),
        comparison_table(comparison, "fct_s.p99", "99th percentile of FCT"),
        Text("\n".join(notes(comparison))),
    )


def comparison_table(comparison: Comparison, metric: str, title: str) -> Grid:
    """One metric: a row per load and scheme, two columns per size class."""
    classes = comparison.size_classes
    scale = {name: class_unit(comparison, name, metric) for name in classes}
    first = comparison.labels[0]
    columns = [column for name in classes for column in (f"{name} [{scale[name][0]}]", f"vs {first}")]
    table = new_table(title, ["load", "scheme"], [*columns, "unfinished"])
    for load in comparison.loads:
        for label in comparison.labels:
            cells = []
            for name in classes:
                own = comparison.interval(label, load, name, metric)
                cells.append(plus_minus(own, scale[name][1]))
                against = comparison.difference(label, load, name, metric)
                cells.append("" if label == first else difference(against))
            table.line(
                load_name(comparison, load) if label == first else "",
                label,
                *cells,
                str(comparison.unfinished(label, load)),
                end_section=label == comparison.labels[-1],
            )
    return table


def class_unit(comparison: Comparison, size_class: str, metric: str) -> tuple[str, float]:
    """The unit in which to print one column."""
    return units.time_unit(
        comparison.interval(label, load, size_class, metric).mean
        for label in comparison.labels
        for load in comparison.loads
    )


def plus_minus(interval: Interval, size: float) -> str:
    """Mean ± half width, in units of `size`, both to the same decimal."""
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = units.digits(interval.mean / size)
    if not math.isfinite(interval.half):
        return text
    decimals = len(text.partition(".")[2])
    return f"{text} ±{interval.half / size:,.{decimals}f}"


def difference(interval: Interval) -> str:
    """A paired difference in percent; in brackets when its interval includes zero."""
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = f"{100 * interval.mean:+.1f}%"
    return text if interval.excludes_zero else f"({text})"


def load_name(comparison: Comparison, load: float | None) -> str:
    """A load as the tables print it, with a mark when it is an overload."""
    name = "as given" if load is None else f"{load:g}"
    return f"{name} !" if comparison.overloaded(load) else name


def notes(comparison: Comparison) -> list[str]:
    """How to read the tables."""
    seeds = len(comparison.seeds)
    flows = ", ".join(
        f"{comparison.flows(load, name):,} {name}" for load in comparison.loads[-1:] for name in comparison.size_classes
    )
    lines = [
        f"{seeds} seed{'s' * (seeds != 1)}, the same traffic for every scheme; ± is half a 95 %"
        " Student-t interval over seeds.",
        f"'vs {comparison.labels[0]}' is the mean paired difference; in (brackets) when its 95 %"
        " interval includes zero.",
        f"flows per scheme at the last load, all seeds: {flows}.",
    ]
    lines += [f"SKIPPED {one.label}, which cannot serve this fabric: {one.reason}." for one in comparison.skipped]
    if not comparison.paired:
        lines.append("NOT PAIRED: some schemes saw different traffic; differences mean little.")
    if any(comparison.overloaded(load) for load in comparison.loads):
        lines.append("! overloaded: the results depend on how long the run lasts.")
    locked = {(cell.label, cell.load) for cell in comparison.cells if cell.summary.deadlock}
    for label, load in sorted(locked, key=str):
        lines.append(f"DEADLOCK: pauses waited for each other under {label} at load {load_name(comparison, load)}.")
    lost = sum(comparison.unfinished(s, x) for s in comparison.labels for x in comparison.loads)
    if lost:
        lines.append(f"{lost} flows did not finish; they are in no mean or percentile above.")
    return lines
