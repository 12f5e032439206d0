"""Links against time: how busy each was, and how long its queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from spinewise import core
from spinewise.measures import units
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.show.style import STYLE, wrapped
from spinewise.specs.faults import fault_times_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

MOST_LINKS = 40
"""The most rows that can be read; links beyond are the less busy ones."""
MOST_COLUMNS = 400
"""The number of intervals beyond which they are joined."""
USE, QUEUE = "link_utilisation", "link_queue_bytes"


@dataclass(frozen=True)
class Grid:
    """A quantity of some links over time.

    Attributes:
        links: names, in the order of the rows.
        edges_s: instants at which intervals begin and end, in seconds; one more than columns.
        values: one row per link.
    """

    links: list[str]
    edges_s: Floats
    values: Floats


def read(result: Result, series: str) -> Grid:
    """A series of links as a grid; intervals without a point count as zero.

    Raises:
        KeyError: the run has no such series.
    """
    links = result.entities_of(series)
    of_each = [result.series_of(series, link) for link in links]
    times = np.unique(np.concatenate([time for time, _ in of_each])) if of_each else np.array([])
    values = np.zeros((len(links), len(times)))
    for row, (time, value) in enumerate(of_each):
        values[row, np.searchsorted(times, time)] = value
    return joined(Grid(links, np.concatenate([[0.0], times]), values))


def joined(grid: Grid) -> Grid:
    """The same in at most `MOST_COLUMNS` columns, each the mean of its intervals."""
    columns = grid.values.shape[1]
    if columns <= MOST_COLUMNS:
        return grid
    step = -(-columns // MOST_COLUMNS)
    starts = np.arange(0, columns, step)
    counts = np.diff([*starts, columns])
    values = np.add.reduceat(grid.values, starts, axis=1) / counts
    return Grid(grid.links, grid.edges_s[[*starts, columns]], values)


def rows_of(use: Grid, queue: Grid, hit: Collection[str] = (), nodes: Nodes = NUMBERED) -> list[int]:
    """Up to `MOST_LINKS` links: the same number of each tier, by turns the busiest and those with the longest queues.

    Links that a fault `hit` come before others, on at most half of the rows. The rows come tier by tier as links are
    named, the busiest of a tier first.
    """
    mean = use.values.mean(axis=1)
    longest = rows_named(queue, use.links).max(axis=1, initial=0.0)
    of_tier: dict[str, list[int]] = {}
    for row, name in enumerate(use.links):
        of_tier.setdefault(nodes.tier(name), []).append(row)
    ranked = [
        by_turns(
            sorted(rows, key=lambda row: -mean[row]),
            sorted((row for row in rows if longest[row] > 0.0), key=lambda row: -longest[row]),
        )
        for rows in of_tier.values()
    ]
    # The first of every tier, then the second of every tier, and so on.
    dealt = [row for turn in zip_longest(*ranked) for row in turn if row is not None]
    faulty = [row for row in dealt if use.links[row] in hit][: MOST_LINKS // 2]
    dealt = list(dict.fromkeys([*faulty, *dealt]))[:MOST_LINKS]
    tiers = list(of_tier)
    return sorted(dealt, key=lambda row: (tiers.index(nodes.tier(use.links[row])), -mean[row]))


def by_turns(first: list[int], second: list[int]) -> list[int]:
    """The first of each list, the second of each, and so on, each number once."""
    return list(dict.fromkeys(row for pair in zip_longest(first, second) for row in pair if row is not None))


def heat(result: Result) -> Figure:
    """Two panels over the same links: utilisation, and bytes queued."""
    use, queue = read(result, USE), read(result, QUEUE)
    hit = hit_by_faults(result)
    rows = rows_of(use, queue, hit, Nodes.of(result.spec))
    names = [use.links[row] for row in rows]
    unit, size = units.time_unit([float(use.edges_s[-1])])
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        made = Figure(figsize=(9.6, 0.155 * len(rows) + 1.7), layout="constrained")
        left, right = made.subplots(1, 2, sharey=True)
        draw(made, left, Grid(names, use.edges_s / size, use.values[rows]), "share of the interval in use", 1.0)
        kilobytes = rows_named(queue, names) / 1e3
        draw(made, right, Grid(names, queue.edges_s / size, kilobytes), "bytes queued [kB]", None)
        left.set_yticks(np.arange(len(names)) + 0.5, names, fontsize=6.5)
        left.invert_yaxis()
        for axes in (left, right):
            axes.set_xlabel(f"time [{unit}]")
            axes.tick_params(axis="y", length=0)
            mark_faults(axes, result, size)
        left.set_title(f"busiest link: {peak(names, use.values[rows], percent=True)}", loc="left")
        right.set_title(f"longest queue: {peak(names, kilobytes)}", loc="left")
        made.supxlabel(wrapped(caption(result, use, rows), 3), fontsize=7, color="#444444")
    return made


def hit_by_faults(result: Result) -> set[str]:
    """Names of the links that a fault of the spec hits."""
    if not result.spec.get("fault"):
        return set()
    return {str(name) for fault in core.topology(result.spec)["faults"] for name in fault["links"]}


def rows_named(grid: Grid, names: list[str]) -> Floats:
    """The rows of these links; zero if a link has none, as for the line of a host whose flows wait for it."""
    places = {name: row for row, name in enumerate(grid.links)}
    nothing = np.zeros(grid.values.shape[1])
    return np.array([grid.values[places[name]] if name in places else nothing for name in names])


def draw(made: Figure, axes: Axes, grid: Grid, label: str, most: float | None) -> None:
    """One quantity as colour."""
    mesh = axes.pcolormesh(
        grid.edges_s, np.arange(len(grid.links) + 1), grid.values,
        cmap="viridis", vmin=0.0, vmax=most or max(float(grid.values.max(initial=0.0)), 1e-9), rasterized=True,
    )  # fmt: skip
    bar = made.colorbar(mesh, ax=axes, pad=0.01, aspect=30)
    bar.set_label(label, fontsize=7)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    axes.spines[:].set_visible(False)


def peak(names: list[str], values: Floats, *, percent: bool = False) -> str:
    """The link with the highest value, and that value: its mean in percent, or its maximum."""
    of_each = values.mean(axis=1) if percent else values.max(axis=1)
    row = int(np.argmax(of_each))
    text = (
        f"{units.percent(float(of_each[row]))} on average" if percent else f"{units.digits(float(of_each[row]), 3)} kB"
    )
    return f"{names[row]}, {text}"


def mark_faults(axes: Axes, result: Result, size: float) -> None:
    """A line where a fault begins, a dotted one where it ends."""
    low, high = axes.get_xlim()
    for begin_s, end_s in fault_times(result.spec):
        for at, line in ((begin_s, "-"), (end_s, ":")):
            if at is not None and low <= at / size <= high:
                axes.axvline(at / size, color="#D55E00", linestyle=line, linewidth=0.9)


def fault_times(spec: Spec) -> list[tuple[float, float | None]]:
    """The begin and end of each fault of a spec, in seconds."""
    return [(begin * 1e-6, None if end is None else end * 1e-6) for begin, end in fault_times_us(spec)]


def caption(result: Result, use: Grid, rows: list[int]) -> str:
    """The caption: what a reader must know."""
    scheme = result.spec.get("scheme", {}).get("name", "")
    text = f"{result.spec.get('name', 'run')}, {scheme}: "
    if len(rows) < len(use.links):
        text += f"{len(rows)} of {len(use.links)} links: "
        text += "those hit by faults, " * bool(result.spec.get("fault"))
        text += "the busiest and those with the longest queues of each tier; "
    text += "rows in order of tiers, the busiest of a tier first. Queues as found at the ends of intervals."
    return text + " Lines: a fault begins (solid), ends (dotted)." * bool(result.spec.get("fault"))
