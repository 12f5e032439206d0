"""Checks of a paper's statements, computed from paired runs.

A comparison is decided when the 95 % interval of the paired difference excludes zero. A statement about
several points holds when it holds at all of them, fails when one of them contradicts it, and is not
decided otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

from spinewise.measures import units
from spinewise.measures.stats import Interval, paired_difference, t_interval
from spinewise.reproduction.experiment import Measured, Status, Verdict

MARKS = {Status.HOLDS: "yes", Status.PARTLY: "in part", Status.FAILS: "NO", Status.OPEN: "open"}

# A claimed effect counts as reproduced in size when at least this share of it is measured.
ENOUGH = 0.5


def line(status: Status, text: str) -> Verdict:
    """A verdict on one comparison."""
    return Verdict(status, (f"{MARKS[status]}: {text}",))


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """All must hold: fails when one fails, is open when one is open."""
    found = list(verdicts)
    statuses = {verdict.status for verdict in found}
    status = Status.HOLDS
    if Status.PARTLY in statuses:
        status = Status.PARTLY
    if not found or Status.OPEN in statuses:
        status = Status.OPEN
    if Status.FAILS in statuses:
        status = Status.FAILS
    return Verdict(status, tuple(text for verdict in found for text in verdict.evidence))


def above_zero(difference: Interval) -> Status:
    """Whether a paired difference is above zero, below it, or neither for sure."""
    if difference.excludes_zero:
        return Status.HOLDS if difference.mean > 0.0 else Status.FAILS
    return Status.OPEN


def flipped(difference: Interval) -> Interval:
    """The difference taken the other way round."""
    return Interval(-difference.mean, difference.half, difference.n)


def lower(measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()) -> Verdict:
    """`curve` lies below each of `others` at every x."""
    return combined(
        line(
            above_zero(flipped(measured.difference(curve, other, x, metric))),
            comparison(measured, curve, other, metric, x),
        )
        for x in xs or measured.xs
        for other in others
    )


def higher(measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()) -> Verdict:
    """`curve` lies above each of `others` at every x."""
    return combined(
        line(
            above_zero(measured.difference(curve, other, x, metric)),
            comparison(measured, curve, other, metric, x),
        )
        for x in xs or measured.xs
        for other in others
    )


def comparison(measured: Measured, curve: str, other: str, metric: str, x: float) -> str:
    """Both values and their difference, in words."""
    own, its = (measured.interval(name, x, metric).mean for name in (curve, other))
    text = f"{metric} at x={x:g}: {curve} {number(own)} against {other} {number(its)}"
    if its > 0.0:
        text += f" ({percent(measured.difference(curve, other, x, metric), its)})"
    return text + measured.mark(x)


def percent(change: Interval, base: float) -> str:
    """A difference in percent of `base`."""
    return f"{100 * change.mean / base:+.1f} ±{100 * change.half / base:.1f} %"


def step(measured: Measured, curve: str, metric: str, before: float, after: float) -> Interval:
    """How much higher `metric` is on `curve` at x = `after` than at x = `before`, paired by seed."""
    return paired_difference(measured.values(curve, after, metric), measured.values(curve, before, metric))


def step_text(measured: Measured, curve: str, metric: str, before: float, after: float) -> str:
    """Such a step in words."""
    first, last = (measured.interval(curve, x, metric).mean for x in (before, after))
    text = f"{metric} of {curve} from x={before:g} to {after:g}: {number(first)} to {number(last)}"
    if first > 0.0:
        text += f" ({percent(step(measured, curve, metric, before, after), first)})"
    return text + "".join(dict.fromkeys(measured.mark(x) for x in (before, after)))


def within(variant: str, check: Callable[[Measured], Verdict]) -> Callable[[Measured], Verdict]:
    """A check of one variant of the experiment alone; not decided without any runs of it."""
    return partial(_within, variant, check)


def _within(variant: str, check: Callable[[Measured], Verdict], measured: Measured) -> Verdict:
    part = measured.within(variant)
    return check(part) if part.measurements else line(Status.OPEN, f"no runs of {variant}")


def trend(measured: Measured, curve: str, metric: str, *, rising: float) -> Verdict:
    """`metric` rises (`rising` = 1) or falls (-1) along `curve`: from end to end, and no step goes the other way.

    In part when the ends say so and a step does not.
    """
    if len(measured.xs) < 2:
        return line(Status.OPEN, f"{metric} of {curve}: fewer than two points")
    ends = (measured.xs[0], measured.xs[-1])
    whole = above_zero(signed(step(measured, curve, metric, *ends), rising))
    steps = pairwise(measured.xs)
    against = [
        pair for pair in steps if above_zero(signed(step(measured, curve, metric, *pair), rising)) is Status.FAILS
    ]
    status = Status.PARTLY if whole is Status.HOLDS and against else whole
    texts = [step_text(measured, curve, metric, *ends)]
    texts += [f"against it, {step_text(measured, curve, metric, *pair)}" for pair in against]
    return line(status, "; ".join(texts))


def bend(measured: Measured, curve: str, metric: str, *, valley: float) -> Verdict:
    """`metric` has a valley (`valley` = 1) or a peak (-1) inside: some point lies beyond both ends.

    In part when it lies beyond one end for sure, and beyond the other perhaps. The point is the one whose mean is
    furthest out, and so chosen by what is then tested: a bend found by a hair may be none.
    """
    inner = measured.xs[1:-1]
    if not inner:
        return line(Status.OPEN, f"{metric} of {curve}: fewer than three points")
    best = min(inner, key=lambda x: valley * measured.interval(curve, x, metric).mean)
    ends = (measured.xs[0], measured.xs[-1])
    found = [above_zero(signed(step(measured, curve, metric, best, end), valley)) for end in ends]
    status = Status.PARTLY
    if Status.FAILS in found:
        status = Status.FAILS
    elif len(set(found)) == 1:
        status = found[0]
    return line(status, "; ".join(step_text(measured, curve, metric, end, best) for end in ends))


def signed(difference: Interval, sign: float) -> Interval:
    """The difference, turned round for a sign of -1."""
    return difference if sign > 0.0 else flipped(difference)


def number(value: float) -> str:
    """A value of any size, three digits."""
    tiny = 0.0 < abs(value) < 1e-3
    return f"{value:.2e}" if tiny else units.digits(value, 3)


def zero(measured: Measured, curve: str, metric: str) -> Verdict:
    """`metric` is exactly zero on `curve`, in every run."""
    values = [value for x in measured.xs for value in measured.values(curve, x, metric)]
    if not values:
        return line(Status.OPEN, f"{metric}: {curve} has no runs")
    return line(
        Status.HOLDS if max(values) == 0.0 else Status.FAILS,
        f"{metric}: largest of {curve} is {number(max(values))} in {len(values)} runs",
    )


def growing(measured: Measured, curve: str, metric: str) -> Verdict:
    """`metric` rises from each x to the next on `curve` (paired by seed)."""
    return combined(
        line(
            above_zero(step(measured, curve, metric, before, after)),
            step_text(measured, curve, metric, before, after),
        )
        for before, after in pairwise(measured.xs)
    )


def metric_above(measured: Measured, curve: str, high: str, low: str, x: float) -> Verdict:
    """One metric lies above another on the same curve at x (paired by seed)."""
    difference = paired_difference(measured.values(curve, x, high), measured.values(curve, x, low))
    own, its = (measured.interval(curve, x, name).mean for name in (high, low))
    return line(above_zero(difference), f"{curve}: {high} {number(own)} against {low} {number(its)}")


def below_limit(measured: Measured, curve: str, metric: str, limit: float, x: float) -> Verdict:
    """`metric` lies below a fixed limit on `curve` at x."""
    interval = t_interval([limit - value for value in measured.values(curve, x, metric)])
    own = measured.interval(curve, x, metric)
    return line(above_zero(interval), f"{curve}: {metric} {number(own.mean)} ±{number(own.half)}, limit {limit:g}")


def above_limit(measured: Measured, curve: str, metric: str, limit: float, x: float) -> Verdict:
    """`metric` lies above a fixed limit on `curve` at x."""
    interval = t_interval([value - limit for value in measured.values(curve, x, metric)])
    own = measured.interval(curve, x, metric)
    return line(above_zero(interval), f"{curve}: {metric} {number(own.mean)} ±{number(own.half)}, limit {limit:g}")


def near(measured: Measured, curve: str, metric: str, x: float, value: float, *, within: float) -> Verdict:
    """`metric` of `curve` lies within so much of a value that the paper gives, the interval and all."""
    own = measured.interval(curve, x, metric)
    status = Status.OPEN
    if own.n >= 2 and value - within <= own.low and own.high <= value + within:
        status = Status.HOLDS
    elif own.n >= 2 and (own.high < value - within or own.low > value + within):
        status = Status.FAILS
    text = f"{curve}: {metric} {number(own.mean)} ±{number(own.half)}, paper {number(value)}, within ±{within:g}"
    return line(status, text)


def graded(verdicts: Iterable[Verdict]) -> Verdict:
    """A statement in several numbers, which may hold in part: all, none, some of them, or none decided."""
    found = list(verdicts)
    statuses = {verdict.status for verdict in found}
    status = Status.PARTLY
    if statuses == {Status.FAILS, Status.OPEN}:
        status = Status.FAILS
    elif len(statuses) == 1:
        (status,) = statuses
    return Verdict(status if found else Status.OPEN, tuple(text for verdict in found for text in verdict.evidence))


def reduction(measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float) -> Verdict:
    """`metric` of `curve` lies below that of `other` by a share that the paper gives as `claimed`.

    It holds when the difference is certain and at least `ENOUGH` of what is claimed, in part when it is certain but
    less. It fails when `curve` is higher for sure, or so much of an effect is excluded; else it is not decided.
    """
    return effect(measured, curve, other, metric, x, claimed=-claimed)


def increase(measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float) -> Verdict:
    """`metric` of `curve` lies above that of `other` by a share that the paper gives; judged as `reduction` is."""
    return effect(measured, curve, other, metric, x, claimed=claimed)


def effect(measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float) -> Verdict:
    """A relative difference that the paper gives with its sign; see `reduction`."""
    its = measured.interval(other, x, metric).mean
    change = signed(measured.difference(curve, other, x, metric), claimed)
    enough = ENOUGH * abs(claimed) * its
    if change.excludes_zero and change.mean > 0.0:
        status = Status.HOLDS if change.mean >= enough else Status.PARTLY
    else:
        status = Status.FAILS if change.n >= 2 and change.high < enough else Status.OPEN
    alike = "" if change.excludes_zero else ", not distinguishable at this size"
    text = comparison(measured, curve, other, metric, x)
    return line(status, f"{text}; paper {100 * claimed:+.0f} %{alike}")


def up_to(measured: Measured, curve: str, metric: str, *, claimed: float, others: Sequence[str] = ()) -> Verdict:
    """A paper's "up to": the largest share by which `curve` lies below any of `others` (default: all) at any x.

    The cell is chosen by what is then judged, which flatters the paper.
    """
    places = [(other, x) for other in others or measured.others(curve) for x in measured.xs]
    other, x = min(places, key=lambda place: relative(measured, curve, place[0], place[1], metric))
    return reduction(measured, curve, other, metric, x, claimed=claimed)


def relative(measured: Measured, curve: str, other: str, x: float, metric: str) -> float:
    """Mean difference from another curve as a share of that; NaN, which is never the least, counts as none."""
    share = measured.difference(curve, other, x, metric).mean / measured.interval(other, x, metric).mean
    return share if math.isfinite(share) else math.inf


def alike(measured: Measured, curve: str, other: str, metric: str, x: float, *, within: float) -> Verdict:
    """`metric` of `curve` lies within a share of that of `other`."""
    change = measured.difference(curve, other, x, metric)
    bound = within * measured.interval(other, x, metric).mean
    status = Status.OPEN
    if change.n >= 2 and max(abs(change.low), abs(change.high)) <= bound:
        status = Status.HOLDS
    elif change.n >= 2 and (change.low > bound or change.high < -bound):
        status = Status.FAILS
    return line(status, f"{comparison(measured, curve, other, metric, x)}, within ±{100 * within:g} %")
