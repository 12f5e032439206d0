"""Advice on one screen, and the same as text for a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spinewise.advice import setups, tried
from spinewise.advice.answer import Advice, AimAnswer, Entrant, Extreme, LevelAnswer
from spinewise.advice.candidates import LEVELS, is_outside
from spinewise.advice.cases import absent, is_absent, is_bounded, regret
from spinewise.advice.choice import interval, percent, say_level
from spinewise.advice.effects import Effect
from spinewise.advice.forecast import MOST_SEEDS
from spinewise.advice.gear import Step
from spinewise.advice.overload import OVERLOADED
from spinewise.advice.trades import bands, by_first, losses, trade_offs, verdict
from spinewise.advice.wording import (
    ALIKE,
    against,
    common,
    few,
    is_surely_better,
    is_surely_worse,
    tell,
    tell_mean,
    value,
)
from spinewise.measures import units
from spinewise.show import terminal

MOST_REASONS = 3
IN_A_FABRIC = {
    ("transport.kind", "uet"): "Ultra Ethernet at the hosts",
    ("transport.kind", "rdma"): "RDMA at the hosts",
    ("switch.trim", "True"): "switches that trim",
    ("switch.trim", "False"): "switches that do not trim",
    ("switch.model", "trimming"): "data and control in queues of their own",
}
"""Settings of variants in the words of a fabric."""


def screen(advice: Advice) -> RenderableType:
    """The advice on a terminal."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for head, lines in sections(advice):
        for place, line in enumerate(lines):
            table.add_row(Text(head if place == 0 else ""), Text(line))
    parts = (table, Text(""), level_table(advice), Text(""), tried.table(advice))
    return Group(Text(title(advice), style="bold"), Text(""), *parts)


def level_table(advice: Advice) -> terminal.Grid:
    """The best at each level."""
    heads, *rows = level_rows(advice)
    table = terminal.new_table("The best if you change no more than", heads, [])
    for row in rows:
        table.line(*row)
    return table


def level_rows(advice: Advice) -> list[tuple[str, ...]]:
    """The heads and the rows of all levels; what runs today also has one if it ended in a deadlock or failed.

    What surely gets worse has a column if anything does.
    """
    rows = [
        (*level_row(found, advice.today), "; ".join(level_harm(advice, found)) or "nothing") for found in advice.levels
    ]
    if deadlocked(advice, advice.today):
        rows.insert(0, (LEVELS[0], f"{advice.today}: {deadlock(advice, advice.today)}", "", ""))
    if because := failed(advice):
        rows.insert(0, (LEVELS[0], f"{advice.today}: FAILED: {because}", "", ""))
    columns = 4 if any(level_harm(advice, found) for found in advice.levels) else 3
    return [row[:columns] for row in [("level", "run", "tied with", "surely worse than today at"), *rows]]


def deadlocked(advice: Advice, label: str) -> bool:
    """Whether queues paused each other indefinitely in a run of a scheme."""
    return any(one.label == label and one.status == "deadlocked" for one in advice.entrants)


def failed(advice: Advice) -> str | None:
    """The reason why what runs today was not compared, if a run of it failed."""
    if any(one.label == advice.today for one in advice.entrants):
        return None
    return next((one.because for one in advice.not_tried if one.scheme == advice.today), "no run of it is there")


def deadlock(advice: Advice, label: str) -> str:
    """The number of seeds on which a scheme had a deadlock, in words."""
    samples = advice.entrant(label).samples
    return f"DEADLOCK on {sum(bool(one.deadlock) for one in samples)} of {units.counted(len(samples), 'seed')}"


def level_row(found: LevelAnswer, today: str) -> tuple[str, str, str]:
    """One level, where this scheme runs today."""
    rest = [label for label in found.tied if label != found.advised]
    gain = f"{found.advised}: {against(found.than_today[0])}" if found.than_today else found.advised
    if found.advised == today:
        gain += ", as today"
    if found.look_at:
        gain += f"; most promising: {found.look_at}, {against(found.look_at_than_today[0])}"
    return f"{found.level}", gain, few(rest, 4) if rest else "nothing"


def level_harm(advice: Advice, found: LevelAnswer) -> list[str]:
    """What surely gets worse at a level: the further aims, and other flows and rounds."""
    shares = found.look_at_than_today or found.than_today
    aims = list(zip(advice.aims, shares, strict=bool(shares)))[1:]
    told = [f"{aim.text} {against(share)}" for aim, share in aims if is_surely_worse(aim, share)]
    return told + [f"{one.text} {percent(one.mean)} {interval(one.low, one.high)} (95 %)" for one in found.harms]


def title(advice: Advice) -> str:
    """The title: the name of the spec, and the aims."""
    aims = "; ".join(f"{'higher' if one.more_is_better else 'lower'} {one.text}" for one in advice.aims)
    return f"{advice.name}: {aims}"


def sections(advice: Advice) -> Iterator[tuple[str, Sequence[str]]]:
    """The parts of advice: a word and its lines."""
    found = advice.entrant(advice.advised)
    overload = [one for one in advice.notes if one.startswith(OVERLOADED)]
    if advice.no_choice or advice.idle or overload:
        yield "Warning", [line.removeprefix("warning: ") for line in (*advice.no_choice, *advice.idle, *overload)]
    yield "Run", run(advice)
    if advice.unasked:
        yield "Judged by", judged(advice)
    yield "By how much", [*gains(advice), *bound(advice), MEANS]
    if advice.effects:
        yield "For others", [*(other(one) for one in advice.effects), TOGETHER]
    yield "How sure", surely(advice)
    if advice.why or advice.shared or advice.price:
        yield "Why", reasons(advice)
    yield "Wrong if", wrong(advice)
    yield "It needs", needs(advice, found)
    if advice.setups:
        yield "They differ", differ(advice)
    yield "Turn it on", turn_on(advice)
    if len(advice.aims) > 1:
        yield "Trade-offs", trade_offs(advice)
    if advice.not_tried or advice.unnamed:
        yield "Not tried", untried(advice)
    if notes := [one for one in advice.notes if one not in overload]:
        yield "Note", notes
    yield "Effort", [effort(advice)]


def run(advice: Advice) -> list[str]:
    """The answer."""
    last, found = advice.levels[-1], advice.entrant(advice.advised)
    if last.look_at is None:
        keep = "keep " if advice.advised == advice.today else ""
        answer = f"{keep}{found.label}: {found.about}"
        return [answer, *ahead(advice), *losses(advice, last.than_today), *guessed(advice)]
    return [f"keep {found.label}: {NOT_SHOWN}", look_at(advice), *losses(advice, last.look_at_than_today)]


def judged(advice: Advice) -> list[str]:
    """The traffic entry that decides where no aim was given, and what would be typed to judge by the others."""
    aim = advice.aims[0]
    others = [f'--aim "{text}" judges by {text.partition(" of ")[2]}' for text in advice.unasked]
    return [f"{aim.entry} alone ({aim.text}), as no --aim was given; {few(others, MOST_REASONS)}"]


NOT_SHOWN = "nothing has been shown to be better yet"


def look_at(advice: Advice) -> str:
    """The scheme that seems better than what runs today, if none is shown to be."""
    last = advice.levels[-1]
    found = advice.entrant(str(last.look_at))
    aim, number = advice.aims[0], against(last.look_at_than_today[0])
    return f"the most promising is {found.label} ({say_level(found.level)}): {aim.text} {number}, which may be chance"


def ahead(advice: Advice) -> list[str]:
    """The scheme that is ahead of today's by its mean, if today's is kept and more runs might separate the two."""
    if advice.ended == "settled" or advice.advised != advice.today or advice.guess in (advice.today, look(advice)):
        return []
    found = advice.entrant(advice.guess)
    numbers = [
        f"{aim.text} {against(than)}"
        + (verdict(aim, than) or ("" if is_surely_better(aim, than) else ", which may be chance"))
        for aim, than in zip(advice.aims, advice.guess_than, strict=True)
    ]
    return [f"not settled: {found.label} ({say_level(found.level)}) is ahead by its mean, {'; '.join(numbers)}"]


def look(advice: Advice) -> str | None:
    """The scheme to look at."""
    return advice.levels[-1].look_at


def guessed(advice: Advice) -> list[str]:
    """A note that the answer is a guess, if it is not surely better than what runs today."""
    last = advice.levels[-1]
    if not last.than_today or is_surely_better(advice.aims[0], last.than_today[0]) or deadlocked(advice, advice.today):
        return []
    return [f"a guess: it is not surely better than {advice.today}, which costs nothing to keep"]


TOGETHER = "95 % Student-t intervals, widened so that those of all effects at all levels hold together"
MEANS = "values are geometric means over the seeds of each scheme"


def gains(advice: Advice) -> list[str]:
    """The gains over what runs today, aim by aim."""
    last = advice.levels[-1]
    if not last.than_today:
        because = failed(advice)
        mine = "; ".join(
            f"{aim.text} {tell_mean(aim, advice.entrant(advice.advised), place)}"
            for place, aim in enumerate(advice.aims)
        )
        if because:
            return [
                f"what runs today failed, and is not compared: {advice.today}: {because}",
                f"{advice.advised}: {mine}",
            ]
        if advice.advised != advice.today:
            return [stands_still(advice), f"{advice.advised}: {mine}"]
        band = units.percent(advice.aims[0].band)
        if alone(advice):
            return [f"{advice.advised} runs today ({mine})"]
        return [f"{advice.advised} runs today ({mine}), and nothing tried is surely better by more than {band}"]
    made = []
    for place, (aim, share) in enumerate(zip(advice.aims, last.than_today, strict=True)):
        mine, other = (tell_mean(aim, advice.entrant(label), place) for label in (advice.advised, share.than))
        made.append(
            f"{aim.text}: {mine}, under {share.than}, which runs today, {other}:"
            f" {against(share)}, median {percent(share.median)}{verdict(aim, share)}"
        )
    if deadlocked(advice, advice.today):
        made.insert(0, stands_still(advice))
    return made


def stands_still(advice: Advice) -> str:
    """That the fabric deadlocks under what runs today."""
    return f"under {advice.today}, which runs today, this fabric stands still: {deadlock(advice, advice.today)}"


def alone(advice: Advice) -> bool:
    """Whether only what runs today was run, because no scheme has a choice."""
    return bool(advice.no_choice) and len(advice.entrants) == 1


def bound(advice: Advice) -> list[str]:
    """The value of each oracle; empty if all schemes come out alike, which says nothing about an oracle's knowledge."""
    if advice.no_choice or alike([one for one in advice.entrants if one.samples]):
        return []
    return [
        f"{one.label}, an oracle that knows the rate of every path, has {tell(advice.aims[0], reached)}: {what}"
        for one in advice.entrants
        if one.status == "bound" and one.samples
        for reached, what in [beyond(advice, one)]
    ]


def beyond(advice: Advice, oracle: Entrant) -> tuple[float, str]:
    """An oracle's value of the first aim, on the seeds that it shares with the answer, and the conclusion."""
    sign = -1.0 if advice.aims[0].more_is_better else 1.0
    both = common([oracle, advice.entrant(advice.advised)])
    reached = value(oracle, 0, both)
    # Schemes that left the race early have fewer seeds, and nothing to compare with there.
    others = [
        one
        for one in advice.entrants
        if one.status != "bound" and both <= common([one]) and not deadlocked(advice, one.label)
    ]
    ahead = min(others, key=lambda one: sign * value(one, 0, both))
    if sign * reached < sign * value(ahead, 0, both):
        return reached, "the rest is out of reach"
    return (
        reached,
        f"knowing all rates is not enough here ({ahead.label}: {tell(advice.aims[0], value(ahead, 0, both))})",
    )


def alike(entrants: Sequence[Entrant]) -> bool:
    """Whether the first aim is within `ALIKE` under every scheme, on the seeds that all have."""
    seeds = common(entrants)
    values = [found for one in entrants if (found := value(one, 0, seeds)) > 0.0]
    return bool(values) and max(values) <= (1.0 + ALIKE) * min(values)


def other(found: Effect) -> str:
    """The effect on some other flows or rounds."""
    mine, today = (
        units.duration(number, 3) if found.unit == "s" else units.digits(number, 3)
        for number in (found.mine, found.today)
    )
    chance = ": worse" if found.low > 0.0 else "" if found.high < 0.0 else ", which may be chance"
    return f"{found.text}: {mine}, now {today}: {percent(found.mean)} {interval(found.low, found.high)}{chance}"


def surely(advice: Advice) -> list[str]:
    """How the race ended, which schemes are tied, and how good single seeds are."""
    spent = advice.effort
    if alone(advice):
        return ["no scheme has a choice of paths, so none can be better"]
    known = f"the schemes left are known to within {bands(advice.aims)}"
    how = {
        "settled": f"settled: {'no scheme has a choice of paths' if advice.no_choice else known}",
        "budget spent": "the budget is spent",
        "seed limit": f"not settled by {MOST_SEEDS:,} seeds, the most that a race takes",
        "interrupted": "interrupted",
    }[advice.ended]
    each, error = units.percent(advice.confidence, 4), units.percent(advice.alpha, 2)
    unsettled = [] if advice.ended == "settled" or len(advice.aims) == 1 else [f"bands: {bands(advice.aims)}"]
    seen = f"after {units.counted(spent.seeds, 'seed')} of every scheme in the race"
    sure = (
        f"each interval of the race (differences from what runs today or from the best) holds at every look with {each}"
        f" confidence; at most {error} of races drop the best scheme"
    )
    lines = [f"{how}, {seen}; {sure}"]
    chosen = [by_first(advice, line) for line in chosen_from(advice)]
    return [*lines, *unsettled, *chosen, *same(advice), *undecided(advice), *seeds(advice)]


def same(advice: Advice) -> list[str]:
    """Lines about schemes that had the same outcome as another, and were run no further."""
    found: dict[tuple[str, int], list[str]] = {}
    for one in advice.entrants:
        if one.status == "same":
            found.setdefault((str(one.like), len(one.samples)), []).append(one.label)
    lines = [
        f"{few(labels)}: same outcome as {like} here, to the last packet ({units.counted(many, 'seed')}), so not run on"
        for (like, many), labels in found.items()
    ]
    return lines + [
        f"{one.label} may differ from {one.like}, whose outcome it had at first: no time was left for its seeds"
        for one in advice.entrants
        if one.status == "parted"
    ]


def chosen_from(advice: Advice) -> list[str]:
    """The schemes indistinguishable from the best, and the subset from which the answer was chosen."""
    last, band = advice.levels[-1], units.percent(advice.aims[0].band)
    if len(last.tied) < 2 and len(advice.entrants) < 2:
        return []
    if len(last.tied) < 2:
        return ["all others are surely worse, or cost more without being better"]
    if not last.near:
        # Advice that was written before this field existed.
        return [f"not told apart from the best: {few(last.tied)}"]
    pick = last.look_at or last.advised
    near = sorted(last.near, key=lambda label: label != pick)
    cost = {label: LEVELS.index(advice.entrant(label).level) for label in near}
    cheaper = [label for label in near if cost[label] < cost[pick]]
    far = [label for label in last.tied if label not in near]
    lines = [f"the best by its mean: {near[0]}"] if len(near) == 1 else []
    if len(near) > 1:
        cost_less = "costs" if len(cheaper) == 1 else "cost"
        least = (
            f"of these {', '.join(cheaper)} {cost_less} less to deploy, without being surely better than {advice.today}"
        )
        chosen = least if cheaper else f"none of these costs less to deploy than {pick}"
        lines.append(f"within {band} of the best by their means: {few(near)}; {chosen}")
    if far:
        lines.append(f"not told apart from the best either, though further behind by their means: {few(far)}")
    return lines


def undecided(advice: Advice) -> list[str]:
    """The best guess, and the effort to learn more."""
    lines = []
    if advice.guess not in (advice.advised, look(advice)) and not ahead(advice):
        lines.append(
            f"best guess, regardless of cost: {advice.guess}, against {advice.advised} {against(advice.guess_than[0])}"
        )
    return lines if advice.ended == "settled" else [*lines, *left_to_know(advice.aims)]


def left_to_know(aims: Sequence[AimAnswer]) -> list[str]:
    """The runs that would settle all aims, by the aim that takes most, and the aims that this budget cannot settle."""
    left = [aim for aim in aims if aim.more_runs]
    if not left:
        return []
    most = max(left, key=lambda aim: aim.more_s)
    runs = f"{units.counted(most.more_runs, 'more run')} ({units.clock(math.ceil(most.more_s))})"
    asking = f", most of them for {most.text}" if len(left) > 1 else f", for {most.text}" if len(aims) > 1 else ""
    what = "a longer --budget allows them"
    if any(aim.more_seeds > MOST_SEEDS for aim in left):
        what = f"more than the {MOST_SEEDS:,} seeds that a race may take; a wider --band or longer runs need fewer"
    settle = f"settle all of it to within {bands(aims)}{asking}: {what}"
    cannot = [
        f"the pilot said that {means} cannot tell differences of {never}"
        for means, limited in (("this budget", False), (f"{MOST_SEEDS:,} seeds, the most that a race takes,", True))
        if (never := unreachable(left, limited=limited))
    ]
    return [f"if these seeds are typical, about {runs} {settle}", *cannot]


def unreachable(aims: Sequence[AimAnswer], *, limited: bool) -> str:
    """The bands that the pilot called out of reach of the budget, or of the seeds that a race may take."""
    never = [aim for aim in aims if not aim.reachable and (aim.planned_seeds > MOST_SEEDS) == limited]
    return ", ".join(f"{units.percent(aim.band)} of {aim.text}" for aim in never)


def seeds(advice: Advice) -> list[str]:
    """The number of seeds on which the answer was as good as usual, and the worst seeds."""
    return [*as_usual(advice), *(far_off(advice, one) for one in advice.extremes)]


def far_off(advice: Advice, one: Extreme) -> str:
    """A seed that is far worse than usual."""
    under = "" if one.scheme == advice.advised else f" under {one.scheme}"
    number = units.duration(one.value, 3) if one.unit == "s" else f"{units.digits(one.value, 3)} {one.unit}".rstrip()
    many, usual = one.timeouts or 0.0, one.usual_timeouts or 0.0
    cause = ""
    if many > usual:
        cause = f"; {units.counted(int(many), 'timeout')}{f', usually {units.count(usual)}' if usual else ''}"
    return f"{one.aim}{under}: {number} on seed {one.seed}, {units.digits(one.times, 2)} times the mean{cause}"


def as_usual(advice: Advice) -> list[str]:
    """The number of seeds on which the answer was no worse than usual against the others, and the worst seed."""
    found = advice.outlier
    if found is None:
        return []
    side = f"{units.percent(abs(found.share))} {'above' if found.share > 0.0 else 'below'} usual against them"
    bad = f"; worst seed {found.seed}: {side}" if found.good < found.seeds else ""
    cause = f" ({found.cause})" if found.cause else ""
    usual = f"{advice.advised} was no worse than usual against the others on {found.good} of {found.seeds} seeds"
    return [by_first(advice, f"{usual}{bad}{cause}")]


def reasons(advice: Advice) -> list[str]:
    """The reasons for and against the answer."""
    lines = [one.text for one in advice.why[:MOST_REASONS]]
    if lines and advice.levels[-1].look_at is not None:
        lines.insert(0, f"too little is known to leave {advice.advised}; it differs from {advice.why_than} in this:")
    lines += [f"price: {one.text}" for one in advice.price[:MOST_REASONS]]
    return lines + ([advice.shared] if advice.shared else [])


def wrong(advice: Advice) -> list[str]:
    """The cases in which another scheme would be better, those in which the answer holds, and those not tried."""
    mine, band = advice.advised, advice.aims[0].band
    stands = [one for one in advice.cases if mine not in one.deadlocks and regret(one, mine) <= band]
    sure = [one.name for one in stands if is_bounded(one, mine, band)]
    within = f"within {units.percent(band)} of the best"
    lines = list(advice.wrong)
    if stands and not lines:
        lines.append("no condition that was tried has shown it to be wrong")
    if sure:
        lines.append(f"still right with {', '.join(sure)}: {mine} is {within} there")
    if unsure := [one.name for one in stands if one.name not in sure]:
        lines.append(
            f"probably still right with {', '.join(unsure)}: {mine} is {within} there by its mean, on too few seeds to"
            " be sure"
        )
    if alone(advice):
        return ["packets have more than one path: another fabric, or traffic that crosses it"]
    lines += [f"unknown with {one.name}: {absent(one, mine)}" for one in advice.cases if is_absent(one, mine)]
    left: dict[str, list[str]] = {}
    for one in advice.cases:
        if not one.tried:
            left.setdefault(str(one.because), []).append(one.name)
    lines += [f"not tried: {', '.join(names)} ({because})" for because, names in left.items()]
    return lines or ["nothing else was tried: no time was left"]


def differ(advice: Advice) -> list[str]:
    """The differences between variants besides their scheme."""
    return ["variants differ in more than their scheme", *setups.told(advice.setups)]


def needs(advice: Advice, found: Entrant) -> list[str]:
    """What must be changed and configured, and the bytes added."""
    carried = ", ".join(f"{kind} {units.percent(share)}" for kind, share in found.extra_bytes.items()) or "nothing"
    told = "; ".join(found.told) or "nothing"
    hosts = any(key == "transport.kind" for key, _ in found.settings) and found.level == LEVELS[-1]
    changed = say_level(found.level) + (", and the transport of every host" if hosts else "")
    switches = setups.changed_at_switches(advice.setups, found.label, advice.today)
    if switches and found.level != LEVELS[-1]:
        changed += f", and configuration of switches ({', '.join(switches)})"
    return [f"{changed}; must be configured with: {told}; share of all bytes it adds: {carried}"]


def turn_on(advice: Advice) -> list[str]:
    """The steps to enable the answer."""
    if advice.no_choice and advice.advised == advice.today:
        return ["there is nothing to turn on: no scheme has a choice here"]
    found = [f"{one.gear}: {one.do}{kin(one)} [{one.source}]" for one in advice.gear] or ["no known product has it"]
    besides = [setting(key, value) for key, value in advice.entrant(advice.advised).settings if is_outside(key)]
    return found + ([f"with this in the fabric and its hosts: {', '.join(besides)}"] if besides else [])


def setting(key: str, value: str) -> str:
    """A setting outside [scheme] in words, or as in the spec if it has none."""
    return IN_A_FABRIC.get((key, value), f"{key} = {value} of the spec")


def kin(step: Step) -> str:
    """The difference, for a mechanism that is related to the scheme but not identical."""
    return f" (kin: {step.note})" if step.match == "kin" else ""


def untried(advice: Advice) -> list[str]:
    """Schemes that did not take part, grouped by reason; most reasons begin with the scheme."""
    reasons: dict[str, list[str]] = {}
    for one in advice.not_tried:
        reasons.setdefault(one.because.removeprefix(f"{one.scheme} "), []).append(one.scheme)
    return unnamed(advice) + [f"{few(names, 9)}: {because}" for because, names in reasons.items()]


def unnamed(advice: Advice) -> list[str]:
    """That only the schemes that somebody had named were considered, and how many others there are."""
    if not advice.unnamed:
        return []
    named, others = units.counted(advice.named, "scheme"), units.counted(advice.unnamed, "other")
    return [f"only the {named} named {were(advice.named)} considered; {others} {were(advice.unnamed)} not"]


def were(count: int) -> str:
    """The verb that goes with a count: "was" or "were"."""
    return "was" if count == 1 else "were"


def effort(advice: Advice) -> str:
    """The cost of the answer."""
    spent = advice.effort
    there = f" and {spent.stored:,} reused" if spent.stored else ""
    share = units.percent((spent.runs + spent.stored) / max(spent.grid, 1))
    took = f"{spent.runs:,} runs{there} in {units.clock(spent.seconds)} of {units.clock(spent.budget_s)}"
    if alone(advice):
        return took
    every = "all schemes and variants on all seeds and in all cases"
    return f"{took}; {every} would be {spent.grid:,} runs, of which this is {share}"
