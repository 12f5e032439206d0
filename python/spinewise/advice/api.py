"""Advice from Python: `spinewise.advise`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from spinewise.advice import BUDGET_S
from spinewise.advice import aims as aims_
from spinewise.advice.answer import Advice
from spinewise.advice.candidates import Field, find, may_list
from spinewise.advice.choice import choose, to_test
from spinewise.advice.compose import compose
from spinewise.advice.conduct import Course, Say
from spinewise.advice.forecast import BANDS, MOST_SEEDS
from spinewise.advice.planned import ESTIMATED_ROOM, pilot_s, short_budget, shorter
from spinewise.advice.stress import Case, cases
from spinewise.advice.trials import PLAIN, Trials
from spinewise.comparison.plan import COUNTED_UP, MOST_SEED
from spinewise.errors import SpecError
from spinewise.measures.afterwards import NO_CHOICE
from spinewise.own.contract import OwnClass
from spinewise.plain import share, unlike
from spinewise.runs.jobs import Monitor, check_monitor, checked_jobs, checked_seconds, default_jobs
from spinewise.runs.validation import validate
from spinewise.shapes import Spec
from spinewise.specs.lines import located
from spinewise.specs.spec import as_spec, file_of, resolve
from spinewise.specs.variants import with_one_ideal
from spinewise.sweeps.engine import Engine, capacity
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import opened

T = TypeVar("T")

OnInterrupt = Literal["raise", "answer"]

DOUBT = 2.0
"""Estimates of runs are within this factor."""
SOON_S = 2.0
"""A run that seems to take no longer is made rather than estimated."""


def advise(
    spec: Mapping[str, object] | str | Path,
    *,
    aims: str | Iterable[str] = (),
    may: str | Iterable[str] | None = None,
    schemes: str | Iterable[str | OwnClass] | None = None,
    own: Iterable[OwnClass] = (),
    budget_s: float = BUDGET_S,
    band: float | str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    store: str | Path | None = None,
    engine: Engine | None = None,
    monitor: Monitor | None = None,
    say: Say | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> Advice:
    """Return the load balancer that a fabric should run, and the reasons.

    Args:
        spec: fabric, faults, transport and traffic: a dict or a TOML file. A scheme in it is the one that runs today.
        aims: such as ``p99 slowdown of web``; by workload when none is given. The first decides; several also give a
            Pareto front.
        may: what may be changed: configuration, hosts, leaves, switches; all of it when None.
        schemes: variants to choose from, as `spinewise.compare` takes them; all that fit and say what they need when
            None. A class counts as one that changes all hosts or all switches, by where it sits.
        own: classes that `schemes` may name; those that it does not name take part too.
        budget_s: wall seconds that it may take.
        band: the share below which a difference does not matter, 0.02 or "2%"; chosen by what the budget can reach
            when None.
        seed: the first one, in place of the spec's; further ones count up.
        jobs: runs at once; one per core when None. An engine that knows how many it makes at once is asked instead.
        store: a folder that keeps every run as it ends, so that an interrupted advice can continue.
        engine: what makes the runs; threads of this process when None.
        monitor: notified of progress.
        say: called with the plan, in a line.
        on_interrupt: "answer" Ctrl-C after the pilot by what has been run, as the command does, or "raise".

    Raises:
        SpecError: naming key, value and what is allowed.
        TypeError: an argument is of another kind.
    """
    start = time.monotonic()
    check_monitor(monitor)
    given = as_spec(spec)
    budget_s = checked_seconds("budget_s", budget_s)
    bands = BANDS if band is None else (share("--band", band),)
    try:
        asked = [aims] if isinstance(aims, str) else listed("aims", aims)
        who, resolved, wanted = prepared(given, asked, may, schemes, seed, own=listed("own", own))
        first = int(resolved["seed"])
        local = default_jobs() if jobs is None else checked_jobs(jobs)
        made_by = engine or Local(jobs)
        workers = capacity(made_by, local)
        check_cost(resolved, who, budget_s, workers)
    except SpecError as error:
        raise located(error, file_of(spec)) from None
    with opened(store) as ledger:
        trials = Trials(
            name=str(resolved.get("name", "")), cases={PLAIN: given}, aims=wanted, ledger=ledger,
            engine=made_by, monitor=monitor,
        )  # fmt: skip
        course = Course(
            spec=given, resolved=resolved, aims=wanted, who=who, trials=trials, budget_s=budget_s, first_seed=first,
            bands=bands, jobs=workers, say=say or (lambda _: None), start=start,
            unasked=() if asked else aims_.defaults(resolved)[1:],
        )  # fmt: skip
        return conducted(course, on_interrupt)


def conducted(course: Course, on_interrupt: OnInterrupt) -> Advice:
    """Conduct the whole course of advice, from the pilot to the answer."""
    with course.part("pilot"):
        course.pilot()
    course.plan()
    tests = cases(course.spec, course.resolved)
    if course.no_choice:
        return compose(course, tests)
    try:
        race_and_test(course, tests)
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        course.interrupt()
    return compose(course, tests)


def race_and_test(course: Course, tests: Sequence[Case]) -> None:
    """Conduct the race after the pilot, and the tests of its answer."""
    with course.part("race"):
        course.run_race(course.race_end())
    with course.part("tests"):
        course.try_cases(tests, to_test(course, choose(course)))
    if not course.settled():
        # The tests took less time than was reserved for them.
        tested = choose(course).advised
        with course.part("race"):
            course.run_race(course.deadline())
        if choose(course).advised != tested:
            with course.part("tests"):
                course.try_cases(tests, to_test(course, choose(course)))


def prepared(
    given: Spec,
    aims: Sequence[str],
    may: str | Iterable[str] | None,
    schemes: str | Iterable[str | OwnClass] | None,
    seed: int | None,
    *,
    own: Sequence[OwnClass] = (),
) -> tuple[Field, Spec, Sequence[aims_.Aim]]:
    """Return the candidates, the spec as it runs today, and the aims.

    `given` gets the seed, and what makes slowdowns of the candidates comparable.
    """
    refuse_foreign(given)
    if seed is not None:
        given["seed"] = seed
    allowed = may_list(may if may is None or isinstance(may, str) else listed("may", may))
    named = schemes if schemes is None or isinstance(schemes, str) else listed("schemes", schemes)
    who = find(given, allowed, named, own)
    given.update(with_one_ideal(given, [one.variant for one in who.candidates]))
    today = next(one.variant for one in who.candidates if one.label == who.today)
    resolved = resolve(today.apply(given))
    check_seed("seed" if seed is None else "--seed", int(resolved["seed"]))
    wanted = [aims_.parse(text, resolved) for text in aims] or [aims_.default(resolved)]
    for aim in wanted:
        if wanted.count(aim) > 1:
            raise SpecError("--aim", aim.text, "aims that differ")
    return who, resolved, wanted


def check_seed(key: str, first: int) -> None:
    """Check that as many seeds follow the first one as a race may take.

    Raises:
        SpecError: fewer do.
    """
    most = MOST_SEED - MOST_SEEDS + 1
    if first > most:
        raise SpecError(key, first, f"at most {most}: advice may take {MOST_SEEDS} seeds", COUNTED_UP)


def listed(name: str, given: Iterable[T]) -> list[T]:
    """The items of an iterable, as a list.

    Raises:
        TypeError: it is not iterable.
    """
    if not isinstance(given, Iterable):
        raise unlike(name, "a text or a list", given)
    return list(given)


def refuse_foreign(given: Spec) -> None:
    """Refuse a spec that has neither a fabric nor traffic: the file is something else.

    Raises:
        SpecError: it has neither.
    """
    if "topology" not in given and "traffic" not in given:
        there = ", ".join(list(given)[:6]) or "nothing"
        hint = "files of other tools are read by `spinewise import`: docs/interop.md"
        raise SpecError("(whole file)", f"tables {there}", "a spec with [topology] and [[traffic]]", hint)


def check_cost(resolved: Spec, who: Field, budget_s: float, jobs: int) -> None:
    """Refuse a budget far below the cost of the pilot, from the first moments of a run, before long runs are made.

    Short runs are made instead: they show more.

    Raises:
        SpecError: with the time it would take.
    """
    found = validate(resolved)
    fixed = any(one.code in NO_CHOICE for one in found.warnings)
    needed = pilot_s(found.estimate.seconds, 1 if fixed else len(who.candidates), jobs)
    if needed > DOUBT * budget_s and found.estimate.seconds > min(SOON_S, budget_s):
        raise short_budget(budget_s, needed, ESTIMATED_ROOM, len(who.candidates), shorter(resolved))
