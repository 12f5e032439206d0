"""The course of giving advice: a pilot of everything, a race, parameter tuning, and tests of the answer, in time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from spinewise.advice import tune
from spinewise.advice.aims import Aim
from spinewise.advice.candidates import LEVELS, Candidate, Field, NotTried, unfit
from spinewise.advice.forecast import BANDS, MOST_SEEDS, PILOT, Forecast, cautious, forecast
from spinewise.advice.planned import MEASURED_ROOM, planned, short_budget, shorter
from spinewise.advice.race import Race
from spinewise.advice.stress import CHANGES, Case
from spinewise.advice.trials import PLAIN, Trials
from spinewise.errors import SpecError
from spinewise.measures import units
from spinewise.measures.classes import ALL
from spinewise.runs.jobs import default_jobs
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant

TUNE_AT = 6
"""The number of seeds after which parameters of the remaining schemes are tried: fewer would not identify these."""
TUNED_SCHEMES = 5
"""The most schemes whose parameters are tried."""
TUNE_SHARE = 0.3
"""The share of the remaining time that tuned variants may take to catch up."""
STRESS_SHARE = 0.3
"""The largest share of the budget that is reserved for trying to break the answer."""
STRESS_DOUBT = 2.0
"""A run of a test takes up to this many times as long as a run of the race: more load, more losses."""
PILOT_OVERRUN = 1.2
"""The pilot may take this many times the budget once its first seed has fitted, so that measurements are not wasted."""
STRESS_SEEDS = 4
FEWEST_TO_TEST = 3
"""At least this many schemes are tried under other conditions, if that many take part."""
FIRST_STRESS_SEEDS = 2
"""Seeds that every case has before any has more."""
STRESS_SCHEMES = 6
RUNS_A_LOOK = 3
"""Runs between two looks, as a multiple of the processors: with fewer, some would be idle at the end of each."""

Say = Callable[[str], None]


@dataclass
class Course:
    """Advice in progress.

    Attributes:
        spec: as it was given.
        resolved: under the scheme that runs today, with every default.
        aims: what is asked for.
        who: who takes part.
        trials: the runs.
        budget_s: wall seconds that all of it may take.
        first_seed: the seeds count up from it.
        bands: the smallest differences that matter, by aim.
        jobs: runs at once.
        say: called with the plan, in a line.
        start: when it began.
        unasked: aims by which other traffic entries could be judged; empty where aims were given.
        candidates: all candidates by label, including those made by tuning.
        lost: schemes whose runs failed.
        locked: schemes with a run that ended in a deadlock: they cannot be deployed.
        same: schemes that had the same outcome as another, and that one: they are run no further.
        parted: those of `same` that may differ from that one after all; they are in the race once they have its seeds.
        plans: the pilot's forecast for each aim.
        made: seeds that all in the race have run.
        tuned: whether parameters have been tried.
        no_choice: whether the pilot has shown that no scheme has a choice of paths, so that a race is pointless.
        spared: schemes that were not run because of that.
        tried: seeds that all schemes tried in a case have, by case.
        unfit: why schemes are not tried in a case, by case and scheme.
        interrupted: whether the course was interrupted.
        spent: seconds that each part took: pilot, race, tests.
    """

    spec: Spec
    resolved: Spec
    aims: Sequence[Aim]
    who: Field
    trials: Trials
    budget_s: float
    first_seed: int
    bands: Sequence[float] = BANDS
    jobs: int = field(default_factory=default_jobs)
    say: Say = lambda _: None
    start: float = field(default_factory=time.monotonic)
    unasked: Sequence[Aim] = ()
    candidates: dict[str, Candidate] = field(default_factory=dict)
    lost: list[NotTried] = field(default_factory=list)
    locked: set[str] = field(default_factory=set)
    same: dict[str, str] = field(default_factory=dict)
    parted: set[str] = field(default_factory=set)
    plans: tuple[Forecast, ...] = ()
    made: int = 0
    tuned: bool = False
    no_choice: bool = False
    spared: list[NotTried] = field(default_factory=list)
    tried: dict[str, list[int]] = field(default_factory=dict)
    unfit: dict[str, dict[str, str]] = field(default_factory=dict)
    interrupted: bool = False
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("pilot", "race", "tests"), 0.0))
    race: Race = field(init=False)

    def __post_init__(self) -> None:
        self.candidates = {one.label: one for one in self.who.candidates}
        most = tune.most([one for one in self.who.candidates if not one.oracle])
        self.race = Race({}, len(self.aims), tuple(self.bands[0] for _ in self.aims), most)

    @property
    def oracles(self) -> list[Candidate]:
        """The oracles, which are never advised."""
        return [one for one in self.candidates.values() if one.oracle and not self.is_out(one.label)]

    def is_lost(self, label: str) -> bool:
        """Whether a run of a scheme failed."""
        return any(one.scheme == label for one in self.lost)

    @property
    def is_at_limit(self) -> bool:
        """Whether the race has taken as many seeds as any may."""
        return self.made >= MOST_SEEDS

    def left_out(self) -> list[NotTried]:
        """All schemes that took no part, or not to the end."""
        return [*self.who.not_tried, *self.spared, *self.lost]

    def is_out(self, label: str) -> bool:
        """All schemes that did not take part, or not to the end."""
        return label in self.locked or self.is_lost(label)

    def deadline(self) -> float:
        """The instant at which the budget is spent."""
        return self.start + self.budget_s

    def race_end(self) -> float:
        """The instant at which the race must end, to leave time for the tests of the answer."""
        costs = self.costs().values()
        runs = len(CHANGES) * STRESS_SEEDS * STRESS_SCHEMES
        tests = STRESS_DOUBT * runs * sum(costs) / max(len(costs), 1)
        return self.deadline() - min(tests, STRESS_SHARE * self.budget_s)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of the block as that of a part."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent[name] += time.monotonic() - start

    def seeds(self, first: int, last: int) -> list[int]:
        """The seeds from number `first` to before `last`."""
        return [self.first_seed + number for number in range(first, last)]

    def pilot(self) -> None:
        """Make `PILOT` runs of everything; only of what runs today, if that shows that no scheme has a choice.

        Raises:
            SpecError: the budget does not suffice, or an aim has no value.
        """
        self.see_all()
        self.enter([one for one in self.candidates.values() if not one.oracle])
        latest = self.start + PILOT_OVERRUN * self.budget_s
        if not self.trials.run(PLAIN, self.running(), self.seeds(1, PILOT), latest):
            raise self.too_short()
        self.enter([])
        self.check_aims()
        self.tell()
        self.made = PILOT
        self.no_choice = self.trials.none_chooses(list(self.candidates))
        if not self.no_choice:
            self.set_aside()

    def set_aside(self) -> None:
        """Take what had the same outcome as another, as cheap, on all seeds out of the race: two runs tell no more."""
        order = sorted(self.race.tiers, key=lambda label: self.race.tiers[label])
        for place, label in enumerate(order):
            first = (one for one in order[:place] if one not in self.same and self.alike(label, one))
            if (other := next(first, None)) is not None:
                self.same[label] = other
                self.race.take_out(label)

    def alike(self, label: str, other: str) -> bool:
        """Whether two schemes had the same outcome, to the last packet, on all seeds that both have."""
        found = self.trials.found
        seeds = self.trials.seeds(PLAIN, [label, other])
        return bool(seeds) and all(
            found[PLAIN, label, seed].outcome == found[PLAIN, other, seed].outcome for seed in seeds
        )

    def part_again(self, end: float) -> bool:
        """Look at what was set aside on the worst seeds of its like: a loss may part them. Whether any is in again."""
        for label, other in self.same.items():
            if label in self.parted:
                continue
            theirs = {seed: self.race.values[other][seed] for seed in self.race.seeds([other]) if self.is_made(seed)}
            worst = {max(theirs, key=lambda seed: theirs[seed][aim]) for aim in range(len(self.aims))}
            self.trials.run(PLAIN, [self.candidates[label].variant], sorted(worst), end)
        self.parted |= {label for label, other in self.same.items() if not self.alike(label, other)}
        return self.make_up(end)

    def make_up(self, end: float) -> bool:
        """Run what has parted from its like on the seeds of the race. Whether any is in again.

        The worst seeds of its like alone would flatter it, so it enters only with all.
        """
        wanted = set(self.seeds(0, self.made))
        self.trials.run(PLAIN, [self.candidates[label].variant for label in sorted(self.parted)], sorted(wanted), end)
        self.enter([])
        back = [label for label in self.same if label in self.parted and wanted.issubset(self.has(label))]
        for label in back:
            self.put_back(label)
        self.tell()
        return bool(back)

    def put_back(self, label: str) -> None:
        """Enter a scheme that was set aside."""
        del self.same[label]
        self.parted.discard(label)
        self.race.enter(label, self.candidates[label].tier)

    def has(self, label: str) -> list[int]:
        """The seeds of a scheme in the spec as given."""
        return self.trials.seeds(PLAIN, [label])

    def is_made(self, seed: int) -> bool:
        """Whether all in the race have run a seed."""
        return self.first_seed <= seed < self.first_seed + self.made

    def spare_others(self) -> None:
        """Restrict runs to what runs today, if its runs on all seeds of the pilot show that no scheme has a choice."""
        today = self.candidates[self.who.today]
        if not self.trials.none_chooses([today.label]):
            return
        self.trials.run(PLAIN, [today.variant], self.seeds(1, PILOT), self.start + PILOT_OVERRUN * self.budget_s)
        if self.trials.none_chooses([today.label]):
            others = [label for label in self.candidates if label != today.label]
            self.spared = [NotTried(label, f"no scheme has a choice here: as under {today.label}") for label in others]
            self.candidates = {today.label: today}

    def see_all(self) -> None:
        """Run everything on the first seed, first a few runs, then more: the first few show how long runs take.

        Raises:
            SpecError: the budget is too short, by the measured times.
        """
        variants = [one.variant for one in self.candidates.values()]
        made, block = 0, self.jobs
        while made < len(variants):
            # Nothing is known before the first ones have been made.
            deadline = self.deadline() if made else math.inf
            whole = self.trials.run(PLAIN, variants[made : made + block], self.seeds(0, 1), deadline)
            if not made:
                self.spare_others()
                if self.spared:
                    return
            made, block = made + block, 2 * block
            # Schemes differ in cost: from few runs, only a large shortfall is evidence.
            doubt = 1.0 + max(1.0 - made / len(variants), 0.0)
            if not whole or (self.trials.made and self.pilot_needs() > doubt * self.budget_s):
                raise self.too_short()

    def pilot_needs(self) -> float:
        """The seconds that the whole pilot needs, estimated from the runs made."""
        missing = len(self.candidates) * PILOT - len(self.trials.found) - len(self.trials.failed)
        each = self.trials.spent_s / max(self.trials.made, 1)
        return time.monotonic() - self.start + each * max(missing, 0)

    def too_short(self) -> SpecError:
        """The error about a budget that the pilot shows to be too small."""
        made = units.counted(self.trials.made, "run")
        kept = "; --store DIR would keep the runs made so far" if self.trials.ledger.folder is None else ""
        return short_budget(
            self.budget_s,
            max(self.pilot_needs(), self.budget_s),
            MEASURED_ROOM,
            len(self.candidates),
            f"{made} took {units.clock(time.monotonic() - self.start)}; {shorter(self.resolved)}{kept}",
        )

    def enter(self, joining: Sequence[Candidate]) -> None:
        """Enter candidates, and remove all whose runs of the spec as given failed or ended in a deadlock.

        Raises:
            SpecError: nothing is left.
        """
        for one in joining:
            self.race.enter(one.label, one.tier)
        for (case, label, seed), text in self.trials.failed.items():
            if case == PLAIN and not self.is_lost(label):
                self.lost.append(NotTried(label, f"its run on seed {seed} failed: {text}"))
                self.race.take_out(label)
        seeds = self.trials.deadlocks(PLAIN)
        for label in seeds.keys() - self.locked:
            self.locked.add(label)
            self.race.take_out(label)
        for label in [one for one, other in self.same.items() if self.is_out(one) or self.is_out(other)]:
            if self.is_out(label):
                del self.same[label]
                self.parted.discard(label)
            elif self.race.tiers:
                self.parted.add(label)
            else:
                self.put_back(label)
        if self.race.tiers:
            return
        if not seeds:
            raise SpecError("scheme", "all that fit", "one whose runs finish", self.lost[0].because)
        made = {label: len(self.trials.seeds(PLAIN, [label])) for label in seeds}
        told = ", ".join(f"{label} on {len(found)} of {made[label]}" for label, found in seeds.items())
        hint = f"pauses wait for each other for ever under {told} seeds; buffers that never pause would prevent it"
        raise SpecError("scheme", "all that fit", "one under which this fabric does not deadlock", hint)

    def check_aims(self) -> None:
        """Refuse an aim that has no value on too many pilot seeds.

        Raises:
            SpecError: with the aim, and the number of runs in which it has a value; or runs kept no rows of flows.
        """
        for place, aim in enumerate(self.aims):
            seeds = {seed for (*_, seed), one in self.trials.found.items() if math.isfinite(one.costs[place])}
            if len(seeds) < PILOT:
                self.check_rows()
                hint = f"it has none on {PILOT - len(seeds)} of {PILOT} seeds, where no flow or round is of that kind"
                allowed = "an aim with a value in every run; a longer workload gives more values"
                raise SpecError("--aim", aim.text, allowed, hint)
            behind = [one.behind[place] for (case, *_), one in self.trials.found.items() if case == PLAIN]
            if behind and not any(aim.has_ended(*one) for one in behind):
                until, needed = f"{float(self.resolved['run']['until_us']):g}", aim.needs_ended
                hint = f"{aim.text} needs {needed}: none had finished in {units.counted(len(behind), 'run')}"
                raise SpecError("run.until_us", until, "a time in which flows or rounds finish", hint)

    def check_rows(self) -> None:
        """Refuse a limit above which runs keep no row per flow: aims are computed from these rows.

        Raises:
            SpecError: with the limit, and a sufficient one.
        """
        limit = int(self.resolved["metrics"]["keep_flows_up_to"])
        today = self.who.today
        cells = self.trials.cells(PLAIN, today, self.trials.seeds(PLAIN, [today]))
        most = max((cell.summary.of(ALL).flows for cell in cells), default=0)
        if most > limit:
            hint = f"aims need a row per flow, and a run of {most:,} flows keeps none under this limit"
            raise SpecError("metrics.keep_flows_up_to", f"{limit:,}", f"{most:,} flows or more", hint)

    def tell(self) -> None:
        """Report to the race all runs that it does not know."""
        for (case, label, seed), trial in self.trials.found.items():
            new = (label in self.race.tiers or label in self.locked) and seed not in self.race.values.get(label, {})
            # A seed whose traffic has no flow of an aim shows nothing, whatever the scheme.
            if case == PLAIN and new and all(map(math.isfinite, trial.costs)):
                self.race.tell(label, seed, trial.costs)

    def running(self) -> list[Variant]:
        """The variants to run on each further seed: all that are in the race, and the oracles."""
        labels = [*self.race.alive, *(one.label for one in self.oracles)]
        return [self.candidates[label].variant for label in labels]

    def costs(self) -> dict[str, float]:
        """The seconds that a run of each scheme takes, with all processors busy."""
        walls: dict[str, list[float]] = {}
        for (case, label, _), trial in self.trials.found.items():
            if case == PLAIN:
                walls.setdefault(label, []).append(trial.wall_s)
        slowed = self.trials.spent_s / self.trials.made_wall_s if self.trials.made_wall_s else 1.0 / self.jobs
        return {label: slowed * sum(found) / len(found) for label, found in walls.items()}

    def plan(self) -> None:
        """Choose the bands that the rest of the budget can achieve, and report them."""
        left = max(self.race_end() - time.monotonic(), 0.0)
        costs = self.costs()
        joining = {} if self.tuned else {label: len(tune.variants(self.candidates[label])) for label in self.able()}
        places = range(len(self.aims))
        self.plans = tuple(forecast(self.race, place, costs, left, self.bands) for place in places)
        self.race.bands = tuple(plan.band for plan in self.plans)
        for place, aim, plan in zip(places, self.aims, self.plans, strict=True):
            if self.no_choice:
                self.say(f"{aim.text}: no scheme has a choice of paths here, so there is nothing to race for")
                continue
            doubtful = cautious(self.race, place, costs, left, (plan.band,), joining=joining)
            in_time = cautious(self.race, place, costs, left, self.bands, joining=joining)
            self.say(planned(aim, plan, doubtful, in_time, left))

    def run_race(self, end: float) -> None:
        """Race seed by seed, until the remaining schemes are settled at every level or the instant `end` has come.

        Seeds that some lack, as time was up, come first.
        """
        self.trials.run(PLAIN, self.running(), self.seeds(0, self.made), end)
        self.enter([])
        self.tell()
        while True:
            if self.parted:
                self.make_up(end)
            self.race.look()
            if not self.tuned and self.made >= TUNE_AT:
                self.tuned = True
                self.tune(self.made, end)
                self.part_again(end)
                continue
            if (self.tuned and self.settled()) or self.is_at_limit:
                if self.part_again(end):
                    continue
                break
            block = max(1, math.ceil(RUNS_A_LOOK * self.jobs / max(len(self.race.alive), 1)))
            last = min(self.made + block, MOST_SEEDS if self.tuned else TUNE_AT)
            before = set(self.race.alive)
            whole = self.trials.run(PLAIN, self.running(), self.seeds(self.made, last), end)
            self.enter([])
            if whole and not before.issuperset(self.race.alive):
                # Schemes dropped because of one that then ended in a deadlock are in again, and must catch up on seeds.
                whole = self.trials.run(PLAIN, self.running(), self.seeds(0, last), end)
                self.enter([])
            self.tell()
            if not whole:
                self.race.look()
                break
            self.made = last

    def pools(self) -> dict[str, list[str]]:
        """The schemes available at each level: all that change no more than it."""
        found: dict[str, list[str]] = {}
        there = {self.candidates[label].tier for label in (*self.race.tiers, *self.same)}
        for tier, level in enumerate(LEVELS):
            if tier in there:
                found[level] = [label for label, its in self.race.tiers.items() if its <= tier]
        return found

    def settled(self) -> bool:
        """Whether, at every level and on every aim, the remaining schemes are known to within the band."""
        pools = self.pools().values()
        return not self.parted and all(self.race.settled(pool, aim) for pool in pools for aim in range(len(self.aims)))

    def able(self) -> list[str]:
        """The remaining schemes with parameters to try, the best first."""
        alive = self.race.alive
        order = self.race.contenders(alive)
        order += [label for label in alive if label not in order]
        return [label for label in order if tune.variants(self.candidates[label])][:TUNED_SCHEMES]

    def tune(self, made: int, end: float) -> None:
        """Enter other parameters of the remaining schemes, and run them on the seeds so far."""
        room = TUNE_SHARE * (end - time.monotonic())
        costs = self.costs()
        joining: list[Candidate] = []
        for label in self.able():
            found = [one for one in tune.variants(self.candidates[label]) if unfit(self.spec, one.variant) is None]
            room -= costs[label] * made * len(found)
            if room < 0.0:
                break
            joining += found
        self.candidates |= {one.label: one for one in joining}
        whole = self.trials.run(PLAIN, [one.variant for one in joining], self.seeds(0, made), end)
        kept = [
            one
            for one in joining
            if (whole or len(self.trials.seeds(PLAIN, [one.label])) == made)
            and not self.alike(one.label, str(one.tuned))
        ]
        for one in joining:
            if one not in kept:
                del self.candidates[one.label]
        self.enter(kept)
        self.tell()

    def interrupt(self) -> None:
        """Use the existing runs: schemes that were about to join count as never tried."""
        self.interrupted = True
        self.enter([])
        self.tell()
        self.race.look()
        never = [label for label, one in self.candidates.items()
                 if not one.oracle and not self.is_out(label)
                 and label not in self.race.tiers and label not in self.same]  # fmt: skip
        for label in never:
            del self.candidates[label]

    def try_cases(self, cases: Sequence[Case], labels: Sequence[str]) -> None:
        """Run some schemes in every case that applies, and record the seeds that all of them have.

        Every case gets a few seeds of the first schemes before any gets more, so that a short time covers all cases.
        """
        self.unfit = {}
        able: dict[str, list[Variant]] = {}
        for case in cases:
            if case.spec is not None:
                self.trials.cases[case.name] = case.spec
                able[case.name] = self.able_in(case, labels)
        # Another answer may have been tested before: its runs count even if no time is left for those of this one.
        self.tried = {name: self.seeds_in(name, variants) for name, variants in able.items()}
        rounds = [(FEWEST_TO_TEST, FIRST_STRESS_SEEDS), (len(labels), FIRST_STRESS_SEEDS), (len(labels), STRESS_SEEDS)]
        for most, last in rounds:
            for name, variants in able.items():
                self.trials.run(name, variants[:most], self.seeds(0, last), self.deadline())
                self.tried[name] = self.seeds_in(name, variants)

    def seeds_in(self, case: str, variants: Sequence[Variant]) -> list[int]:
        """The seeds of a case that all schemes have, else those that the first ones have, else those with any run."""
        labels = [one.label for one in variants]
        there = list(dict.fromkeys(label for at, label, _ in self.trials.found if at == case))
        found = (self.trials.seeds(case, some) for some in (labels, labels[:FEWEST_TO_TEST], there))
        return next((seeds for seeds in found if seeds), [])

    def able_in(self, case: Case, labels: Sequence[str]) -> list[Variant]:
        """The schemes that a case is tried with; `unfit` gets the reasons against the others."""
        assert case.spec is not None
        self.unfit[case.name] = left = {}
        found = []
        for label in labels:
            given = self.candidates[label].variant
            made = case.variant(given)
            because = unfit(case.spec, made)
            if case.own is not None and made == given:
                because = "the case leaves it as it is"
            if because is None:
                found.append(made)
            else:
                left[label] = because
        return found
