"""Charts of a study: curves of schemes along another axis, or a bar for each point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from spinewise.comparison.tables import overload
from spinewise.measures import units
from spinewise.page import charts
from spinewise.page.charts import Looks, rounded
from spinewise.page.model import Axis, Chart, Curve
from spinewise.show.plot import LOG_ABOVE, SHADE
from spinewise.studies.conduct import Conducted
from spinewise.studies.report import shown
from spinewise.studies.study import Study
from spinewise.sweeps.task import Plain

SCHEME = "scheme"
"""The axis of schemes."""
MOST_CHARTS = 24
NEAR_BY = 1.03
"""Ends of the shading around an x on a logarithmic axis, as a ratio to it."""

Spot = tuple[float, float, float, bool]
"""A point of a curve: x, mean, half of its interval, and whether it omits flows that did not finish."""


@dataclass(frozen=True)
class Axes:
    """The layout of the points of a study.

    Attributes:
        lines: the axis whose values are curves; None for a study without a grid.
        along: the axis that runs along x; None for a study with one axis or none.
        rest: the others: a chart for each of their combinations.
    """

    lines: str | None
    along: str | None
    rest: tuple[str, ...]


def axes_of(study: Study) -> Axes:
    """Schemes are curves, and the longest axis of numbers runs along x."""
    names = list(study.axes)
    if not names:
        return Axes(None, None, ())
    lines = SCHEME if SCHEME in names else next((one for one in names if not is_number(study, one)), names[0])
    others = [one for one in names if one != lines]
    others.sort(key=lambda one: (not is_number(study, one), -len(along(study, one))))
    return Axes(lines, others[0] if others else None, tuple(others[1:]))


def along(study: Study, axis: str) -> list[Plain]:
    """The values of an axis, in order."""
    return list(dict.fromkeys(cell.label[axis] for cell in study.cells))


def is_number(study: Study, axis: str) -> bool:
    """Whether all values of an axis are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in along(study, axis))


def drawn(done: Conducted, metric: int, axes: Axes, looks: Looks) -> list[Chart]:
    """A metric: a chart for each combination of the axes that are neither curves nor x; bars if there is no x."""
    study = done.study
    if axes.lines is None or axes.along is None:
        return [one for one in [bars(done, metric, axes.lines, looks)] if one.curves]
    made = []
    for place in product(*(along(study, one) for one in axes.rest)):
        here = dict(zip(axes.rest, place, strict=True))
        made.append(chart(done, metric, axes, looks, here))
    return [one for one in made if one.curves][:MOST_CHARTS]


def names_of(study: Study, lines: str | None) -> list[str]:
    """The names of the values of the axis of curves; for a study without a grid, its own name."""
    if lines is None:
        return [study.name or "the spec"]
    return [name_of(value, lines) for value in along(study, lines)]


def name_of(value: Plain, lines: str) -> str:
    """The name of a value of the axis of curves, with its key unless it is a scheme."""
    return shown(value) if lines == SCHEME else f"{lines.rpartition('.')[2]} {shown(value)}"


def bars(done: Conducted, metric: int, lines: str | None, looks: Looks) -> Chart:
    """One chart: a bar for each point of a study with one axis or none; overloaded ones have a mark."""
    asked = done.study.metrics[metric]
    unit, size = unit_of(done, metric)
    title = titled(asked.words, unit)
    curves: list[Curve] = []
    words = []
    for place, name in enumerate(names_of(done.study, lines)):
        found = done.interval(place, metric)
        if math.isfinite(found.mean):
            hollow = asked.of_finished and done.behind(place, metric).unfinished > 0
            words.append(overload(name) if done.overloaded(place) else name)
            curves.append(
                Curve(name, looks[name]["color"], "solid", "circle", rounded([found.mean / size]), (len(curves) * 1.0,),
                      rounded([found.half / size]), (True,) if hollow else (), joined=False)
            )  # fmt: skip
    return Chart(asked.words, Axis(title), Axis("", "words", tuple(words)), tuple(curves), bars=True)


def titled(words: str, unit: str) -> str:
    """The title of an axis with its unit, if it has one."""
    return f"{words} [{unit}]" if unit else words


def chart(done: Conducted, metric: int, axes: Axes, looks: Looks, here: Mapping[str, Plain]) -> Chart:
    """One chart: a curve for each value of the axis of curves."""
    lines, x_axis = axes.lines, axes.along
    assert lines is not None
    assert x_axis is not None
    study, asked = done.study, done.study.metrics[metric]
    unit, size = unit_of(done, metric)
    ticks = along(study, x_axis)
    numbers = [float(tick) for tick in ticks if isinstance(tick, int | float) and not isinstance(tick, bool)]
    whole = len(numbers) == len(ticks)
    of_line: dict[Plain, list[Spot]] = {line: [] for line in along(study, lines)}
    over: set[float] = set()
    for place, cell in enumerate(study.cells):
        found = done.interval(place, metric)
        if math.isfinite(found.mean) and all(cell.label[axis] == value for axis, value in here.items()):
            at = ticks.index(cell.label[x_axis])
            x = numbers[at] if whole else float(at)
            hollow = asked.of_finished and done.behind(place, metric).unfinished > 0
            of_line[cell.label[lines]].append((x, found.mean / size, found.half / size, hollow))
            over |= {x} if done.overloaded(place) else set()
    curves = tuple(
        line_of(name_of(line, lines), looks, sorted(own), joined=whole) for line, own in of_line.items() if own
    )
    high = wide([y for one in curves for y in one.y])
    words = () if whole else tuple(map(shown, ticks))
    return Chart(
        ", ".join(f"{axis} {shown(value)}" for axis, value in here.items()) or asked.words,
        Axis(x_axis, "words" if words else "log" if wide(numbers) else "near", words),
        Axis(titled(asked.words, unit), "log" if high else "linear"),
        curves,
        shaded=() if words else stretches(sorted(over), numbers),
    )


def stretches(over: Sequence[float], numbers: Sequence[float]) -> tuple[tuple[float, float, str], ...]:
    """Narrow stretches around the x of overloaded points."""
    if wide(numbers):
        return tuple((x / NEAR_BY, x * NEAR_BY, "overloaded") for x in over)
    half = SHADE * ((max(numbers) - min(numbers)) or 0.1 * abs(max(numbers)) or 1.0)
    return tuple((x - half, x + half, "overloaded") for x in over)


def wide(values_: Sequence[float]) -> bool:
    """Whether values are so far apart that their axis is logarithmic."""
    return bool(values_) and min(values_) > 0.0 and max(values_) / min(values_) > LOG_ABOVE


def line_of(label: str, looks: Looks, points: Sequence[Spot], *, joined: bool) -> Curve:
    """A curve of points."""
    own = looks[label]
    xs, ys, halves, left = zip(*points, strict=True)
    symbol = charts.SYMBOLS.get(own["marker"], "circle")
    dash = charts.DASHES[own["linestyle"]]
    hollow = left if any(left) else ()
    return Curve(label, own["color"], dash, symbol, rounded(xs), rounded(ys), rounded(halves), hollow, joined)


def unit_of(done: Conducted, metric: int) -> tuple[str, float]:
    """The unit of a metric and its size."""
    if not done.study.metrics[metric].is_time:
        return "", 1.0
    return units.time_unit([done.interval(number, metric).mean for number in range(len(done.study.cells))])
