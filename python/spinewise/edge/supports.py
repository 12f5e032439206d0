"""The support of a statement: comparisons of schemes, which the runs confirm by more than chance or do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spinewise.edge.numbers import Cell, is_less
from spinewise.measures import units


@dataclass(frozen=True)
class Support:
    """A measured comparison.

    Attributes:
        text: the comparison with its numbers.
        holds: whether the runs confirm it by more than chance.
    """

    text: str
    holds: bool


def whole(value: float) -> str:
    """A count of packets."""
    return units.count(value) if value >= 100 else units.digits(value, 2)


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}"


QUANTITIES: dict[str, tuple[str, Callable[[float], str]]] = {
    "again": ("packets retransmitted", whole),
    "again/sent": ("share of packets that were retransmitted", units.percent),
    "timeouts": ("timeouts", whole),
    "marked": ("packets marked", whole),
    "trimmed_up+trimmed_down": ("packets trimmed inside the fabric", whole),
    "trimmed_up": ("packets trimmed on the way up", whole),
    "trimmed_last": ("packets trimmed at hosts' ports", whole),
    "dropped": ("packets dropped at switches", whole),
    "lost": ("packets lost on links", whole),
    "out_of_order": ("packets out of order", units.percent),
    "moved": ("packets that left by another uplink than the previous one", units.percent),
    "imbalance": ("imbalance of equal links", times),
    "faulty": ("bytes on the faulty uplink over those on another one of its leaf", times),
    "paused_s": ("total pauses of all queues", units.duration),
    "messages": ("bytes that carry no data", units.percent),
    "other_s": ("time until the other traffic is done", lambda value: units.duration(value, 3)),
    "mean_fct_s": ("mean completion time", lambda value: units.duration(value, 3)),
}
"""Further quantities of a run: their words, and how a value is shown."""


def told(cell: Cell, name: str) -> tuple[str, Callable[[float], str]]:
    """Words of a quantity in a cell, and how a value of it is shown."""
    return QUANTITIES.get(name, (cell.workload.asked, cell.shown))


def less(cell: Cell, name: str, scheme: str, *others: str, share: float = 1.0) -> Support:
    """`scheme` has surely less of a quantity than each of `others`, or than `share` of it, by paired t tests."""
    words, shown = told(cell, name)
    first, *rest = (f"`{one}` {shown(cell.mean(one, name).mean)}" for one in (scheme, *others))
    sign = "<" if share == 1.0 else f"< {share:g} of"
    holds = all(cell.less(scheme, other, name, share) for other in others)
    return Support(f"{cell.title}: {words}: {first} {sign} {', '.join(rest)}", holds)


def more(cell: Cell, name: str, scheme: str, *others: str) -> Support:
    """`scheme` has surely more of a quantity than each of `others`."""
    words, shown = told(cell, name)
    first, *rest = (f"`{one}` {shown(cell.mean(one, name).mean)}" for one in (scheme, *others))
    holds = all(cell.less(other, scheme, name) for other in others)
    return Support(f"{cell.title}: {words}: {first} > {', '.join(rest)}", holds)


def at_most(cell: Cell, name: str, bound: float, *schemes: str) -> Support:
    """Each scheme has at most `bound` of a quantity on every seed."""
    words, shown = told(cell, name)
    values = [f"`{one}` {shown(cell.mean(one, name).mean)}" for one in schemes]
    holds = all(value <= bound for one in schemes for value in cell.values(one, name))
    return Support(f"{cell.title}: {words}: {', '.join(values)}", holds)


def alike(cell: Cell, name: str, bound: float, *schemes: str) -> Support:
    """The greatest mean of a quantity is at most `bound` times the least."""
    words, shown = told(cell, name)
    means = sorted(cell.mean(one, name).mean for one in schemes)
    which = f"{len(schemes)} schemes" if len(schemes) == len(cell.rows) else ", ".join(f"`{one}`" for one in schemes)
    text = f"{cell.title}: {words}, under each of {which}: {shown(means[0])} to {shown(means[-1])}"
    return Support(text, means[-1] <= bound * means[0])


def both(before: Cell, after: Cell, scheme: str, name: str = "value") -> str:
    """A quantity of a scheme in two cells."""
    words, shown = told(after, name)
    first, second = (shown(cell.mean(scheme, name).mean) for cell in (before, after))
    return f"{after.title}: {words}: `{scheme}` {second}; {before.title}: {first}"


def barely_slower(before: Cell, after: Cell, bound: float, *schemes: str) -> Iterator[Support]:
    """The mean of each scheme in one cell is at most `bound` times that in another."""
    for one in schemes:
        yield Support(both(before, after, one), after.mean(one).mean <= bound * before.mean(one).mean)


def grown(before: Cell, after: Cell, bound: float, *schemes: str, name: str = "value") -> Iterator[Support]:
    """Each scheme has more than `bound` times as much of a quantity on every seed of one cell as on any of another."""
    for one in schemes:
        holds = min(after.values(one, name)) > bound * max(before.values(one, name))
        yield Support(both(before, after, one, name), holds)


def raised(before: Cell, after: Cell, *schemes: str) -> Iterator[Support]:
    """Each scheme takes surely longer in one cell than in another, by a paired t test over seeds."""
    for one in schemes:
        yield Support(both(before, after, one), is_less(before.values(one), after.values(one)))


def within(cell: Cell, bound: float, *schemes: str) -> Support:
    """The mean of each scheme is at most `bound` times that of the best of the cell."""
    values = [f"`{one}` {cell.ratio(one, cell.order[0]):.2f}" for one in schemes]
    holds = all(cell.ratio(one, cell.order[0]) <= bound for one in schemes)
    return Support(f"{cell.title}: {cell.workload.asked}, over the best: {', '.join(values)}", holds)


def leads(cell: Cell, *schemes: str) -> Support:
    """Support that each scheme is the best of the cell, or indistinguishable from it."""
    names = ", ".join(f"`{one}` {cell.shown(cell.mean(one).mean)}" for one in schemes)
    return Support(f"{cell.title}: the best, or not significantly worse: {names}", set(schemes) <= set(cell.ties))
