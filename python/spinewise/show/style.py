"""The look of every figure: colours, markers, fonts, file formats."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter, ScalarFormatter

# Okabe & Ito's palette, which readers with any colour vision can tell apart, without its yellow (too pale on white).
# A purple that is darker than all of it but black makes eight.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "p", "*")
Line = Literal["-", "--", "-.", ":", "none"]
LINES: tuple[Line, ...] = ("-", "--", "-.", ":")

# The schemes of most figures keep one colour and marker in all of them. The first eight have a colour each.
KNOWN = (
    *("ecmp", "rps", "conga", "pdlb", "meet", "elab", "letflow", "presto"),
    *("drill", "conweave", "selb", "lbsp", "hermes", "wcmp", "clove", "flowbender"),
    *("ag", "qdaps", "drb", "proportional", "hula", "hedera", "luopan", "ttc", "packet_scatter"),
)

STYLE: Any = {  # matplotlib types its keys as one literal each
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.grid": True,
    "axes.grid.which": "both",
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 5,
    "lines.linewidth": 1.4,
    "svg.hashsalt": "spinewise",
    "svg.fonttype": "none",
}


class Look(TypedDict):
    """The look of a label, in words of matplotlib."""

    color: str
    marker: str
    linestyle: Line


def look(labels: Sequence[str]) -> dict[str, Look]:
    """Colour, marker and line of each label: by scheme when it is known, else by position.

    Up to eight labels have eight colours: if two schemes would share one, the later one takes a free colour.
    """
    looks: dict[str, Look] = {}
    pairs: set[tuple[str, str]] = set()
    times = dict.fromkeys(COLOURS, 0)
    wished = {label: wish(label) for label in labels}
    # A scheme reserves its own colour before any other may take it.
    for label in sorted(labels, key=lambda label: (wished[label] is None, labels.index(label))):
        place = wished[label] if wished[label] is not None else len(KNOWN)
        least = min(times.values())
        colour = next(c for c in rotated(COLOURS, place) if times[c] == least)
        marker = next(m for m in rotated(MARKERS, place) if (colour, m) not in pairs)
        looks[label] = {"color": colour, "marker": marker, "linestyle": LINES[times[colour] % len(LINES)]}
        pairs.add((colour, marker))
        times[colour] += 1
    return {label: looks[label] for label in labels}


def wish(label: str) -> int | None:
    """The place of a label's scheme among those that keep their look; None if it is not one of them."""
    words = label.lower().replace(":", " ").replace("-", " ").split()
    return KNOWN.index(words[0]) if words and words[0] in KNOWN else None


def rotated(values: Sequence[str], start: int | None) -> list[str]:
    """`values` rotated to begin at the place `start`."""
    first = (start or 0) % len(values)
    return [*values[first:], *values[:first]]


def legend(made: Figure, labels: Sequence[str], looks: Mapping[str, Look], columns: int = 4) -> None:
    """One legend above all panels; none for a single curve."""
    if len(labels) > 1:
        handles = [Line2D([], [], **looks[label]) for label in labels]
        made.legend(
            handles, [legible(label) for label in labels], loc="outside upper center", ncols=min(len(labels), columns)
        )


def wrapped(text: str, columns: int) -> str:
    """The caption in lines that fit below `columns` panels."""
    return "\n".join(textwrap.wrap(text, width=max(58 * columns, 86)))


def as_they_stand(made: Figure) -> None:
    """Show `$` in names literally: only number ticks are formulas, which matplotlib writes."""
    ticks: set[Text] = set()
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter | ScalarFormatter):
                ticks |= {text for text in axis.findobj(Text) if isinstance(text, Text)} - {axis.label}
    for text in made.findobj(Text):
        if isinstance(text, Text) and text not in ticks:
            text.set_parse_math(False)


def legible(label: str) -> str:
    """A label that a legend shows: matplotlib omits labels that begin with an underscore."""
    return f" {label}" if label.startswith("_") else label


FORMATS = ("png", "svg", "pdf")


def save(made: Figure, folder: Path, name: str, formats: Sequence[str] = FORMATS[:2]) -> list[Path]:
    """Write a figure in some of `FORMATS`; the same figure gives the same bytes."""
    paths = [folder / f"{name}.{ending}" for ending in formats]
    as_they_stand(made)
    dated = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with mpl.rc_context(STYLE):
        for path, ending in zip(paths, formats, strict=True):
            made.savefig(path, dpi=160, metadata=dated[ending])
    return paths


def save_png(made: Figure, target: io.BytesIO, dpi: int) -> None:
    """Write a figure as a PNG with a resolution in dots an inch."""
    as_they_stand(made)
    with mpl.rc_context(STYLE):
        made.savefig(target, format="png", dpi=dpi)
