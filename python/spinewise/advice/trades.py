"""Trade-offs between several aims: how certain each is, where the answer is worse, and what else could be chosen."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from spinewise.advice.answer import Advice, AimAnswer, Share
from spinewise.advice.wording import ALIKE, FEW, against, few, is_surely_worse, tell_mean, value
from spinewise.measures import units


def bands(aims: Sequence[AimAnswer]) -> str:
    """The band of the only aim, or that of each."""
    if len(aims) == 1:
        return units.percent(aims[0].band)
    return ", ".join(f"{units.percent(aim.band)} of {aim.text}" for aim in aims)


def by_first(advice: Advice, text: str) -> str:
    """A sentence that is true for the first aim, with the aim named if there are several."""
    return text if len(advice.aims) == 1 else f"by {advice.aims[0].text}, the first aim: {text}"


def verdict(aim: AimAnswer, share: Share) -> str:
    """A note that an aim is worse than under the other scheme, and how certain that is; empty if it seems no worse."""
    if math.isnan(share.mean):
        return ""
    if is_surely_worse(aim, share):
        return ": worse"
    if (share.mean < 0.0) == aim.more_is_better and share.mean != 0.0:
        return ": worse, which may be chance"
    return ""


def losses(advice: Advice, shares: Sequence[Share]) -> list[str]:
    """The further aims on which a scheme is worse than another, surely or by more than `ALIKE` in the means, in a line.

    Empty without `shares`, as for what runs today.
    """
    lines = []
    for aim, share in list(zip(advice.aims, shares, strict=bool(shares)))[1:]:
        said = verdict(aim, share)
        if said and (is_surely_worse(aim, share) or abs(share.mean) > ALIKE):
            lines.append(f"{aim.text} {against(share)}{said.removeprefix(': worse')}")
    return [f"but worse than {shares[0].than} at {'; '.join(lines)}"] if lines else []


def trade_offs(advice: Advice) -> list[str]:
    """The schemes of the Pareto front by their own numbers, then those that are behind them but not surely so."""

    def costs(label: str) -> list[float]:
        values = [value(advice.entrant(label), place) for place in range(len(advice.aims))]
        return [-one if aim.more_is_better else one for aim, one in zip(advice.aims, values, strict=True)]

    known = {label: costs(label) for label in advice.front}
    ahead = [
        label
        for label, mine in known.items()
        if not any(other != mine and all(map(operator.le, other, mine)) for other in known.values())
    ]
    ahead.sort(key=known.__getitem__)
    behind = [label for label in known if label not in ahead]
    lines = [trade(advice, label) for label in ahead[:FEW]]
    return lines + ([f"behind one of these, though not surely: {few(behind)}"] if behind else [])


def trade(advice: Advice, label: str) -> str:
    """A scheme of the Pareto front with its numbers."""
    found = advice.entrant(label)
    numbers = ", ".join(f"{aim.text} {tell_mean(aim, found, place)}" for place, aim in enumerate(advice.aims))
    return f"{label} ({found.level}): {numbers}"
