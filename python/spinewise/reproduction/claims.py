"""Checks of a paper's statements, computed from paired runs.

A comparison is decided when the 95 % interval of the paired difference excludes zero, is not distinguishable when the
interval includes it, and is not testable without an interval. A statement about several points holds when it holds at
all of them, and fails when one of them contradicts it; `cells` combines several comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import median

from spinewise.measures import units
from spinewise.measures.stats import Interval, p_of_zero, paired_difference, t_interval
from spinewise.reproduction.cells import (
    MARKS,
    above_zero,
    best_among,
    best_of,
    beyond,
    bounded,
    combined,
    flipped,
    graded,
    is_sure,
    line,
    noted,
    signed,
    together,
    told,
    unsure,
)
from spinewise.reproduction.experiment import Cell, Claim, Measured, Status, Verdict
from spinewise.reproduction.words import named

__all__ = [
    "ENOUGH",
    "MARKS",
    "OURS",
    "PAPERS",
    "above_limit",
    "alike",
    "amount",
    "below_limit",
    "bend",
    "beside",
    "best_among",
    "best_of",
    "beyond",
    "bounded",
    "combined",
    "comparison",
    "exceeds",
    "graded",
    "growing",
    "higher",
    "in_each",
    "increase",
    "largest",
    "line",
    "lower",
    "metric_above",
    "near",
    "no_worse",
    "noted",
    "number",
    "percent",
    "reduction",
    "signed",
    "step",
    "step_text",
    "together",
    "told",
    "trend",
    "unsure",
    "up_to",
    "within",
    "zero",
]

# A claimed effect counts as reproduced in size when at least this share of it is measured.
ENOUGH = 0.5


def lower(measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()) -> Verdict:
    """Judge whether `curve` is below each of `others` at every x."""
    return combined(
        told(flipped(measured.difference(curve, other, x, metric)), comparison(measured, curve, other, metric, x))
        for x in xs or measured.xs
        for other in others
    )


def higher(measured: Measured, curve: str, others: Sequence[str], metric: str, xs: Sequence[float] = ()) -> Verdict:
    """Judge whether `curve` is above each of `others` at every x."""
    return combined(
        told(measured.difference(curve, other, x, metric), comparison(measured, curve, other, metric, x))
        for x in xs or measured.xs
        for other in others
    )


def comparison(measured: Measured, curve: str, other: str, metric: str, x: float) -> str:
    """Both values and their difference, in words."""
    own, its = (measured.interval(name, x, metric).mean for name in (curve, other))
    text = f"{named(metric)} at {x:g}: {curve} {amount(metric, own)} against {other} {amount(metric, its)}"
    if its > 0.0:
        text += f" ({percent(measured.difference(curve, other, x, metric), its)})"
    return text + measured.mark(x)


def percent(change: Interval, base: float) -> str:
    """A difference in percent of `base`."""
    return f"{100 * change.mean / base:+.1f} ±{100 * change.half / base:.1f} %"


def step(measured: Measured, curve: str, metric: str, before: float, after: float) -> Interval:
    """How much higher `metric` is on `curve` at x = `after` than at x = `before`, paired by seed."""
    return paired_difference(*measured.pairs((curve, after, metric), (curve, before, metric)))


def step_text(measured: Measured, curve: str, metric: str, before: float, after: float) -> str:
    """Such a step in words."""
    first, last = (measured.interval(curve, x, metric).mean for x in (before, after))
    text = f"{named(metric)} of {curve} from {before:g} to {after:g}: {amount(metric, first)} to {amount(metric, last)}"
    if first > 0.0:
        text += f" ({percent(step(measured, curve, metric, before, after), first)})"
    return text + "".join(dict.fromkeys(measured.mark(x) for x in (before, after)))


def within(variant: str, check: Callable[[Measured], Verdict]) -> Callable[[Measured], Verdict]:
    """A check on only one variant of the experiment; not testable without any runs of it."""
    return partial(_within, variant, check)


def _within(variant: str, check: Callable[[Measured], Verdict], measured: Measured) -> Verdict:
    part = measured.within(variant)
    return check(part) if part.measurements else line(Status.UNTESTED, f"no runs of {variant}")


def trend(measured: Measured, curve: str, metric: str, *, rising: float) -> Verdict:
    """Judge whether `metric` rises (`rising` = 1) or falls (-1) along `curve`: from end to end, with no opposite step.

    In part if the ends do but a step does not.
    """
    if len(measured.xs) < 2:
        return line(Status.UNTESTED, f"{named(metric)} of {curve}: fewer than two points")
    ends = (measured.xs[0], measured.xs[-1])
    change = signed(step(measured, curve, metric, *ends), rising)
    whole = above_zero(change)
    steps = [(pair, signed(step(measured, curve, metric, *pair), rising)) for pair in pairwise(measured.xs)]
    against = [
        pair
        for pair, found in steps
        if above_zero(found) is Status.FAILS and is_sure(len(steps), Cell("", p=p_of_zero(found)))
    ]
    status = Status.PARTLY if whole is Status.HOLDS and against else whole
    texts = [step_text(measured, curve, metric, *ends)]
    texts += [f"against it, {step_text(measured, curve, metric, *pair)}" for pair in against]
    return line(status, "; ".join(texts), comparisons=len(measured.xs), p=p_of_zero(change))


def bend(measured: Measured, curve: str, metric: str, *, valley: float) -> Verdict:
    """Judge whether `metric` has a valley (`valley` = 1) or a peak (-1) inside: some point lies beyond both ends.

    It fails if an end certainly lies beyond all points inside: the line is monotonic. The point is the one whose mean
    is furthest out, and so chosen by the tested value: it is judged as the best of all points inside.
    """
    inner = measured.xs[1:-1]
    if not inner:
        return line(Status.UNTESTED, f"{named(metric)} of {curve}: fewer than three points")
    best = min(inner, key=lambda x: valley * measured.interval(curve, x, metric).mean)

    def from_end(end: float) -> Verdict:
        text = step_text(measured, curve, metric, end, best)
        return best_of(len(inner), told(signed(step(measured, curve, metric, best, end), valley), text))

    return combined(from_end(end) for end in (measured.xs[0], measured.xs[-1]))


def number(value: float) -> str:
    """A value of any size, three digits."""
    tiny = 0.0 < abs(value) < 1e-3
    return f"{value:.2e}" if tiny else units.digits(value, 3)


def amount(metric: str, value: float) -> str:
    """A value of a metric: a time with its unit, anything else as a number."""
    return units.duration(value, 3) if is_time(metric) else number(value)


def spread(metric: str, found: Interval) -> str:
    """A mean with its interval."""
    return f"{amount(metric, found.mean)} ±{amount(metric, found.half)}"


def limit_of(metric: str, value: float) -> str:
    """A limit that a paper gives, with all its digits."""
    return units.duration(value) if is_time(metric) else f"{value:g}"


def is_time(metric: str) -> bool:
    """Whether a metric is in seconds, by its name; "mean_fct_s inside" is, too."""
    return metric.split(" ", maxsplit=1)[0].endswith("_s")


def zero(measured: Measured, curve: str, metric: str) -> Verdict:
    """Judge whether `metric` is exactly zero on `curve`, in every run."""
    values = [value for x in measured.xs for value in measured.values(curve, x, metric)]
    if not values:
        return line(Status.UNTESTED, f"{named(metric)}: {curve} has no runs")
    return line(
        Status.HOLDS if max(values) == 0.0 else Status.FAILS,
        f"{named(metric)}: largest of {curve} is {amount(metric, max(values))} in {len(values)} runs",
        comparisons=0,
    )


def growing(measured: Measured, curve: str, metric: str) -> Verdict:
    """Judge whether `metric` rises from each x to the next on `curve` (paired by seed)."""
    return combined(
        told(step(measured, curve, metric, before, after), step_text(measured, curve, metric, before, after))
        for before, after in pairwise(measured.xs)
    )


def metric_above(measured: Measured, curve: str, high: str, low: str, x: float) -> Verdict:
    """Judge whether one metric is above another on the same curve at x (paired by seed)."""
    difference = paired_difference(*measured.pairs((curve, x, high), (curve, x, low)))
    own, its = (measured.interval(curve, x, name).mean for name in (high, low))
    return told(difference, f"{curve}: {high} {amount(high, own)} against {low} {amount(low, its)}")


def below_limit(measured: Measured, curve: str, metric: str, limit: float, x: float) -> Verdict:
    """Judge whether `metric` is below a fixed limit on `curve` at x."""
    interval = t_interval([limit - value for value in measured.values(curve, x, metric)])
    text = f"{level(measured, curve, metric, x)}, limit {limit_of(metric, limit)}"
    return told(interval, text, comparisons=0)


def above_limit(measured: Measured, curve: str, metric: str, limit: float, x: float) -> Verdict:
    """Judge whether `metric` is above a fixed limit on `curve` at x."""
    interval = t_interval([value - limit for value in measured.values(curve, x, metric)])
    text = f"{level(measured, curve, metric, x)}, limit {limit_of(metric, limit)}"
    return told(interval, text, comparisons=0)


def level(measured: Measured, curve: str, metric: str, x: float) -> str:
    """A mean with its interval and its place, in words."""
    own = measured.interval(curve, x, metric)
    return f"{named(metric)} at {x:g}: {curve} {spread(metric, own)}{measured.mark(x)}"


def near(measured: Measured, curve: str, metric: str, x: float, value: float, *, within: float) -> Verdict:
    """Judge whether `metric` of `curve` is within a tolerance of the paper's value, including its interval."""
    own = measured.interval(curve, x, metric)
    status = unsure(own)
    if own.n >= 2 and value - within <= own.low and own.high <= value + within:
        status = Status.HOLDS
    elif own.n >= 2 and (own.high < value - within or own.low > value + within):
        status = Status.FAILS
    text = f"{level(measured, curve, metric, x)}, paper {amount(metric, value)}"
    text += f", within ±{limit_of(metric, within)}"
    return bounded(status, text, p=beyond(abs(own.mean - value) - within, own))


PAPERS, OURS = "paper", "asked for"
"""The source of the number an effect is compared with: the paper, or us if the paper has only a word."""


def reduction(
    measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float, whose: str = PAPERS
) -> Verdict:
    """Judge whether `metric` of `curve` is below that of `other` by the paper's share `claimed`.

    It holds when the difference is certain and at least `ENOUGH` of what is claimed, in part when it is certain but
    less. It fails when `curve` is certainly higher, or an effect of that size is excluded; else it cannot be told.
    """
    return effect(measured, curve, other, metric, x, claimed=-claimed, whose=whose)


def increase(measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float) -> Verdict:
    """Judge whether `metric` of `curve` is above that of `other` by the paper's share, like `reduction`."""
    return effect(measured, curve, other, metric, x, claimed=claimed)


def effect(
    measured: Measured, curve: str, other: str, metric: str, x: float, *, claimed: float, whose: str = PAPERS
) -> Verdict:
    """Judge a relative difference that the paper gives with its sign; see `reduction`."""
    its = measured.interval(other, x, metric).mean
    change = signed(measured.difference(curve, other, x, metric), claimed)
    enough = ENOUGH * abs(claimed) * its
    if change.excludes_zero and change.mean > 0.0:
        status = Status.HOLDS if change.mean >= enough else Status.PARTLY
    else:
        status = Status.FAILS if change.n >= 2 and change.high < enough else unsure(change)
    alike = "" if change.excludes_zero else ", not distinguishable at this size"
    text = comparison(measured, curve, other, metric, x)
    p = beyond(enough - change.mean, change) if status is Status.FAILS else p_of_zero(change)
    return line(status, f"{text}; {whose} {100 * claimed:+.0f} %{alike}", p=p)


def exceeds(measured: Measured, curve: str, other: str, metric: str, x: float, *, by: float) -> Verdict:
    """Judge whether `metric` of `curve` is above that of `other` by more than a share, with its whole interval."""
    base = measured.interval(other, x, metric).mean
    change = measured.difference(curve, other, x, metric)
    further = Interval(change.mean - by * base, change.half, change.n)
    text = f"{comparison(measured, curve, other, metric, x)}, more than {100 * by:+.0f} %"
    return told(further, text, comparisons=0)


def up_to(measured: Measured, curve: str, metric: str, *, claimed: float, others: Sequence[str] = ()) -> Verdict:
    """Judge a paper's "up to": the largest share by which `curve` is below any of `others` (default: all) at any x."""
    return largest(
        [(measured, other, x) for other in others or measured.others(curve) for x in measured.xs],
        curve,
        metric,
        claimed=claimed,
    )


def largest(
    places: Sequence[tuple[Measured, str, float]], curve: str, metric: str, *, claimed: float, of: int = 0
) -> Verdict:
    """Judge an "up to" over these cells: measurements, another curve, an x.

    One cell is enough, so one decides of those that are certainly below as one of all (of `of`, if there are more
    than these), namely the one furthest below; of all cells if none is. The median is shown with it.
    """
    if not places:
        return line(Status.UNTESTED, f"{named(metric)}: no runs of {curve} and others")
    many = max(of, len(places))
    shares = [relative(part, curve, other, x, metric) for part, other, x in places]
    found = [reduction(part, curve, other, metric, x, claimed=claimed) for part, other, x in places]
    judged = [best_of(many, one) for one in found]
    sure = [at for at, one in enumerate(judged) if one.status in (Status.HOLDS, Status.PARTLY)]
    best = min(sure or range(len(places)), key=shares.__getitem__)
    return replace(noted(judged[best], [median_cell(shares)]), comparisons=len(places))


def median_cell(shares: Sequence[float]) -> str:
    """The text shown with the best cell: the median over all, each a share by which one is above another."""
    known = sorted(share for share in shares if math.isfinite(share))
    if not known:
        return f"median of {len(shares)} cells: no number"
    return f"chosen as the best of {len(known)} cells; their median is {100 * median(known):+.1f} %"


def relative(measured: Measured, curve: str, other: str, x: float, metric: str) -> float:
    """The mean difference from another curve as a share of it; infinity for NaN, so that it is never the least."""
    share = measured.difference(curve, other, x, metric).mean / measured.interval(other, x, metric).mean
    return share if math.isfinite(share) else math.inf


def alike(measured: Measured, curve: str, other: str, metric: str, x: float, *, within: float) -> Verdict:
    """Judge whether `metric` of `curve` is within a share of that of `other`."""
    change = measured.difference(curve, other, x, metric)
    bound = within * measured.interval(other, x, metric).mean
    status = unsure(change)
    if change.n >= 2 and max(abs(change.low), abs(change.high)) <= bound:
        status = Status.HOLDS
    elif change.n >= 2 and (change.low > bound or change.high < -bound):
        status = Status.FAILS
    text = f"{comparison(measured, curve, other, metric, x)}, within ±{100 * within:g} %"
    return bounded(status, text, p=beyond(abs(change.mean) - bound, change))


def no_worse(measured: Measured, curve: str, other: str, metric: str, x: float, *, within: float) -> Verdict:
    """Judge whether `metric` of `curve` is not above that of `other` by more than a share."""
    change = measured.difference(curve, other, x, metric)
    bound = within * measured.interval(other, x, metric).mean
    status = unsure(change)
    if change.n >= 2 and change.high <= bound:
        status = Status.HOLDS
    elif change.n >= 2 and change.low > bound:
        status = Status.FAILS
    text = f"{comparison(measured, curve, other, metric, x)}, above it by {100 * within:g} % at most"
    return bounded(status, text, p=beyond(change.mean - bound, change))


def in_each(readings: Iterable[str], statements: Sequence[Claim], *, headline: Sequence[str]) -> tuple[Claim, ...]:
    """These claims in each of several readings, which are variants of the experiment; `headline` names the headlines.

    A claim's own reading comes before the variant; a claim that is not a headline is not one in any reading.
    """
    return tuple(
        replace(
            one,
            check=within(name, one.check),
            reading=", ".join(text for text in (one.reading, name) if text),
            headline=one.headline and name in headline,
        )
        for name in readings
        for one in statements
    )


def beside(claim: str, figure: str, statement: str, check: Callable[[Measured], Verdict], reading: str) -> Claim:
    """A reading shown in addition to the headline."""
    return Claim(claim, figure, statement, check, reading=reading, headline=False)
