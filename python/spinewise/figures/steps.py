"""Collective operations as a step chart: when each step began and ended, and which flow was last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from spinewise.measures import units
from spinewise.measures.collectives import Round, Step
from spinewise.show.style import COLOURS, STYLE, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 6
MOST_BARS = 120
"""With more of them there are no gaps between bars."""
EVEN, ODD, LONGEST = COLOURS[0], COLOURS[5], COLOURS[1]

Bar = tuple[Round, Step]


def bars_of(rounds: Sequence[Round]) -> list[Bar]:
    """The steps of all rounds in order; a round that has one step only is that step."""
    return [
        (one, step)
        for one in rounds
        for step in (one.steps or (Step(1, one.flows, one.start_s, one.end_s, one.last_flow),))
    ]


def longest(bars: Sequence[Bar]) -> set[int]:
    """For each round with several steps the place of the longest one; else of the longest round."""
    keys = [one.round if one.steps else 0 for one, _ in bars]
    best: dict[int, int] = {}
    for place, (key, (_, step)) in enumerate(zip(keys, bars, strict=True)):
        if math.isfinite(step.time_s) and (key not in best or step.time_s > bars[best[key]][1].time_s):
            best[key] = place
    return set(best.values())


def steps(rounds: Sequence[Round], caption: str) -> Figure:
    """A panel for each group of each entry: a bar a step, from its first flow's start to its last one's end."""
    of_panel: dict[tuple[str, int], list[Round]] = {}
    for one in rounds:
        of_panel.setdefault((one.name, one.group), []).append(one)
    drawn = list(of_panel.items())[:MOST_PANELS]
    columns = min(len(drawn), 2)
    rows = -(-len(drawn) // columns)
    groups = {name: sum(key[0] == name for key in of_panel) for name, _ in of_panel}
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(max(4.6 * columns, 6.0), 3.0 * rows + 0.8), layout="constrained")
        grid = made.subplots(rows, columns, squeeze=False)
        for axes, ((name, group), found) in zip(grid.flat, drawn, strict=False):
            draw(axes, bars_of(found), f"{name}, group {group}" if groups[name] > 1 else name)
        for axes in list(grid.flat)[len(drawn) :]:
            axes.set_axis_off()
        text = (
            f"{caption} A bar lasts from the first flow's start to the last one's end; orange: the longest of a round,"
        )
        text += " with the flow that arrived last."
        if len(of_panel) > MOST_PANELS:
            text += f" The first {MOST_PANELS} of {len(of_panel)} groups."
        made.supxlabel(wrapped(text, 2), fontsize=7, color="#444444")
    return made


def draw(axes: Axes, bars: Sequence[Bar], title: str) -> None:
    """The steps of one group below each other."""
    known = [x for _, step in bars for x in (step.start_s, step.end_s) if math.isfinite(x)]
    unit, size = units.time_unit([max(known)])
    stops = np.array([step.end_s if math.isfinite(step.end_s) else max(known) for _, step in bars])
    starts = np.array([step.start_s for _, step in bars])
    marked = longest(bars)
    colours = [LONGEST if place in marked else (ODD if one.round % 2 else EVEN) for place, (one, _) in enumerate(bars)]
    height = 0.85 if len(bars) <= MOST_BARS else 1.0
    axes.barh(np.arange(len(bars)) + 1, (stops - starts) / size, left=starts / size, height=height, color=colours)
    for place in sorted(marked)[:8]:
        axes.annotate(
            f"flow {bars[place][1].last_flow} last", (stops[place] / size, place + 1), xytext=(3, 0),
            textcoords="offset points", fontsize=6.5, va="center",
        )  # fmt: skip
    axes.set_ylim(len(bars) + 0.7, 0.3)
    axes.set_xlim(0.0, 1.22 * max(known) / size)
    axes.set_title(title, loc="left")
    axes.set_xlabel(f"time [{unit}]")
    axes.set_ylabel("step, over all rounds" if any(one.steps for one, _ in bars) else "round")
    axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
