"""The first part of the output of `compare`: which scheme is best at what, how certain that is, and what differs."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from spinewise.comparison.cells import Comparison
from spinewise.comparison.reasons import Reason
from spinewise.comparison.tables import bracketed, load_name, of_seeds, plus_minus
from spinewise.comparison.verdict import FEWEST_SEEDS, Verdict, verdicts
from spinewise.measures import stats, units

HEADING = "The best scheme, and what comes with it"


def answers(comparison: Comparison) -> RenderableType:
    """The verdicts, load by load; empty if there is nothing to compare."""
    if len(comparison.labels) < 2:
        return Group()
    parts: list[RenderableType] = [Text(HEADING, style="bold"), Text("")]
    before: float | str | None = "none yet"
    for found in verdicts(comparison):
        if found.load != before and len(comparison.loads) > 1:
            parts.append(Text(f"  at load {load_name(comparison, found.load)}"))
        before = found.load
        parts += [indented(text, 2 if number == 0 else 6) for number, text in enumerate(lines(comparison, found))]
    return Group(*parts, Text(""))


def indented(text: str, by: int) -> Padding:
    """A paragraph with every line indented."""
    return Padding(Text(text), (0, 0, 0, by))


def lines(comparison: Comparison, found: Verdict) -> list[str]:
    """A verdict in words: the answer, the ties, and the differences."""
    asked = found.question
    what = asked.words if asked.entry is None else f"{asked.entry}, {asked.words}"
    if found.best is None:
        return [f"{what}: {'no scheme is judged' if found.aside else nothing_ended(found)}", *not_judged(found)]
    if found.alike:
        who = "all that are judged" if found.aside else "all schemes"
        lines = [
            f"{what}: {who} alike, {units.duration(found.value.mean)}{of_seeds(comparison, found.value)}{spread(found)}"
        ]
    else:
        lines = [f"{what}: {answer(comparison, found)}"]
        lines += [*tied(comparison, found), *two_tests(found)]
    lines += [*left_open(comparison, found), *not_judged(found)]
    return [*lines, *told("why", found.why), *told("price", found.price), *unexplained(comparison, found)]


def nothing_ended(found: Verdict) -> str:
    """The reason why no scheme has a value: a job needs all its rounds, and a trace all its operations."""
    unit = found.question.unit
    return {
        "flow": "no flow has finished",
        "round": "every scheme left rounds unfinished",
        "trace": "every scheme left the trace unfinished",
    }[unit]


def tied(comparison: Comparison, found: Verdict) -> list[str]:
    """The schemes indistinguishable from the best, and those among them that are behind a distinguishable scheme."""
    if len(comparison.seeds) < FEWEST_SEEDS and len(found.judged) > 1:
        return ["one seed cannot tell schemes apart"]
    if not found.ties:
        return []
    everyone = len(found.ties) == len(comparison.labels) - 1
    few = f": {units.counted(found.value.n, 'seed')} are too few" if found.value.n < stats.FEWEST_PAIRS else ""
    near = f"not told apart from {'any other' if everyone else ', '.join(found.near)}{few}"
    means = "their means are" if len(found.far) > 1 else "its mean is"
    far = f"not told apart, but {means} worse than that of {found.ahead}: {', '.join(found.far)}"
    first = first_on(comparison, found)
    if not found.near:
        return [f"{first}; {far}"]
    return [f"{near}; {first}", *([far] if found.far else [])]


def two_tests(found: Verdict) -> list[str]:
    """A note, if the confidence interval and the significance test disagree."""
    change, sure = found.against, found.other in found.beats
    if found.other is None or change.n < stats.FEWEST_PAIRS or change.excludes_zero == sure:
        return []
    ends = f"{units.signed_percent(change.low)} to {units.signed_percent(change.high)}"
    if sure:
        return [f"surely less than {found.other} by the paired test over seeds, although the interval of the"
                f" difference, {ends}, includes zero"]  # fmt: skip
    among = f", among {len(found.judged)} schemes" if len(found.judged) > 2 else ""
    return [f"not surely less than {found.other} by the paired test over seeds{among}, although the interval of this"
            f" difference alone, {ends}, excludes zero"]  # fmt: skip


def first_on(comparison: Comparison, found: Verdict) -> str:
    """The number of seeds on which the best was first, of those on which all judged schemes have a value."""
    if found.seeds == len(comparison.seeds):
        return f"first on {found.first_on} of {units.counted(found.seeds, 'seed')}"
    these = units.counted(found.seeds, "seed")
    return f"first on {found.first_on} of the {these} on which all of these have a value"


def not_judged(found: Verdict) -> list[str]:
    """Schemes that are not judged, because only lucky flows, rounds or seeds contribute to their means."""
    told = ", ".join(f"{label} ({why})" for label, why in found.aside.items())
    return [f"not judged: {told}"] if told else []


def left_open(comparison: Comparison, found: Verdict) -> list[str]:
    """The flows or rounds that the best scheme and the others left unfinished, and that no mean includes."""
    asked = found.question

    def count(label: str) -> int:
        return asked.left(comparison.at(label, found.load))[0]

    if found.best is None:
        return []
    own = count(found.best)
    if not own:
        return []
    others = {label: count(label) for label in found.judged if label != found.best}
    but = "but " if any(left < own for left in others.values()) else ""
    said = f"{but}{found.best} left {units.counted(own, asked.unit)} unfinished: in no mean here"
    return [f"{said}; {rest_left(others)}" if others else said]


def rest_left(others: dict[str, int]) -> str:
    """The numbers that the other schemes left unfinished, from the fewest to the most."""
    fewest, most = min(others, key=others.__getitem__), max(others, key=others.__getitem__)
    if others[fewest] == others[most]:
        return f"{fewest if len(others) == 1 else 'each of the others'} {others[most] or 'none'}"
    return f"the others {others[fewest] or 'none'} ({fewest}) to {others[most]:,} ({most})"


def spread(found: Verdict) -> str:
    """How far the last of several similar schemes is behind the first."""
    behind = found.worst[1].mean if found.worst else 0.0
    return f", the last {units.percent(behind, 2)} above" if behind > 0.0 else ""


def answer(comparison: Comparison, found: Verdict) -> str:
    """The best scheme, its number, and the difference that counts."""
    name, size = units.time_unit([found.value.mean])
    first = comparison.labels[0]
    said = f"{found.best}, {plus_minus(found.value, size)} {name}{of_seeds(comparison, found.value)}"
    if found.other is not None:
        change = as_sure(comparison, found, found.other, found.against)
        said += f", {change} against {first}" if found.other == first else f"; next {found.other}, {change}"
    if found.worst and found.worst[0] != found.other and found.worst[0] not in found.ties:
        said += f"; last {found.worst[0]}, {as_sure(comparison, found, *found.worst)} against {found.best}"
    return said


def as_sure(comparison: Comparison, found: Verdict, label: str, change: stats.Interval) -> str:
    """A difference between the best and another scheme, in brackets if the best is not surely lower."""
    return bracketed(change, len(comparison.seeds), sure=label in found.beats)


def told(what: str, reasons: list[Reason]) -> list[str]:
    """Reasons one to a line, after a word."""
    return [f"{what + ':' if number == 0 else ' ' * len(what) + ' '} {one.text}" for number, one in enumerate(reasons)]


def unexplained(comparison: Comparison, found: Verdict) -> list[str]:
    """A note that no fact differs, if that is so; a difference that may be chance is not mentioned."""
    sure = found.other in found.beats or len(comparison.seeds) < FEWEST_SEEDS
    if found.why or found.price or found.alike or found.other is None or not sure:
        return []
    enough = "by more than chance" if found.value.n > 1 else "by enough to count"
    return [f"why: not seen; no recorded fact differs from {found.other} {enough}"]


def how_told(comparison: Comparison) -> str | None:
    """A note on how verdicts are found."""
    schemes = len(comparison.labels)
    if schemes < 2:
        return None
    if len(comparison.seeds) < 2:
        return (
            "one seed cannot tell schemes apart. 'why', 'price': facts that differ on this seed, perhaps by chance;"
            " whether they are causes is not tested."
        )
    return (
        "'not told apart': none is surely better (paired t tests of logarithms over seeds), so with 95 % confidence the"
        " best is among them. 'why', 'price': facts that differ, each tested separately at 5 %; whether they are causes"
        " is not tested."
    )
