"""The same study for a user's own spec: the cost of its [[fault]] tables, scheme by scheme and entry by entry.

Every scheme runs the spec as given and again without its faults, on the same traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from spinewise import core
from spinewise.comparison.cells import Skipped
from spinewise.comparison.plan import Plan as ComparisonPlan
from spinewise.comparison.plan import seed_list
from spinewise.errors import SpecError
from spinewise.measures import stats
from spinewise.measures.notices import Notice
from spinewise.measures.summary import ALL
from spinewise.own.contract import OwnClass
from spinewise.replies import Fabric
from spinewise.resilience.compared import Pair, cost
from spinewise.resilience.own_recorded import Recording, recorded
from spinewise.resilience.runs import Wanted, recordings
from spinewise.runs.jobs import Case, Monitor, resolved_case
from spinewise.runs.validation import validate
from spinewise.shapes import Spec
from spinewise.specs.beside import check_beside
from spinewise.specs.faults import fault_times_us, without_faults
from spinewise.specs.spec import as_spec, resolve
from spinewise.specs.variants import Variant
from spinewise.sweeps.engine import Engine

SLICES = 200
"""The most intervals of the goodput series between the first fault and the last repair, or the end of the traffic."""

Key = tuple[str, int, bool]
"""Scheme, seed, and whether the faults are active."""


@dataclass(frozen=True)
class Outcome:
    """The cost of the faults to one scheme on one seed.

    Attributes:
        goodput_lost: share of bytes not received from the first fault to `until_ms`; NaN if none would arrive.
        until_ms: the last repair or `tails_off_ms`, whichever is first.
        tails_off_ms: when the run without the faults tails off; see `spinewise.resilience.compared`.
        recovery_ms: from the first fault until 95 % of goodput have recovered for good; `inf` if that is not seen by
            `tails_off_ms`, NaN as above.
        p99_ms: 99th percentile of completion times, by entry; see `spinewise.resilience.own_recorded.Recording`.
        p99_whole_ms: the same without the faults.
        p99_at_least, p99_whole_at_least: whether these are lower bounds, by entry.
        doubled, halved: share of the flows of each entry that took more than twice as long with the faults as without,
            and that took less than half as long; NaN if rows of flows were not kept.
        unfinished, unfinished_whole: flows of each entry that did not finish, with the faults and without.
        round_ms, round_max_ms: mean and longest time of the rounds of each entry that has some, of those that finished.
        round_whole_ms: the mean without the faults.
        rounds_unfinished, rounds_unfinished_whole: rounds that did not finish, with the faults and without.
    """

    goodput_lost: float
    until_ms: float
    tails_off_ms: float
    recovery_ms: float
    p99_ms: dict[str, float]
    p99_whole_ms: dict[str, float]
    p99_at_least: dict[str, bool]
    p99_whole_at_least: dict[str, bool]
    doubled: dict[str, float]
    halved: dict[str, float]
    unfinished: dict[str, int]
    unfinished_whole: dict[str, int]
    round_ms: dict[str, float]
    round_max_ms: dict[str, float]
    round_whole_ms: dict[str, float]
    rounds_unfinished: dict[str, int]
    rounds_unfinished_whole: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """The runs of the study.

    Attributes:
        spec: as written, with the interval of its goodput series.
        variants: schemes that can serve the fabric.
        skipped: those that cannot, and why.
        seeds: the seeds of each scheme.
        first_us, last_us: first fault and last repair; `inf` without a repair.
    """

    spec: Spec
    variants: list[Variant]
    skipped: list[Skipped]
    seeds: list[int]
    first_us: float
    last_us: float

    @classmethod
    def of(
        cls,
        spec: Mapping[str, object] | str | Path,
        schemes: str | Iterable[str | OwnClass] | None,
        seeds: int | Sequence[int] | None,
        own: Sequence[OwnClass] = (),
    ) -> Plan:
        """Build from a spec with [[fault]] tables; schemes and seeds as in `spinewise.compare`, else the spec's scheme.

        `own` are schemes written in Python that `schemes` may name; those it does not name come last.

        Raises:
            SpecError: there is no fault, or no scheme is left, or the spec is wrong.
        """
        plain = as_spec(spec)
        check_beside(plain)
        faults = plain.get("fault")
        if not isinstance(faults, list) or not faults:
            hint = "without a spec, `spinewise resilience` breaks two fabrics of its own in ten ways"
            raise SpecError("fault", faults or "(nothing)", "a spec with [[fault]] tables", hint)
        if schemes is None and not isinstance(plain.get("compare", {}).get("schemes"), list):
            schemes = [str(plain.get("scheme", {}).get("name", "ecmp"))]
        numbers = seeds if seeds is not None else plain.get("compare", {}).get("seeds")
        chosen = seed_list(numbers, plain)
        plan, skipped = ComparisonPlan.of(plain, schemes, None, chosen, own).served()
        first, last = span(plain)
        done = traffic_end_us(plan.variants[0].apply(without_faults(plan.spec)), chosen[0])
        # Only goodput is read: series of links would take most of the memory.
        timed: Spec = {
            **plan.spec,
            "metrics": {
                **plan.spec.get("metrics", {}),
                "series_interval_us": interval(first, last, done),
                "series_links": [],
            },
        }
        return cls(timed, plan.variants, skipped, chosen, first, last)

    @property
    def interval_us(self) -> float:
        """Length of an interval of the goodput series."""
        return float(self.spec["metrics"]["series_interval_us"])

    @cached_property
    def fabric(self) -> Fabric:
        """The fabric as it is built for the first scheme, faults included."""
        # A spec as written may have tables of other commands, and files of other simulators.
        return core.topology(resolve(self.variants[0].apply(self.spec)))

    def cases(self) -> list[Case[Key]]:
        """Every run, resolved and checked before the first one starts."""
        whole = without_faults(self.spec)
        return [
            resolved_case(
                (variant.label, seed, broken), variant.apply(self.spec if broken else whole), seed,
                f"scheme {variant.label}",
            )
            for seed in self.seeds
            for variant in self.variants
            for broken in (True, False)
        ]  # fmt: skip

    def run(
        self,
        cases: list[Case[Key]],
        jobs: int | None,
        monitor: Monitor | None,
        store: str | Path | None = None,
        engine: Engine | None = None,
    ) -> Study:
        """Run every case that the store lacks, and pair the results."""
        study = f"resilience {self.spec.get('name', '')}".strip()
        wanted = Wanted(study, ("scheme", "seed", "broken"), recorded(self.interval_us))
        found = recordings(cases, wanted, jobs=jobs, monitor=monitor, store=store, engine=engine)
        return Study(self, found)


def span(spec: Spec) -> tuple[float, float]:
    """The first instant of a fault and the last of a repair, in µs."""
    times = fault_times_us(spec)
    return min(begin for begin, _ in times), max(math.inf if end is None else end for _, end in times)


def traffic_end_us(whole: Spec, seed: int) -> float:
    """The approximate time when the flows of a spec without faults are done, in µs, whatever ends the run."""
    ended: Spec = {**whole, "run": {**whole.get("run", {}), "stop": "flows_done"}}
    return 1e6 * validate(ended, seed=seed).estimate.simulated_s


def interval(first_us: float, last_us: float, done_us: float) -> float:
    """A length of intervals, in µs, that resolves events from the first fault, and is at least 10 µs.

    Args:
        first_us: the first fault.
        last_us: the last repair; `inf` without one.
        done_us: the approximate end of the traffic.
    """
    end = min(last_us, done_us)
    return float(max(10, round((end - first_us if end > first_us else end) / SLICES)))


@dataclass(frozen=True)
class Study:
    """All runs, and the results of pairs of them."""

    plan: Plan
    recordings: dict[Key, Recording] = field(repr=False)

    @property
    def labels(self) -> list[str]:
        """The schemes that take part."""
        return [variant.label for variant in self.plan.variants]

    @property
    def entries(self) -> list[str]:
        """Names of the traffic entries, and "all" at the end if there are several."""
        names = list(next(iter(self.recordings.values())).p99_s)
        return names if len(names) > 2 else [ALL]

    @property
    def round_entries(self) -> list[str]:
        """Names of the traffic entries that have rounds: collective operations, requests, incasts."""
        return list(next(iter(self.recordings.values())).round_mean_s)

    def broken(self, label: str) -> list[Recording]:
        """The runs of a scheme with the faults, in order of seeds."""
        return [self.recordings[label, seed, True] for seed in self.plan.seeds]

    @property
    def warnings(self) -> list[Notice]:
        """Warnings about faults that began after the end of runs with them: perhaps a wrong unit."""
        ends = [one.over_us for label in self.labels for one in self.broken(label)]
        found = []
        for number, (begin, _) in enumerate(fault_times_us(self.plan.spec)):
            over = [end for end in ends if end <= begin]
            if not over:
                continue
            runs, where = ("the runs", "") if len(over) == len(ends) else (f"{len(over)} of {len(ends)} runs", " there")
            text = (
                f"This fault begins after {begin:.12g} us, and {runs} were over after {max(over):.12g} us:"
                " it changed nothing"
            )
            found.append(Notice("fault_after_traffic", f"fault[{number}].at_us", f"{text}{where}."))
        return found

    def outcomes(self, label: str) -> list[Outcome]:
        """The cost of the faults to a scheme, in order of seeds."""
        return self._outcomes[label]

    @cached_property
    def _outcomes(self) -> dict[str, list[Outcome]]:
        return {
            label: [
                outcome(self.recordings[label, seed, True], self.recordings[label, seed, False], self.plan)
                for seed in self.plan.seeds
            ]
            for label in self.labels
        }

    def interval(self, label: str, metric: str) -> stats.Interval:
        """Mean over seeds of `goodput_lost` or `recovery_ms` with its 95 % interval."""
        return stats.t_interval([getattr(one, metric) for one in self.outcomes(label)])

    def idle(self, label: str) -> int:
        """Count the seeds without traffic during a fault."""
        return sum(math.isnan(one.goodput_lost) for one in self.outcomes(label))

    def unseen(self, label: str) -> int:
        """Count the seeds on which goodput was not seen to recover."""
        return sum(math.isinf(one.recovery_ms) for one in self.outcomes(label))

    def tail(self, label: str, entry: str) -> stats.Interval:
        """99th percentile of the completion times of an entry with the faults, in ms."""
        return stats.t_interval([one.p99_ms[entry] for one in self.outcomes(label)])

    def bounded(self, label: str, entry: str) -> bool:
        """Whether `tail` is a lower bound, on some seed: flows that did not finish count with the time they waited."""
        return any(one.p99_at_least[entry] for one in self.outcomes(label))

    def comparable(self, label: str, entry: str) -> bool:
        """Whether the percentile without the faults is not itself a bound, so differences from it mean something."""
        return not any(one.p99_whole_at_least[entry] for one in self.outcomes(label))

    def slower(self, label: str, entry: str) -> stats.Interval:
        """Paired difference of that percentile from the run without faults, as a fraction of the latter.

        Also a lower bound if `bounded`; without values if not `comparable`.
        """
        found = self.outcomes(label) if self.comparable(label, entry) else []
        return stats.relative_difference(
            [one.p99_ms[entry] for one in found], [one.p99_whole_ms[entry] for one in found]
        )

    def doubled(self, label: str, entry: str) -> stats.Interval:
        """Share of the flows of an entry that took more than twice as long with the faults as without."""
        return stats.t_interval([one.doubled[entry] for one in self.outcomes(label)])

    def halved(self, label: str, entry: str) -> stats.Interval:
        """Share of the flows of an entry that took less than half as long with the faults as without."""
        return stats.t_interval([one.halved[entry] for one in self.outcomes(label)])

    def unfinished(self, label: str, entry: str) -> tuple[int, int]:
        """Flows of an entry that did not finish on all seeds together: with the faults, and without."""
        found = self.outcomes(label)
        return sum(one.unfinished[entry] for one in found), sum(one.unfinished_whole[entry] for one in found)

    def round(self, label: str, entry: str) -> stats.Interval:
        """Mean time of a round of an entry with the faults, in ms, of those that finished."""
        return stats.t_interval([one.round_ms[entry] for one in self.outcomes(label)])

    def longest_round_ms(self, label: str, entry: str) -> float:
        """The longest round of an entry with the faults, on any seed; NaN if none finished."""
        times = [one.round_max_ms[entry] for one in self.outcomes(label)]
        return max((time for time in times if not math.isnan(time)), default=math.nan)

    def rounds_slower(self, label: str, entry: str) -> stats.Interval:
        """The paired difference of the mean time from the run without faults, as a fraction of the latter.

        Without values if a round did not finish: the mean would be of the others.
        """
        found = [] if any(self.rounds_unfinished(label, entry)) else self.outcomes(label)
        return stats.relative_difference(
            [one.round_ms[entry] for one in found], [one.round_whole_ms[entry] for one in found]
        )

    def rounds_unfinished(self, label: str, entry: str) -> tuple[int, int]:
        """Rounds of an entry that did not finish on all seeds together: with the faults, and without."""
        found = self.outcomes(label)
        return (
            sum(one.rounds_unfinished[entry] for one in found),
            sum(one.rounds_unfinished_whole[entry] for one in found),
        )


def outcome(broken: Recording, whole: Recording, plan: Plan) -> Outcome:
    """Compute the cost of the faults, from a run with them and one without."""
    found = cost(Pair.of(plan.interval_us, broken.goodput, whole.goodput), plan.first_us, plan.last_us)
    return Outcome(
        goodput_lost=found.lost,
        until_ms=found.until_us / 1000.0,
        tails_off_ms=found.tails_off_us / 1000.0,
        recovery_ms=found.recovery_us / 1000.0,
        p99_ms={name: 1e3 * value for name, value in broken.p99_s.items()},
        p99_whole_ms={name: 1e3 * value for name, value in whole.p99_s.items()},
        p99_at_least=broken.at_least,
        p99_whole_at_least=whole.at_least,
        doubled=shares_beyond(2.0, broken, whole),
        halved=shares_beyond(2.0, whole, broken),
        unfinished=broken.unfinished,
        unfinished_whole=whole.unfinished,
        round_ms={name: 1e3 * value for name, value in broken.round_mean_s.items()},
        round_max_ms={name: 1e3 * value for name, value in broken.round_max_s.items()},
        round_whole_ms={name: 1e3 * value for name, value in whole.round_mean_s.items()},
        rounds_unfinished=broken.rounds_unfinished,
        rounds_unfinished_whole=whole.rounds_unfinished,
    )


def shares_beyond(times: float, one: Recording, other: Recording) -> dict[str, float]:
    """Share of the flows of each entry that took more than `times` times as long in one run as in another.

    Flows that began in both count.
    """
    pairs = [(name, one.fct_s[name], other.fct_s[name]) for name in one.fct_s]
    beyond = {name: (mine > times * its)[np.isfinite(mine) & np.isfinite(its)] for name, mine, its in pairs}
    if beyond:
        beyond[ALL] = np.concatenate(list(beyond.values()))
    known = {name: float(which.mean()) for name, which in beyond.items() if which.size}
    return {name: known.get(name, math.nan) for name in one.p99_s}
