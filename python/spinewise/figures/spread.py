"""Distributions of completion times: cumulative, and slowdown against flow size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from spinewise.measures import units
from spinewise.measures.curves import FEWEST, LEVELS, Curves, over_seeds, sizes_over_seeds
from spinewise.show.style import STYLE, Look, legend, look, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Mapping[str, Mapping[str, Sequence[Curves]]]
"""The curves of each run, one a seed, by the title of a row of panels and by the label of a curve."""

SHARES = (0.0, 0.5, 0.9, 0.99, 0.999)
"""Ticks of the axis of shares, which gives equal room to each further nine."""


def cdf(rows: Rows, caption: str) -> Figure:
    """A row of panels each: the share of flows that are done within a time, and within a slowdown."""
    return grid(rows, caption, [panel_of_times, panel_of_slowdowns])


def by_size(rows: Rows, caption: str) -> Figure | None:
    """A row of panels each: median and 99th percentile of the slowdown against flow size.

    Rows whose flows are of one or two sizes are left out, and the caption says so; None if no row is left.
    """
    drawn = {title: curves for title, curves in rows.items() if sizes_of(curves) >= FEWEST_SIZES}
    left_out = [title for title in rows if title not in drawn]
    if left_out:
        caption += f" Left out, with flows of one or two sizes: {', '.join(left_out)}."
    return grid(drawn, caption, [panel_of_medians, panel_of_tails]) if drawn else None


FEWEST_SIZES = 3
LINEAR_TO = 4.0
"""The slowdown up to which an axis is linear."""


def sizes_of(curves: Mapping[str, Sequence[Curves]]) -> int:
    """The number of sizes that have a median, over all curves of a row."""
    return max((len(sizes_over_seeds(found, "p50")[0]) for found in curves.values()), default=0)


Draw = Callable[["Axes", str, Mapping[str, Sequence[Curves]], Mapping[str, Look]], None]


def grid(rows: Rows, caption: str, draw: Sequence[Draw]) -> Figure:
    """One row of panels for each title, one legend for all, the caption below."""
    labels = list(dict.fromkeys(label for curves in rows.values() for label in curves))
    looks = look(labels)
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(7.2, 2.5 * len(rows) + 1.0), layout="constrained")
        panels = made.subplots(len(rows), len(draw), squeeze=False)
        for line, (title, curves) in zip(panels, rows.items(), strict=True):
            for axes, one in zip(line, draw, strict=True):
                one(axes, title, curves, looks)
        legend(made, labels, looks)
        made.supxlabel(wrapped(caption, 2), fontsize=7, color="#444444")
    return made


def panel_of_times(axes: Axes, title: str, curves: Mapping[str, Sequence[Curves]], looks: Mapping[str, Look]) -> None:
    """Shares of flows against completion time."""
    known = [over_seeds(found, "fct_s") for found in curves.values()]
    finite = [float(x) for values in known for x in values if np.isfinite(x)]
    unit, size = units.time_unit(finite)
    draw_cdf(axes, {label: values / size for label, values in zip(curves, known, strict=True)}, looks)
    axes.set_title(title, loc="left")
    axes.set(xlabel=f"flow completion time [{unit}]", ylabel="share of flows")


def panel_of_slowdowns(
    axes: Axes, title: str, curves: Mapping[str, Sequence[Curves]], looks: Mapping[str, Look]
) -> None:
    """Shares of flows against slowdown."""
    draw_cdf(axes, {label: over_seeds(found, "slowdown") for label, found in curves.items()}, looks)
    axes.set_title(title, loc="left")
    axes.set(xlabel="slowdown (completion time over the ideal)", ylabel="share of flows")


def draw_cdf(axes: Axes, curves: Mapping[str, np.ndarray], looks: Mapping[str, Look]) -> None:
    """Distributions over an axis of shares that shows the tail."""
    axes.set_xscale("log")
    axes.set_yscale("function", functions=(nines, share))
    for label, values in curves.items():
        axes.plot(values, LEVELS, color=looks[label]["color"], linestyle=looks[label]["linestyle"])
    reached = max((p for values in curves.values() for p, x in zip(LEVELS, values, strict=True) if np.isfinite(x)),
                  default=0.9)  # fmt: skip
    ticks = [tick for tick in SHARES if tick <= max(reached, 0.9) + 1e-9]
    axes.set_ylim(0.0, max(reached, 0.9) + 0.2 * (1.0 - max(reached, 0.9)))
    axes.set_yticks(ticks, [units.percent(tick) if tick else "0" for tick in ticks])
    plain_log_ticks(axes)


def nines(shares: np.ndarray) -> np.ndarray:
    """0 at none, 1 at nine tenths, 2 at 99 hundredths."""
    return -np.log10(np.maximum(1.0 - np.asarray(shares, float), 1e-6))


def share(of_nines: np.ndarray) -> np.ndarray:
    """The inverse of `nines`."""
    return 1.0 - 10.0 ** -np.asarray(of_nines, float)


def panel_of_medians(axes: Axes, title: str, curves: Mapping[str, Sequence[Curves]], looks: Mapping[str, Look]) -> None:
    """Median slowdown against size."""
    draw_sizes(axes, curves, looks, "p50")
    axes.set_title(f"{title}: median" if title else "median", loc="left")
    axes.set(xlabel="flow size", ylabel="slowdown")


def panel_of_tails(axes: Axes, title: str, curves: Mapping[str, Sequence[Curves]], looks: Mapping[str, Look]) -> None:
    """99th percentile of the slowdown against size."""
    draw_sizes(axes, curves, looks, "p99")
    axes.set_title(f"{title}: 99th percentile" if title else "99th percentile", loc="left")
    axes.set(xlabel="flow size", ylabel="slowdown")


def draw_sizes(axes: Axes, curves: Mapping[str, Sequence[Curves]], looks: Mapping[str, Look], percentile: str) -> None:
    """A percentile of the slowdown against flow size, both axes logarithmic."""
    empty = True
    for label, found in curves.items():
        sizes, values = sizes_over_seeds(found, percentile)
        empty = empty and not len(sizes)
        one = looks[label]
        axes.plot(
            sizes, values,
            color=one["color"], linestyle=one["linestyle"], marker=one["marker"], markersize=3.5,
        )  # fmt: skip
    if empty:
        note = f"fewer than {FEWEST[percentile]} flows of each size"
        axes.text(0.5, 0.5, note, ha="center", va="center", color="#666666", transform=axes.transAxes)
        axes.set_axis_off()
        return
    axes.set_xscale("log")
    most = axes.get_ylim()[1]
    if most > LINEAR_TO:
        axes.set_yscale("log")
        axes.set_ylim(0.9, 1.15 * most)
    else:
        axes.set_ylim(0.9, 1.0 + 1.1 * (most - 1.0))
    # Both percentiles of a row are drawn over the same sizes.
    every = [size for found in curves.values() for size in sizes_over_seeds(found, "p50")[0]]
    axes.set_xlim(min(every) / 1.5, max(every) * 1.5)
    plain_log_ticks(axes)
    axes.xaxis.set_major_formatter(lambda value, _: byte_size(value))
    axes.xaxis.set_minor_formatter("")


def plain_log_ticks(axes: Axes) -> None:
    """Label ticks with plain numbers instead of powers of ten."""
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "log":
            axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
            few = high / low < FEW_DECADES
            axis.set_minor_formatter(FuncFormatter(minor) if few else NullFormatter())


FEW_DECADES = 30.0
"""The ratio of a logarithmic axis's ends below which it has numbers between powers of ten."""


def minor(value: float, _: int | None = None) -> str:
    """2, 3 and 5 times powers of ten."""
    return f"{value:,.12g}" if f"{value:.0e}"[0] in "235" else ""


def byte_size(value: float) -> str:
    """A flow size with its unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"
