"""Runs cases of uet-htsim over our own seeds and compares distributions.

The bounds were set before any run: the mean within 1 %, the 99th percentile within 3 %, the largest within 6 %, and
|z| at most 3; packets sent again within 15 %, or 10 of them; all flows finished. A relative bound counts where the
spread of their own seeds is below a third of it; packets sent again are within |z| of 3 where it is not.

Answers, NACKs and grants that reached senders are within 2 %, or 10 of them, by the same rule. That bound came later:
what hosts send each other can differ where completion times do not show it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from spinewise.agreement.uet.recorded import Refused, Times, UetCase, refused
from spinewise.agreement.uet.setting import spec_of
from spinewise.errors import SpecError
from spinewise.magnitudes import PS_PER_US
from spinewise.measures.tables import numbers
from spinewise.runs.hidden import scratch
from spinewise.runs.jobs import Case, Monitor, resolved_case, run_all
from spinewise.runs.result import Result

STATISTICS = ("mean", "p50", "p99", "max")
BOUNDS = {"mean": 0.01, "p99": 0.03, "max": 0.06}
MOST_Z = 3.0
AGAIN_WITHIN, ANSWERS_WITHIN, FEW = 0.15, 0.02, 10
# If all seeds agree to a nanosecond, there is no spread to measure in.
SAME_US = 1e-3

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Compared:
    """One statistic over seeds: microseconds, or a number of packets.

    Attributes:
        theirs: mean over their seeds.
        theirs_sd: standard deviation over them; NaN for one seed.
        ours: mean over ours.
        ours_sd: standard deviation over ours.
    """

    theirs: float
    theirs_sd: float
    ours: float
    ours_sd: float
    seeds: tuple[int, int]

    @property
    def relative(self) -> float:
        """(ours - theirs) / theirs."""
        return self.ours / self.theirs - 1.0

    @property
    def z(self) -> float:
        """The distance of the two means in standard errors."""
        difference = self.ours - self.theirs
        if abs(difference) < SAME_US:
            return 0.0
        # A single recorded run is assumed to spread as ours do.
        own = self.ours_sd if math.isnan(self.theirs_sd) else self.theirs_sd
        error = math.hypot(own / math.sqrt(self.seeds[0]), self.ours_sd / math.sqrt(self.seeds[1]))
        return difference / error if error > 0.0 else math.copysign(math.inf, difference)


@dataclass(frozen=True)
class UetAgreement:
    """A case compared.

    Attributes:
        case: its name.
        flows: how many it has.
        finished: how many finished, in the run where fewest did.
        statistics: of completion times, by name.
        again: packets sent again, over seeds.
        answers: answers, NACKs and grants, over seeds.
        problems: why it does not agree; empty if it does.
    """

    case: str
    flows: int
    finished: int
    statistics: dict[str, Compared]
    again: Compared
    answers: Compared
    problems: list[str]

    def as_dict(self) -> dict[str, object]:
        """The record in the JSON list."""
        rows = {
            name: {"theirs_us": one.theirs, "ours_us": one.ours, "relative": one.relative, "z": one.z}
            for name, one in self.statistics.items()
        }
        return {
            "case": self.case, "flows": self.flows, "finished": self.finished,
            "retransmits": [self.again.theirs, self.again.ours],
            "answers": [self.answers.theirs, self.answers.ours], "statistics": rows,
            "verdict": "fail" if self.problems else "pass", "problems": self.problems,
        }  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """The result of one of our runs: completion times (us), flows finished, packets sent again, answers."""

    statistics: Floats
    finished: int
    again: int
    answers: int


def statistics(fct_ps: npt.ArrayLike) -> Floats:
    """`STATISTICS` of completion times, microseconds; percentiles are observed values (nearest rank)."""
    times = np.sort(np.asarray(fct_ps, dtype=np.float64)) / PS_PER_US
    rank = [math.ceil(times.size * share) - 1 for share in (0.5, 0.99)]
    return np.array([times.mean(), times[rank[0]], times[rank[1]], times[-1]])


def compare(
    cases: Sequence[UetCase], seeds: int, jobs: int | None, monitor: Monitor
) -> tuple[list[UetAgreement], list[Refused]]:
    """Run each case over seeds 1, 2, … and judge it; also return those that cannot be built here, or lack records.

    Raises:
        SpecError: there is no other case; before anything runs.
    """
    theirs: dict[str, list[Times]] = {}
    errors: dict[str, SpecError] = {}
    tasks: list[Case[UetCase]] = []
    with scratch() as folder:
        for case in cases:
            try:
                recorded = [case.times(seed) for seed in case.seeds]
                tasks += tasks_of(case, seeds, Path(folder) / f"{case.name}.csv")
                theirs[case.name] = recorded
            except SpecError as error:
                errors[case.name] = error
        left = refused(errors, tasks)
        samples = run_all(tasks, sample, jobs=jobs, monitor=monitor)
    by_case: dict[str, list[Sample]] = {name: [] for name in theirs}
    for task, one in zip(tasks, samples, strict=True):
        by_case[task.key.name].append(one)
    return [judged(name, times, by_case[name]) for name, times in theirs.items()], left


def tasks_of(case: UetCase, seeds: int, flow_file: Path) -> list[Case[UetCase]]:
    """The runs of a case."""
    return [
        resolved_case(case, spec_of(case, seed, flow_file), seed, f"{case.name}, seed {seed}")
        for seed in range(1, seeds + 1)
    ]


def sample(_: Case[UetCase], result: Result) -> Sample:
    """Summarise a run."""
    fct = numbers(result.flows, "sender_fct_ps").astype(np.float64)
    fct = fct[fct > 0]
    again = int(numbers(result.flows, "retransmits").sum())
    answers = result.report["counters"]["acks"]["packets"]
    return Sample(statistics(fct) if fct.size else np.full(len(STATISTICS), np.nan), int(fct.size), again, answers)


def judged(name: str, recorded: list[Times], samples: list[Sample]) -> UetAgreement:
    """One case from its recorded runs and its samples."""
    theirs = np.stack([statistics(times.fct_ps) for times in recorded])
    ours = np.stack([one.statistics for one in samples])
    table = {stat: compared(theirs[:, at], ours[:, at]) for at, stat in enumerate(STATISTICS)}
    again = compared([times.retransmits for times in recorded], [one.again for one in samples])
    answers = compared([times.answers for times in recorded], [one.answers for one in samples])
    flows, finished = len(recorded[0].fct_ps), min(one.finished for one in samples)
    found = problems(flows, finished, table, again, answers)
    return UetAgreement(name, flows, finished, table, again, answers, found)


def compared(theirs: npt.ArrayLike, ours: npt.ArrayLike) -> Compared:
    """One statistic from its values over their seeds and ours."""
    theirs, ours = np.asarray(theirs, dtype=np.float64), np.asarray(ours, dtype=np.float64)
    spreads = [float(values.std(ddof=1)) if values.size > 1 else math.nan for values in (theirs, ours)]
    return Compared(float(theirs.mean()), spreads[0], float(ours.mean()), spreads[1], (theirs.size, ours.size))


def problems(flows: int, finished: int, table: dict[str, Compared], again: Compared, answers: Compared) -> list[str]:
    """The reasons why a case does not agree; empty if it does."""
    found = [] if finished == flows else [f"{flows - finished} of {flows} flows did not finish"]
    for name, one in table.items():
        bound = BOUNDS.get(name)
        if bound is not None and is_steady(one, bound) and abs(one.relative) > bound:
            found.append(f"{name} {100 * one.relative:+.1f} % off (at most {100 * bound:g} %)")
        if abs(one.z) > MOST_Z:
            found.append(f"{name}: z = {one.z:+.1f} (at most ±{MOST_Z:g})")
    return [
        *found,
        *miscounted("packets sent again", again, AGAIN_WITHIN),
        *miscounted("answers", answers, ANSWERS_WITHIN),
    ]


def miscounted(what: str, one: Compared, bound: float) -> list[str]:
    """The reason why two numbers of packets do not agree; empty if they do."""
    if abs(one.ours - one.theirs) <= max(bound * one.theirs, FEW):
        return []
    told = f"{one.ours:.0f} {what}, theirs {one.theirs:.0f}"
    if is_steady(one, bound):
        return [f"{told} (within {100 * bound:g} %)"]
    return [f"{told}: z = {one.z:+.1f} (at most ±{MOST_Z:g})"] if abs(one.z) > MOST_Z else []


def is_steady(one: Compared, bound: float) -> bool:
    """Whether the spread of their seeds is below a third of a bound, so that the bound counts.

    A single recorded run is assumed to spread as ours do.
    """
    spread = one.ours_sd if math.isnan(one.theirs_sd) else one.theirs_sd
    return not spread > one.theirs * bound / 3
