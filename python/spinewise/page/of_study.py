"""A study as a part of a page: what its stored runs come to, finished or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from spinewise.comparison.measured import MEASURE
from spinewise.measures import stats, units
from spinewise.page import charts
from spinewise.page.charts import Looks, rounded
from spinewise.page.model import (
    Answer,
    Answers,
    Axis,
    Cell,
    Chart,
    Charts,
    Curve,
    Item,
    Part,
    Section,
    Table,
    Words,
    number,
    text,
)
from spinewise.show.plot import LOG_ABOVE
from spinewise.studies import file
from spinewise.studies.conduct import Conducted, Repeat, values
from spinewise.studies.metrics import Metric
from spinewise.studies.report import interval, shown
from spinewise.studies.study import Study
from spinewise.sweeps.store import Ledger, reading
from spinewise.sweeps.task import Plain

SCHEME = "scheme"
"""The axis of schemes."""
MOST_CHARTS = 24
FEW = 8


@dataclass(frozen=True)
class Axes:
    """How the points of a study are drawn.

    Attributes:
        lines: the axis whose values are curves.
        along: the axis that runs along x; None of a study with one axis.
        rest: the others: a chart for each of their combinations.
    """

    lines: str
    along: str | None
    rest: tuple[str, ...]


def read_study(place: str, store: str) -> Conducted:
    """A study with the runs of it that a store has; nothing is run.

    Raises:
        SpecError: the file is no study, or there is no such store.
    """
    study = Study.of(file.read(place))
    with reading(store) as ledger:
        return Conducted(study, [repeats(study, cell, ledger) for cell in range(len(study.cells))], 0)


def repeats(study: Study, cell: int, ledger: Ledger) -> list[Repeat]:
    """The repeats of a cell: those to begin with, and further ones as long as they are stored."""
    found: list[Repeat] = []
    while len(found) < len(study.seeds) or (study.stop and len(found) < study.stop.most and not found[-1].left):
        task = study.task(study.cells[cell], len(found))
        failure = ledger.failure(task.key)
        seed = int(task.spec["seed"])
        if failure is not None:
            found.append(Repeat(seed, task.key, error=failure.text))
        elif ledger.has(task.key, (MEASURE,)):
            measured = ledger.value(task.key, MEASURE)
            found.append(Repeat(seed, task.key, tuple(one.value(measured) for one in study.metrics)))
        else:
            found.append(Repeat(seed, task.key))
    if study.stop and len(found) > len(study.seeds) and found[-1].left:
        found.pop()
    return found


def part(done: Conducted, name: str) -> Part:
    """The part of a study."""
    study = done.study
    axes = axes_of(study)
    looks = charts.looked([shown(value) for value in along(study, axes.lines)])
    return Part(
        title=study.name or name,
        kind="study",
        subtitle=f"{len(study.cells)} points over {', '.join(study.axes) or 'one spec'}",
        sections=(
            Section("How far it is", (*progress(done), *best(done))),
            *[
                Section(metric.text, (Charts(tuple(drawn(done, number, axes, looks)), NOTE),))
                for number, metric in enumerate(study.metrics)
            ],
            Section("Every point", (points(done),)),
        ),
    )


NOTE = "Means over seeds with 95 % Student-t intervals; points without a finished run are left out."


def progress(done: Conducted) -> list[Item]:
    """How many runs are there, which failed, which are missing."""
    runs = [one for ones in done.repeats for one in ones]
    ended = sum(one.values is not None for one in runs)
    whole = "every run is there" if ended == len(runs) else "the same `spinewise sweep` goes on with them"
    cards = [Answer("runs", f"{ended:,} of {len(runs):,}", (whole,), "head" if ended == len(runs) else "unsure")]
    if done.left:
        cards.append(Answer("not made yet", f"{done.left:,}", ("their points are missing or have fewer seeds",), "bad"))
    failed = done.failed
    if failed:
        cards.append(Answer("failed", f"{len(failed):,}", ("made again with --retry-failed",), "bad"))
    lines = [f"{cell.title}, seed {one.seed}: {one.error}" for cell, one in failed[:FEW]]
    lines += [f"SKIPPED {one.label}: {one.reason}" for one in done.study.skipped]
    return [Answers(tuple(cards)), *([Words(tuple(lines), listed=True)] * bool(lines))]


def axes_of(study: Study) -> Axes:
    """Schemes are curves, and the longest axis of numbers runs along x."""
    names = list(study.axes)
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


def best(done: Conducted) -> list[Item]:
    """Which scheme has the least of the first metric, at every place of the other axes."""
    study = done.study
    if SCHEME not in study.axes or len(along(study, SCHEME)) < 2:
        return []
    others = [one for one in study.axes if one != SCHEME]
    rows = []
    for place in product(*(along(study, one) for one in others)):
        here = dict(zip(others, place, strict=True))
        row = best_at(done, here)
        if row:
            rows.append((*(cell_of(value) for value in place), *row))
    heads = (*others, "least", "mean", "not told apart from", "next", "next against least")
    numeric = (*(is_number(study, one) for one in others), False, True, False, False, True)
    title = f"Which scheme has the least {study.metrics[0].text}"
    note = "Not told apart: paired t tests of logarithms over seeds, 5 % with Holm's correction."
    return [Table(title, heads, tuple(rows), note, numeric)] if rows else []


def best_at(done: Conducted, here: Mapping[str, Plain]) -> tuple[Cell, ...]:
    """The best scheme at one place; nothing where no scheme has a value."""
    metric = done.study.metrics[0]
    found: dict[str, list[float]] = {}
    for place, cell in enumerate(done.study.cells):
        if all(cell.label[axis] == value for axis, value in here.items()):
            found[shown(cell.label[SCHEME])] = values(done.repeats[place], 0)
    known = {label: own for label, own in found.items() if any(math.isfinite(one) for one in own)}
    order = sorted(known, key=lambda label: stats.t_interval(known[label]).mean)
    if not order:
        return ()
    first = known[order[0]]
    pairs = [paired(known[label], first) for label in order[1:]]
    told = stats.holm([stats.ratio_p(*pair) for pair in pairs]) if all(len(one) > 1 for one, _ in pairs) else []
    ties = [label for label, apart in zip(order[1:], told, strict=False) if not apart]
    own = stats.t_interval(first)
    if not pairs:
        return (text(order[0]), number(own.mean, interval(metric, own)), text("–"), text(""), Cell(""))
    behind = stats.relative_difference(*pairs[0])
    return (
        text(order[0], "head" if not ties and told else ""),
        number(own.mean, interval(metric, own)),
        text(", ".join(ties) if told else "one seed: no interval"),
        text(order[1]),
        number(behind.mean, f"+{units.percent(behind.mean)}" if behind.mean >= 0 else units.percent(behind.mean)),
    )


def paired(one: Sequence[float], two: Sequence[float]) -> tuple[list[float], list[float]]:
    """The values of the repeats that both have."""
    both = [(a, b) for a, b in zip(one, two, strict=False) if math.isfinite(a) and math.isfinite(b)]
    return [a for a, _ in both], [b for _, b in both]


def cell_of(value: Plain) -> Cell:
    """A label of a point."""
    return Cell(shown(value), float(value) if isinstance(value, int | float) else shown(value))


def drawn(done: Conducted, metric: int, axes: Axes, looks: Looks) -> list[Chart]:
    """A metric: a chart for each combination of the axes that are neither curves nor x."""
    study = done.study
    made = []
    for place in product(*(along(study, one) for one in axes.rest)):
        here = dict(zip(axes.rest, place, strict=True))
        made.append(chart(done, metric, axes, looks, here))
    return [one for one in made if one.curves][:MOST_CHARTS]


def chart(done: Conducted, metric: int, axes: Axes, looks: Looks, here: Mapping[str, Plain]) -> Chart:
    """One chart: a curve for each value of the axis of curves."""
    study, asked = done.study, done.study.metrics[metric]
    unit, size = unit_of(done, metric)
    ticks: list[Plain] = along(study, axes.along) if axes.along else [None]
    numbers = [float(tick) for tick in ticks if isinstance(tick, int | float) and not isinstance(tick, bool)]
    whole = len(numbers) == len(ticks)
    of_line: dict[Plain, list[tuple[float, float, float]]] = {line: [] for line in along(study, axes.lines)}
    for place, cell in enumerate(study.cells):
        found = done.interval(place, metric)
        if math.isfinite(found.mean) and all(cell.label[axis] == value for axis, value in here.items()):
            at = ticks.index(cell.label[axes.along] if axes.along else None)
            point = (numbers[at] if whole else float(at), found.mean / size, found.half / size)
            of_line[cell.label[axes.lines]].append(point)
    curves = tuple(line_of(shown(line), looks, sorted(own), joined=whole) for line, own in of_line.items() if own)
    high = wide([y for one in curves for y in one.y])
    words = () if whole else tuple("" if tick is None else shown(tick) for tick in ticks)
    return Chart(
        ", ".join(f"{axis} {shown(value)}" for axis, value in here.items()) or asked.text,
        Axis(axes.along or "", "words" if words else "log" if wide(numbers) else "linear", words),
        Axis(f"{asked.text} [{unit}]" if unit else asked.text, "log" if high else "linear"),
        curves,
    )


def wide(values_: Sequence[float]) -> bool:
    """Whether values lie so far apart that their axis is logarithmic."""
    return bool(values_) and min(values_) > 0.0 and max(values_) / min(values_) > LOG_ABOVE


def line_of(label: str, looks: Looks, points: Sequence[tuple[float, float, float]], *, joined: bool) -> Curve:
    """A curve of points: x, mean, half of its interval."""
    own = looks[label]
    xs, ys, halves = zip(*points, strict=True)
    symbol = charts.SYMBOLS.get(own["marker"], "circle")
    dash = charts.DASHES[own["linestyle"]]
    return Curve(label, own["color"], dash, symbol, rounded(xs), rounded(ys), rounded(halves), (), joined)


def unit_of(done: Conducted, metric: int) -> tuple[str, float]:
    """The unit of a metric and its size."""
    if not done.study.metrics[metric].path.startswith("fct_s"):
        return "", 1.0
    return units.time_unit([done.interval(number, metric).mean for number in range(len(done.study.cells))])


def points(done: Conducted) -> Table:
    """Every point of the grid."""
    study = done.study
    rows = []
    for place, cell in enumerate(study.cells):
        ended = sum(one.values is not None for one in done.repeats[place])
        whole = len(done.repeats[place])
        seeds = number(float(ended), f"{ended}" if ended == whole else f"{ended} of {whole}",
                       "" if ended == whole else "bad")  # fmt: skip
        rows.append((*(cell_of(value) for value in cell.label.values()), seeds, *metrics(done, place, study.metrics)))
    heads = (*study.axes, "seeds", *(one.text for one in study.metrics))
    numeric = (*(is_number(study, one) for one in study.axes), True, *(True for _ in study.metrics))
    return Table("Mean over seeds ± half the 95 % interval", heads, tuple(rows), "", numeric)


def metrics(done: Conducted, place: int, wanted: Sequence[Metric]) -> list[Cell]:
    """The metrics of a point."""
    found = [(metric, done.interval(place, k)) for k, metric in enumerate(wanted)]
    return [number(own.mean, interval(metric, own) if math.isfinite(own.mean) else "–") for metric, own in found]
