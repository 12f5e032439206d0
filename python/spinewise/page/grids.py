"""Tables of the terminal as tables of a page: the same cells, each with its sort key."""

from __future__ import annotations

import re

from spinewise.page.model import Cell, Table
from spinewise.show.terminal import Grid

NUMBER = re.compile(r"^(?:≥ )?\(?([+-]?[\d,]*\.?\d+)\)?\s*±?[\d,.]*\s*([A-Za-zµ%/]*)")
SIZES = {
    "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9,
}  # fmt: skip
"""The values of units in a cell; others are the same in a whole column."""


def table(grid: Grid, note: str = "", summary: str = "") -> Table:
    """A table from `spinewise.show.terminal`; cells left empty below the same value are filled in."""
    heads = (*grid.left, *grid.right)
    before = [""] * len(heads)
    rows = []
    for line in grid.lines:
        cells = list(line.cells)
        for place in range(len(grid.left)):
            cells[place] = cells[place] or before[place]
        before = cells
        rows.append(tuple(cell(text, whole=place < len(grid.left)) for place, text in enumerate(cells)))
    numeric = tuple(place >= len(grid.left) for place in range(len(heads)))
    return Table(grid.heading, heads, tuple(rows), note, numeric, summary)


def cell(text: str, *, whole: bool) -> Cell:
    """A cell: a number is sorted as one, in the left columns only if it is nothing else."""
    value = value_of(text)
    if value is None or (whole and not text.replace(".", "").isdigit()):
        return Cell(text, text if whole else None)
    return Cell(text, value)


def value_of(text: str) -> float | None:
    """The number at the beginning of a cell, in base units; None if there is none."""
    found = NUMBER.match(text.strip())
    if found is None:
        return None
    return float(found[1].replace(",", "")) * SIZES.get(found[2], 1.0)
