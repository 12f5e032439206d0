"""Collective operations as a step chart: when each step began and ended, and the last flow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from spinewise.measures import units
from spinewise.measures.collectives import Round, Step
from spinewise.show.style import COLOURS, STYLE, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 6
MOST_BARS = 120
"""The number of bars above which there are no gaps between them."""
LABEL_POINTS = 6.5
"""Size of the labels beside bars."""
LABEL_HIGH, LETTER_WIDE = 1.25 * LABEL_POINTS, 0.55 * LABEL_POINTS
"""Points that a label takes: its height, and the width of a letter."""
GAP_POINTS = 3.0
"""Points between a bar and its label."""
BEYOND = 1.22
"""The end of the time axis, as a multiple of the last end, to leave room for labels."""
PANEL_INCHES = (4.6, 3.0)
"""Width and height of a panel with the space around its axes."""
AROUND_INCHES = (0.6, 0.5)
"""The space around the axes, in inches."""
EVEN, ODD, LONGEST = COLOURS[0], COLOURS[5], COLOURS[1]

Bar = tuple[Round, Step]
Floats = npt.NDArray[np.float64]

SHORTEST = 1e-12
"""The length of a time axis, in seconds, if nothing has taken any time."""


def bars_of(rounds: Sequence[Round]) -> list[Bar]:
    """The steps of all rounds in order that have begun; a round with a single step is that step."""
    return [
        (one, step)
        for one in rounds
        for step in (one.steps or (Step(1, one.flows, one.start_s, one.end_s, one.last_flow, one.begun),))
        if step.begun
    ]


def longest(bars: Sequence[Bar]) -> set[int]:
    """The place of the longest step for each round with several steps; else of the longest round."""
    keys = [one.round if one.steps else 0 for one, _ in bars]
    best: dict[int, int] = {}
    for place, (key, (_, step)) in enumerate(zip(keys, bars, strict=True)):
        if math.isfinite(step.time_s) and (key not in best or step.time_s > bars[best[key]][1].time_s):
            best[key] = place
    return set(best.values())


def steps(rounds: Sequence[Round], caption: str, stop_s: float = 0.0) -> Figure:
    """A panel for each group of each entry: a bar a step, from its first flow's start to its last one's end.

    Args:
        rounds: the rounds; those that have not begun are left out.
        caption: the beginning of the caption.
        stop_s: the end of the run, to which a step lasts that has not ended.
    """
    of_panel: dict[tuple[str, int], list[Round]] = {}
    for one in (one for one in rounds if one.begun):
        of_panel.setdefault((one.name, one.group), []).append(one)
    drawn = list(of_panel.items())[:MOST_PANELS]
    columns = min(len(drawn), 2)
    rows = -(-len(drawn) // columns)
    groups = {name: sum(key[0] == name for key in of_panel) for name, _ in of_panel}
    width = max(PANEL_INCHES[0], 6.0 / columns)
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(width * columns, PANEL_INCHES[1] * rows + 0.8), layout="constrained")
        grid = made.subplots(rows, columns, squeeze=False)
        unnamed = 0
        for axes, ((name, group), found) in zip(grid.flat, drawn, strict=False):
            title = f"{name}, group {group}" if groups[name] > 1 else name
            unnamed += draw(axes, bars_of(found), title, width - AROUND_INCHES[0], stop_s)
        for axes in list(grid.flat)[len(drawn) :]:
            axes.set_axis_off()
        text = f"{caption} A bar lasts from the first flow's start to the last one's end; orange: "
        text += orange([one for _, found in drawn for one in found])
        text += ", with the flow that arrived last" + (" where there is room for its number." if unnamed else ".")
        if len(of_panel) > MOST_PANELS:
            text += f" The first {MOST_PANELS} of {len(of_panel)} groups."
        made.supxlabel(wrapped(text, 2), fontsize=7, color="#444444")
    return made


def orange(rounds: Sequence[Round]) -> str:
    """The meaning of orange, in words."""
    of_steps = ["the longest step of each round"] * any(one.steps for one in rounds)
    of_rounds = ["the longest of the rounds of one step"] * any(not one.steps for one in rounds)
    return " and ".join(of_steps + of_rounds)


def draw(axes: Axes, bars: Sequence[Bar], title: str, width: float, stop_s: float) -> int:
    """Draw the steps of one group below each other, `width` inches wide; return how many labels found no room."""
    stops = np.array([step.end_s if math.isfinite(step.end_s) else max(stop_s, step.start_s) for _, step in bars])
    # If all began at once and none ended, any length will do.
    most = float(stops.max()) or SHORTEST
    unit, size = units.time_unit([most])
    starts = np.array([step.start_s for _, step in bars])
    marked = longest(bars)
    colours = [LONGEST if place in marked else (ODD if one.round % 2 else EVEN) for place, (one, _) in enumerate(bars)]
    height = 0.85 if len(bars) <= MOST_BARS else 1.0
    axes.barh(np.arange(len(bars)) + 1, (stops - starts) / size, left=starts / size, height=height, color=colours)
    texts = {place: f"flow {bars[place][1].last_flow} last" for place in marked}
    long = 72.0 * width / (BEYOND * most)
    named = with_room(texts, long * starts, long * stops)
    for place in named:
        axes.annotate(
            texts[place], (stops[place] / size, place + 1), xytext=(GAP_POINTS, 0),
            textcoords="offset points", fontsize=LABEL_POINTS, va="center",
        )  # fmt: skip
    axes.set_ylim(len(bars) + 0.7, 0.3)
    axes.set_xlim(0.0, BEYOND * most / size)
    axes.set_title(title, loc="left")
    axes.set_xlabel(f"time [{unit}]")
    axes.set_ylabel("step, over all rounds" if any(one.steps for one, _ in bars) else "round")
    axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    return len(texts) - len(named)


def with_room(texts: Mapping[int, str], starts: Floats, stops: Floats) -> list[int]:
    """The bars beside which a label covers neither another bar nor another label; long bars are served first.

    Args:
        texts: the labels, by place of their bars.
        starts: where all bars begin, in points from the left.
        stops: where they end.
    """
    row = 72.0 * (PANEL_INCHES[1] - AROUND_INCHES[1]) / (len(starts) + 0.4)
    rows = np.arange(len(starts))
    named: list[int] = []
    for place in sorted(texts, key=lambda one: starts[one] - stops[one]):
        begin = stops[place] + GAP_POINTS
        end = begin + LETTER_WIDE * len(texts[place])
        near = np.abs(rows - place) * row < 0.5 * (LABEL_HIGH + row)
        near[place] = False
        covered = near & (starts < end) & (stops > begin)
        crowded = any(abs(one - place) * row < LABEL_HIGH for one in named)
        if not covered.any() and not crowded:
            named.append(place)
    return sorted(named)
