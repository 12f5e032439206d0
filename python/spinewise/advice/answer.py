"""Advice as data: `advice.json` has these fields and no others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from spinewise.advice.effects import Effect
from spinewise.advice.gear import Step
from spinewise.advice.setups import Setup
from spinewise.advice.stress import Regret
from spinewise.advice.why import Claim

Status = Literal["advised", "tied", "behind", "dropped", "same", "parted", "bound", "deadlocked"]
"""A scheme is the answer; indistinguishable from the best; in the race to its end, but behind; out of the race;
run no further, because it had the same outcome as `Entrant.like`; run on too few seeds to be compared, because its
outcome parted from that of `Entrant.like` when no time was left; an oracle, which only shows what is possible; never
advised, because one of its runs ended in a deadlock."""


Stands = Literal["better", "good enough", "undecided", "guess"]
"""How an answer relates to what runs today: surely better; what runs today, as it is within the band of the best; what
runs today, as nothing is shown to be better yet; not surely better, though what runs today is surely not the best."""


Ended = Literal["settled", "budget spent", "seed limit", "interrupted"]


@dataclass(frozen=True)
class Share:
    """The difference between the values of an aim under two schemes, as a share of the other scheme's value.

    Where less is better (`AimAnswer.more_is_better`) a scheme with a share below zero is the better one.

    Attributes:
        than: the other scheme.
        mean: by the mean of log ratios: the ratio of geometric means, less 1.
        low, high: ends of the interval that is valid at all looks; None if there is none.
        median: by the median of log ratios, which outlying seeds do not move.
        seeds: the number of seeds that both have.
    """

    than: str
    mean: float
    low: float | None
    high: float | None
    median: float
    seeds: int


@dataclass(frozen=True)
class AimAnswer:
    """An aim, and how well it could be answered.

    Attributes:
        text: the aim in plain words.
        statistic, quantity, entry, size_class: its parts.
        unit: the unit of its values: "s", "GB/s", or "" for a ratio.
        more_is_better: whether greater values are better.
        behind: the number of flows or rounds in a run from which its value is computed.
        thin: whether these are so few that a percentile is one of the last few.
        band: the share below which differences are ignored.
        planned_seeds, planned_runs, planned_s: the effort for that band, estimated from the pilot.
        reachable: whether the budget suffices, as estimated from the pilot.
        settled: whether in the end all remaining schemes are known to within the band.
        more_runs, more_s: the further effort to settle it, estimated from all runs made; 0 if it is settled.
        more_seeds: the seeds that schemes then have that stay to the end; 0 if it is settled, and in files that predate
            this field.
    """

    text: str
    statistic: str
    quantity: str
    entry: str
    size_class: str
    unit: str
    more_is_better: bool
    behind: int
    thin: bool
    band: float
    planned_seeds: int
    planned_runs: int
    planned_s: float
    reachable: bool
    settled: bool
    more_runs: int
    more_s: float
    more_seeds: int = 0


@dataclass(frozen=True)
class Sample:
    """One run.

    Attributes:
        seed: its seed.
        run: its key in the store.
        values: the value of each aim, in its unit.
        unfinished: for each aim, flows or rounds that had not finished; they count with the time since they began.
        deadlock: links whose queues paused each other indefinitely; empty if none did. Flows wait until `run.until_us`.
    """

    seed: int
    run: str
    values: tuple[float, ...]
    unfinished: tuple[int, ...]
    deadlock: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entrant:
    """A scheme that was tried.

    Attributes:
        label: its name in tables.
        scheme: its name in the registry.
        settings: its parameters that are not defaults, and the location of a class's code.
        tuned_from: the entrant it was derived from; None for those present at the start.
        about: what it does.
        level: what it changes.
        told: what must be configured for it.
        extra_bytes: shares of all bytes that only it asked for: probes, messages, headers.
        status: how it ended.
        than_best: for each aim, its value against the best remaining scheme; for the best, against the next.
        dropped_by, dropped_at: the scheme that was surely better, and after how many seeds.
        like: the scheme whose runs are the same to the last packet, or were so at first; None if there is none.
        samples: its runs, in order of seeds.
    """

    label: str
    scheme: str
    settings: tuple[tuple[str, str], ...]
    tuned_from: str | None
    about: str
    level: str
    told: tuple[str, ...]
    extra_bytes: dict[str, float]
    status: Status
    than_best: tuple[Share, ...]
    dropped_by: str | None
    dropped_at: int | None
    like: str | None
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class LevelAnswer:
    """The best scheme if no more than this may be changed.

    Attributes:
        level: the most that is changed.
        advised: the scheme to run.
        tied: all that are indistinguishable from the best at this level, the lowest mean first.
        than_today: for each aim, its value against what runs today; empty for today's scheme itself, and if a run
            of that one failed.
        settled: whether the tied schemes are known to within the band.
        near: the tied schemes within the band of the best by their means, from which the answer is chosen.
        stands: how the answer relates to what runs today; None in files that predate this field.
        look_at: where nothing is shown to be better than what runs today, the best by its mean, or
            what is nearly as good and costs less to deploy.
        look_at_than_today: for each aim, the value of `look_at` against what runs today; empty without one.
        harms: what surely gets worse for other traffic, against what runs today, under the scheme to look at, or else
            the one to run.
    """

    level: str
    advised: str
    tied: tuple[str, ...]
    than_today: tuple[Share, ...]
    settled: bool
    near: tuple[str, ...] = ()
    stands: Stands | None = None
    look_at: str | None = None
    look_at_than_today: tuple[Share, ...] = ()
    harms: tuple[Effect, ...] = ()


@dataclass(frozen=True)
class Outlier:
    """The seed on which the advised scheme did worst, compared with the median of its seeds.

    Attributes:
        good, seeds: seeds on which it did no worse than usual by more than chance and the band, of how many.
        seed: the worst one.
        share: by how much the value there was above usual, against the same schemes; below zero where less is worse.
        cause: unusual facts of that run, in words; empty if there are none.
    """

    good: int
    seeds: int
    seed: int
    share: float
    cause: str


@dataclass(frozen=True)
class Extreme:
    """The worst seed of a scheme on an aim, where it is far from what the scheme usually has.

    Attributes:
        scheme: its label.
        aim: in words.
        unit: of the value.
        seed, value: the seed, and the value there.
        times: how many times as bad that is as the geometric mean over its seeds, which includes it.
        seeds: how many it has.
        timeouts: of the flows of the aim in that run; None where the run does not tell.
        usual_timeouts: the median over its seeds; None likewise.
    """

    scheme: str
    aim: str
    unit: str
    seed: int
    value: float
    times: float
    seeds: int
    timeouts: float | None = None
    usual_timeouts: float | None = None


@dataclass(frozen=True)
class CaseAnswer:
    """The outcome for the answer when one condition differed from the spec.

    Attributes:
        name, words: the condition that differed.
        tried: whether it was tried.
        because: the reason why it was not.
        regrets: the regrets of the schemes tried in it, the best first.
        deadlocks: the number of seeds on which queues paused each other indefinitely, by scheme, if any.
        left: why other schemes were not tried in it.
    """

    name: str
    words: str
    tried: bool
    because: str | None
    regrets: tuple[Regret, ...]
    deadlocks: dict[str, int] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Untried:
    """A scheme that did not take part, and why."""

    scheme: str
    because: str


@dataclass(frozen=True)
class Effort:
    """The cost of the answer.

    Attributes:
        runs: runs made now; stored: runs that were reused, from the store or from another variant.
        grid: runs that it would take to run every scheme and variant that was tried on every seed that any of them
            had, and in every case.
        seconds: wall time.
        budget_s: the time allowed.
        pilot_s, race_s, stress_s: its parts.
        seeds: the number of seeds of the schemes that stayed to the end.
    """

    runs: int
    stored: int
    grid: int
    seconds: float
    budget_s: float
    pilot_s: float
    race_s: float
    stress_s: float
    seeds: int


@dataclass(frozen=True)
class Advice:
    """The load balancer to run, how certain that is, the reasons, and when it would be wrong.

    Attributes:
        format: name and version of this format, of `runs.formats.ADVISE`.
        version: of Spinewise.
        name: of the spec.
        spec_hash: of the spec under the scheme that runs today, resolved.
        aims: what was asked for; the first one decides.
        may: the levels of `levels`, the cheapest first: those that have a candidate, "as it is" among them.
        today: the scheme that runs today.
        advised: the answer; what runs today where nothing is shown to be better (`levels[-1].stands`).
        level: what it changes.
        tied: schemes indistinguishable from the best, the lowest mean first.
        front: with several aims, schemes that no other surely beats on one aim while being as good, within the band, on
            the rest; what runs today is among them if it has the better mean on any.
        ended: "settled" within the band, as far as the answer goes; before that "budget spent", "seed limit" (no race
            takes more seeds) or "interrupted".
        guess: the best by the means of its seeds, whatever it costs; the answer itself where nothing seems better.
        guess_than: for each aim, the value of `guess` against the answer.
        levels: the best at each level.
        entrants: all schemes that were tried.
        why: what it does better than `why_than`, each checked against the runs.
        price: what it does worse.
        why_than: the scheme it is compared with there; None if there is none.
        shared: limits that no scheme can remove, if any were seen.
        effects: what it does to the other traffic entries and size classes, against what runs today.
        outlier: its worst seed; None if all are alike.
        extremes: seeds of the answer, of what runs today and of what seems better that are far worse than usual.
        cases: the conditions tried to break it.
        wrong: when it would be wrong, in words.
        gear: how to turn it on.
        not_tried: schemes that did not take part.
        notes: further notes.
        effort: the cost of the answer.
        method: the statistics, with their source.
        alpha: upper bound of the chance that the best scheme was dropped at any look.
        confidence: of each interval of the race, at all looks together.
        simulated: the fabric, the transport, the traffic and the faults, in words.
        spec: under the scheme that runs today, with every default; None in files that predate this field.
        interrupted: whether the race or the tests were interrupted.
        no_choice: why no scheme had a choice of paths in any run, in words; empty where some had one.
        idle: that links between switches are hardly used, so that no scheme can be better than what runs today, in
            words; empty otherwise.
        setups: the settings that variants ran over, where they differ in more than their scheme; what runs today first.
        named: the number of schemes that were named to choose from; 0 if none were.
        unnamed: the number of Spinewise's schemes that were not named.
        unasked: where no aim was given, those by which the other traffic entries could be judged, in plain words.
    """

    format: str
    version: str
    name: str
    spec_hash: str
    aims: tuple[AimAnswer, ...]
    may: tuple[str, ...]
    today: str
    advised: str
    level: str
    tied: tuple[str, ...]
    front: tuple[str, ...]
    ended: Ended
    guess: str
    guess_than: tuple[Share, ...]
    levels: tuple[LevelAnswer, ...]
    entrants: tuple[Entrant, ...]
    why: tuple[Claim, ...]
    price: tuple[Claim, ...]
    why_than: str | None
    shared: str | None
    effects: tuple[Effect, ...]
    outlier: Outlier | None
    cases: tuple[CaseAnswer, ...]
    wrong: tuple[str, ...]
    gear: tuple[Step, ...]
    not_tried: tuple[Untried, ...]
    notes: tuple[str, ...]
    effort: Effort
    method: str
    alpha: float
    confidence: float
    simulated: tuple[str, ...] = ()
    spec: dict[str, object] | None = None
    interrupted: bool = False
    no_choice: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    extremes: tuple[Extreme, ...] = ()
    setups: tuple[Setup, ...] = ()
    named: int = 0
    unnamed: int = 0
    unasked: tuple[str, ...] = ()

    def entrant(self, label: str) -> Entrant:
        """The scheme of this label.

        Raises:
            KeyError: it was not tried.
        """
        for found in self.entrants:
            if found.label == label:
                return found
        raise KeyError(f"no scheme {label!r} was tried; there are {', '.join(one.label for one in self.entrants)}")

    def __repr__(self) -> str:
        return f"<Advice: run {self.advised} ({self.level}); {self.ended}, {len(self.tied)} not told apart>"
