"""Advice as a part of a page: what to run, by how much and how certainly, why, when it would be wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from spinewise.advice import cases, setups, show
from spinewise.advice.answer import Advice, CaseAnswer, Entrant
from spinewise.advice.choice import percent, say_level
from spinewise.advice.extremes import FAR_OFF
from spinewise.advice.trades import losses
from spinewise.advice.tried import FEW_SEEDS
from spinewise.advice.wording import against, common, tell_mean, value
from spinewise.measures import stats, units
from spinewise.page import charts
from spinewise.page.charts import Looks, rounded
from spinewise.page.grids import table
from spinewise.page.model import (
    Answer,
    Answers,
    Axis,
    Cell,
    Chart,
    Charts,
    Curve,
    Part,
    Section,
    Table,
    Tone,
    Words,
    number,
    text,
)
from spinewise.writing import json_text

APART = ("Warning", "Run", "Why", "Wrong if", "They differ", "Turn it on", "Not tried", "Effort", "Note")
"""Parts of the screen that have a place of their own."""
ALL_TRIED = "No scheme that was considered was left out."
STATUS: dict[str, tuple[str, Tone]] = {
    "advised": ("the answer", "head"),
    "tied": ("not told apart", ""),
    "behind": ("behind", "unsure"),
    "dropped": ("dropped", "unsure"),
    "same": ("same outcome as {}", "unsure"),
    "parted": ("may differ from {}", "unsure"),
    "bound": ("oracle", "unsure"),
    "deadlocked": ("DEADLOCK", "bad"),
}


def part(advice: Advice, name: str) -> Part:
    """The part of a page for one piece of advice."""
    told = dict(show.sections(advice))
    looks = charts.looked([one.label for one in advice.entrants])
    cards = Answers(tuple(answers(advice, told)))
    before, more = (tuple(Words(tuple(told[head])) for head in (at,) if head in told) for at in ("Warning", "Note"))
    return Part(
        title=show.title(advice),
        kind="advice",
        subtitle=f"{advice.name or name}: what runs today is {advice.today}; {advice.ended}",
        sections=(
            Section("The answer", (*before, cards, *more, table(show.level_table(advice)))),
            Section("Why", (Words(tuple(told.get("Why", ("No recorded fact differs by more than chance.",))),
                                  listed=True),)),
            Section("What was tried", (Charts(tuple(values(advice, looks)), VALUES), entrants(advice),
                                       *differ(advice))),
            Section("When it would be wrong", (Words(tuple(told["Wrong if"]), listed=True), *regrets(advice))),
            Section("How to turn it on", (Words(tuple(told["Turn it on"]), listed=True),)),
            *fabric(advice),
            Section("What was not tried", (Words(tuple(told.get("Not tried", (ALL_TRIED,))), listed=True),)),
            Section("How it was found", (Words((*told["Effort"], f"Method: {advice.method}."), listed=True),)),
        ),
    )  # fmt: skip


def fabric(advice: Advice) -> list[Section]:
    """The simulation, in words and as the whole spec; empty if an older file does not have it."""
    if advice.spec is None:
        return []
    whole = Words(
        (json_text(advice.spec),), verbatim=True,
        summary=f"The whole spec under {advice.today}, with every default",
    )  # fmt: skip
    return [Section("What was simulated", (Words(advice.simulated, listed=True), whole))]


VALUES = (
    "Geometric means over the seeds of each scheme, whose number is in brackets, with 95 % Student-t intervals of each"
    " scheme separately. Schemes that left early have fewer seeds, so bars compare roughly. The order is by differences"
    " from the best on the seeds that both have, which tell schemes apart: see the table."
)


def answers(advice: Advice, told: Mapping[str, Sequence[str]]) -> list[Answer]:
    """The answer, and the lines of the screen that go with it."""
    return [*first(advice), *(card(head, lines, advice) for head, lines in told.items() if head not in APART)]


def first(advice: Advice) -> list[Answer]:
    """The scheme to run; if nothing is shown to be better than what runs today, that, and what to look at."""
    found, last = advice.entrant(advice.advised), advice.levels[-1]
    if last.look_at is not None:
        other = advice.entrant(last.look_at)
        by = f"{advice.aims[0].text}: {against(last.look_at_than_today[0])}, which may be chance"
        return [
            Answer("keep", found.label, (show.NOT_SHOWN, found.about)),
            Answer(
                "most promising",
                other.label,
                (by, *losses(advice, last.look_at_than_today), other.about, say_level(other.level)),
                "unsure",
            ),
        ]
    worse, guess = [*show.ahead(advice), *losses(advice, last.than_today)], show.guessed(advice)
    sure = advice.ended == "settled" and not guess and not advice.no_choice and not advice.idle
    tone: Tone = "head" if sure else "unsure"
    kept = advice.advised == advice.today
    return [Answer("keep" if kept else "run", found.label, (*worse, *guess, found.about, say_level(found.level)), tone)]


def card(head: str, lines: Sequence[str], advice: Advice) -> Answer:
    """A part of the screen as a card."""
    last = advice.levels[-1].than_today
    if head == "By how much" and show.deadlocked(advice, advice.today):
        return Answer(head.lower(), "no deadlock", tuple(lines), "head")
    if head == "By how much" and show.failed(advice):
        return Answer(head.lower(), "not compared", tuple(lines), "unsure")
    if head == "By how much" and last:
        tone: Tone = "unsure" if show.guessed(advice) else "head"
        return Answer(head.lower(), percent(last[0].mean), tuple(lines), tone)
    if head == "How sure":
        return Answer(head.lower(), advice.ended, tuple(lines))
    if head == "It needs":
        what, *more = lines[0].split("; ")
        return Answer(head.lower(), what, tuple(more))
    return Answer(head.lower(), "", tuple(lines))


def values(advice: Advice, looks: Looks) -> list[Chart]:
    """A chart for each aim, with a bar for each scheme, ordered by their paired differences from the best."""
    made = []
    for place, aim in enumerate(advice.aims):
        size, unit = 1.0, aim.unit
        if aim.unit == "s":
            unit, size = units.time_unit([value(one, place) for one in advice.entrants])
        known = [one for one in advice.entrants if math.isfinite(value(one, place)) and one.status not in FEW_SEEDS]
        known.sort(key=lambda one: behind(advice, one, place))
        curves = tuple(
            Curve(
                label=one.label,
                colour=looks[one.label]["color"],
                dash="solid",
                symbol="circle",
                x=rounded([value(one, place) / size]),
                y=(float(row),),
                half=rounded([above / size]),
                below=rounded([below / size]) if math.isfinite(below) else (),
                hollow=(True,) if any(sample.unfinished[place] for sample in one.samples) else (),
                joined=False,
            )
            for row, one in enumerate(known)
            for below, above in [reach(one, place)]
        )
        title = f"{aim.text} [{unit}]" if unit else aim.text
        words = tuple(f"{one.label} ({len(one.samples)})" for one in known)
        made.append(Chart(title, Axis(title), Axis("", "words", words), curves, bars=True))
    return made


def behind(advice: Advice, one: Entrant, place: int) -> float:
    """The mean log ratio of an aim to the best, on the seeds that both have; above zero is worse."""
    best = advice.entrant(advice.tied[0])
    both = common([one, best])
    mine, theirs = (value(each, place, both) for each in (one, best))
    if not (mine > 0.0 and theirs > 0.0):
        return math.inf
    return math.log(mine / theirs) * (-1.0 if advice.aims[place].more_is_better else 1.0)


def reach(one: Entrant, place: int) -> tuple[float, float]:
    """How far the 95 % interval of the geometric mean reaches below and above it; NaN if unknown.

    The interval is symmetric in logarithms, so it reaches further upwards.
    """
    logs = [math.log(sample.values[place]) for sample in one.samples if sample.values[place] > 0.0]
    found = stats.t_interval(logs)
    if not math.isfinite(found.half):
        return math.nan, math.nan
    middle = math.exp(found.mean)
    return -middle * math.expm1(-found.half), middle * math.expm1(found.half)


MEANS = (
    "Values are geometric means over the seeds of each scheme, with the worst seed where it is more than"
    f" {units.digits(FAR_OFF, 1)} times as bad. Differences from the best are over the seeds that both have."
)


def entrants(advice: Advice) -> Table:
    """Every scheme that was tried."""
    heads = ["scheme", "how it ended", "changes", "seeds"]
    for aim in advice.aims:
        heads += [aim.text, "against the best"]
    heads += ["settings", "dropped by"]
    rows = [entrant(one, advice) for one in advice.entrants]
    width = 2 * len(advice.aims)
    numeric = (False, False, False, True, *(True for _ in range(width)), False, False)
    return Table("Every scheme that was tried", tuple(heads), tuple(rows), MEANS, numeric)


def differ(advice: Advice) -> list[Table]:
    """What variants differ in besides their scheme."""
    if not advice.setups:
        return []
    names = setups.differing(advice.setups)
    heads = ("scheme", *(setups.COLUMNS[name] for name in names))
    rows = [(", ".join(one.schemes), *(one.words()[name] for name in names)) for one in advice.setups]
    note = "Variants differ in more than their scheme: what separates them may be any of this."
    return [Table("What differs between them", heads, tuple(tuple(map(text, row)) for row in rows), note)]


def entrant(one: Entrant, advice: Advice) -> tuple[Cell, ...]:
    """A row of the table. The best has its difference from the next in `advice.json`, but none here."""
    best = one.label == advice.tied[0]
    word, tone = STATUS[one.status]
    cells = [
        text(one.label),
        text(word.format(one.like), tone),
        text(one.level),
        number(len(one.samples), str(len(one.samples))),
    ]
    for place, aim in enumerate(advice.aims):
        found = value(one, place)
        if one.status in FEW_SEEDS:
            # They are some of those of the other one, and their mean is not its mean.
            cells += [Cell(""), Cell("")]
            continue
        cells.append(number(found, tell_mean(aim, one, place)))
        share = one.than_best[place] if place < len(one.than_best) and not best else None
        cells.append(Cell("") if share is None else number(share.mean, against(share)))
    dropped = f"{one.dropped_by}, after {one.dropped_at} seeds" if one.dropped_by else ""
    settings = ", ".join(f"{key} {value}" for key, value in one.settings)
    return (*cells, text(settings), text(dropped))


def regrets(advice: Advice) -> list[Table]:
    """How much worse each scheme is than the best, case by case."""
    tried = [case for case in advice.cases if case.tried]
    if not tried:
        return []
    names = cases.in_cases(advice)
    rows = [(text(case.words), *(regret(case, name, advice) for name in names)) for case in tried]
    heads = ("case", *names)
    note = (
        "How much worse than the best of these, with 95 % Student-t intervals, each number by itself. Red is worse by"
        " more than the band, and surely so with the error shared among a scheme's rivals in all cases."
    )
    return [Table("Regret", heads, tuple(rows), note, (False, *(True for _ in names)))]


def regret(case: CaseAnswer, label: str, advice: Advice) -> Cell:
    """A cell of the table of regrets: red if it is surely more than the band, grey if it may be chance."""
    # In two lines, so that six schemes fit beside each other.
    told = cases.regret_told(case, label).replace(" [", "\n[")
    if label in case.deadlocks:
        return Cell(told, None, "bad")
    found = next((one for one in case.regrets if one.scheme == label), None)
    if found is None:
        return Cell(told, None, "unsure")
    if found.mean == 0.0:
        return Cell(told, 0.0, "good")
    return number(
        found.mean, told, "unsure" if not found.is_sure else "bad" if found.mean > advice.aims[0].band else ""
    )
