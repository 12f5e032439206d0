"""Goodput around faults, beside the same run without them: what was lost, and when it was back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from spinewise.figures.heat import fault_times
from spinewise.measures import units
from spinewise.resilience.measures import SHARE, Floats, goodput, lost_share, recovery
from spinewise.runs.result import Result
from spinewise.show.style import COLOURS, STYLE, wrapped

WINDOW_S = 500e-6
"""The shortest time for which goodput must be back: single intervals are noisy."""


@dataclass(frozen=True)
class Pair:
    """Bytes received in each interval.

    Attributes:
        interval_s: length of an interval.
        broken: with the faults.
        whole: without them.
    """

    interval_s: float
    broken: Floats
    whole: Floats

    @classmethod
    def of(cls, broken: Result, whole: Result) -> Pair:
        """Of two runs with the series `received_bytes` at the same interval."""
        interval_us = float(broken.spec["metrics"]["series_interval_us"])
        count = max(intervals(broken, interval_us), intervals(whole, interval_us))
        return cls(interval_us * 1e-6, *(goodput(run, interval_us, count) for run in (broken, whole)))

    def after(self, instant_s: float) -> slice:
        """The intervals that begin at an instant or later."""
        return slice(math.ceil(instant_s / self.interval_s - 1e-9), None)


def intervals(result: Result, interval_us: float) -> int:
    """How many intervals a run has."""
    return math.ceil(float(result.report["stop_ps"]) / (interval_us * 1e6))


def around_faults(broken: Result, whole: Result) -> Figure:
    """Goodput over time with and without the faults, each fault shaded and named."""
    pair = Pair.of(broken, whole)
    ends = (np.arange(len(pair.broken)) + 1) * pair.interval_s
    times = fault_times(broken.spec)
    unit, size = units.time_unit([float(ends[-1])])
    gbps = 8e-9 / pair.interval_s
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = made.subplots()
        axes.plot(ends / size, pair.whole * gbps, color="#888888", drawstyle="steps-pre", label="nothing breaks")
        axes.plot(ends / size, pair.broken * gbps, color=COLOURS[0], drawstyle="steps-pre", label="with the faults")
        top = 1.35 * gbps * float(max(pair.whole.max(initial=0.0), pair.broken.max(initial=0.0))) or 1.0
        axes.set(xlabel=f"time [{unit}]", ylabel="goodput of all hosts [Gbps]", ylim=(0.0, top))
        axes.set_xlim(0.0, float(ends[-1]) / size)
        for number, (begin, end) in enumerate(times):
            until = min(end if end is not None else math.inf, float(ends[-1]))
            axes.axvspan(begin / size, until / size, color="#D55E00", alpha=0.07, linewidth=0)
            axes.axvline(begin / size, color="#D55E00", linewidth=0.9)
            kind = str(broken.spec["fault"][number].get("kind", "")).replace("_", " ")
            axes.annotate(
                kind, (begin / size, top), xytext=(2, -3), textcoords="offset points",
                fontsize=7, rotation=90, ha="left", va="top",
            )  # fmt: skip
        axes.legend(loc="upper right", fontsize=8)
        axes.set_title(f"{broken.spec.get('name', 'run')}, {broken.spec.get('scheme', {}).get('name', '')}", loc="left")
        made.supxlabel(wrapped(caption(pair, times), 2), fontsize=7, color="#444444")
    return made


def caption(pair: Pair, times: list[tuple[float, float | None]]) -> str:
    """What the faults did, in words."""
    first = min(begin for begin, _ in times)
    repairs = [end for _, end in times if end is not None]
    last = max(repairs) if len(repairs) == len(times) else len(pair.whole) * pair.interval_s
    during = slice(pair.after(first).start, pair.after(last).start)
    lost = lost_share(pair.broken[during], pair.whole[during])
    told = [back_text(pair, first, "first fault")] + ([back_text(pair, last, "last repair")] if repairs else [])
    return (
        f"Shaded: a fault lasts. From {units.duration(first, 3)} to {units.duration(last, 3)} the hosts received"
        f" {units.percent(lost)} fewer bytes than without faults. At {100 * SHARE:g} % of that goodput again "
        + "; ".join(told) + "."
    )  # fmt: skip


def back_text(pair: Pair, instant_s: float, what: str) -> str:
    """How long after an instant goodput was back."""
    window = max(1, round(WINDOW_S / pair.interval_s))
    rest = pair.after(instant_s)
    took = recovery(pair.broken[rest], pair.whole[rest], window=window, hold=window)
    when = f"the {what}"
    if not math.isfinite(took):
        return f"never after {when}"
    return f"at once after {when}" if took == 0.0 else f"{units.duration(took * pair.interval_s, 3)} after {when}"
