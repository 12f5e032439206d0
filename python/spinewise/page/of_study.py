"""A study as a part of a page: the results of its stored runs, finished or not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from spinewise.comparison.measured import MEASURE
from spinewise.comparison.tables import OVERLOADED, overload
from spinewise.comparison.verdict import SURVIVORS, left_too_many
from spinewise.measures import stats, units
from spinewise.own.scheme import Scheme
from spinewise.page import charts
from spinewise.page.model import (
    Answer,
    Answers,
    Cell,
    Chart,
    Charts,
    Item,
    Part,
    Section,
    Table,
    Words,
    number,
    text,
)
from spinewise.page.of_comparison import told
from spinewise.page.study_charts import SCHEME, along, axes_of, drawn, is_number, names_of
from spinewise.studies import file
from spinewise.studies.conduct import Conducted, Repeat
from spinewise.studies.metrics import Metric
from spinewise.studies.report import (
    against,
    differences,
    interval,
    marked_axis,
    metric_heads,
    shown,
    unfinished_columns,
    warnings,
)
from spinewise.studies.study import Study
from spinewise.sweeps.store import Ledger, reading
from spinewise.sweeps.task import Plain, cell_hash

FEW = 8


def read_study(
    place: str,
    store: str,
    own: Sequence[type[Scheme]] = (),
    overrides: Sequence[str] = (),
    until_ci: float | None = None,
) -> Conducted:
    """Read a study with its runs in a store; nothing is run.

    Args:
        place: the path of its file.
        store: the folder of the store.
        own: schemes written in Python.
        overrides: overrides of its spec, as `sweep` had them.
        until_ci: overrides that of [stop], as `sweep` had it.

    Raises:
        SpecError: the file is not a study, or there is no such store.
    """
    study = Study.of(file.read(place, overrides, until_ci, own))
    with reading(store) as ledger:
        found = [repeats(study, cell, ledger) for cell in range(len(study.cells))]
        others = ledger.of_other_engines({cell_hash(cell.spec) for cell in study.cells})
        return Conducted(study, found, made=0, of_other_engines=others)


def repeats(study: Study, cell: int, ledger: Ledger) -> list[Repeat]:
    """The repeats of a cell: the initial ones, and further ones as long as they are stored."""
    found: list[Repeat] = []
    while len(found) < len(study.seeds) or (study.stop and len(found) < study.stop.most and not found[-1].left):
        task = study.task(study.cells[cell], len(found))
        failure = ledger.failure(task.key) or ledger.why_unmeasured(task.key, MEASURE)
        seed = int(task.spec["seed"])
        if failure is not None:
            found.append(Repeat(seed, task.key, error=failure.text))
        elif ledger.has(task.key, (MEASURE,)):
            measured = ledger.value(task.key, MEASURE)
            found.append(Repeat.ended(seed, task.key, ledger.headline(task.key), measured, study.metrics))
        else:
            found.append(Repeat(seed, task.key))
    if study.stop and len(found) > len(study.seeds) and found[-1].left:
        found.pop()
    return found


def part(done: Conducted, name: str) -> Part:
    """The part of a study."""
    study = done.study
    axes = axes_of(study)
    looks = charts.looked(names_of(study, axes.lines))
    return Part(
        title=study.name or name,
        kind="study",
        subtitle=f"{units.counted(len(study.cells), 'point')} over {', '.join(study.axes) or 'one spec'}",
        sections=(
            Section("Progress", (*progress(done), *best(done))),
            *[
                Section(metric.words, (charts_of(drawn(done, number, axes, looks)),))
                for number, metric in enumerate(study.metrics)
            ],
            Section("Every point", (points(done),)),
            *told(study.cells[0].spec, study.cells[0].title or "the spec"),
        ),
    )


NOTE = "Means over seeds with 95 % Student-t intervals; points without a finished run are left out."
HOLLOW = "Hollow points leave out flows that did not finish."
SHADED = "Shaded: overloaded, so that the results depend on how long the run lasts."
LEFT_OUT = "flows that did not finish, over all seeds; they are in no mean or percentile."


def charts_of(found: Sequence[Chart]) -> Charts:
    """The charts of a metric, with the necessary notes."""
    hollow = any(any(one.hollow) for each in found for one in each.curves)
    shaded = any(each.shaded for each in found)
    return Charts(tuple(found), " ".join([NOTE, *([HOLLOW] * hollow), *([SHADED] * shaded)]))


def progress(done: Conducted) -> list[Item]:
    """The number of runs that exist, failed, or are missing."""
    runs = [one for ones in done.repeats for one in ones]
    ended = sum(one.values is not None for one in runs)
    whole = "all runs are stored" if ended == len(runs) else "the same `spinewise sweep` continues with them"
    cards = [Answer("runs", f"{ended:,} of {len(runs):,}", (whole,), "head" if ended == len(runs) else "unsure")]
    if done.left:
        why = ["their points are missing or have fewer seeds"]
        if done.of_other_engines:
            others = units.counted(done.of_other_engines, "run")
            why.append(f"the store has {others} of these points from another version of the engine, which do not count")
        cards.append(Answer("not run yet", f"{done.left:,}", tuple(why), "bad"))
    failed = done.failed
    if failed:
        cards.append(Answer("failed", f"{len(failed):,}", ("repeated with --retry-failed",), "bad"))
    cards += left_open(done)
    lines = [f"{cell.title}, seed {one.seed}: {one.error}" for cell, one in failed[:FEW]]
    lines += [f"SKIPPED {one.label}: {one.reason}" for one in done.study.skipped]
    lines += warnings(done)
    return [Answers(tuple(cards)), *([Words(tuple(lines), listed=True)] * bool(lines))]


def left_open(done: Conducted) -> list[Answer]:
    """The number of flows that no mean includes, and of points that were overloaded."""
    whole, every = len(done.study.cells), done.every_flow()
    over = sum(map(done.overloaded, range(whole)))
    cards = []
    if every.unfinished:
        cards.append(Answer("flows that did not finish", every.text, ("in no mean or percentile below",), "bad"))
    if over:
        more = ("their results depend on how long the run lasts",)
        cards.append(Answer("points overloaded", f"{over:,} of {whole:,}", more, "bad"))
    return cards


def best(done: Conducted) -> list[Item]:
    """The scheme with the lowest first metric, at every place of the other axes, and what that leaves out."""
    study = done.study
    if SCHEME not in study.axes or len(along(study, SCHEME)) < 2:
        return []
    others = [one for one in study.axes if one != SCHEME]
    rows, lacking, left_more, too_short, uneven = [], set[int](), set[str](), set[str](), False
    for place in product(*(along(study, one) for one in others)):
        here = dict(zip(others, place, strict=True))
        cells = [n for n, cell in enumerate(study.cells) if here.items() <= cell.label.items()]
        row = best_at(done, cells)
        lacking |= valueless(done, cells)
        left_more |= lucky(done, cells)
        too_short |= short(done, cells)
        uneven |= len({len(values) for values in judged(done, cells)[1].values()}) > 1
        if row:
            over = any(map(done.overloaded, cells))
            if over and not here:
                row = (replace(row[0], text=overload(row[0].text)), *row[1:])
            rows.append((*marked(here, over=over), *row))
    heads = (*others, "least", "mean", "not told apart from", "next", "next against least", "left unfinished")
    numeric = (*(is_number(study, one) for one in others), False, True, False, False, True, False)
    notes = [
        "Not told apart: with 95 % confidence the best is among these (paired t tests of logarithms over seeds).",
        *overloads(done),
    ]
    if deadlocked(done, range(len(study.cells))):
        notes.append("A scheme that deadlocked at a place is not judged there.")
    if left_more:
        points = units.digits(100.0 * SURVIVORS, 1)
        notes.append(
            f"A scheme that left a share of its flows unfinished more than {points} percentage point above another's is"
            " not judged there."
        )
    if lacking:
        notes.append("A scheme without a value on a seed where another has one is not judged there.")
    if too_short:
        notes.append("A scheme with one run, where another has more, is not judged there.")
    if uneven:
        notes.append("Schemes are compared on the seeds that all judged ones have.")
    if any(row[-1].text for row in rows):
        notes.append(f"Left unfinished: {LEFT_OUT}")
    else:
        rows, heads, numeric = [row[:-1] for row in rows], heads[:-1], numeric[:-1]
    title = f"Which scheme has the least {study.metrics[0].words}"
    return [Table(title, heads, tuple(rows), " ".join(notes), numeric)] if rows else []


def deadlocked(done: Conducted, cells: Iterable[int]) -> bool:
    """Whether any run of some points ended in a deadlock."""
    return any(one.deadlock for number in cells for one in done.beside(number))


def overloads(done: Conducted) -> list[str]:
    """The meaning of the mark of overloaded points, if there are some."""
    return [OVERLOADED] if any(map(done.overloaded, range(len(done.study.cells)))) else []


def best_at(done: Conducted, cells: Sequence[int]) -> tuple[Cell, ...]:
    """The best scheme at one place, whose points are given; empty if no scheme has a value.

    Schemes are compared on the seeds that all have: points may have stopped at different ones.
    """
    metric = done.study.metrics[0]
    names = names_at(done, cells)
    aside, known = judged(done, cells)
    if not known:
        if not aside:
            return ()
        return (text("none is judged", "bad"), text("–"), text(""), text(""), Cell(""), Cell(""))
    seeds = sorted(set.intersection(*(set(row) for row in known.values())))
    columns = {label: [row[seed] for seed in seeds] for label, row in known.items()}
    order = sorted(known, key=lambda label: stats.mean(columns[label]))
    first, *others = order
    told = stats.told_from_best([columns[label] for label in order])[1:] if len(seeds) > 1 else []
    ties = [label for label, apart in zip(others, told, strict=False) if not apart]
    own = stats.t_interval(columns[first])
    ended = [label for label, number in names.items() if label not in known and done.beside(number)]
    left = unfinished(first, {label: done.behind(names[label], 0).unfinished for label in order + ended}, metric)
    if not others:
        return (text(first), number(own.mean, interval(metric, own)), text("–"), text(""), Cell(""), left)
    behind = stats.relative_difference(columns[others[0]], columns[first])
    return (
        text(first, "head" if not ties and told else ""),
        number(own.mean, interval(metric, own)),
        text(", ".join(ties) if told else "one seed: no interval"),
        text(others[0]),
        number(behind.mean, f"+{units.percent(behind.mean)}" if behind.mean >= 0 else units.percent(behind.mean)),
        left,
    )


def judged(done: Conducted, cells: Sequence[int]) -> tuple[set[str], dict[str, dict[int, float]]]:
    """The schemes of a place that are set aside; and the others, each with its values by seed."""
    names, lacking = names_at(done, cells), valueless(done, cells)
    aside = {label for label, cell in names.items() if cell in lacking or deadlocked(done, [cell])}
    aside |= lucky(done, cells) | short(done, cells)
    found = {label: by_seed(done, cell) for label, cell in names.items() if label not in aside}
    return aside, {label: row for label, row in found.items() if row}


def by_seed(done: Conducted, cell: int) -> dict[int, float]:
    """The first metric of a point by seed, where it has a value."""
    found = {one.seed: one.values[0] for one in done.repeats[cell] if one.values is not None}
    return {seed: value for seed, value in found.items() if math.isfinite(value)}


def short(done: Conducted, cells: Sequence[int]) -> set[str]:
    """The schemes of a place of which one run ended, where another has more."""
    ended = {label: len(done.beside(cell)) for label, cell in names_at(done, cells).items()}
    return {label for label, count in ended.items() if count == 1 < max(ended.values())}


def names_at(done: Conducted, cells: Iterable[int]) -> dict[str, int]:
    """The schemes of some points, and the point of each."""
    return {shown(done.study.cells[number].label[SCHEME]): number for number in cells}


def lucky(done: Conducted, cells: Sequence[int]) -> set[str]:
    """The schemes of a place that `compare` would not judge: the first metric covers only flows that ended."""
    if not done.study.metrics[0].of_finished:
        return set()
    behind = {label: done.behind(cell, 0) for label, cell in names_at(done, cells).items()}
    ended = {label for label, cell in names_at(done, cells).items() if not deadlocked(done, [cell])}
    return set(left_too_many({label: (one.unfinished, one.flows) for label, one in behind.items() if label in ended}))


def valueless(done: Conducted, cells: Sequence[int]) -> set[int]:
    """The points of a place without a first metric on a seed where they ended and another point has one."""
    rows = {cell: {one.seed: one.values[0] for one in done.repeats[cell] if one.values is not None} for cell in cells}
    known = {seed for row in rows.values() for seed, value in row.items() if math.isfinite(value)}
    return {cell for cell, row in rows.items() if any(not math.isfinite(row[seed]) for seed in known & row.keys())}


def unfinished(best_: str, counts: Mapping[str, int], metric: Metric) -> Cell:
    """The number of flows that each scheme left out of a metric, the best first; empty if none left any."""
    if not metric.of_finished or not any(counts.values()):
        return Cell("")
    fewest = min(counts.values())
    told = ", ".join(f"{label} {count or 'none'}" for label, count in counts.items())
    return text(told, "bad" if counts[best_] > fewest else "")


def marked(label: Mapping[str, Plain], *, over: bool) -> list[Cell]:
    """The labels of a point, or of a place of some axes, one with a mark if it is overloaded."""
    axis = marked_axis(label) if over else None
    return [replace(found, text=overload(found.text)) if name == axis else found
            for name, value in label.items() for found in [cell_of(value)]]  # fmt: skip


def cell_of(value: Plain) -> Cell:
    """A label of a point."""
    return Cell(shown(value), float(value) if isinstance(value, int | float) else shown(value))


def points(done: Conducted) -> Table:
    """Every point of the grid."""
    study = done.study
    left = unfinished_columns(done)
    rows = []
    for place, cell in enumerate(study.cells):
        ended = sum(one.values is not None for one in done.repeats[place])
        whole = len(done.repeats[place])
        seeds = number(float(ended), f"{ended}" if ended == whole else f"{ended} of {whole}",
                       "" if ended == whole else "bad")  # fmt: skip
        lost = [done.behind(place, k) for _, k in left]
        rows.append((
            *marked(cell.label, over=done.overloaded(place)), seeds, *metrics(done, place, study.metrics),
            *(number(float(one.unfinished), one.text) for one in lost),
        ))  # fmt: skip
    beside = metric_heads(study)
    heads = (*study.axes, "seeds", *beside, *(head for head, _ in left))
    numeric = (*(is_number(study, one) for one in study.axes), *[True] * (1 + len(beside) + len(left)))
    notes = [*differences(done), *overloads(done), *([f"Unfinished: {LEFT_OUT}"] if left else [])]
    return Table("Mean over seeds ± half the 95 % interval", heads, tuple(rows), " ".join(notes), numeric)


def metrics(done: Conducted, place: int, wanted: Sequence[Metric]) -> list[Cell]:
    """The metrics of a point, each with its difference from the first scheme."""
    cells = []
    for k, metric in enumerate(wanted):
        own, beside = done.interval(place, k), done.against_first(place, k).mean
        cells.append(number(own.mean, interval(metric, own) if math.isfinite(own.mean) else "–"))
        cells += [number(beside, told) if told else text("") for told in against(done, place, k)]
    return cells
