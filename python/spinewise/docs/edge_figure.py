"""The figures of docs/edge-2026.md: how much worse than the best each scheme is, workload by workload."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from spinewise.edge.numbers import Cell, Numbers
from spinewise.edge.setting import SCHEMES
from spinewise.show import style

WORST = 4.0
"""The darkest colour."""
DARK = 2.4
"""The value above which text is white."""


def shown(numbers: Numbers, hosts: int) -> dict[str, object]:
    """The contents of the figure of a size of fabric, as plain values."""
    cells = [cell for (_, size, _), cell in numbers.cells.items() if size == hosts]
    return {
        "title": f"{hosts:,} hosts",
        "columns": [[cell.workload.name, cell.condition] for cell in cells],
        "rows": [label for label in SCHEMES if any(label in cell.rows for cell in cells)],
        "kinds": [one.kind for label, one in SCHEMES.items() if any(label in cell.rows for cell in cells)],
        "ratios": [
            [ratio(cell, label) for cell in cells]
            for label in SCHEMES
            if any(label in cell.rows for cell in cells)
        ],
    }  # fmt: skip


def ratio(cell: Cell, label: str) -> float | None:
    """The mean of a scheme over the best; None if it does not take part."""
    return round(cell.ratio(label, cell.order[0]), 3) if label in cell.rows else None


def figure(data: dict[str, object]) -> Figure:
    """A heat map: a row a scheme, a column a workload and condition."""
    rows, columns, ratios, kinds = data["rows"], data["columns"], data["ratios"], data["kinds"]
    assert isinstance(rows, list) and isinstance(columns, list)  # noqa: PT018 - of `shown`
    assert isinstance(ratios, list) and isinstance(kinds, list)  # noqa: PT018 - of `shown`
    values = np.array([[math.nan if one is None else one for one in line] for line in ratios], dtype=float)
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        made = Figure(figsize=(2.4 + 0.36 * len(columns), 1.9 + 0.21 * len(rows)), layout="constrained")
        axes = made.subplots()
        axes.set_facecolor("#EEEEEE")
        image = axes.imshow(np.log(values), cmap="Blues", vmin=0.0, vmax=math.log(WORST), aspect="auto")
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                if math.isfinite(value):
                    axes.text(
                        column, row, f"{value:.1f}" if value < 10 else f"{value:.0f}", ha="center", va="center",
                        fontsize=6.5, color="white" if value > DARK else "black",
                    )  # fmt: skip
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.set_xticks(
            range(len(columns)), [condition for _, condition in columns], fontsize=7, rotation=55, ha="right",
            rotation_mode="anchor",
        )  # fmt: skip
        separate(axes, [name for name, _ in columns], kinds)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = made.colorbar(image, ax=axes, shrink=0.6, aspect=25, extend="max", ticks=np.log([1, 1.5, 2, 3, 4]))
        bar.ax.set_yticklabels(["1", "1.5", "2", "3", "4"], fontsize=7)
        bar.set_label(f"over the best of the column, {data['title']}", fontsize=7)
        bar.outline.set_visible(False)
    return made


def separate(axes: mpl.axes.Axes, names: list[str], kinds: list[str]) -> None:
    """Lines between workloads and between kinds of schemes, and the names of workloads on top."""
    for name in dict.fromkeys(names):
        places = [k for k, one in enumerate(names) if one == name]
        middle = (places[0] + places[-1]) / 2
        axes.text(middle, -0.75, name.replace(", ", ",\n"), ha="center", va="bottom", fontsize=7)
        if places[0]:
            axes.axvline(places[0] - 0.5, color="#888888", linewidth=0.8)
    for k in range(1, len(kinds)):
        if kinds[k] != kinds[k - 1]:
            axes.axhline(k - 0.5, color="#888888", linewidth=0.8)
