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
    CaseAnswer,
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
from spinewise.advice.setups import grouped, setup
from spinewise.advice.stress import Case, Regret, regrets
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
    regretted = {case.name: case_regrets(course, case) for case in cases}
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
        levels=tuple(replace(one, harms=harms(course, one.look_at or one.advised)) for one in choice.levels),
        entrants=tuple(entrants(course, choice)),
        why=tuple(better),
        price=tuple(price),
        why_than=other,
        shared=shared(course, choice),
        effects=tuple(for_whom(course, choice.advised)),
        outlier=choosing.outlier(course, choice.advised, choice.tied if len(choice.tied) > 1 else [course.who.today]),
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
    if choice.levels[-1].settled:
        return "settled"
    return "interrupted" if course.interrupted else "budget spent"


def aim_answer(course: Course, place: int) -> AimAnswer:
    """An aim, and how well it was answered."""
    aim, plan = course.aims[place], course.plans[place]
    behind = min((one.behind[place][0] for one in course.trials.found.values()), default=0)
    settled = course.no_choice or all(course.race.settled(pool, place) for pool in course.pools().values())
    runs, seconds = (0, 0.0) if settled else more(course, place)
    return AimAnswer(
        text=aim.text, statistic=aim.statistic, quantity=aim.quantity, entry=aim.entry, size_class=aim.size_class,
        unit=aim.unit, more_is_better=aim.more_is_better, behind=behind, thin=aim.thin(behind), band=plan.band,
        planned_seeds=plan.seeds, planned_runs=plan.runs, planned_s=plan.seconds, reachable=plan.settles,
        settled=settled, more_runs=runs, more_s=seconds,
    )  # fmt: skip


def more(course: Course, place: int) -> tuple[int, float]:
    """Runs and seconds that it takes to settle an aim that is not: a further seed of what is left at least."""
    costs = course.costs()
    found = forecast(course.race, place, costs, math.inf, (course.plans[place].band,))
    alive = course.race.alive
    return max(found.runs, len(alive)), max(found.seconds, sum(costs[label] for label in alive))


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
    return "same" if candidate.label in course.same else choosing.status(candidate, choice, course.race)


def sample(seed: int, trial: Trial) -> Sample:
    """One run."""
    left = tuple(unfinished for _, unfinished in trial.behind)
    return Sample(seed, trial.task.key, trial.values, left, trial.deadlock)


def held_against(course: Course, choice: Choice) -> str | None:
    """The scheme against which the answer is explained: today's; for today's, the one to look at or the best other."""
    if choice.advised != course.who.today:
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


def for_whom(course: Course, advised: str) -> list[Effect]:
    """The effects of the answer on other traffic; empty if the answer runs today."""
    if advised == course.who.today:
        return []
    seeds = course.race.seeds([advised, course.who.today])[:WHY_SEEDS]
    sides = ([course.trials.observed(PLAIN, label, seed) for seed in seeds] for label in (advised, course.who.today))
    return effects(course.aims, *sides)


def extremes(course: Course, labels: Sequence[str | None]) -> list[Extreme]:
    """The seeds on which these schemes were far worse than usual, by aim."""
    found = []
    for label in dict.fromkeys(one for one in labels if one is not None and not course.is_out(one)):
        runs = of_scheme(course, label)
        cells = course.trials.cells(PLAIN, label, list(runs))
        found += [extreme(aim, place, label, runs, cells) for place, aim in enumerate(course.aims)]
    return [one for one in found if one is not None]


def harms(course: Course, label: str) -> tuple[Effect, ...]:
    """What surely gets worse for others under a scheme than under what runs today."""
    return tuple(one for one in for_whom(course, label) if one.low > 0.0)


def shared(course: Course, choice: Choice) -> str | None:
    """The limit that no scheme can remove, where many tie."""
    others = [label for label in choice.tied if label != choice.advised]
    if not others:
        return None
    seeds = course.race.seeds([choice.advised, others[0]])[:WHY_SEEDS]
    sides = (side(course, label, seeds) for label in (choice.advised, others[0]))
    return why.nobodys_choice(course.resolved, entry(course), *sides)


def case_regrets(course: Course, case: Case) -> list[Regret]:
    """The regrets of the schemes in a case; empty if no seed was run for all of them."""
    seeds = course.tried.get(case.name, [])
    labels = [label for at, label, _ in course.trials.found if at == case.name]
    if not seeds:
        return []
    found = {
        label: [course.trials.found[case.name, label, seed].costs[0] for seed in seeds]
        for label in dict.fromkeys(labels)
        if all((case.name, label, seed) in course.trials.found for seed in seeds)
    }
    known = {label: costs for label, costs in found.items() if all(map(math.isfinite, costs))}
    return regrets(known, more_is_better=course.aims[0].more_is_better) if len(known) > 1 else []


def case_answer(course: Course, case: Case, found: Sequence[Regret]) -> CaseAnswer:
    """The outcome for the answer in a case."""
    lost = ((label, text) for (at, label, _), text in course.trials.failed.items() if at == case.name)
    failed = next((f"a run of {label} failed: {text}" for label, text in lost), None)
    because = case.because
    locked = {label: len(seeds) for label, seeds in course.trials.deadlocks(case.name).items()}
    if because is None and not found and not locked:
        late = "it was interrupted" if course.interrupted else "no time was left"
        late = "no scheme has a choice here" if course.no_choice else late
        because = failed or ("fewer than two schemes to compare" if course.tried.get(case.name) else late)
    left = dict(course.unfit.get(case.name, {}))
    return CaseAnswer(case.name, case.words, because is None, because, tuple(found), locked, left)


def wrong_when(course: Course, advised: str, cases: Sequence[CaseAnswer]) -> list[str]:
    """The conditions under which another scheme would be better, in words, the worst first."""
    found: list[tuple[float, str]] = []
    for case in cases:
        if advised in case.deadlocks:
            locked = f"{advised} has a DEADLOCK{on_seeds(case.deadlocks[advised])}{without(case)}"
            found.append((math.inf, f"with {case.words}: {locked}"))
            continue
        mine = next((one for one in case.regrets if one.scheme == advised), None)
        if mine is None or mine.mean <= course.race.bands[0]:
            continue
        surely = f"{advised} is {units.percent(mine.mean)} worse than {case.regrets[0].scheme}"
        doubt = "" if mine.low > 0.0 else ", which may be chance"
        found.append((mine.mean, f"with {case.words}: {surely} {choosing.interval(mine.low, mine.high)}{doubt}"))
    return [text for _, text in sorted(found, reverse=True)]


def without(case: CaseAnswer) -> str:
    """The best of the schemes that had no deadlock in a case."""
    best = next((one.scheme for one in case.regrets if one.scheme not in case.deadlocks), None)
    if best is not None:
        return f"; {best} has none"
    return ", as under every scheme tried" if len(case.deadlocks) > 1 else ""


def on_seeds(count: int) -> str:
    """The number of seeds of a case on which something happened, in words."""
    return f" on {units.counted(count, 'seed')}"


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
        behind = min((one.behind[place][0] for one in course.trials.found.values()), default=0)
        if aim.thin(behind):
            made.append(f"{aim.text}: {behind:,} flows or rounds a run, so it is the value of one of the slowest few")
        lost = sum(one.behind[place][1] for (case, *_), one in course.trials.found.items() if case == PLAIN)
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
