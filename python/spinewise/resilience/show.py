"""The study as a table for the terminal, as Markdown, and as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.measures import stats, units
from spinewise.resilience.measures import SHARE
from spinewise.resilience.study import Study
from spinewise.show import style
from spinewise.show.markdown import line
from spinewise.show.terminal import Grid, new_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORST = 0.4
"""The share of goodput lost from which the figure has its darkest colour."""

COLUMN = 3.6
"""The width in inches for as many caption letters as fit below one panel of other figures."""


def report(study: Study) -> RenderableType:
    """The output of ``spinewise resilience``."""
    return Group(table(study), Text("\n".join(notes(study))))


def table(study: Study) -> Grid:
    """One row per fabric, fault and scheme."""
    made = new_table(
        "What faults cost, against the same run without",
        ["fault", "scheme"],
        ["lost [%]", "95 % after [ms]", "p99.9 [ms]", "vs none", "gone", "dropped", "open"],
    )
    for column in made.columns[:2]:
        column.no_wrap = True
    for fabric in study.plan.fabrics:
        labels = study.labels(fabric.name)
        if labels:
            made.line(fabric.name)
        for fault in study.plan.faults:
            for label in labels:
                place = f"  {fault.name}" if label == labels[0] else ""
                made.line(place, label, *cells(study, fabric.name, fault.name, label), end_section=label == labels[-1])
    return made


def cells(study: Study, fabric: str, fault: str, label: str) -> list[str]:
    """One row's numbers."""

    def mean(metric: str) -> stats.Interval:
        return study.interval(fabric, fault, label, metric)

    tail = at_least if study.bounded(fabric, fault, label) else str
    return [
        fixed(mean("goodput_lost"), 100.0),
        times(study, fabric, fault, label, "recovery_ms"),
        tail(fixed(mean("p999_ms"))),
        tail(slower(study.slower(fabric, fault, label), len(study.plan.seeds))),
        f"{mean('lost').mean:,.0f}",
        f"{mean('dropped').mean:,.0f}",
        unfinished(study, fabric, fault, label),
    ]


def fixed(found: stats.Interval, scale: float = 1.0) -> str:
    """Mean ± half width to one decimal, as more would be noise whatever the size; a dash without a value."""
    if not math.isfinite(found.mean):
        return units.NOTHING
    text = f"{scale * found.mean:z.1f}"
    return f"{text} ±{scale * found.half:.1f}" if math.isfinite(found.half) else text


def at_least(text: str) -> str:
    """A number that is a lower bound."""
    return text if text == units.NOTHING else f"≥ {text}"


def slower(found: stats.Interval, seeds: int) -> str:
    """A paired difference in percent, in brackets if its interval includes zero. One seed has no interval."""
    if not math.isfinite(found.mean):
        return units.NOTHING
    text = f"{100 * found.mean:+z,.0f}%"
    return text if seeds < 2 or found.excludes_zero else f"({text})"


def times(study: Study, fabric: str, fault: str, label: str, metric: str) -> str:
    """A time with its interval; or, if it never came on some seeds, their number, and the mean of the others."""
    never, seeds = study.never(fabric, fault, label, metric), len(study.plan.seeds)
    if never == seeds:
        return "never"
    found = study.interval(fabric, fault, label, metric)
    return f"{found.mean:.1f}, {never}/{seeds} never" if never else fixed(found)


def unfinished(study: Study, fabric: str, fault: str, label: str) -> str:
    """Unfinished flows of all seeds, by reason."""
    found = study.at(fabric, fault, label)
    cut_off, late = sum(one.cut_off for one in found), sum(one.out_of_time for one in found)
    parts = [f"{cut_off} cut off"] * bool(cut_off) + [f"{late} late"] * bool(late)
    return ", ".join(parts) or "0"


def notes(study: Study) -> list[str]:
    """Notes on how to read the table."""
    plan, seeds = study.plan, len(study.plan.seeds)
    timing = plan.timing
    lines = [
        f"broken from {timing.fault_us / 1000:g} to {timing.repair_us / 1000:g} ms, traffic until"
        f" {timing.end_us / 1000:g} ms; "
        + (
            f"{seeds} seeds, ± is half a 95 % Student-t interval over seeds." if seeds > 1 else "one seed: no interval."
        ),
        "lost: goodput, as a share of the bytes that arrive in that time without the fault, on the same traffic.",
        f"95 % after: until goodput is back at {100 * SHARE:g} % or more of that without the fault, and stays there;"
        " never: not before the repair.",
        "p99.9: of completion times; vs none: against the run without the fault"
        + (", in (brackets) when the interval of the difference includes zero." if seeds > 1 else "."),
        "gone: packets lost to the fault; dropped: at full queues or without a route;"
        " open: unfinished flows, cut off or late; they count in p99.9 with the time they had waited when the run ended"
        " (≥: one of them sets it).",
    ]
    lines += [f"{fault.name}: {fault.about}." for fault in plan.faults]
    for fabric in plan.fabrics:
        lines += [f"SKIPPED {one.label} on {fabric.name}: {one.reason}." for one in plan.skipped[fabric.name]]
        lines += slow_repairs(study, fabric.name)
    if not study.paired:
        lines.append("NOT PAIRED: some runs saw different traffic; differences mean little.")
    return lines


def slow_repairs(study: Study, fabric: str) -> list[str]:
    """A note on schemes that take longer than a window to recover after the repair."""
    found = []
    for fault in study.plan.faults:
        for label in study.labels(fabric):
            mean = study.interval(fabric, fault.name, label, "after_repair_ms").mean
            if study.never(fabric, fault.name, label, "after_repair_ms") or mean > 1.0:
                after = times(study, fabric, fault.name, label, "after_repair_ms")
                found.append(f"{label} ({fault.name}: {after})")
    return [f"after the repair on {fabric}, ms until 95 %: {', '.join(found)}."] if found else []


# ---- Markdown ----


def markdown(study: Study) -> str:
    """Two tables per fabric, a row per scheme and a column per fault; means over seeds."""
    lines: list[str] = []
    for fabric in study.plan.fabrics:
        for title, cell in (
            ("goodput lost [%] · ms until 95 % of it is back (∞: not before the repair)", goodput_cell),
            ("p99.9 FCT over that without the fault · packets lost", tail_cell),
        ):
            heads = ["scheme", *(fault.title for fault in study.plan.faults)]
            lines += [f"**{fabric.name}** ({fabric.about}): {title}", "", line(heads), line(["---"] * len(heads))]
            for label in study.labels(fabric.name):
                texts = [cell(study, fabric.name, fault.name, label) for fault in study.plan.faults]
                lines.append(line([f"`{label}`", *texts]))
            lines.append("")
    return "\n".join(lines)


def goodput_cell(study: Study, fabric: str, fault: str, label: str) -> str:
    """Goodput lost and time to recovery."""
    lost = 100.0 * study.interval(fabric, fault, label, "goodput_lost").mean
    return f"{lost:.1f} · {short_time(study, fabric, fault, label)}"


def short_time(study: Study, fabric: str, fault: str, label: str) -> str:
    """Mean time to recovery in ms; ∞ if it never came on any seed, "∞?" if it did not on some."""
    never = study.never(fabric, fault, label, "recovery_ms")
    if never:
        return "∞" if never == len(study.plan.seeds) else "∞?"
    return f"{study.interval(fabric, fault, label, 'recovery_ms').mean:.1f}"


def tail_cell(study: Study, fabric: str, fault: str, label: str) -> str:
    """The 99.9th percentile over that without the fault, and packets lost."""
    factor = 1.0 + study.slower(fabric, fault, label).mean
    text = f"{factor:.1f}×" if math.isfinite(factor) else units.NOTHING
    if study.bounded(fabric, fault, label):
        text = at_least(text)
    return f"{text} · {units.count(study.interval(fabric, fault, label, 'lost').mean)}"


# ---- the figure ----


def figure(study: Study) -> Figure:
    """One panel per fabric: goodput lost as colour, the recovery time as text."""
    fabrics, faults = study.plan.fabrics, study.plan.faults
    rows = max(len(study.labels(fabric.name)) for fabric in fabrics)
    width = max(1.6 + 0.42 * len(faults) * len(fabrics) + 1.0 * len(fabrics), 5.0)
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        made = Figure(figsize=(width, 0.2 * rows + 2.4), layout="constrained")
        axes = made.subplots(1, len(fabrics), squeeze=False)[0]
        for one, fabric in zip(axes, fabrics, strict=True):
            draw(one, study, fabric.name)
        bar = made.colorbar(axes[-1].images[0], ax=list(axes), shrink=0.6, aspect=30, extend="max")
        bar.set_label("goodput lost during the fault [%]", fontsize=7)
        bar.ax.tick_params(labelsize=7)
        bar.outline.set_visible(False)
        made.supxlabel(style.wrapped(caption(study), int(width / COLUMN)), fontsize=7, color="#444444")
    return made


def draw(axes: Axes, study: Study, fabric: str) -> None:
    """The panel of one fabric."""
    faults, labels = study.plan.faults, study.labels(fabric)
    lost = [
        [100.0 * max(study.interval(fabric, fault.name, label, "goodput_lost").mean, 0.0) for fault in faults]
        for label in labels
    ]
    axes.imshow(lost, cmap="Blues", vmin=0.0, vmax=100.0 * WORST, aspect="auto")
    for row, label in enumerate(labels):
        for column, fault in enumerate(faults):
            dark = lost[row][column] > 55.0 * WORST
            axes.text(
                column, row, short_time(study, fabric, fault.name, label),
                ha="center", va="center", fontsize=6.5, color="white" if dark else "black",
            )  # fmt: skip
    axes.set_title(fabric, loc="left")
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.set_xticks(
        range(len(faults)), [fault.title for fault in faults],
        fontsize=7, rotation=40, ha="right", rotation_mode="anchor",
    )  # fmt: skip
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def caption(study: Study) -> str:
    """The caption: what a reader must know about the figure."""
    seeds = len(study.plan.seeds)
    return (
        f"Colour: share of goodput lost between fault and repair, against the same run without the fault. Number: ms"
        f" until {100 * SHARE:g} % of it is back (0: never below; ∞: not before the repair; ∞?: not on every seed)."
        f" Means of {seeds} seed{'s' * (seeds != 1)}."
    )
