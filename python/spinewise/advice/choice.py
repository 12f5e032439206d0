"""From the race to the choice: among indistinguishable schemes, the cheapest to deploy, then the hardest to break.

What runs today stays if nothing is shown to be better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spinewise.advice.answer import LevelAnswer, Outlier, Share, Stands, Status
from spinewise.advice.candidates import LEVELS, Candidate
from spinewise.advice.conduct import FEWEST_TO_TEST, STRESS_SCHEMES, Course
from spinewise.advice.forecast import PILOT
from spinewise.advice.gear import steps
from spinewise.advice.race import Race
from spinewise.advice.stress import Regret
from spinewise.advice.trials import PLAIN, Trial
from spinewise.comparison.reasons import facts
from spinewise.measures import units
from spinewise.specs.kinds import family_of

TO_SIGMA = 1.4826
"""Median absolute deviation to standard deviation, of Gaussian values."""
OUTLYING = 3.0
"""The number of deviations beyond which a seed is an outlier."""
FAR = 10.0
"""The largest end of an interval, as a share, that is reported if the interval includes zero."""
PROMISING = 0.05
"""The share by which a scheme's mean may trail the best and still be called promising, because it costs less."""
TELLING = 2.0
"""The factor above its usual value from which a fact of the worst seed is considered the cause."""


@dataclass(frozen=True)
class Choice:
    """The conclusions from a race.

    Attributes:
        advised: the answer.
        near: the schemes within the band of the best remaining one.
        look_at: the scheme that seems better than what runs today, if none is shown to be; None otherwise.
        tied: all that are indistinguishable from the best, the lowest mean first.
        levels: the best at each level.
    """

    advised: str
    near: tuple[str, ...]
    look_at: str | None
    tied: tuple[str, ...]
    levels: tuple[LevelAnswer, ...]


def choose(course: Course, worst: Mapping[str, float] | None = None) -> Choice:
    """The choice at every level, the last of which is the answer.

    Args:
        course: after its race.
        worst: the greatest regret of each scheme that was tried under other conditions.
    """
    levels = [level_answer(course, level, pool, worst or {}) for level, pool in course.pools().items()]
    last = levels[-1]
    return Choice(last.advised, last.near, last.look_at, last.tied, tuple(levels))


def level_answer(course: Course, level: str, pool: Sequence[str], worst: Mapping[str, float]) -> LevelAnswer:
    """The best of the schemes that change no more than a level."""
    race, today = course.race, course.who.today
    tied = race.contenders(pool)
    near = within(race, tied, race.bands[0])
    sure = [label for label in near if course.is_out(today) or race.against(label, today).high < 0.0]
    advised: str = min(near, key=lambda label: rank(course, label, near, worst))
    stands: Stands = "guess"
    look_at: str | None = None
    # A band that was not asked for, but widened as seeds differ much, does not excuse what is surely behind.
    limit = race.bands[0] if len(course.bands) == 1 else min(PROMISING, race.bands[0])
    if today in near and all(race.against(label, today).high >= -math.log1p(limit) for label in sure):
        advised, stands = today, "good enough"
    elif sure:
        advised, stands = min(sure, key=lambda label: rank(course, label, near, worst)), "better"
    elif today in tied:
        ahead = within(race, tied, min(PROMISING, race.bands[0]))
        advised, stands, look_at = today, "undecided", min(ahead, key=lambda label: rank(course, label, near, worst))
    settled = all(race.settled(pool, aim) for aim in range(race.aims))
    return LevelAnswer(
        level, advised, tuple(tied), than_today(course, advised), settled, tuple(near), stands, look_at,
        than_today(course, look_at),
    )  # fmt: skip


def than_today(course: Course, label: str | None) -> tuple[Share, ...]:
    """The values of a scheme against what runs today, aim by aim; empty for today's scheme itself.

    Also empty if a run of today's scheme failed, or it has no seed in common with the other.
    """
    today = course.who.today
    if label is None or label == today or course.is_lost(today) or not course.race.seeds([label, today]):
        return ()
    return tuple(share(course, label, today, aim) for aim in range(course.race.aims))


def within(race: Race, tied: Sequence[str], band: float) -> list[str]:
    """The tied schemes whose mean is worse than that of the best by no more than a band, as a share."""
    return [label for label in tied if label == tied[0] or race.against(label, tied[0]).mean <= math.log1p(band)]


def rank(course: Course, label: str, near: Sequence[str], worst: Mapping[str, float]) -> tuple[float, ...]:
    """The sort key of a scheme; the first is advised: cheaper, on the market, harder to break, defaults, better."""
    candidate = course.candidates[label]
    broken = worst.get(label, math.inf) if worst else 0.0
    breaks = math.inf if math.isinf(broken) else round(broken / course.race.bands[0])
    family = family_of(candidate.variant.apply(course.spec))
    bought = any(step.match == "same" for step in steps(candidate.variant.name, family))
    return (candidate.tier, float(not bought), breaks, float(candidate.tuned is not None), near.index(label))


def to_test(course: Course, choice: Choice) -> list[str]:
    """The schemes to try under other conditions: the answer, its possible replacements, each level's best, and today's.

    If these are few, the schemes dropped last are added, defaults first: another case may favour them.
    """
    levels = [label for one in reversed(choice.levels) for label in (one.look_at, one.advised)]
    order = [choice.advised, course.who.today, *levels, *choice.near, *choice.tied]
    found = [label for label in dict.fromkeys(order) if label in course.race.tiers][:STRESS_SCHEMES]
    dropped = [one.arm for one in reversed(course.race.drops) if one.arm in course.race.tiers and one.arm not in found]
    dropped.sort(key=lambda label: course.candidates[label].tuned is not None)
    found += dropped[: max(FEWEST_TO_TEST - len(found), 0)]
    # What had the same outcome in the spec as given may part from it in a case.
    return (found + [label for label, other in course.same.items() if other in found])[:STRESS_SCHEMES]


def share(course: Course, label: str, than: str, aim: int = 0) -> Share:
    """The value of an aim under one scheme against that under another."""
    found = course.race.against(label, than, aim)
    # Races go by costs, of which lower is better: those of a bandwidth are the inverse of its values.
    more = course.aims[aim].more_is_better
    mean, median = (of_value(log, more) for log in (found.mean, found.median))
    low, high = (of_value(end, more) if math.isfinite(end) else None for end in (found.low, found.high))
    return Share(than, mean, *((high, low) if more else (low, high)), median, found.seeds)


def of_value(log: float, more_is_better: bool) -> float:
    """A log ratio of costs as a share by which values differ."""
    return float(np.expm1(-log if more_is_better else log))


def than_best(course: Course, label: str, tied: Sequence[str]) -> tuple[Share, ...]:
    """The values of a scheme against the best remaining one, aim by aim; for the best, against the next."""
    race = course.race
    other = tied[0] if label != tied[0] else next((one for one in [*tied[1:], *race.tiers] if one != label), label)
    return tuple(share(course, label, other, aim) for aim in range(race.aims)) if other != label else ()


def status(candidate: Candidate, choice: Choice, race: Race) -> Status:
    """The final status of a scheme."""
    label = candidate.label
    if candidate.oracle:
        return "bound"
    if label == choice.advised:
        return "advised"
    if label in choice.tied:
        return "tied"
    return "behind" if label in race.alive else "dropped"


def worst_regret(cases: Mapping[str, Sequence[Regret]]) -> dict[str, float]:
    """The greatest regret of each scheme over all cases."""
    found: dict[str, float] = {}
    for regrets in cases.values():
        for one in regrets:
            found[one.scheme] = max(found.get(one.scheme, 0.0), one.mean)
    return found


def outlier(course: Course, label: str, others: Sequence[str]) -> Outlier | None:
    """The seed on which a scheme did worst against others, and how many seeds were good; None without others."""
    race = course.race
    peers = [one for one in others if one != label and one in race.values]
    seeds = race.seeds([label, *peers])
    if not peers or len(seeds) < PILOT:
        return None
    usual = np.median([np.log(race.column(one, 0, seeds)) for one in peers], axis=0)
    ratios = np.log(race.column(label, 0, seeds)) - usual
    middle = float(np.median(ratios))
    spread = TO_SIGMA * float(np.median(np.abs(ratios - middle)))
    limit = middle + max(OUTLYING * spread, math.log1p(race.bands[0]))
    place = int(ratios.argmax())
    good = int((ratios <= limit).sum())
    behind = of_value(float(ratios[place] - middle), course.aims[0].more_is_better)
    return Outlier(
        good, len(seeds), seeds[place], behind, cause(course, label, seeds, place) if good < len(seeds) else ""
    )


def cause(course: Course, label: str, seeds: Sequence[int], place: int) -> str:
    """Facts of one run of a scheme that are far above their median over its seeds, in words."""
    cells = course.trials.cells(PLAIN, label, seeds)
    entry = course.aims[0].entry
    told = []
    for fact in facts(None if entry == "all" else entry):
        values = [fact.value(cell) for cell in cells]
        usual = float(np.median(values))
        least = max(fact.least(cells[place]), usual * TELLING)
        if math.isfinite(values[place]) and values[place] > least and values[place] - usual >= 1e-12:
            told.append(f"{fact.words}: {fact.tell(values[place])}, usually {fact.tell(usual)}")
    return "; ".join(told[:2])


def same_runs(trials: Mapping[int, Trial], others: Mapping[int, Trial]) -> bool:
    """Whether two schemes had the same numbers and as many packets everywhere, on all seeds that both have."""
    both = trials.keys() & others.keys()
    return bool(both) and all(trials[seed].outcome == others[seed].outcome for seed in both)


def say_level(level: str) -> str:
    """A level in words: what is changed."""
    return {
        LEVELS[0]: "nothing is changed",
        LEVELS[1]: "configuration of what is there",
        LEVELS[2]: "software of every host",
        LEVELS[3]: "new leaf switches",
        LEVELS[4]: "every switch",
    }[level]


def percent(value: float | None) -> str:
    """A share in percent with its sign, which zero does not have."""
    return units.NOTHING if value is None or math.isnan(value) else units.signed_percent(value, " ")


def interval(low: float | None, high: float | None) -> str:
    """An interval of shares. If it includes zero and its far end is beyond `FAR`, it only shows that seeds are few.

    One seed has no interval, which the text says.
    """
    if all(end is None or math.isnan(end) for end in (low, high)):
        return "on one seed"
    if low is not None and high is not None and low < 0.0 and high > FAR:
        return "[too few seeds to bound it]"
    return f"[{percent(low)}, {percent(high)}]"
