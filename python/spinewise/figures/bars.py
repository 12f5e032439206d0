"""One value a scheme, with its interval: the figure of a comparison without a load axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from spinewise.figures.kinds import UnfitError
from spinewise.measures.stats import Interval
from spinewise.show.plot import LOG_ABOVE
from spinewise.show.style import STYLE, Look, look, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """One quantity of every scheme.

    Attributes:
        title: the title above it.
        x_label: the quantity with its unit.
        values: the values by scheme, from top to bottom.
        hollow: schemes whose value leaves something out, such as unfinished flows.
    """

    title: str
    x_label: str
    values: Mapping[str, Interval]
    hollow: Sequence[str] = ()


def bars(panels: Sequence[Panel], *, columns: int, caption: str) -> Figure:
    """Panels in rows of `columns`; the names of the schemes are to the left of each row.

    Raises:
        UnfitError: no scheme has any of these values.
    """
    panels = [panel for panel in panels if any(math.isfinite(value.mean) for value in panel.values.values())]
    if not panels:
        raise UnfitError("needs flows or rounds that finish")
    columns = max(1, min(columns, len(panels)))
    rows = math.ceil(len(panels) / columns)
    labels = list(dict.fromkeys(label for panel in panels for label in panel.values))
    looks = look(labels)
    with mpl.rc_context(STYLE):
        height = (0.24 * len(labels) + 0.85) * rows + 0.5
        made = Figure(figsize=(max(3.0 * columns + 0.8, 5.0), height), layout="constrained")
        grid = made.subplots(rows, columns, squeeze=False)
        for index, axes in enumerate(grid.flat):
            if index < len(panels):
                draw(axes, panels[index], labels, looks)
                if index % columns:
                    axes.tick_params(labelleft=False)
            else:
                axes.set_axis_off()
        made.supxlabel(wrapped(caption, columns), fontsize=7, color="#444444")
    return made


def draw(axes: Axes, panel: Panel, labels: Sequence[str], looks: Mapping[str, Look]) -> None:
    """Draw bars from zero, or points on a logarithmic axis if the values are far apart."""
    known = {label: value for label, value in panel.values.items() if math.isfinite(value.mean)}
    means = [value.mean for value in known.values()]
    wide = min(means) > 0.0 and max(means) / min(means) > LOG_ABOVE
    for label, value in known.items():
        row, colour = labels.index(label), looks[label]["color"]
        half = value.half if math.isfinite(value.half) else 0.0
        face = "white" if label in panel.hollow else colour
        if wide:
            low = min(half, 0.99 * value.mean)
            axes.errorbar(
                value.mean, row, xerr=[[low], [half]],
                fmt=looks[label]["marker"], color=colour, markerfacecolor=face, capsize=2, elinewidth=0.9,
            )  # fmt: skip
        else:
            axes.barh(row, value.mean, height=0.62, color=face, edgecolor=colour, alpha=0.85)
            axes.errorbar(value.mean, row, xerr=half, fmt="none", color="#222222", capsize=2, elinewidth=0.9)
    if wide:
        axes.set_xscale("log")
        axes.set_xlim(min(means) / 1.8, max(means) * 1.8)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
        axes.xaxis.set_minor_formatter("")
    else:
        axes.set_xlim(left=0.0)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_label)
