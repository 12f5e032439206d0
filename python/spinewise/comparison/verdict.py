"""Which scheme is best at what, how certain that is, and what else differs in its runs.

For each question (a quantity of a traffic entry at a load) the scheme with the lowest mean over seeds is best. Another
scheme that no other surely beats ties, by paired t tests of logarithms over seeds: with 95 % confidence the
best is among these (`stats.told_from_best`). A mean is over flows or rounds that ended, so a scheme that deadlocked, or
left many more unfinished than another, is set aside: it is neither. So is one without a value on a seed on which
another one has a value: its mean would be one over the seeds on which it was lucky.
A reason is a fact of the runs that differs between two schemes by more than chance; whether it is the
cause is not tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from spinewise.comparison.cells import Cell, Comparison, ended_value, job_value
from spinewise.comparison.reasons import Reason, full_port, idle_links, reasons, shared_timeouts
from spinewise.measures import stats, units
from spinewise.measures.summary import ALL
from spinewise.plain import unlike

ALIKE = 0.01
"""The share within which schemes are called alike, however certain the difference of their means."""

FEWEST_SEEDS = 2
"""The least number of seeds from which chance can be estimated; with fewer, no scheme is said to tie."""

SURVIVORS = 0.01
"""The excess share of unfinished flows or rounds from which a scheme is not compared with another:
a mean or a 99th percentile of those that ended covers only the lucky ones."""

OF_ROUNDS = {
    "rpc": ("p99_s", "p99 time of a request"),
    "incast": ("mean_s", "time of a round"),
    "permutation": ("mean_s", "time of a round"),
}
"""The quantity for rounds that do not wait for each other; for others, when the last is done."""

ALL_ENDED = "time until all operations have ended"


@dataclass(frozen=True)
class Question:
    """A quantity for which lower is better.

    Attributes:
        entry: its traffic entry; None for all traffic.
        words: its name in text: "p99 FCT of short flows".
        value: takes it from a run.
        size_class: the size class of its flows.
        waits: whether in a run it is the time of flows that met a timeout; None: not checked.
        rounds: the traffic entry of its rounds; None: it is about flows, or a whole trace.
        of_trace: whether it is about all operations of a trace, which a run completes or not.
    """

    entry: str | None
    words: str
    value: Callable[[Cell], float]
    size_class: str = ALL
    waits: Callable[[Cell], bool] | None = None
    rounds: str | None = None
    of_trace: bool = False

    @property
    def unit(self) -> str:
        """The name of the unit: a trace, a flow or a round."""
        return "trace" if self.of_trace else "flow" if self.rounds is None else "round"

    def left(self, cells: Sequence[Cell]) -> tuple[int, int]:
        """The number of units that some runs left unfinished, and the total."""
        if self.of_trace:
            return sum(math.isnan(self.value(cell)) for cell in cells), len(cells)
        if self.rounds is None:
            classes = [cell.summary.of(self.size_class, self.entry) for cell in cells]
            return sum(one.unfinished for one in classes), sum(one.flows for one in classes)
        jobs = [cell.jobs[self.rounds] for cell in cells]
        return sum(one.unfinished for one in jobs), sum(one.rounds for one in jobs)


@dataclass(frozen=True)
class Verdict:
    """The answer to a question at one load.

    Attributes:
        question: what was asked.
        load: the load; None for the spec's own.
        best: the scheme with the lowest mean; None if no scheme has one.
        value: its mean over seeds.
        ties: schemes indistinguishable from it, in order of their means; with one seed none, and with two all.
        beats: schemes that it surely beats, by the test of ties.
        against: paired difference from the first scheme, or, if that is the best, that of the next one from it.
        other: the scheme that `against` and `why` are about.
        first_on: the number of seeds on which it was the lowest, of those on which all judged schemes have a value.
        seeds: the number of such seeds.
        judged: schemes that have a value and are not set aside, in order of their means.
        aside: schemes that are not judged, and why: a deadlock, flows or rounds left unfinished, or no value.
        alike: whether all schemes lie within `ALIKE` of each other.
        worst: the scheme with the greatest mean, and its paired difference to the best.
        why: facts of the runs by which `best` does better than `other`, where that is in `beats`, or there is one seed;
            or that all share.
        price: facts of the runs by which it does worse.
    """

    question: Question
    load: float | None
    best: str | None
    value: stats.Interval
    ties: list[str]
    against: stats.Interval
    other: str | None
    first_on: int
    alike: bool
    worst: tuple[str, stats.Interval] | None
    why: list[Reason]
    price: list[Reason]
    seeds: int = 0
    judged: list[str] = field(default_factory=list)
    aside: dict[str, str] = field(default_factory=dict)
    beats: list[str] = field(default_factory=list)

    @property
    def ahead(self) -> str | None:
        """The first scheme that is distinguishable from the best; None if there is none."""
        return next((label for label in self.judged[1:] if label not in self.ties), None)

    @property
    def near(self) -> list[str]:
        """Ties whose mean is no greater than that of any distinguishable scheme."""
        return self.ties if self.ahead is None else [label for label in self.ties if self.is_before(label, self.ahead)]

    @property
    def far(self) -> list[str]:
        """Ties whose mean is greater than that of `ahead`: their seeds differ more, and they are no choice to make."""
        return [label for label in self.ties if label not in self.near]

    def is_before(self, label: str, other: str) -> bool:
        """Whether a scheme has the lower mean."""
        return self.judged.index(label) < self.judged.index(other)


def questions(comparison: Comparison) -> list[Question]:
    """The default questions: for each entry, the tail of its smallest size class and the mean of its largest."""
    return [one for entry in comparison.scopes() for one in of_entry(comparison, entry)]


def of_entry(comparison: Comparison, entry: str | None) -> list[Question]:
    """The questions about one traffic entry, or about all traffic."""
    only = comparison.entries[0] if len(comparison.entries) == 1 else None
    if (name := entry or only) in comparison.with_operations:
        return [Question(entry, ALL_ENDED, ended_value(str(name)), of_trace=True)]
    if name in comparison.with_jobs:
        return job_questions(comparison, str(name), entry)
    parts = [name for name in comparison.classes_of(entry) if name != ALL]
    if not parts:
        return [flows_question(entry, ALL, "fct_s.p99", "p99 FCT")]
    small, large = parts[0], parts[-1]
    return [
        flows_question(entry, small, "fct_s.p99", f"p99 FCT of {small} flows"),
        flows_question(entry, large, "fct_s.mean", f"mean FCT of {large} flows"),
    ]


def flows_question(entry: str | None, size_class: str, metric: str, words: str) -> Question:
    """A question about the flows of a size class."""
    value, waits = partial(value_of, size_class, metric, entry), partial(tail_waits, size_class, entry)
    return Question(entry, words, value, size_class, waits if metric.endswith("p99") else None)


def value_of(size_class: str, metric: str, entry: str | None, cell: Cell) -> float:
    """A number of the flows of a size class in a run."""
    return cell.value(size_class, metric, entry)


def tail_waits(size_class: str, entry: str | None, cell: Cell) -> bool:
    """Whether most flows at the 99th percentile of a size class or beyond met a timeout in a run."""
    return cell.summary.of(size_class, entry).tail_waited("p99", timeouts(cell, entry))


def job_questions(comparison: Comparison, name: str, entry: str | None) -> list[Question]:
    """The question about the rounds of a traffic entry: when they are all done, or how long one takes."""
    metric, words = OF_ROUNDS.get(comparison.cells[0].jobs[name].kind, ("total_s", "time until the job is done"))
    return [Question(entry, words, job_value(name, metric), ALL, partial(rounds_wait, name), name)]


def rounds_wait(name: str, cell: Cell) -> bool:
    """Whether each round of a traffic entry may have met a timeout in a run."""
    return timeouts(cell, name) >= cell.jobs[name].rounds


def verdicts(comparison: Comparison) -> list[Verdict]:
    """The answers at every load, entry by entry.

    Raises:
        TypeError: it is not a comparison.
    """
    if not isinstance(comparison, Comparison):
        raise unlike("comparison", "what spinewise.compare gives", comparison)
    return [verdict(comparison, asked, load) for load in comparison.loads for asked in questions(comparison)]


def verdict(comparison: Comparison, asked: Question, load: float | None) -> Verdict:
    """The answer to one question at one load."""
    means = means_of(comparison, asked, load)
    aside = set_aside(comparison, asked, load)
    order = in_order(means, aside)
    if not order:
        nothing = stats.Interval(math.nan, math.nan, 0)
        return Verdict(
            asked, load, None, nothing, [], nothing, None, first_on=0, alike=False, worst=None, why=[], price=[],
            aside=aside,
        )  # fmt: skip
    best, last = order[0], order[-1]
    first = comparison.labels[0]
    other = first if first != best and first in order else (order[1] if len(order) > 1 else None)
    alike = len(order) > 1 and means[last] - means[best] <= ALIKE * means[best]
    shared = timeouts_everywhere(comparison, asked, load)
    tied, beats = ties(comparison, asked, load, order), beaten(comparison, asked, load, order)
    first_on, seeds = first_of(comparison, asked, load, order)
    against = stats.Interval(math.nan, math.nan, 0)
    why: list[Reason] = []
    price: list[Reason] = []
    if other is not None:
        shown, to = (best, other) if other == first else (other, best)
        against = comparison.against(shown, load, asked.value, to)
        if alike or len(tied) == len(order) - 1:
            # Nothing can be distinguished: perhaps it is decided where no scheme has a choice.
            shared = shared or full_port(comparison, asked.entry, load) or idle_links(comparison, load)
        if not alike and (other in beats or len(comparison.seeds) < FEWEST_SEEDS):
            # A difference that may be chance needs no reason; with one seed, chance is unknown.
            why, price = reasons(comparison, asked.entry, load, best, other)
    return Verdict(
        question=asked,
        load=load,
        best=best,
        value=comparison.over(best, load, asked.value),
        ties=tied,
        first_on=first_on,
        against=against,
        other=other,
        alike=alike,
        worst=(last, comparison.against(last, load, asked.value, best)) if last != best else None,
        why=[*([shared] if shared else []), *why],
        price=price,
        seeds=seeds,
        judged=order,
        aside=aside,
        beats=beats,
    )


def means_of(comparison: Comparison, asked: Question, load: float | None) -> dict[str, float]:
    """The mean over seeds of each scheme."""
    return {label: comparison.over(label, load, asked.value).mean for label in comparison.labels}


def in_order(means: Mapping[str, float], aside: Mapping[str, str]) -> list[str]:
    """The schemes that are judged, by their means."""
    known = (label for label in means if math.isfinite(means[label]) and label not in aside)
    return sorted(known, key=lambda label: means[label])


def set_aside(comparison: Comparison, asked: Question, load: float | None) -> dict[str, str]:
    """The schemes that are not judged, and why."""
    found: dict[str, str] = {}
    left: dict[str, tuple[int, int]] = {}
    for label in comparison.labels:
        cells = comparison.at(label, load)
        if locked := sum(bool(cell.summary.deadlock) for cell in cells):
            found[label] = f"DEADLOCK on {locked} of {units.counted(len(cells), 'seed')}"
            continue
        left[label] = asked.left(cells)
    for label in left_too_many(left):
        unfinished, whole = left[label]
        found[label] = f"{unfinished:,} of {units.counted(whole, asked.unit)} left unfinished"
    seeds = units.counted(len(comparison.seeds), "seed")
    lacking = {label: f"no value on {n} of {seeds}" for label, n in without_value(comparison, asked, load).items() if n}
    why = lacking | found
    return {label: why[label] for label in comparison.labels if label in why}


def left_too_many(left: Mapping[str, tuple[int, int]]) -> list[str]:
    """The schemes that left a share of flows or rounds unfinished so much greater than another's (`SURVIVORS`).

    Args:
        left: by scheme, how many are unfinished, and how many there were.
    """
    shares = {label: unfinished / whole for label, (unfinished, whole) in left.items() if whole}
    fewest = min(shares.values(), default=0.0)
    return [label for label, share in shares.items() if share - fewest > SURVIVORS]


def without_value(comparison: Comparison, asked: Question, load: float | None) -> dict[str, int]:
    """The number of seeds on which a scheme has no value, or a deadlock, while another one has a value."""
    known = {
        label: [math.isfinite(asked.value(cell)) and not cell.summary.deadlock for cell in comparison.at(label, load)]
        for label in comparison.labels
    }
    anyone = [any(row) for row in zip(*known.values(), strict=True)]
    return {label: sum(anyone) - sum(own) for label, own in known.items()}


def timeouts_everywhere(comparison: Comparison, asked: Question, load: float | None) -> Reason | None:
    """A reason, if a time is at least a timeout in every run of every scheme, and enough flows had one."""
    if asked.waits is None:
        return None
    counts: list[float] = []
    waits: set[float] = set()
    for label in comparison.labels:
        for cell in comparison.at(label, load):
            if cell.min_rto_s is None or not asked.waits(cell) or not asked.value(cell) >= cell.min_rto_s:
                return None
            counts.append(float(timeouts(cell, asked.entry)))
            waits.add(cell.min_rto_s)
    return shared_timeouts(comparison, load, counts, waits)


def timeouts(cell: Cell, entry: str | None) -> int:
    """Timeouts of one traffic entry, or of all traffic."""
    return (cell.summary.packets if entry is None else cell.summary.entry(entry).packets).timeouts


def first_of(comparison: Comparison, asked: Question, load: float | None, order: list[str]) -> tuple[int, int]:
    """The number of seeds on which none of `order` beat its first, and the number on which all have a value."""
    rows = zip(*([asked.value(cell) for cell in comparison.at(label, load)] for label in order), strict=True)
    whole = [row for row in rows if all(map(math.isfinite, row))]
    return sum(row[0] <= min(row) for row in whole), len(whole)


def ties(comparison: Comparison, asked: Question, load: float | None, order: list[str]) -> list[str]:
    """The schemes indistinguishable from the first of `order`; empty with one seed, which cannot show anything."""
    if len(comparison.seeds) < FEWEST_SEEDS:
        return []
    apart = stats.told_from_best([[asked.value(cell) for cell in comparison.at(label, load)] for label in order])
    return [label for label, told in zip(order[1:], apart[1:], strict=True) if not told]


def beaten(comparison: Comparison, asked: Question, load: float | None, order: list[str]) -> list[str]:
    """The schemes that the first of `order` surely beats."""
    return [label for label in order[1:] if surely_less(comparison, asked, load, (order[0], label), len(order))]


def surely_less(
    comparison: Comparison, asked: Question, load: float | None, pair: tuple[str, str], judged: int
) -> bool:
    """Whether the first of a pair is surely less than the second, corrected for the number of judged schemes."""
    one, other = ([asked.value(cell) for cell in comparison.at(label, load)] for label in pair)
    return stats.is_less(one, other, stats.error_each(judged - 1))


def apart_from_first(comparison: Comparison, asked: Question, load: float | None) -> list[str]:
    """The schemes that are surely less than the first one, or surely more, as their means say, by the test of ties.

    It decides on brackets in tables. Either scheme of such a pair that is more is told from the best in the answer to
    the same question, so that tables and answers agree. The signs of all differences without brackets are right with 95
    % confidence. A scheme that is not judged has brackets.
    """
    means = means_of(comparison, asked, load)
    judged, first = in_order(means, set_aside(comparison, asked, load)), comparison.labels[0]
    if first not in judged:
        return []
    place = judged.index(first)
    pairs = {label: (label, first) if at < place else (first, label) for at, label in enumerate(judged) if at != place}
    return [label for label, pair in pairs.items() if surely_less(comparison, asked, load, pair, len(judged))]
