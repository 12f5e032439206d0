"""The course of an advice where something goes wrong: failures, time that is up, seeds that end, other engines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

import spinewise as sw
from spinewise.advice import api, conduct, files, show
from spinewise.advice.aims import Aim
from spinewise.advice.answer import Advice
from spinewise.advice.api import prepared
from spinewise.advice.candidates import find, may_list
from spinewise.advice.cases import is_absent
from spinewise.advice.choice import choose
from spinewise.advice.compose import ended, entrants
from spinewise.advice.conduct import Course
from spinewise.advice.forecast import MOST_SEEDS, PILOT, Forecast, forecast
from spinewise.advice.planned import planned
from spinewise.advice.race import Race
from spinewise.advice.regretted import case_answer, regrets_of
from spinewise.advice.stress import cases
from spinewise.advice.trials import PLAIN, Trial, Trials
from spinewise.comparison.plan import MOST_SEED
from spinewise.own.contract import give
from spinewise.page import of_advice
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant
from spinewise.sweeps.engine import Engine, capacity
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import in_memory

SPEC: Spec = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"name": "swap", "kind": "permutation", "size_bytes": 20_000}],
}
SEEDS = 40


class Failing(sw.SwitchScheme):
    """A scheme that needs no oracle; a test makes it fail."""

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        """The first path."""
        del cx, flow, packet, header
        return 0


def test_an_answer_survives_that_what_runs_today_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice ended in "no scheme 'Mine' was tried", and all its runs were lost."""
    run = Trials.run

    def fails(self: Trials, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        kept = [one for one in variants if one.name != "Failing" or max(seeds) <= PILOT]
        for one in variants:
            if one not in kept:
                self.failed[case, one.label, max(seeds)] = "SchemeError: mine"
        return run(self, case, kept, seeds, deadline)

    monkeypatch.setattr(Trials, "run", fails)
    found = sw.advise(give(SPEC, Failing), schemes=["ecmp", "rps"], own=[Failing], budget_s=8, jobs=1, band=0.3)
    because = show.failed(found) or ""
    assert because.startswith("its run on seed ")
    assert because.endswith(" failed: SchemeError: mine")
    assert found.today == "Failing"
    assert found.advised in {"ecmp", "rps"}
    assert all(level.than_today == level.look_at_than_today == () for level in found.levels)
    assert found.effects == ()
    assert found.why_than != "Failing"
    assert "Failing" in {one.scheme for one in found.not_tried}
    told = dict(show.sections(found))
    assert told["By how much"][0] == f"what runs today failed, and is not compared: Failing: {because}"
    assert show.level_rows(found)[1] == ("as it is", f"Failing: FAILED: {because}", "")
    assert all("as today" not in row[1] for row in show.level_rows(found))
    assert f"| as it is | Failing: FAILED: {because}" in files.markdown(found)
    card = next(one for one in of_advice.answers(found, told) if one.question == "by how much")
    assert (card.answer, card.tone) == ("not compared", "unsure")


def test_a_class_is_no_oracle_whatever_its_docstring_says() -> None:
    """It was never advised, as an oracle that knows the rate of every path."""
    who = find(SPEC, may_list(None), ["ecmp", Failing, "proportional"])
    assert {one.label: one.oracle for one in who.candidates} == {"ecmp": False, "Failing": False, "proportional": True}


def test_an_oracle_cannot_run_today() -> None:
    """It was kept, though it is never advised: the answer had no numbers."""
    with pytest.raises(sw.SpecError) as refused:
        sw.advise({**SPEC, "scheme": {"name": "proportional"}}, schemes="ecmp,rps", budget_s=5)
    assert (refused.value.key, refused.value.value) == ("scheme.name", "proportional")
    assert "proportional" not in refused.value.allowed
    assert "an oracle, which no fabric can run" in str(refused.value.hint)


@pytest.mark.parametrize(("given", "key"), [(None, "seed"), (MOST_SEED, "--seed")])
def test_seeds_that_would_run_out_are_refused_at_once(given: int | None, key: str) -> None:
    """The pilot ended in "a number of 65 bits (in scheme ecmp)"."""
    most = MOST_SEED - MOST_SEEDS + 1
    spec: Spec = {**SPEC, "seed": 1 if given else most + 1}
    with pytest.raises(sw.SpecError, match=f"advice may take {MOST_SEEDS} seeds") as refused:
        prepared(spec, [], None, "ecmp,rps", given)
    assert refused.value.key == key
    assert f"at most {most}" in refused.value.allowed
    assert "seeds count up from the spec's" in str(refused.value.hint)
    assert prepared({**SPEC, "seed": most}, [], None, "ecmp,rps", None)[1]["seed"] == most


class Sized:
    """An engine that says how many runs it makes at once."""

    def capacity(self) -> int:
        """Two hundred processors."""
        return 200

    def run(self, *given: Any) -> Any:
        """Never asked for."""
        raise AssertionError(given)


class Unsized:
    """An engine that does not."""

    run = Sized.run


def test_plans_go_by_the_size_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cluster of 200 processors, it planned for the two of this machine."""
    assert capacity(cast(Engine, Sized()), 2) == 200
    assert capacity(cast(Engine, Unsized()), 2) == 2
    assert capacity(Local(3), 2) == 3
    courses: list[Course] = []

    def noted(course: Course, _: object) -> Advice:
        courses.append(course)
        return cast(Advice, None)

    monkeypatch.setattr(api, "conducted", noted)
    for engine in (cast(Engine, Sized()), cast(Engine, Unsized()), None):
        sw.advise(SPEC, schemes="ecmp,rps", jobs=2, engine=engine)
    assert [course.jobs for course in courses] == [200, 2, 2]


class Given(Trials):
    """Runs whose costs are given; `left` of them are made before time is up."""

    left: int | None = None

    def run(self, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        """See `Trials.run`."""
        del deadline
        for seed in seeds:
            for one in variants:
                if (case, one.label, seed) in self.found:
                    continue
                if self.left is not None:
                    if not self.left:
                        return False
                    self.left -= 1
                cost, outcome = given_cost(one.label, seed)
                self.found[case, one.label, seed] = Trial(
                    cast(Any, None), (cost,), (cost,), ((4, 0),), (), 0.1, "t", outcome
                )
        return True


def given_cost(label: str, seed: int) -> tuple[float, str]:
    """ECMP and WCMP differ only by a timeout on some seeds: on as many, but others."""
    cost = 1.0 + 0.01 * (seed * 7 % 11)
    if label == "rps":
        return 1.05 * cost, f"rps {seed}"
    late = seed > PILOT and seed % 10 == (5 if label == "ecmp" else 7)
    return (8.0 * cost, f"{label} {seed}") if late else (cost, f"alike {seed}")


@contextmanager
def parting() -> Iterator[tuple[Course, Given]]:
    """A race of 40 seeds in which WCMP was set aside, as it was like ECMP in the pilot."""
    aim = Aim("mean", "round time", "swap")
    with in_memory() as ledger:
        trials = Given("", {PLAIN: SPEC}, [aim], ledger, Local(1))
        made = Course(
            spec=SPEC, resolved=sw.resolve(SPEC), aims=[aim], who=find(SPEC, may_list(None), "ecmp,wcmp,rps"),
            trials=trials, budget_s=1e9, first_seed=1, jobs=1,
        )  # fmt: skip
        variants = {label: one.variant for label, one in made.candidates.items()}
        trials.run(PLAIN, list(variants.values()), made.seeds(0, PILOT), math.inf)
        made.enter(list(made.candidates.values()))
        made.tell()
        made.made, made.tuned, made.race.bands = PILOT, True, (0.3,)
        made.set_aside()
        assert made.same == {"wcmp": "ecmp"}
        trials.run(PLAIN, [variants["ecmp"], variants["rps"]], made.seeds(0, SEEDS), math.inf)
        made.tell()
        made.made = SEEDS
        yield made, trials


def test_what_parts_when_time_is_up_has_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ran on the worst seed of ECMP alone, and looked better by two thirds."""
    with parting() as (made, trials):
        trials.left = 1
        assert not made.part_again(math.inf)
        assert (made.same, made.parted) == ({"wcmp": "ecmp"}, {"wcmp"})
        assert "wcmp" not in made.race.tiers
        assert not made.settled()
        found = choose(made)
        assert "wcmp" not in (*found.tied, found.advised, found.look_at)
        assert ended(made, found) == "budget spent"
        monkeypatch.setattr(Trials, "cells", lambda *_: [])
        monkeypatch.setattr("spinewise.advice.compose.sample", lambda *_: None)
        (wcmp,) = [one for one in entrants(made, found) if one.label == "wcmp"]
        assert (wcmp.status, wcmp.like, wcmp.than_best) == ("parted", "ecmp", ())


def test_a_race_fills_the_seeds_that_are_missing_first() -> None:
    """A race that went on after the tests left the gap: WCMP had the worst seed of ECMP, and then the new ones."""
    with parting() as (made, trials):
        trials.left = 1
        made.part_again(math.inf)
        trials.left = None
        made.run_race(math.inf)
        assert made.parted == set()
        assert made.same == {}
        assert made.race.seeds(["wcmp"]) == made.seeds(0, made.made)


def test_seeds_that_some_lack_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A race that goes on begins with what the last one left undone."""
    with parting() as (made, trials):
        for seed in (7, 8, 9):
            del trials.found[PLAIN, "rps", seed], made.race.values["rps"][seed]
        monkeypatch.setattr(Course, "part_again", lambda *_: False)
        made.run_race(math.inf)
        assert made.race.seeds(["rps"]) == made.seeds(0, made.made)


def test_what_is_free_again_makes_up_its_seeds_before_it_races() -> None:
    """ECMP stops the fabric: what was like it in the pilot has three seeds, and those it was looked at on."""
    with parting() as (made, trials):
        made.locked.add("ecmp")
        made.race.take_out("ecmp")
        made.enter([])
        assert (made.parted, "wcmp" in made.race.tiers) == ({"wcmp"}, False)
        assert made.make_up(math.inf)
        assert made.race.seeds(["wcmp"]) == made.seeds(0, SEEDS)
        assert trials.seeds(PLAIN, ["wcmp"]) == made.seeds(0, SEEDS)


def test_what_parted_is_told() -> None:
    """On the screen, in the tables and on the page: its name, and no numbers."""
    found = sw.advise(SPEC, schemes="ecmp,wcmp,rps,drill", budget_s=3, jobs=1, band=0.3)
    wcmp = replace(found.entrant("wcmp"), status="parted", like="ecmp", than_best=())
    parted = replace(found, entrants=tuple(wcmp if one.label == "wcmp" else one for one in found.entrants))
    told = "wcmp may differ from ecmp, whose outcome it had at first: no time was left for its seeds"
    assert told in show.surely(parted)
    (row,) = [one for one in of_advice.entrants(parted).rows if one[0].text == "wcmp"]
    assert (row[1].text, {one.text for one in row[4:6]}) == ("may differ from ecmp", {""})
    assert f"| wcmp | {len(wcmp.samples)} | may differ from ecmp |  |  |" in files.markdown(parted)


def test_tests_of_another_answer_are_kept() -> None:
    """Another answer came late, no time was left for its tests, and those of the others were thrown away."""
    with parting() as (made, trials):
        tests = cases(made.spec, made.resolved)
        made.try_cases(tests, ["ecmp", "wcmp"])
        trials.left = 0
        made.try_cases(tests, ["rps", "ecmp", "wcmp"])
        regretted = regrets_of(made, tests)
        (found,) = [case_answer(made, one, regretted[one.name]) for one in tests if one.name == "incast"]
        assert {one.scheme for one in found.regrets} == {"ecmp", "wcmp"}
        assert is_absent(found, "rps")


def test_a_race_that_ends_by_its_seeds_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It said that the budget is spent, of which four fifths were left, and that a longer one would help."""
    monkeypatch.setattr(conduct, "MOST_SEEDS", 8)
    web = {"name": "web", "kind": "poisson", "cdf": "fb_hadoop", "load": 0.5, "duration_us": 400}
    found = sw.advise({**SPEC, "traffic": [web]}, schemes="ecmp,rps", budget_s=40, jobs=1, band=0.0001)
    assert (found.ended, found.effort.seeds) == ("seed limit", 8)
    how = show.surely(found)
    assert how[0].startswith(f"not settled by {MOST_SEEDS:,} seeds, the most that a race takes, after 8 seeds of ")
    assert found.effort.seconds < 0.8 * found.effort.budget_s
    (aim,) = found.aims
    assert aim.more_seeds > MOST_SEEDS
    assert not [line for line in how if "a longer --budget" in line]
    more = f"more than the {MOST_SEEDS:,} seeds that a race may take; a wider --band or longer runs need fewer"
    assert [line for line in how if line.endswith(more)]
    assert (aim.reachable, aim.planned_seeds > MOST_SEEDS) == (False, True)
    cannot = f"the pilot said that {MOST_SEEDS:,} seeds, the most that a race takes, cannot tell differences of"
    assert [line for line in how if line.startswith(cannot)]


def test_a_plan_minds_the_most_seeds_of_a_race() -> None:
    """It promised a band that takes more seeds than a race may have."""
    race = Race({"a": 0, "b": 0}, 1, (0.01,), 2)
    for seed in range(3):
        race.tell("a", seed, (1.0,))
        race.tell("b", seed, (math.exp(0.3 * (seed - 1)),))
    costs = {"a": 1e-6, "b": 1e-6}
    wide = forecast(race, 0, costs, 1e9, (0.01, 0.3))
    assert (wide.band, wide.settles) == (0.3, True)
    narrow = forecast(race, 0, costs, 1e9, (0.01,))
    assert narrow.seeds > MOST_SEEDS
    assert not narrow.settles
    aim = Aim("mean", "round time", "swap")
    told = planned(aim, narrow, narrow, narrow, 1e9)
    assert told.startswith(f"{aim.text}: {MOST_SEEDS:,} seeds, the most that a race takes, cannot settle it. ")
    slow = Forecast(0.01, 100, 100, 50.0, settles=False)
    assert planned(aim, slow, slow, slow, 10.0).startswith(f"{aim.text}: the 10s left cannot settle it. ")
