"""Assemble the advice from its course."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spinewise import core
from spinewise.advice import choice as choosing
from spinewise.advice import why
from spinewise.advice.answer import (
    Advice,
    AimAnswer,
    Effort,
    Ended,
    Entrant,
    Extreme,
    Sample,
    Status,
    Untried,
)
from spinewise.advice.candidates import Candidate
from spinewise.advice.choice import Choice
from spinewise.advice.conduct import STRESS_SEEDS, Course
from spinewise.advice.effects import Effect, effects
from spinewise.advice.extremes import extreme
from spinewise.advice.forecast import PILOT, forecast
from spinewise.advice.gear import steps
from spinewise.advice.overload import overload
from spinewise.advice.race import METHOD
from spinewise.advice.regretted import case_answer, regrets_of, wrong_when
from spinewise.advice.setups import grouped, setup
from spinewise.advice.stress import Case
from spinewise.advice.trials import PLAIN, Trial
from spinewise.measures import units
from spinewise.measures.afterwards import IDLE_FABRIC, NO_CHOICE, TAIL_IS_TIMEOUT
from spinewise.measures.classes import ALL
from spinewise.measures.notices import Notice
from spinewise.runs.formats import ADVISE
from spinewise.shapes import Spec
from spinewise.show.simulated import simulated, transport
from spinewise.specs.kinds import family_of
from spinewise.specs.spec import resolve, spec_hash
from spinewise.specs.variants import differing

WHY_SEEDS = 64
"""The most seeds whose facts are compared: more would not make a reason any safer."""


def compose(course: Course, cases: Sequence[Case]) -> Advice:
    """Compose the advice from a course."""
    regretted = regrets_of(course, cases)
    choice = choosing.choose(course, choosing.worst_regret(regretted))
    race, advised = course.race, course.candidates[choice.advised]
    other = held_against(course, choice)
    better, price = reasons(course, choice.advised, other)
    answers = tuple(case_answer(course, case, regretted[case.name]) for case in cases)
    of_spec = warned(course)
    return Advice(
        format=ADVISE.name,
        version=core.version(),
        name=str(course.resolved.get("name", "")),
        spec_hash=spec_hash(course.resolved),
        aims=tuple(aim_answer(course, place) for place in range(len(course.aims))),
        may=tuple(level.level for level in choice.levels),
        today=course.who.today,
        advised=choice.advised,
        level=advised.level,
        tied=choice.tied,
        front=tuple(race.front(course.who.today)) if len(course.aims) > 1 else (),
        ended=ended(course, choice),
        guess=choice.tied[0],
        guess_than=tuple(choosing.share(course, choice.tied[0], choice.advised, aim) for aim in range(race.aims)),
        levels=tuple(
            replace(one, harms=harms(course, one.look_at or one.advised, changes(course, choice)))
            for one in choice.levels
        ),
        entrants=tuple(entrants(course, choice)),
        why=tuple(better),
        price=tuple(price),
        why_than=other,
        shared=shared(course, choice),
        effects=tuple(for_whom(course, choice.advised, changes(course, choice))),
        outlier=choosing.outlier(course, choice.advised, choice.tied if len(choice.tied) > 1 else [*today(course)]),
        extremes=tuple(extremes(course, (choice.advised, course.who.today, choice.look_at, choice.tied[0]))),
        cases=answers,
        wrong=tuple(wrong_when(course, choice.advised, answers)),
        gear=steps(advised.variant.name, family_of(advised.variant.apply(course.spec))),
        not_tried=tuple(Untried(one.scheme, one.because) for one in course.left_out()),
        notes=(
            *notes(course),
            *(told(course, *one) for one in of_spec if one[0].code not in (*NO_CHOICE, IDLE_FABRIC)),
        ),
        effort=effort(course, cases),
        method=METHOD,
        alpha=race.alpha,
        confidence=1.0 - race.share,
        simulated=(*simulated(course.resolved), *simulated_besides(course, advised)),
        spec=dict(course.resolved),
        interrupted=course.interrupted,
        no_choice=tuple(one.line() for one, _ in of_spec if one.code in NO_CHOICE),
        idle=tuple(one.line() for one, _ in of_spec if one.code == IDLE_FABRIC),
        setups=grouped([setup(label, resolve(one.variant.apply(course.spec))) for label, one in ran(course).items()]),
        named=course.who.named,
        unnamed=course.who.unnamed,
        unasked=tuple(aim.text for aim in course.unasked),
    )


def simulated_besides(course: Course, advised: Candidate) -> list[str]:
    """A description of the fabric of the answer, if it needs another transport or other switches."""
    spec = resolve(advised.variant.apply(course.spec))
    alike = all(spec[table] == course.resolved[table] for table in ("transport", "switch"))
    return [] if alike else [f"under {advised.label}: {transport(spec)}, switches of model {spec['switch']['model']}"]


def ran(course: Course) -> dict[str, Candidate]:
    """The schemes of which a run ended, what runs today first."""
    return {label: one for label, one in course.candidates.items() if not course.is_lost(label)}


def ended(course: Course, choice: Choice) -> Ended:
    """How the race ended."""
    if course.no_choice:
        return "settled"
    if course.interrupted and not course.tuned:
        return "interrupted"
    if choice.levels[-1].settled and not course.parted:
        return "settled"
    if course.interrupted:
        return "interrupted"
    return "seed limit" if course.is_at_limit else "budget spent"


def aim_answer(course: Course, place: int) -> AimAnswer:
    """An aim, and how well it was answered."""
    aim, plan = course.aims[place], course.plans[place]
    behind = min((one.behind[place][0] for one in plain(course)), default=0)
    settled = course.no_choice or all(course.race.settled(pool, place) for pool in course.pools().values())
    runs, seconds, seeds = (0, 0.0, 0) if settled else more(course, place)
    return AimAnswer(
        text=aim.text, statistic=aim.statistic, quantity=aim.quantity, entry=aim.entry, size_class=aim.size_class,
        unit=aim.unit, more_is_better=aim.more_is_better, behind=behind, thin=aim.thin(behind), band=plan.band,
        planned_seeds=plan.seeds, planned_runs=plan.runs, planned_s=plan.seconds, reachable=plan.settles,
        settled=settled, more_runs=runs, more_s=seconds, more_seeds=seeds,
    )  # fmt: skip


def plain(course: Course) -> list[Trial]:
    """The runs of the spec as given, without those of the tests."""
    return [one for (case, *_), one in course.trials.found.items() if case == PLAIN]


def more(course: Course, place: int) -> tuple[int, float, int]:
    """The runs, seconds and seeds to settle an aim that is not settled: a further seed of what is left at least."""
    costs = course.costs()
    found = forecast(course.race, place, costs, math.inf, (course.plans[place].band,))
    alive = course.race.alive
    runs, seconds = max(found.runs, len(alive)), max(found.seconds, sum(costs[label] for label in alive))
    return runs, seconds, max(found.seeds, course.made + 1)


def entrants(course: Course, choice: Choice) -> list[Entrant]:
    """All schemes that were tried, the best remaining first, then in the order in which they left."""
    order = [*choice.tied, *course.race.alive, *(drop.arm for drop in reversed(course.race.drops)), *course.candidates]
    labels = [label for label in dict.fromkeys(order) if not course.is_lost(label)]
    runs = {label: of_scheme(course, label) for label in labels}
    return [entrant(course, choice, course.candidates[label], runs) for label in labels]


def of_scheme(course: Course, label: str) -> dict[int, Trial]:
    """The runs of a scheme, by seed."""
    found = course.trials.found.items()
    return dict(sorted((seed, trial) for (case, its, seed), trial in found if case == PLAIN and its == label))


def entrant(course: Course, choice: Choice, candidate: Candidate, runs: Mapping[str, Mapping[int, Trial]]) -> Entrant:
    """A scheme that was tried."""
    label, race = candidate.label, course.race
    drop = next((one for one in race.drops if one.arm == label), None)
    mine = runs[label]
    before = [one for one in runs if one != label and course.candidates[one].tier < candidate.tier]
    like = course.same.get(label) or next((one for one in before if choosing.same_runs(mine, runs[one])), None)
    cells = course.trials.cells(PLAIN, label, list(mine)[:WHY_SEEDS])
    return Entrant(
        label=label,
        scheme=candidate.variant.name,
        settings=tuple((key, str(value)) for key, value in candidate.variant.settings),
        tuned_from=candidate.tuned,
        about=candidate.about,
        level=candidate.level,
        told=candidate.told,
        extra_bytes=why.extra_bytes(cells),
        status=status(course, choice, candidate),
        than_best=() if candidate.oracle or label not in race.tiers else choosing.than_best(course, label, choice.tied),
        dropped_by=drop.by if drop else None,
        dropped_at=drop.seeds if drop else None,
        like=like,
        samples=tuple(sample(seed, trial) for seed, trial in mine.items()),
    )


def status(course: Course, choice: Choice, candidate: Candidate) -> Status:
    """How a scheme ended."""
    if candidate.label in course.locked:
        return "deadlocked"
    if candidate.label in course.parted:
        return "parted"
    return "same" if candidate.label in course.same else choosing.status(candidate, choice, course.race)


def sample(seed: int, trial: Trial) -> Sample:
    """One run."""
    left = tuple(unfinished for _, unfinished in trial.behind)
    return Sample(seed, trial.task.key, trial.values, left, trial.deadlock)


def today(course: Course) -> list[str]:
    """The scheme that runs today, unless a run of it failed."""
    return [] if course.is_lost(course.who.today) else [course.who.today]


def held_against(course: Course, choice: Choice) -> str | None:
    """The scheme against which the answer is explained: today's; for today's, the one to look at or the best other."""
    if today(course) and choice.advised != course.who.today:
        return course.who.today
    first = [choice.look_at] if choice.look_at else []
    rest = [label for label in [*first, *choice.tied, *course.race.tiers] if label != choice.advised]
    return rest[0] if rest else None


def entry(course: Course) -> str | None:
    """The traffic entry of the first aim; None for all traffic."""
    found = course.aims[0].entry
    return None if found == ALL else found


def side(course: Course, label: str, seeds: Sequence[int]) -> why.Side:
    """One of two schemes that are compared."""
    keys = tuple(course.trials.found[PLAIN, label, seed].task.key for seed in seeds)
    return why.Side(label, course.trials.cells(PLAIN, label, seeds), keys)


def reasons(course: Course, advised: str, other: str | None) -> tuple[list[why.Claim], list[why.Claim]]:
    """The reasons for and against the answer; empty if it has no counterpart or too few seeds."""
    if other is None:
        return [], []
    seeds = course.race.seeds([advised, other])[:WHY_SEEDS]
    if len(seeds) < 2:
        return [], []
    return why.claims(course.resolved, entry(course), side(course, advised, seeds), side(course, other, seeds))


def changes(course: Course, choice: Choice) -> int:
    """The number of schemes of which effects are told: the answers at all levels, and what to look at there."""
    return len({choice.advised, *(one.look_at or one.advised for one in choice.levels)} - {course.who.today})


def for_whom(course: Course, advised: str, schemes: int) -> list[Effect]:
    """The effects of the answer on other traffic; empty if the answer runs today, or what does so failed.

    Args:
        course: after its race.
        advised: the answer.
        schemes: the number of schemes of which effects are told.
    """
    if advised == course.who.today or not today(course):
        return []
    seeds = course.race.seeds([advised, course.who.today])[:WHY_SEEDS]
    sides = ([course.trials.observed(PLAIN, label, seed) for seed in seeds] for label in (advised, course.who.today))
    return effects(course.aims, *sides, schemes=schemes)


def extremes(course: Course, labels: Sequence[str | None]) -> list[Extreme]:
    """The seeds on which these schemes were far worse than usual, by aim."""
    found = []
    for label in dict.fromkeys(one for one in labels if one is not None and not course.is_out(one)):
        runs = of_scheme(course, label)
        cells = course.trials.cells(PLAIN, label, list(runs))
        found += [extreme(aim, place, label, runs, cells) for place, aim in enumerate(course.aims)]
    return [one for one in found if one is not None]


def harms(course: Course, label: str, schemes: int) -> tuple[Effect, ...]:
    """What surely gets worse for others under a scheme than under what runs today."""
    return tuple(one for one in for_whom(course, label, schemes) if one.low > 0.0)


def shared(course: Course, choice: Choice) -> str | None:
    """The limit that no scheme can remove, where many tie."""
    others = [label for label in choice.tied if label != choice.advised]
    if not others:
        return None
    seeds = course.race.seeds([choice.advised, others[0]])[:WHY_SEEDS]
    sides = (side(course, label, seeds) for label in (choice.advised, others[0]))
    return why.nobodys_choice(course.resolved, entry(course), *sides)


def deadlocks(course: Course) -> list[str]:
    """The schemes under which queues paused each other indefinitely, and on how many seeds."""
    told = []
    for label, seeds in course.trials.deadlocks(PLAIN).items():
        if label not in course.candidates:
            continue
        runs = of_scheme(course, label)
        links = ", ".join(runs[min(seeds)].deadlock)
        told.append(f"{label} on {len(seeds)} of {units.counted(len(runs), 'seed')} ({links})")
    if not told:
        return []
    return [f"DEADLOCK: pauses wait for each other for ever, so it is not advised: {', '.join(told)}"]


def warned(course: Course) -> list[tuple[Notice, str]]:
    """The warnings about the spec, which occur in every run of the pilot, each with the transport that it is about.

    A warning for every scheme over a transport is about that transport; one for all schemes is about none, and
    has an empty word. One that no packet crossed between switches counts if a scheme has it on each seed: others'
    probes cross there. One that the fabric is hardly used, or that a tail is a timeout, counts under today's: others
    may spoil that.
    """
    labels = list(dict.fromkeys(label for case, label, _ in course.trials.found if case == PLAIN))
    found: dict[object, Notice] = {}
    met: dict[int, dict[str, set[object]]] = {}
    over: dict[str, list[str]] = {}
    for label in labels:
        cells = course.trials.cells(PLAIN, label, course.trials.seeds(PLAIN, [label])[:PILOT])
        for cell in cells:
            mine: dict[object, Notice] = {one.about: one for one in cell.summary.warnings}
            found = mine | found
            met.setdefault(cell.seed, {})[label] = set(mine)
        if cells:
            over.setdefault(cells[0].transport, []).append(label)

    def everywhere(notice: Notice, who: Sequence[str]) -> bool:
        enough = any if notice.code in NO_CHOICE else all
        runs = [[notice.about in mine[label] for label in who if label in mine] for mine in met.values()]
        return any(runs) and all(enough(one) for one in runs)

    def about(notice: Notice) -> str | None:
        if everywhere(notice, [course.who.today] if notice.code in (IDLE_FABRIC, TAIL_IS_TIMEOUT) else labels):
            return ""
        if notice.code in (*NO_CHOICE, IDLE_FABRIC, TAIL_IS_TIMEOUT):
            return None
        return next((kind for kind, who in over.items() if everywhere(notice, who)), None)

    return [(notice, kind) for notice in found.values() if (kind := about(notice)) is not None]


def told(course: Course, notice: Notice, transport: str) -> str:
    """A warning in words, with the transport it is about unless it is about all."""
    line = notice.line().removesuffix(".")
    if notice.code == TAIL_IS_TIMEOUT:
        return f"{line} (under {course.who.today}, which runs today)."
    return f"{line} (over {transport})." if transport else notice.line()


def interruption(course: Course) -> list[str]:
    """A note that the advice was interrupted, if it was."""
    if not course.interrupted:
        return []
    after = f"{units.clock(time.monotonic() - course.start)} of {units.clock(course.budget_s)}"
    kept = "; with --store DIR the same command continues from there" if course.trials.ledger.folder is None else ""
    return [f"INTERRUPTED after {after}: this covers the runs made by then{kept}"]


def notes(course: Course) -> list[str]:
    """Further notes."""
    seeds = course.race.seeds([course.who.today])[:WHY_SEEDS]
    offered = overload(course.resolved, course.trials.cells(PLAIN, course.who.today, seeds))
    raced = [one.variant for one in course.candidates.values()]
    without = [line.removesuffix(".") for line in differing(raced, course.spec)]
    made = [*interruption(course), *deadlocks(course), *offered, *without]
    for aim, place in zip(course.aims, range(len(course.aims)), strict=True):
        behind = min((one.behind[place][0] for one in plain(course)), default=0)
        if aim.thin(behind):
            made.append(f"{aim.text}: {behind:,} flows or rounds a run, so it is the value of one of the slowest few")
        lost = sum(one.behind[place][1] for one in plain(course))
        if lost:
            made.append(f"{aim.text}: {lost:,} unfinished, each counted with the time since it began, if it had")
    seen: dict[int, set[str]] = {}
    for (case, _, seed), trial in course.trials.found.items():
        if case == PLAIN:
            seen.setdefault(seed, set()).add(trial.traffic)
    if any(len(hashes) > 1 for hashes in seen.values()):
        made.append("some schemes saw different traffic on the same seed: their pairs compare less well")
    if len(seen) > 1 and len(set().union(*seen.values())) == 1 and given(course.resolved):
        made.append("all seeds send the same given flows: intervals cover hashes and chance, not different traffic")
    return made


def given(resolved: Spec) -> bool:
    """Whether traffic is a list of flows or a trace."""
    return any(one["kind"] in ("flows", "dag") for one in resolved["traffic"])


def effort(course: Course, cases: Sequence[Case]) -> Effort:
    """The cost of the answer, and the cost of running everything."""
    # Variants that turned out to change nothing are no longer candidates, but they were run.
    schemes = course.candidates.keys() | {label for _, label, _ in course.trials.found}
    seeds = {seed for case, _, seed in course.trials.found if case == PLAIN}
    apply = sum(case.spec is not None for case in cases)
    grid = len(schemes) * (len(seeds) + apply * STRESS_SEEDS)
    return Effort(
        runs=course.trials.made,
        stored=len(course.trials.found) - course.trials.made,
        grid=grid,
        seconds=time.monotonic() - course.start,
        budget_s=course.budget_s,
        pilot_s=course.spent["pilot"],
        race_s=course.spent["race"],
        stress_s=course.spent["tests"],
        seeds=len(course.race.seeds(course.race.alive)),
    )
