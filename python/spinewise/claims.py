"""Checks of a paper's statements, computed from paired runs.

A comparison is decided when the 95 % interval of the paired difference excludes zero (or every value
is the same). A statement about several points holds when it holds at all of them, fails when one of
them contradicts it, and is not decided otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from spinewise import units
from spinewise.experiment import Measured, Status, Verdict
from spinewise.stats import Interval, paired_difference


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """All must hold: fails when one fails, is open when one is open."""
    found = list(verdicts)
    statuses = {verdict.status for verdict in found}
    status = Status.HOLDS
    if not found or Status.OPEN in statuses:
        status = Status.OPEN
    if Status.FAILS in statuses:
        status = Status.FAILS
    return Verdict(status, "; ".join(verdict.evidence for verdict in found))


def below(difference: Interval) -> Status:
    """Whether a paired difference says "less"."""
    if difference.excludes_zero:
        return Status.HOLDS if difference.mean < 0.0 else Status.FAILS
    return Status.OPEN


def flipped(status: Status) -> Status:
    """The status of the opposite statement."""
    return {Status.HOLDS: Status.FAILS, Status.FAILS: Status.HOLDS}.get(status, status)


def lower(
    measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()
) -> Verdict:
    """`curve` lies below each of `others` at every x."""
    return combined(
        one_difference(measured, curve, other, metric, x, flip=False)
        for x in xs or measured.xs
        for other in others
    )


def higher(
    measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()
) -> Verdict:
    """`curve` lies above each of `others` at every x."""
    return combined(
        one_difference(measured, curve, other, metric, x, flip=True)
        for x in xs or measured.xs
        for other in others
    )


def one_difference(
    measured: Measured, curve: str, other: str, metric: str, x: float, *, flip: bool
) -> Verdict:
    """One point of `lower` or `higher`."""
    difference = measured.difference(curve, other, x, metric)
    status = below(difference)
    text = f"x={x:g}: {curve} {percentage(difference)} against {other}"
    return Verdict(flipped(status) if flip else status, text)


def percentage(difference: Interval) -> str:
    """A relative difference with its interval."""
    if not math.isfinite(difference.mean):
        return "unknown"
    half = f" ±{100 * difference.half:.1f}" if math.isfinite(difference.half) else ""
    return f"{100 * difference.mean:+.1f}{half} %"


def zero(measured: Measured, curve: str, metric: str) -> Verdict:
    """`metric` is exactly zero on `curve`, in every run."""
    values = [value for x in measured.xs for value in measured.values(curve, x, metric)]
    worst = max(values, default=math.nan)
    status = Status.HOLDS if worst == 0.0 else Status.FAILS
    return Verdict(status if values else Status.OPEN, f"{curve}: largest {units.digits(worst, 3)}")


def growing(measured: Measured, curve: str, metric: str) -> Verdict:
    """`metric` rises from each x to the next on `curve` (paired by seed)."""
    verdicts = []
    for before, after in zip(measured.xs, measured.xs[1:], strict=False):
        step = paired_difference(
            measured.values(curve, after, metric), measured.values(curve, before, metric)
        )
        status = flipped(below(step))
        own = measured.interval(curve, after, metric).mean
        verdicts.append(Verdict(status, f"{curve} at x={after:g}: {units.digits(own, 3)}"))
    return combined(verdicts)
