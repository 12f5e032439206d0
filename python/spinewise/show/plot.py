"""Panels of curves: intervals over x, or plain lines over time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from spinewise.measures.stats import Interval
from spinewise.show.style import STYLE, Look, legible, look, wrapped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Above this ratio between the largest and the smallest value an axis becomes logarithmic.
LOG_ABOVE = 20.0
# Most labels of an axis.
MOST_TICKS = 12
# Letters that an axis has room for, side by side.
ROOM_LETTERS = 40
# How far the shade of an overload reaches to either side of its x, as a share of the axis: more than its markers do.
SHADE = 0.042
# The width of the curves above one word, as a share of the way to the next word, and their largest distance.
ABOVE_A_WORD, MOST_APART = 0.7, 0.2


@dataclass(frozen=True)
class Curve:
    """One line of a panel: intervals over x, or plain values."""

    label: str
    x: Sequence[float]
    y: Sequence[Interval]
    hollow: Sequence[bool] = ()
    """Points that omit something, such as unfinished flows."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: above it.
        x_label: with its unit.
        y_label: with its unit.
        curves: in the order of the legend.
        shaded: x values whose cells are overloaded.
        log: "auto" decides by the range of the values.
        lines: draw plain lines without markers or error bars (time series).
        log_x: a logarithmic x axis, of base 2.
        words: the text on the x axis in place of numbers, by x; points are then not joined.
        above_zero: whether no value can be below zero, so that intervals end there.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    shaded: Sequence[float] = field(default_factory=tuple)
    log: bool | str = "auto"
    lines: bool = False
    log_x: bool = False
    words: Mapping[float, str] = field(default_factory=dict)
    above_zero: bool = False

    def along(self, x: float) -> float:
        """The position of `x`, in the units in which the axis is even."""
        return math.log2(x) if self.log_x else x

    def moved(self, x: float, by: float) -> float:
        """The x that is `by` further along the axis."""
        return 2.0 ** (math.log2(x) + by) if self.log_x else x + by


LEGEND_DENSITY, HANDLE = 14, 7
"""Characters of a legend per inch, and those for the line before a label."""


def figure(panels: Sequence[Panel], *, columns: int, caption: str, title: str = "") -> Figure:
    """Panels in rows of `columns`, one legend for all, the caption below."""
    rows = math.ceil(len(panels) / columns)
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    looks = look(labels)
    with mpl.rc_context(STYLE):
        width = max(3.3 * columns, 5.0)
        made = Figure(figsize=(width, 2.6 * rows + 1.0), layout="constrained")
        grid = made.subplots(rows, columns, squeeze=False)
        for index in range(rows * columns):
            axes = grid[index // columns][index % columns]
            if index < len(panels):
                draw(axes, panels[index], looks)
            else:
                axes.set_axis_off()
        handles: dict[object, Artist] = {}
        # Panels with markers last: if a label has both, the legend shows its marker.
        for index in sorted(range(len(panels)), key=lambda one: not panels[one].lines):
            found = grid[index // columns][index % columns].get_legend_handles_labels()[0]
            handles |= {handle.get_label(): handle for handle in found}
        if labels:
            made.legend(
                [handles[legible(label)] for label in labels], [legible(label) for label in labels],
                title=title or None,
                loc="outside upper center", ncols=legend_columns(labels, columns, width),
            )  # fmt: skip
        made.supxlabel(wrapped(caption, columns), fontsize=7, color="#444444")
    return made


def legend_columns(labels: Sequence[str], columns: int, width: float) -> int:
    """How many columns of labels fit above `columns` panels, `width` inches wide in all; columns are filled in turn."""
    most = min(len(labels), 2 * columns if columns > 1 else 3)
    for many in range(most, 1, -1):
        rows, longer = divmod(len(labels), many)
        starts = [column * rows + min(column, longer) for column in range(many + 1)]
        widths = [max(map(len, labels[first:last])) for first, last in itertools.pairwise(starts)]
        if sum(HANDLE + width for width in widths) <= LEGEND_DENSITY * width:
            return many
    return 1


def draw(axes: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    """Draw one panel."""
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    spread = 0.007 * (x_span(panel) or 1.0)
    for curve in panel.curves:
        own = looks[curve.label]
        if panel.lines:
            y = [point.mean for point in curve.y]
            axes.plot(curve.x, y, label=legible(curve.label), color=own["color"], linestyle=own["linestyle"])
            continue
        # Neighbours are set slightly apart, so that their error bars can be distinguished; above words by more.
        near = [one for one in panel.curves if set(one.x) & set(curve.x)]
        apart = min(MOST_APART, ABOVE_A_WORD / len(near)) if panel.words else spread
        shift = apart * (near.index(curve) - (len(near) - 1) / 2.0)
        style: Look = {**own, "linestyle": "none"} if panel.words else own
        draw_points(axes, curve, [panel.moved(x, shift) for x in curve.x], style, above_zero=panel.above_zero)
    for x in panel.shaded:
        half = ABOVE_A_WORD / 2.0 if panel.words else SHADE * (x_span(panel) or 1.0)
        axes.axvspan(panel.moved(x, -half), panel.moved(x, half), color="#F0E0E0", zorder=0)
    scale_axis(axes, panel)
    if panel.log_x:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    if not panel.lines:
        ticks = sorted({x for curve in panel.curves for x in curve.x})
        # More labels than these would overlap.
        axes.set_xticks(ticks[:: math.ceil(len(ticks) / MOST_TICKS) or 1])
    if panel.words:
        name_axis(axes, panel)


def name_axis(axes: Axes, panel: Panel) -> None:
    """Label the axis with words in place of numbers, slanted if they would overlap."""
    places = sorted(panel.words)
    axes.set_xticks(places, [legible(panel.words[x]) for x in places])
    axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
    lengths = [len(panel.words[x]) for x in places]
    widest = max(((a + b) / 2.0 for a, b in pairwise(lengths)), default=0.0)
    if (widest + 1.0) * len(places) > ROOM_LETTERS:
        axes.tick_params(axis="x", labelrotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def draw_points(axes: Axes, curve: Curve, x: Sequence[float], style: Look, *, above_zero: bool = False) -> None:
    """A line with markers at `x` and error bars, none below zero if so asked; hollow where something is left out."""
    y = [point.mean for point in curve.y]
    half = [point.half if math.isfinite(point.half) else 0.0 for point in curve.y]
    below = [min(reach, value) if above_zero else reach for reach, value in zip(half, y, strict=True)]
    axes.errorbar(x, y, yerr=[below, half], label=legible(curve.label), capsize=2, elinewidth=0.9, **style)
    for index, hollow in enumerate(curve.hollow):
        if hollow:
            axes.plot(
                x[index], y[index],
                marker=style["marker"], color=style["color"], markerfacecolor="white", zorder=3,
            )  # fmt: skip


def x_span(panel: Panel) -> float:
    """The width of the x range, in the units in which the axis is even."""
    values = [panel.along(x) for curve in panel.curves for x in curve.x]
    return max(values) - min(values) if values else 0.0


def scale_axis(axes: Axes, panel: Panel) -> None:
    """Make the y axis logarithmic if the range requires it, else let it start at zero."""
    values = [point.mean for curve in panel.curves for point in curve.y]
    positive = [value for value in values if math.isfinite(value) and value > 0.0]
    wide = bool(positive) and max(positive) / min(positive) > LOG_ABOVE
    if panel.log is True or (panel.log == "auto" and wide and len(positive) == len(values)):
        axes.set_yscale("log")
        # An error bar that reaches zero or below must not stretch the axis.
        axes.set_ylim(bottom=min(positive) / 3.0)
    else:
        # A little below zero, so that markers at zero are seen whole.
        axes.set_ylim(bottom=min([-0.025 * axes.get_ylim()[1], *[v for v in values if v < 0.0]]))
    low, high = axes.get_ylim()
    # Room above, so that markers and error bars at the top are seen whole.
    axes.set_ylim(top=high * (high / low) ** 0.05 if axes.get_yscale() == "log" else high + 0.05 * (high - low))
