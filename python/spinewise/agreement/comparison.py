"""Run recorded cases over hash salts and compare the results.

Salt 0 makes the hash of the recorded run itself (of RDMA); it is left out, so that their run is one more draw beside
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from spinewise import core
from spinewise.agreement import given, recorded, scores, setting, terms
from spinewise.agreement.given import Given
from spinewise.agreement.recorded import BASELINE, Flows, Ints, Recorded
from spinewise.agreement.scores import Floats, Score
from spinewise.agreement.setting import Fabric
from spinewise.agreement.verdict import problems
from spinewise.errors import SpecError
from spinewise.magnitudes import PS_PER_NS
from spinewise.measures.tables import numbers
from spinewise.runs.hidden import scratch
from spinewise.runs.jobs import Case, Monitor, resolved_case, run_all
from spinewise.runs.result import Result
from spinewise.shapes import Scheme, Spec

if TYPE_CHECKING:
    import pyarrow as pa


class Task(NamedTuple):
    """One run: a case at a salt."""

    case: Recorded
    salt: int
    spec: Spec


class Sample(NamedTuple):
    """The result of one run: `scores.statistics`, flows that finished, and the KS statistic against their run."""

    statistics: Floats
    finished: int
    ks: float


Measure: TypeAlias = "Callable[[Task, pa.Table], Sample]"
Runner = Callable[[Sequence[Task], Measure], list[Sample]]


@dataclass(frozen=True)
class Plan:
    """The cases to compare, and the settings of each.

    Attributes:
        cases: those shown and judged.
        running: these, and the ECMP cases that are baselines only.
        flows: of every case that runs, by name.
        fabrics: of the same.
        given: what is given for the same besides their flows.
        schemes: their ``[scheme]`` keys.
        salts: hash salts.
        notes: what was skipped or assumed, for people.
    """

    cases: list[Recorded]
    running: list[Recorded]
    flows: dict[str, Flows]
    fabrics: dict[str, Fabric]
    given: dict[str, Given]
    schemes: dict[str, Scheme]
    salts: list[int]
    notes: list[str]

    def tasks(self, folder: Path) -> list[Task]:
        """Every run, salt by salt; the flow lists are written into `folder`."""
        files = {}
        for case in self.running:
            files[case.name] = folder / f"{case.name}.csv"
            files[case.name].write_text(setting.flow_csv(self.flows[case.name]))
        return [
            Task(case, salt, self.spec(case, files[case.name], salt)) for salt in self.salts for case in self.running
        ]

    def spec(self, case: Recorded, flows: Path, salt: int) -> Spec:
        """The spec of one case at one salt; `flows` is its flow list."""
        usual = setting.spec_of(case, self.fabrics[case.name], flows, salt, self.schemes[case.name])
        return self.given[case.name].laid_over(usual)

    def baseline(self, case: Recorded) -> Recorded | None:
        """The ECMP case on the same flows and fabric, for another scheme's effect."""
        found = next((other for other in self.running if other.name == case.baseline), None)
        if found is None or case.scheme == BASELINE:
            return None
        same = self.flows[found.name].same_traffic(self.flows[case.name])
        fabrics = [self.given[one.name].tables.get("topology") for one in (found, case)]
        return found if same and fabrics[0] == fabrics[1] else None


@dataclass(frozen=True)
class Agreement:
    """A case compared.

    Attributes:
        case: its name.
        flows: the number of its flows.
        finished: how many finished, in the salt where fewest did.
        unit: the quantity compared: slowdowns, or completion times.
        ks: Kolmogorov–Smirnov statistic of these of one run of ours against theirs, mean over salts.
        effect: relative change against ECMP of mean and p99; None without an ECMP case.
        scores: the scores by class and statistic.
        problems: why it does not agree; empty if it does.
    """

    case: str
    flows: int
    finished: int
    unit: str
    ks: float
    effect: dict[str, Score] | None
    scores: dict[str, dict[str, Score]]
    problems: list[str]

    def as_dict(self) -> dict[str, object]:
        """The record in the JSON list."""
        effect = None if self.effect is None else {stat: score.as_dict() for stat, score in self.effect.items()}
        classes = {name: {stat: score.as_dict() for stat, score in row.items()} for name, row in self.scores.items()}
        head: dict[str, object] = {"case": self.case, "flows": self.flows, "finished": self.finished, "unit": self.unit}
        head |= {"ks": self.ks, "effect": effect}
        return head | classes | {"verdict": "fail" if self.problems else "pass", "problems": self.problems}


def plan(
    folder: str | Path,
    salts: int,
    patterns: Sequence[str] = (),
    *,
    rerouting: str = "on",
    sidecars: str | None = None,
    topology: str | None = None,
) -> Plan:
    """Find and read the cases.

    Args:
        folder: their folder.
        salts: how many hash salts each runs with.
        patterns: only these cases, by name.
        rerouting: "off": schemes leave flows on their first path.
        sidecars: the folder of the files beside the cases, if not `folder`.
        topology: a file with the fabric of all cases that have none beside them.

    Raises:
        SpecError: no case, an unknown scheme, a malformed file, or a setting that the engine refuses.
    """
    cases, there, notes = recorded.find(folder, patterns, sidecars)
    said = {case.name: given.of(case, topology) for case in cases}
    cases = [replace(case, scheme=said[case.name].scheme["name"]) for case in cases]
    registry = core.registry()["schemes"]
    for case in cases:
        setting.known_scheme(case.scheme, registry, said[case.name].file)
    schemes = {name: one.scheme for name, one in said.items()}
    if rerouting == "off":
        cases = [case for case in cases if case.scheme != BASELINE]
        if not cases:
            raise SpecError("--without-rerouting", folder, "cases of a scheme other than ecmp, which never reroutes")
        schemes |= {case.name: setting.without_rerouting(schemes[case.name], registry) for case in cases}
    wanted = {case.baseline for case in cases} - {case.name for case in cases}
    baselines = [case for case in there if case.name in wanted]
    said |= {case.name: given.of(case, topology) for case in baselines}
    schemes |= {case.name: said[case.name].scheme for case in baselines}
    notes += [f"{case.name}: run as a baseline only" for case in baselines]
    running = cases + baselines
    flows = {case.name: recorded.read(case) for case in running}
    fabrics = {case.name: setting.fabric_of(flows[case.name], case) for case in running}
    assumed = {name: fabric.assumed for name, fabric in fabrics.items() if not said[name].fabric}
    notes += [f"{name}: {words}" for name, words in assumed.items() if words]
    made = Plan(cases, running, flows, fabrics, said, schemes, list(range(1, salts + 1)), notes)
    for case in running:
        check(made, case)
    alone = [case.name for case in cases if case.scheme != BASELINE and made.baseline(case) is None]
    if alone:
        notes.append(f"no effect against ECMP, which has no case on the same flows: {', '.join(alone)}")
    return made


def check(planned: Plan, case: Recorded) -> None:
    """Refuse settings of a case that the engine would refuse, before anything runs."""
    said = planned.given[case.name]
    if said.tables or len(said.scheme) > 1:
        flows = planned.flows[case.name]
        given.check(said, planned.spec(case, Path("unused"), 1), int(max(flows.src.max(), flows.dst.max())))


def engine_runner(jobs: int | None = None, monitor: Monitor | None = None) -> Runner:
    """Return a runner that uses the engine, with several tasks at once."""

    def run(tasks: Sequence[Task], measure: Measure) -> list[Sample]:
        cases = [
            resolved_case(task, task.spec, int(task.spec["seed"]), f"{task.case.name}, salt {task.salt}")
            for task in tasks
        ]

        def measured(case: Case[Task], result: Result) -> Sample:
            return measure(case.key, result.flows)

        return run_all(cases, measured, jobs=jobs, monitor=monitor)

    return run


def compare(planned: Plan, runner: Runner) -> list[Agreement]:
    """Run everything and judge each case."""

    def measure(task: Task, table: pa.Table) -> Sample:
        flows, way = planned.flows[task.case.name], terms.of(task.case)
        ours = way.values(our_fct_ns(flows, table, way.column), flows.ideal_fct_ns)
        theirs = way.values(flows.fct_ns, flows.ideal_fct_ns)
        return Sample(way.statistics(flows.size_bytes, ours), int(np.isfinite(ours).sum()), scores.ks(ours, theirs))

    with scratch() as folder:
        tasks = planned.tasks(folder)
        samples = runner(tasks, measure)
    by_case: dict[str, list[Sample]] = {case.name: [] for case in planned.running}
    for task, sample in zip(tasks, samples, strict=True):
        by_case[task.case.name].append(sample)
    return [judged(planned, case, by_case) for case in planned.cases]


def judged(planned: Plan, case: Recorded, by_case: dict[str, list[Sample]]) -> Agreement:
    """One case from its samples, and those of its baseline."""
    theirs, ours = both(planned, case, by_case)
    baseline = planned.baseline(case)
    effect = None if baseline is None else scores.effect(*interleaved((theirs, ours), both(planned, baseline, by_case)))
    samples, way = by_case[case.name], terms.of(case)
    flows, finished = len(planned.flows[case.name]), min(sample.finished for sample in samples)
    table = scores.scores(theirs, ours, way.shown)
    ks = float(np.mean([sample.ks for sample in samples]))
    found = problems(flows, finished, table, effect, way.relative)
    return Agreement(case.name, flows, finished, way.unit, ks, effect, table, found)


def both(planned: Plan, case: Recorded, by_case: dict[str, list[Sample]]) -> tuple[Floats, Floats]:
    """Their statistics, and ours stacked over salts, for a case and its baseline."""
    flows, way = planned.flows[case.name], terms.of(case)
    theirs = way.statistics(flows.size_bytes, way.values(flows.fct_ns, flows.ideal_fct_ns))
    return theirs, np.stack([sample.statistics for sample in by_case[case.name]])


def interleaved(own: tuple[Floats, Floats], baseline: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Theirs, theirs of the baseline, ours, ours of the baseline."""
    return own[0], baseline[0], own[1], baseline[1]


def sender_fct_ns(flows: Flows, table: pa.Table) -> Ints:
    """Our completion times at the sender, in the form of `our_fct_ns`."""
    return our_fct_ns(flows, table, terms.SLOWDOWNS.column)


def our_fct_ns(flows: Flows, table: pa.Table, column: str) -> Ints:
    """Our completion times by a column, in whole nanoseconds, in the order of `flows`; 0 where a flow did not finish.

    Flows of our table are in the order of starting; both sides are put in one order to be matched.

    Raises:
        ValueError: the table has other flows.
    """
    names = ("src", "dst", "size_bytes", "start_ps")
    src, dst, size, start_ps = (numbers(table, name).astype(np.int64) for name in names)
    ours = np.lexsort((size, dst, src, start_ps))
    theirs = np.lexsort((flows.size_bytes, flows.dst, flows.src, flows.start_ns))
    pairs = (
        (src, flows.src),
        (dst, flows.dst),
        (size, flows.size_bytes),
        (start_ps, flows.start_ns * PS_PER_NS),
    )
    if any(not np.array_equal(mine[ours], given[theirs]) for mine, given in pairs):
        raise ValueError("the run has other flows than the case")
    fct = np.where(numbers(table, "finished").astype(bool), numbers(table, column).astype(np.int64), 0)
    matched = np.zeros(len(flows), dtype=np.int64)
    matched[theirs] = fct[ours] // PS_PER_NS
    return matched
