"""Panels of figures as charts of a page: the same numbers, colours and marks as `spinewise plot` draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from spinewise.figures import bars, spread
from spinewise.measures import units
from spinewise.measures.curves import LEVELS, over_seeds, sizes_over_seeds
from spinewise.page.model import Axis, Chart, Curve, Scale
from spinewise.show import plot
from spinewise.show.style import Look, look

Looks = Mapping[str, Look]
"""Colour, marker and line of each label, as `spinewise.show.style.look` gives them."""

SYMBOLS = {
    "o": "circle", "s": "rect", "^": "triangle", "D": "diamond",
    "v": "path://M0,0L10,0L5,10Z",
    "P": "path://M3,0L7,0L7,3L10,3L10,7L7,7L7,10L3,10L3,7L0,7L0,3L3,3Z",
    "X": "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z",
}  # fmt: skip
"""Markers as the page draws them; others are circles."""
DASHES = {"-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted"}
DIGITS = 6
"""Significant digits of numbers in charts."""


def rounded(values: Sequence[float]) -> tuple[float, ...]:
    """Values rounded for a chart."""
    return tuple(float(f"{value:.{DIGITS}g}") for value in values)


def looked(labels: Sequence[str]) -> Looks:
    """The look of some labels, which is the same in every chart of a part."""
    return look(list(dict.fromkeys(labels)))


def curve(label: str, looks: Looks, x: Sequence[float], y: Sequence[float], *, symbol: str | None = None) -> Curve:
    """A line in the look of its label; `symbol` in place of its marker."""
    one = looks[label]
    shape = SYMBOLS.get(one["marker"], "circle") if symbol is None else symbol
    return Curve(label, one["color"], DASHES[one["linestyle"]], shape, rounded(x), rounded(y))


def of_panel(panel: plot.Panel, looks: Looks) -> Chart:
    """A panel of curves."""
    means = [point.mean for one in panel.curves for point in one.y if math.isfinite(point.mean)]
    wide = bool(means) and min(means) > 0.0 and max(means) / min(means) > plot.LOG_ABOVE
    y_scale: Scale = "log" if panel.log is True or (panel.log == "auto" and wide) else "linear"
    plain: Scale = "linear" if panel.lines else "near"
    x_scale: Scale = "words" if panel.words else "log2" if panel.log_x else plain
    places = sorted(panel.words)
    curves = tuple(of_curve(one, looks, panel, places) for one in panel.curves)
    half = plot.SHADE * (plot.x_span(panel) or 1.0)
    over = [x for x in panel.shaded if not panel.words]
    shaded = tuple((panel.moved(x, -half), panel.moved(x, half), "overloaded") for x in over)
    words = tuple(panel.words[x] for x in places)
    return Chart(panel.title, Axis(panel.x_label, x_scale, words), Axis(panel.y_label, y_scale), curves, shaded=shaded)


def of_curve(one: plot.Curve, looks: Looks, panel: plot.Panel, places: Sequence[float]) -> Curve:
    """One curve of a panel; over words x is the place of the word."""
    own = looks[one.label]
    x = [float(places.index(at)) if at in panel.words else at for at in one.x]
    return Curve(
        label=one.label,
        colour=own["color"],
        dash=DASHES[own["linestyle"]],
        symbol="none" if panel.lines else SYMBOLS.get(own["marker"], "circle"),
        x=rounded(x),
        y=rounded([point.mean for point in one.y]),
        half=() if panel.lines else rounded([point.half for point in one.y]),
        hollow=tuple(one.hollow) if any(one.hollow) else (),
        joined=not panel.words,
    )


def of_bars(panel: bars.Panel, looks: Looks, scale: Scale = "linear") -> Chart:
    """One value a label."""
    known = {label: value for label, value in panel.values.items() if math.isfinite(value.mean)}
    curves = tuple(
        Curve(
            label=label,
            colour=looks[label]["color"],
            dash="solid",
            symbol="circle",
            x=rounded([value.mean]),
            y=(float(place),),
            half=rounded([value.half]),
            hollow=(True,) if label in panel.hollow else (),
            joined=False,
        )
        for place, (label, value) in enumerate(known.items())
    )
    return Chart(panel.title, Axis(panel.x_label, scale), Axis("", "words", tuple(known)), curves, bars=True)


def spreads(rows: spread.Rows, looks: Looks) -> list[Chart]:
    """The distributions of completion time and of slowdown, for each row."""
    made = []
    for title, curves in rows.items():
        known = {label: over_seeds(found, "fct_s") for label, found in curves.items()}
        unit, size = units.time_unit([float(x) for values in known.values() for x in values if math.isfinite(x)])
        times = tuple(line(label, looks, values / size) for label, values in known.items())
        slow = tuple(line(label, looks, over_seeds(found, "slowdown")) for label, found in curves.items())
        of = f"{title}: " if title else ""
        share = Axis("share of flows", "nines")
        made.append(Chart(f"{of}completion time", Axis(f"flow completion time [{unit}]", "log"), share, times))
        made.append(Chart(f"{of}slowdown", Axis("slowdown (completion time over the ideal)", "log"), share, slow))
    return made


def line(label: str, looks: Looks, values: npt.NDArray[np.float64]) -> Curve:
    """A distribution: the value at each of `LEVELS`."""
    known = [(float(x), level) for x, level in zip(values, LEVELS, strict=True) if math.isfinite(x)]
    return curve(label, looks, [x for x, _ in known], [level for _, level in known], symbol="none")


def sizes(rows: spread.Rows, looks: Looks) -> list[Chart]:
    """The median and the 99th percentile of the slowdown against flow size, for each row that has sizes."""
    made = []
    for title, curves in rows.items():
        if spread.sizes_of(curves) < spread.FEWEST_SIZES:
            continue
        for percentile, words in (("p50", "median"), ("p99", "99th percentile")):
            found = {label: sizes_over_seeds(of_seed, percentile) for label, of_seed in curves.items()}
            drawn = tuple(curve(label, looks, *map(list, xy)) for label, xy in found.items() if len(xy[0]))
            if drawn:
                of = f"{title}: " if title else ""
                high = max(max(one.y) for one in drawn)
                scale: Scale = "log" if high > spread.LINEAR_TO else "linear"
                made.append(
                    Chart(f"{of}slowdown by flow size, {words}", Axis("flow size [B]", "log"),
                          Axis("slowdown", scale), drawn)
                )  # fmt: skip
    return made
