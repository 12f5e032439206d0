"""The other conditions that an answer was tried under, in words."""

from __future__ import annotations

import math

from spinewise.advice.answer import Advice, CaseAnswer
from spinewise.advice.choice import interval, percent
from spinewise.advice.stress import Regret
from spinewise.measures import stats, units


def regret(case: CaseAnswer, label: str) -> float:
    """How much worse a scheme was in a case than the best; NaN if it was not compared."""
    found: Regret | None = next((one for one in case.regrets if one.scheme == label), None)
    return math.nan if found is None else found.mean


def is_absent(case: CaseAnswer, label: str) -> bool:
    """Whether a case compared other schemes but not this one."""
    return bool(case.regrets) and label not in case.deadlocks and math.isnan(regret(case, label))


def absent(case: CaseAnswer, label: str) -> str:
    """The reason why a scheme did not run in a case, and the best of the others."""
    because = f" ({case.left[label]})" if label in case.left else ""
    return f"{label} did not run there{because}; of the others {case.regrets[0].scheme} is the best"


def is_bounded(case: CaseAnswer, label: str, band: float) -> bool:
    """Whether a scheme is surely within the band of the best of a case: the far end of each interval is.

    Two seeds may be close by luck, which an interval would mistake for no spread.
    """
    others = [one for one in case.regrets if one.scheme != label]
    mine = next(one for one in case.regrets if one.scheme == label)
    if min(one.seeds for one in case.regrets) < stats.FEWEST_PAIRS:
        return False
    if mine.mean > 0.0:
        return mine.high <= band
    return all(one.low >= -band for one in others)


def regret_told(case: CaseAnswer, label: str) -> str:
    """How much worse a scheme was in a case than the best, in words."""
    if label in case.deadlocks:
        return f"DEADLOCK on {units.counted(case.deadlocks[label], 'seed')}"
    found = next((one for one in case.regrets if one.scheme == label), None)
    if found is None:
        return "did not run" if case.regrets else ""
    return "best" if found.mean == 0.0 else f"{percent(found.mean)} {interval(found.low, found.high)}"


def in_cases(advice: Advice) -> list[str]:
    """The schemes that were tried in some case."""
    tried = [label for case in advice.cases for label in (*(one.scheme for one in case.regrets), *case.deadlocks)]
    return list(dict.fromkeys(tried))
