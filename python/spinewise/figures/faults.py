"""Goodput around faults, compared with the same run without them: the loss, and the recovery."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from spinewise.figures.heat import fault_times
from spinewise.measures import units
from spinewise.resilience.compared import Cost, Pair, cost, received
from spinewise.resilience.measures import SHARE
from spinewise.runs.result import Result
from spinewise.show.style import COLOURS, STYLE, wrapped

Times = list[tuple[float, float | None]]
"""The begin and end of each fault, in seconds; the end is None if it is never repaired."""


def around_faults(broken: Result, whole: Result) -> Figure:
    """Goodput over time with and without the faults, each fault shaded and named."""
    interval_us = float(broken.spec["metrics"]["series_interval_us"])
    pair = Pair.of(interval_us, *(received(run, interval_us) for run in (broken, whole)))
    times = fault_times(broken.spec)
    found = cost_of(pair, times)
    last_s = len(pair.whole) * interval_us * 1e-6
    unit, size = units.time_unit([last_s])
    edges = np.arange(len(pair.whole) + 1) * interval_us * 1e-6 / size
    gbps = 8e-3 / interval_us
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = made.subplots()
        axes.stairs(pair.whole * gbps, edges, baseline=None, color="#888888", label="nothing breaks")
        axes.stairs(pair.broken * gbps, edges, baseline=None, color=COLOURS[0], label="with the faults")
        top = 1.35 * gbps * float(max(pair.whole.max(initial=0.0), pair.broken.max(initial=0.0))) or 1.0
        axes.set(xlabel=f"time [{unit}]", ylabel="goodput of all hosts [Gbps]", ylim=(0.0, top))
        axes.set_xlim(0.0, last_s / size)
        if not math.isnan(found.lost):
            axes.axvline(
                found.tails_off_us * 1e-6 / size, color="#888888", linewidth=0.9, linestyle=":",
                label="compared until here" if found.until_us == found.tails_off_us else "recovery judged until here",
            )  # fmt: skip
        for number, (begin, end) in enumerate(times):
            until = min(end if end is not None else math.inf, last_s)
            axes.axvspan(begin / size, until / size, color="#D55E00", alpha=0.07, linewidth=0)
            axes.axvline(begin / size, color="#D55E00", linewidth=0.9)
            kind = str(broken.spec["fault"][number].get("kind", "")).replace("_", " ")
            axes.annotate(
                kind, (begin / size, top), xytext=(2, -3), textcoords="offset points",
                fontsize=7, rotation=90, ha="left", va="top",
            )  # fmt: skip
        axes.legend(loc="upper right", fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")
        axes.set_title(f"{broken.spec.get('name', 'run')}, {broken.spec.get('scheme', {}).get('name', '')}", loc="left")
        made.supxlabel(wrapped(caption(found, times), 2), fontsize=7, color="#444444")
    return made


def cost_of(pair: Pair, times: Times) -> Cost:
    """The cost of the faults, from the first of them to the last repair, if there is one."""
    last = max(math.inf if end is None else end for _, end in times)
    return cost(pair, 1e6 * min(begin for begin, _ in times), 1e6 * last)


def caption(found: Cost, times: Times) -> str:
    """The effect of the faults, in words."""
    first = units.duration(min(begin for begin, _ in times), 3)
    if math.isnan(found.lost):
        return (
            "Shaded: a fault lasts. Without faults no byte would have arrived meanwhile: there is nothing to compare."
        )
    cut = found.until_us == found.tails_off_us
    what = "the run without faults ends or tails off" if cut else "last repair"
    end = f"{units.duration(found.until_us * 1e-6, 3)} ({what})"
    text = (
        f"Shaded: a fault lasts. From {first} (first fault) to {end} the hosts received"
        f" {units.percent(abs(found.lost))} {'more' if found.lost < 0.0 else 'fewer'} bytes than without faults."
    )
    return f"{text} {back_text(found, times)}"


def back_text(found: Cost, times: Times) -> str:
    """When goodput had recovered, in words."""
    told = [after(found.recovery_us, "first fault")]
    open_ = sum(end is None for _, end in times)
    if not open_:
        told.append(after(found.after_repair_us, "last repair"))
    text = f"Back at {100 * SHARE:g} % of that goodput: {'; '.join(told)}."
    if math.inf in (found.recovery_us, found.after_repair_us):
        tail = units.duration(found.tails_off_us * 1e-6, 3)
        text += f" From {tail} on the run without faults is over, or runs out of flows."
    if 0 < open_ < len(times):
        text += f" {open_} of {len(times)} faults {'is' if open_ == 1 else 'are'} never repaired."
    return text


def after(time_us: float, what: str) -> str:
    """How long after an instant something was seen, in words."""
    when = f"the {what}"
    if math.isinf(time_us):
        return f"not seen after {when}"
    return f"at once after {when}" if time_us == 0.0 else f"{units.duration(time_us * 1e-6, 3)} after {when}"
