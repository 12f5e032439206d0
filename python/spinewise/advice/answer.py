"""What an advice says, as data: `advice.json` has these fields, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from spinewise.advice.effects import Effect
from spinewise.advice.gear import Step
from spinewise.advice.setups import Setup
from spinewise.advice.stress import Regret
from spinewise.advice.why import Claim

Status = Literal["advised", "tied", "behind", "dropped", "same", "bound", "deadlocked"]
"""A scheme is the answer; not told apart from the best; in the race to its end, and told apart; out of the race;
not run on, for it had the same outcome as `Entrant.like`; an oracle, which only shows what can be had; never advised,
for a run of it ended in a deadlock."""


Stands = Literal["better", "good enough", "undecided", "guess"]
"""How an answer stands to what runs today: surely better; that itself, for it is within the band of the best; that
itself, for nothing is shown to be better yet; not surely better, though what runs today is surely not the best."""


Ended = Literal["settled", "budget spent", "interrupted"]


@dataclass(frozen=True)
class Share:
    """By how much the value of an aim under one scheme is above that under another, as a share of the latter.

    Where less is better (`AimAnswer.more_is_better`) a scheme with a share below zero is the better one.

    Attributes:
        than: the other scheme.
        mean: by the mean of log ratios: the ratio of geometric means, less 1.
        low, high: ends of the interval that holds at all looks; None where nothing can be told.
        median: by the median of log ratios, which outlying seeds do not move.
        seeds: seeds that both have.
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
        text: as people say it.
        statistic, quantity, entry, size_class: its parts.
        unit: of its values: "s", "GB/s" or "" of a ratio.
        more_is_better: whether greater values are better.
        behind: flows or rounds of a run that its value rests on.
        thin: whether these are so few that a percentile is one of the last few.
        band: the share below which differences count as none.
        planned_seeds, planned_runs, planned_s: what the pilot said that band takes.
        reachable: whether the pilot said that the budget suffices.
        settled: whether in the end all that is left is known to within the band.
        more_runs, more_s: what it would take from there to settle it, by all runs that were made; 0 if it is settled.
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


@dataclass(frozen=True)
class Sample:
    """One run.

    Attributes:
        seed: its seed.
        run: its key in the store.
        values: of each aim, in its unit.
        unfinished: of each aim, flows or rounds that had not finished, which count with the time they had waited.
        deadlock: links whose queues paused each other for ever; empty if none did. Flows wait until `run.until_us`.
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
        label: what it is called.
        scheme: its name in the registry.
        settings: its parameters that are not defaults, and where the code of a class lies.
        tuned_from: the entrant it was made of; None of those there at the start.
        about: what it does.
        level: what it changes.
        told: what it must be told.
        extra_bytes: shares of all bytes that only it asked for: probes, messages, headers.
        status: how it ended.
        than_best: of each aim, its value against the best that is left; of the best, against the next.
        dropped_by, dropped_at: who was surely better, and after how many seeds.
        like: the scheme whose runs are the same to the last packet; None if there is none.
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
    """The best for those who may change no more than this.

    Attributes:
        level: the most that is changed.
        advised: the scheme to run.
        tied: all that are not told apart from the best at this level, the least mean first.
        than_today: of each aim, its value against what runs today; empty of that itself.
        settled: whether what is tied is known to within the band.
        near: of what is tied, those within the band of the best by their means, from which the answer is chosen.
        stands: how the answer stands to what runs today; None in files of before it was told.
        look_at: where nothing is shown to be better than what runs today, the best by its mean, or
            what is nearly as good and costs less to deploy.
        look_at_than_today: of each aim, the value of that one against what runs today; empty without one.
        harms: what surely gets worse for others than the aims are of, against what runs today, under the scheme to look
            at, or else the one to run.
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
    """The seed on which the advised scheme did worst, against the median of its seeds.

    Attributes:
        good, seeds: seeds on which it did no worse than usual by more than chance and the band, of how many.
        seed: the worst one.
        share: by how much the value there was above usual, against the same schemes; below zero where less is worse.
        cause: facts of that run that stand out, in words; empty if none does.
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
    """What became of the answer when something was other than the spec says.

    Attributes:
        name, words: what was other.
        tried: whether it was tried.
        because: why it was not.
        regrets: of the schemes tried in it, the best first.
        deadlocks: on how many seeds queues paused each other for ever, by scheme; only schemes with such a seed.
        left: why schemes that would have been tried in it were not.
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
    """A scheme that took no part, and why."""

    scheme: str
    because: str


@dataclass(frozen=True)
class Effort:
    """What the answer cost.

    Attributes:
        runs: made now; stored: those that were reused, from the store or of another variant.
        grid: runs that it would take to run every scheme and variant that was tried on every seed that any of them
            had, and in every case.
        seconds: wall time.
        budget_s: what was allowed.
        pilot_s, race_s, stress_s: its parts.
        seeds: of those that stayed to the end.
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
    """Which load balancer to run, how surely, why, and when not.

    Attributes:
        format: name and version of this format, of `runs.formats.ADVISE`.
        version: of Spinewise.
        name: of the spec.
        spec_hash: of the spec under the scheme that runs today, resolved.
        aims: what was asked for; the first one decides.
        may: what may be changed.
        today: the scheme that runs today.
        advised: the answer; what runs today where nothing is shown to be better (`levels[-1].stands`).
        level: what it changes.
        tied: schemes not told apart from the best, the least mean first.
        front: with several aims, schemes than which no other is surely better on one and as good, within the band, on
            the rest; what runs today is among them if it has the better mean on any.
        ended: "settled" within the band, as far as the answer goes, "budget spent", or "interrupted" before either.
        guess: the best by the means of its seeds, whatever it costs; the answer itself where nothing seems better.
        guess_than: of each aim, the value of that one against the answer.
        levels: the best at each level.
        entrants: all schemes that were tried.
        why: what it does better than `why_than`, each checked against the runs.
        price: what it does worse.
        why_than: the scheme it is held against there; None if there is none.
        shared: what no scheme can help, if anything was seen.
        effects: what it does to the other traffic entries and size classes, against what runs today.
        outlier: its worst seed; None where all are alike.
        extremes: seeds of the answer, of what runs today and of what seems better that are far worse than usual, by
            aim.
        cases: what was tried to break it.
        wrong: when it would be wrong, in words.
        gear: how to turn it on.
        not_tried: schemes that took no part.
        notes: what else is to be known.
        effort: what it cost.
        method: the statistics, with their source.
        alpha: at most the chance that the best scheme was dropped at any look.
        confidence: of each interval of the race, at all looks together.
        simulated: the fabric, the transport, the traffic and the faults, in words.
        spec: under the scheme that runs today, with every default; None in files of before it was kept.
        interrupted: whether somebody wanted no more runs, in the race or in the tests.
        no_choice: why no scheme had a choice of paths in any run, in words; empty where some had one.
        idle: that links between switches are hardly used, so that no scheme can be better than what runs today, in
            words; empty where that is not so.
        setups: what variants ran over, where they differ in more than their scheme; what runs today first.
        named: schemes that somebody has named to choose from; 0 where nobody has.
        unnamed: schemes that Spinewise has and that were not named.
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
