"""Comparisons, and the result of several together, one line of evidence each.

Of many that must all hold, one may fail by chance: it must fail by an interval that is widened for their number
(Bonferroni), and likewise must the best of many hold if one is enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from spinewise.measures.stats import CONFIDENCE, Interval, p_of_zero
from spinewise.reproduction.experiment import Cell, Status, Verdict

MARKS = {
    Status.HOLDS: "yes",
    Status.PARTLY: "in part",
    Status.FAILS: "NO",
    Status.OPEN: "open",
    Status.UNTESTED: "untested",
}

HELD = frozenset({Status.HOLDS, Status.PARTLY})


def line(status: Status, text: str, *, comparisons: int = 1, p: float | None = None) -> Verdict:
    """A verdict on one difference that an interval tests against zero, or on something without one (`comparisons` 0).

    `p` is its probability, if an interval decides: see `Cell`.
    """
    cell = Cell(text, status, p)
    return Verdict(status, (worded(cell),), 0 if status is Status.UNTESTED else comparisons, (cell,))


def bounded(status: Status, text: str, *, p: float | None = None) -> Verdict:
    """A verdict on a value compared with a bound, which is not subject to chance like a test of a difference."""
    return line(status, text, comparisons=0, p=p)


def told(difference: Interval, text: str, *, comparisons: int = 1) -> Verdict:
    """A verdict on whether a difference is above zero; `comparisons` is 0 for a distance from a bound."""
    return line(above_zero(difference), text, comparisons=comparisons, p=p_of_zero(difference))


def beyond(distance: float, interval: Interval) -> float:
    """The chance that an interval ends before a value this far from its mean."""
    return p_of_zero(Interval(distance, interval.half, interval.n))


def above_zero(difference: Interval) -> Status:
    """Whether a paired difference is certainly above zero, below it, or neither; not testable without an interval."""
    if difference.excludes_zero:
        return Status.HOLDS if difference.mean > 0.0 else Status.FAILS
    return unsure(difference)


def unsure(*intervals: Interval) -> Status:
    """The status of a comparison that decides nothing: not testable without intervals."""
    return Status.OPEN if all(math.isfinite(one.half) for one in intervals) else Status.UNTESTED


def flipped(difference: Interval) -> Interval:
    """The difference with the opposite sign."""
    return Interval(-difference.mean, difference.half, difference.n)


def signed(difference: Interval, sign: float) -> Interval:
    """The difference, with the opposite sign for a sign of -1."""
    return difference if sign > 0.0 else flipped(difference)


def worded(cell: Cell) -> str:
    """A line of evidence."""
    return f"{MARKS[cell.status]}: {cell.text}" if cell.status else cell.text


def noted(verdict: Verdict, texts: Iterable[str]) -> Verdict:
    """The same verdict, with more lines that are not comparisons."""
    more = tuple(Cell(text) for text in texts)
    cells = (*cells_of(verdict), *more)
    return replace(verdict, evidence=(*verdict.evidence, *map(worded, more)), cells=cells)


def cells_of(verdict: Verdict) -> tuple[Cell, ...]:
    """The cells behind the lines of its evidence."""
    return verdict.cells or tuple(Cell(text) for text in verdict.evidence)


def together(status: Status, verdicts: Sequence[Verdict]) -> Verdict:
    """The evidence of several checks under one status; not testable if there are none."""
    if not verdicts:
        return line(Status.UNTESTED, "nothing was run that this compares")
    evidence = tuple(text for verdict in verdicts for text in verdict.evidence)
    cells = tuple(cell for verdict in verdicts for cell in cells_of(verdict))
    return Verdict(status, evidence, sum(verdict.comparisons for verdict in verdicts), cells)


# The status of a statement whose parts must all hold: the first of these that a part has.
WORST_FIRST = (Status.FAILS, Status.OPEN, Status.UNTESTED, Status.PARTLY)


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """Require all to hold: it fails if one fails, and cannot be told if one cannot.

    One of many may fail by chance: it must fail by an interval of 95 % over their number, or is open. That all hold
    needs no such correction.
    """
    found = list(verdicts)
    ps = [cell.p for verdict in found for cell in cells_of(verdict)]
    many = sum(p is not None and math.isfinite(p) for p in ps)
    statuses = {among(many, verdict, {Status.FAILS}) for verdict in found} or {Status.UNTESTED}
    made = together(next((status for status in WORST_FIRST if status in statuses), Status.HOLDS), found)
    return replace(made, evidence=tuple(worded(one_of(many, cell)) for cell in made.cells))


def graded(verdicts: Iterable[Verdict]) -> Verdict:
    """A statement in several numbers, which may hold in part: all, none, some of them, or none that can be decided."""
    found = list(verdicts)
    statuses = {verdict.status for verdict in found} or {Status.UNTESTED}
    told = statuses - {Status.OPEN, Status.UNTESTED}
    status = Status.PARTLY
    if told == {Status.FAILS} or len(statuses) == 1:
        (status,) = told or statuses
    elif not told:
        status = Status.OPEN
    return together(status, found)


def among(many: int, verdict: Verdict, decided: Set[Status]) -> Status:
    """The status of one part of a statement with `many` comparisons.

    A status in `decided` becomes open unless one of its comparisons still decides as one of that many.
    """
    cells = [cell for cell in verdict.cells if cell.status in decided]
    if verdict.status in decided and cells and not any(is_sure(many, cell) for cell in cells):
        return Status.OPEN
    return verdict.status


def is_sure(many: int, cell: Cell) -> bool:
    """Whether a comparison still decides when it is one of `many`."""
    return cell.p is None or many * cell.p < 1.0 - CONFIDENCE


def one_of(many: int, cell: Cell) -> Cell:
    """A comparison as one of `many` that must all hold; open if it fails only on its own."""
    if cell.status is not Status.FAILS or is_sure(many, cell):
        return cell
    return replace(cell, status=Status.OPEN, text=f"{cell.text}; {MARKS[Status.FAILS]} by itself, not as one of {many}")


def best_of(many: int, verdict: Verdict) -> Verdict:
    """A verdict on one comparison chosen as the best of `many`; open if it holds only on its own."""
    (cell,) = verdict.cells
    if cell.status not in HELD or is_sure(many, cell):
        return verdict
    text = f"{cell.text}; {MARKS[cell.status]} by itself, not as the best of {many}"
    return line(Status.OPEN, text, comparisons=verdict.comparisons, p=cell.p)


def best_among(many: int, verdict: Verdict) -> Status:
    """The status of an "up to" of some cells, as one of `many` in all."""
    return among(many, verdict, HELD)
