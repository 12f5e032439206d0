"""The tests of an answer: how each scheme fared in each case, and where the answer would be wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spinewise.advice import choice as choosing
from spinewise.advice.answer import CaseAnswer
from spinewise.advice.conduct import Course
from spinewise.advice.stress import Case, Regret, regrets
from spinewise.measures import units
from spinewise.measures.stats import FEWEST_PAIRS


def regrets_of(course: Course, cases: Sequence[Case]) -> dict[str, list[Regret]]:
    """The regrets of the schemes in each case; empty where fewer than two schemes can be compared."""
    costs = {case.name: case_costs(course, case) for case in cases}
    compared = {name: found for name, found in costs.items() if len(found) > 1 and all(found.values())}
    many = sum(len(found) - 1 for found in compared.values())
    more = course.aims[0].more_is_better
    return {
        name: regrets(compared[name], more_is_better=more, comparisons=many) if name in compared else []
        for name in costs
    }


def case_costs(course: Course, case: Case) -> dict[str, list[float]]:
    """The costs of the schemes tried in a case, on the seeds that all have and whose traffic has a value of the aim."""
    seeds, trials = course.tried.get(case.name, []), course.trials.found
    labels = list(dict.fromkeys(label for at, label, _ in trials if at == case.name))
    if not seeds:
        return {}
    found = {
        label: [trials[case.name, label, seed].costs[0] for seed in seeds]
        for label in labels
        if all((case.name, label, seed) in trials for seed in seeds)
    }
    able = {label: costs for label, costs in found.items() if any(map(math.isfinite, costs))} or found
    # As in the race: a seed whose traffic has no flow of the aim shows nothing, whatever the scheme.
    whole = [place for place in range(len(seeds)) if all(math.isfinite(costs[place]) for costs in able.values())]
    return {label: [costs[place] for place in whole] for label, costs in able.items()}


def case_answer(course: Course, case: Case, found: Sequence[Regret]) -> CaseAnswer:
    """The outcome for the answer in a case."""
    lost = {label: text for (at, label, _), text in course.trials.failed.items() if at == case.name}
    failed = next((f"a run of {label} failed: {text}" for label, text in lost.items()), None)
    because = case.because
    locked = {label: len(seeds) for label, seeds in course.trials.deadlocks(case.name).items()}
    if because is None and not found and not locked:
        late = "it was interrupted" if course.interrupted else "no time was left"
        late = "no scheme has a choice here" if course.no_choice else late
        costs = case_costs(course, case)
        few = "fewer than two schemes to compare" if course.tried.get(case.name) else late
        because = failed or (few if len(costs) < 2 else no_value(course))
    compared = {one.scheme for one in found}
    left = {label: f"a run of it failed: {text}" for label, text in lost.items() if label not in compared}
    left |= course.unfit.get(case.name, {})
    return CaseAnswer(case.name, case.words, because is None, because, tuple(found), locked, left)


def no_value(course: Course) -> str:
    """The reason why a case tells nothing whose runs have no value of the aim."""
    return f"no seed that was run there has a value of {course.aims[0].text} under all schemes tried"


def wrong_when(course: Course, advised: str, cases: Sequence[CaseAnswer]) -> list[str]:
    """The conditions under which another scheme would be better, in words, the worst first."""
    found: list[tuple[float, str]] = []
    many = sum(max(len(case.regrets) - 1, 0) for case in cases)
    for case in cases:
        if advised in case.deadlocks:
            locked = f"{advised} has a DEADLOCK{on_seeds(case.deadlocks[advised])}{without(case)}"
            found.append((math.inf, f"with {case.words}: {locked}"))
            continue
        mine = next((one for one in case.regrets if one.scheme == advised), None)
        if mine is None or mine.mean <= course.race.bands[0]:
            continue
        surely = f"{advised} is {units.percent(mine.mean)} worse than {case.regrets[0].scheme}"
        doubt = "" if mine.is_sure else ", which may be chance"
        if mine.low > 0.0 and doubt:
            doubt += f": {why_doubted(mine, many)}"
        found.append((mine.mean, f"with {case.words}: {surely} {choosing.interval(mine.low, mine.high)}{doubt}"))
    return [text for _, text in sorted(found, reverse=True)]


def why_doubted(mine: Regret, many: int) -> str:
    """The reason why a regret may be chance although its own interval excludes zero."""
    if mine.seeds < FEWEST_PAIRS:
        return f"on {units.counted(mine.seeds, 'seed')}"
    return f"one of {units.counted(many, 'such comparison')}"


def without(case: CaseAnswer) -> str:
    """The best of the schemes that had no deadlock in a case."""
    best = next((one.scheme for one in case.regrets if one.scheme not in case.deadlocks), None)
    if best is not None:
        return f"; {best} has none"
    return ", as under every scheme tried" if len(case.deadlocks) > 1 else ""


def on_seeds(count: int) -> str:
    """The number of seeds of a case on which something happened, in words."""
    return f" on {units.counted(count, 'seed')}"
