"""Figures of labs: goodput through a black hole, and the schemes' views of their paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from spinewise.lab.holes import Goodput
from spinewise.lab.sight import Quantity, Seen, busiest
from spinewise.lab.study import LINUX, SIMULATED
from spinewise.show.style import STYLE, wrapped

if TYPE_CHECKING:
    from spinewise.lab.study import Study

COLUMNS = 3
INTO = {SIMULATED: ("#0072B2", "--"), LINUX: ("#D55E00", "-")}


def goodput(study: Study) -> Figure | None:
    """Goodput over time through a black hole, a panel for each scheme; None if the spec has no black hole.

    Linux is shown beside the simulator: means over seeds, with minimum and maximum.
    """
    names = [label.rpartition(" (")[0] for label in study.linux.labels]
    runs = {
        (name, where): [one.goodput for one in study.fabrics[f"{name} ({where})"] if one.goodput is not None]
        for name in names
        for where in INTO
    }
    if not all(runs.values()):
        return None
    rows = math.ceil(len(names) / COLUMNS)
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(3.1 * COLUMNS, 2.1 * rows + 0.9), layout="constrained")
        grid = made.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
        for panel, name in zip(grid.flat, names, strict=False):
            panel.set_title(name)
            hole = runs[name, LINUX][0]
            panel.axvspan(hole.begin_s, hole.end_s, color="#EEEEEE", zorder=0)
            for where, (colour, line) in INTO.items():
                at, values = aligned(runs[name, where])
                panel.plot(at, values.mean(axis=0), color=colour, linestyle=line, label=where)
                panel.fill_between(at, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        for panel in list(grid.flat)[len(names) :]:
            panel.set_visible(False)
        for panel in grid[:, 0]:
            panel.set_ylabel("goodput [Mbps]")
            panel.set_ylim(bottom=0)
        for panel in grid[-1]:
            panel.set_xlabel("time [s]")
        handles, labels = grid[0][0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=2)
        seeds = len(study.linux.seeds)
        note = (
            "Goodput of all hosts; grey: a spine silently drops everything. Lines are means over seeds"
            f" ({seeds}), bands reach from the least to the most of them."
        )
        made.supxlabel(wrapped(note, 2), fontsize=8, x=0.02, ha="left")
    return made


def aligned(runs: list[Goodput]) -> tuple[np.ndarray, np.ndarray]:
    """Times, and values by run, at the times of the first run."""
    at = np.array(runs[0].at_s)
    at = at[at <= min(one.at_s[-1] for one in runs)]
    return at, np.array([np.interp(at, one.at_s, one.mbps) for one in runs])


PATHS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#000000")
SPAN_S = 12.0


def sight(quantity: Quantity, sides: Mapping[str, Sequence[Seen]], note: str) -> Figure:
    """One host's view of its paths to another, above their true state, on Linux and in the simulator.

    `sides` has the views by the name of the side; the pair is the one with most data on both.
    """
    names = list(sides)
    pair = busiest(sides)
    rows = 4 if quantity.classes else 3
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(5.0 * len(names), 1.75 * rows + 1.0), layout="constrained")
        grid = made.subplots(rows, len(names), sharex=True, sharey="row", squeeze=False)
        for column, name in enumerate(names):
            one = next(one for one in sides[name] if (one.host, one.target) == pair)
            panels = grid[:, column]
            panels[0].set_title(f"{name}: {one.host} to {one.target}")
            drawn = [one.queue_ms, 100.0 * one.use, one.held, *([one.classes] if quantity.classes else [])]
            for panel, values in zip(panels, drawn, strict=True):
                for path, spine in enumerate(one.spines):
                    shown = values[:, path]
                    if values is one.classes:
                        shown = np.where(shown > 0, float(path), np.nan)
                        panel.plot(one.at_s, shown, "|", color=PATHS[path % len(PATHS)], markersize=6)
                        continue
                    told = np.isfinite(shown) if values is one.held else slice(None)
                    panel.plot(
                        one.at_s[told], shown[told], color=PATHS[path % len(PATHS)], linewidth=0.9, alpha=0.85,
                        drawstyle="steps-post" if values is one.held else "default",
                        label=f"over {spine}, {one.rate_mbps[path]:g} Mbps",
                    )  # fmt: skip
            panels[-1].set_xlabel("time [s]")
            panels[-1].set_xlim(0, min(SPAN_S, float(one.at_s.max())))
        labels = ["true: queueing [ms]", "true: in use [%]", quantity.label, "congested, as held"]
        for panel, label in zip(grid[:, 0], labels, strict=False):
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
        if quantity.classes:
            spines = next(one for one in sides[names[0]] if (one.host, one.target) == pair).spines
            grid[3][0].set_yticks(range(len(spines)), spines)
            grid[3][0].set_ylim(-0.6, len(spines) - 0.4)
        if quantity.good < 0:
            highest = max(float(np.nanmax(one.held, initial=0.0)) for found in sides.values() for one in found)
            if highest > 0:
                grid[2][0].set_yscale("symlog", linthresh=100.0)
                grid[2][0].set_ylim(bottom=0)
        handles, texts = grid[0][0].get_legend_handles_labels()
        made.legend(handles, texts, loc="outside upper center", ncols=len(texts))
        made.supxlabel(wrapped(note, 2), fontsize=8, x=0.02, ha="left")
    return made
