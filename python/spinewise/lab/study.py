"""Schemes on Linux compared with the same schemes in the simulator.

Every seed is run under every scheme in turn, so that other load of the machine affects all schemes alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Literal

from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.measured import measure as measured_of
from spinewise.comparison.plan import RUNS, run_name
from spinewise.errors import SpecError
from spinewise.lab import fit, measure
from spinewise.lab.checked import checked_plan
from spinewise.lab.holes import Goodput, Hole, goodput_of, hole_of
from spinewise.lab.plan import Plan, Steering
from spinewise.lab.seen import paths
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import stats
from spinewise.measures.report import OnLinux
from spinewise.measures.summary import ALL
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve
from spinewise.specs.variants import Variant

METRICS = (("short", "fct_s.mean"), ("short", "fct_s.p99"), ("long", "fct_s.mean"), (ALL, "fct_s.mean"))
"""The values compared: size classes and their numbers."""
Standing = Callable[[Spec, Plan], AbstractContextManager[None]]
LINUX, SIMULATED = "Linux", "simulated"
Key = tuple[str, float | None, int]


@dataclass(frozen=True)
class Run:
    """One run of a study: a variant, its resolved spec, and its lab."""

    variant: Variant
    given: Spec
    plan: Plan


@dataclass(frozen=True)
class Labs:
    """The settings common to all labs of a study: a name, if one is given, a factor, and the choice of steering."""

    name: str | None = None
    factor: int | None = None
    steering: Steering = "needed"


@dataclass(frozen=True)
class Order:
    """The order of the schemes by one number, on both sides.

    Attributes:
        size_class, metric: the number.
        linux, simulated: labels of schemes, the lowest first.
        agreeing: pairs of schemes that both distinguish, in the same order.
        opposed: pairs that both distinguish, in opposite orders.
        linux_only, simulated_only: pairs that one distinguishes and the other does not.
        pairs: all of them.
    """

    size_class: str
    metric: str
    linux: list[str]
    simulated: list[str]
    agreeing: int
    opposed: int
    linux_only: int
    simulated_only: int
    pairs: int


@dataclass(frozen=True)
class Fabric:
    """The events in the fabric of one run.

    Attributes:
        carried: bytes that each link between switches carried.
        hole: the effect of a black hole; None if the spec has none.
        busy_share, start_lag_p99_us: the load of the machine, and how late flows began; None for a simulated run.
        dead_at_s: when agents that watch their paths considered one dead, in seconds of the run.
        watched_path_s: how long agents watched paths before the first fault of the spec, times the number of paths.
        alarms: paths that they considered dead in that time: false alarms.
        ended: agents that exited during the run, with their last words.
        goodput: goodput over time from the beginning of a black hole; None if the spec has none.
    """

    carried: dict[str, int]
    hole: Hole | None
    busy_share: float | None
    start_lag_p99_us: float | None
    dead_at_s: list[float]
    watched_path_s: float = 0.0
    alarms: int = 0
    ended: list[str] = field(default_factory=list)
    goodput: Goodput | None = None

    @classmethod
    def of(cls, plan: Plan, result: Result) -> Fabric:
        """Take the events from a run."""
        carried = {link["name"]: link["bytes"] for link in result.report["links"] if link["fabric"]}
        on = result.report.get("linux")
        dead, calm = dead_at_s(on) if on else [], calm_s(plan, result)
        return cls(
            carried=carried,
            hole=hole_of(plan, result),
            busy_share=on["busy_share"] if on else None,
            start_lag_p99_us=on["start_lag_p99_us"] if on else None,
            dead_at_s=dead,
            watched_path_s=calm * watched_paths(plan) if on else 0.0,
            alarms=sum(at < calm for at in dead),
            ended=[f"{host}: {told['ended']}" for host, told in on["agents"].items() if "ended" in told] if on else [],
            goodput=goodput_of(plan, result),
        )


def calm_s(plan: Plan, result: Result) -> float:
    """Seconds of a run before its first fault."""
    begins = [since or 0 for fault in plan.fabric["faults"] for since, _ in fault["intervals"]]
    return min([result.report["stop_ps"], *begins]) / PS_PER_SECOND


def watched_paths(plan: Plan) -> int:
    """The number of paths that agents watch: those to every host of another rack, unless the scheme finds its own."""
    if not plan.silent_ms or plan.spec["scheme"]["name"] in fit.OWN_PORTS:
        return 0
    ways = Counter((way.source, way.target) for way in paths(plan))
    leaves = list(plan.leaf_of.values())
    return sum(ways[one, other] for one in leaves for other in leaves)


def dead_at_s(on: OnLinux) -> list[float]:
    """When agents considered a path dead."""
    found: list[float] = []
    for told in on["agents"].values():
        met = told.get("met")
        events = met if isinstance(met, list) else []
        found += [float(event["at_s"]) for event in events if event.get("event") == "path_dead"]
    return sorted(found)


@dataclass(frozen=True)
class Study:
    """The same runs on Linux and in the simulator, which labels name in brackets after the scheme."""

    linux: Comparison
    simulated: Comparison
    fabrics: Mapping[str, Sequence[Fabric]] = field(default_factory=dict)
    """The events in the fabric, by label, in the order of the runs."""

    @property
    def holes(self) -> dict[str, list[Hole]]:
        """The effects of a black hole, by label; empty if the spec has none."""
        found = {label: [one.hole for one in ran if one.hole is not None] for label, ran in self.fabrics.items()}
        return {label: holes for label, holes in found.items() if holes}

    @property
    def watched_path_s(self) -> float:
        """How long agents watched paths before a fault, in path-seconds, in all runs."""
        return sum(one.watched_path_s for ran in self.fabrics.values() for one in ran)

    def hole(self, label: str, what: Literal["left_s", "kept"]) -> stats.Interval:
        """A number of black holes over seeds, if it is finite."""
        return stats.t_interval([value for one in self.holes[label] if isfinite(value := getattr(one, what))])

    @property
    def both(self) -> Comparison:
        """All runs as one comparison, each scheme next to itself."""
        here, there = self.linux, self.simulated
        variants = [one for pair in zip(there.variants, here.variants, strict=True) for one in pair]
        return Comparison(here.spec, variants, here.loads, here.seeds, [*there.cells, *here.cells])

    def orders(self) -> list[Order]:
        """How far both order the schemes alike, for each number that every scheme has."""
        there = self.simulated.classes_of()
        found = [self.order(size_class, metric) for size_class, metric in METRICS if size_class in there]
        return [one for one in found if self.known(one.size_class, one.metric)]

    def known(self, size_class: str, metric: str) -> bool:
        """Whether every run has this number: flows of the class have finished in it."""
        both = (self.linux, self.simulated)
        values = (one.values(label, None, size_class, metric) for one in both for label in one.labels)
        return all(isfinite(value) for found in values for value in found)

    def order(self, size_class: str, metric: str) -> Order:
        """The order of the schemes by one number."""
        both = (self.linux, self.simulated)
        pairs = list(combinations(range(len(self.linux.labels)), 2))
        signs = [tuple(sign(one, pair, size_class, metric) for one in both) for pair in pairs]
        return Order(
            size_class,
            metric,
            ranked(self.linux, size_class, metric),
            ranked(self.simulated, size_class, metric),
            agreeing=sum(here == there != 0 for here, there in signs),
            opposed=sum(here == -there != 0 for here, there in signs),
            linux_only=sum(here != 0 == there for here, there in signs),
            simulated_only=sum(there != 0 == here for here, there in signs),
            pairs=len(pairs),
        )


def ranked(comparison: Comparison, size_class: str, metric: str) -> list[str]:
    """Labels of schemes by the mean of a number, the lowest first."""
    means = {label: comparison.interval(label, None, size_class, metric).mean for label in comparison.labels}
    return sorted(means, key=lambda label: means[label])


def sign(comparison: Comparison, pair: tuple[int, int], size_class: str, metric: str) -> int:
    """-1 if the first of two schemes surely has less, 1 if surely more, 0 if the interval includes both."""
    first, second = (comparison.values(comparison.labels[one], None, size_class, metric) for one in pair)
    found = stats.paired_difference(first, second)
    if not found.excludes_zero:
        return 0
    return -1 if found.mean < 0 else 1


def conducted(
    runs: Mapping[Key, Run],
    standing: Standing,
    folder: Path | None,
    tell: measure.Tell,
) -> Study:
    """Make all runs; with `folder` the results of each are written below it, in `runs`.

    Raises:
        SpecError: a lab cannot be one of them.
        LabError: a lab is not as it was built.
    """
    predicted = {key: measure.predicted(run.plan) for key, run in runs.items()}
    cells: dict[str, list[Cell]] = {LINUX: [], SIMULATED: []}
    fabrics: dict[str, list[Fabric]] = {}
    for key, run in runs.items():
        label, _, seed = key
        tell(f"{label}, seed {seed}")
        with standing(run.given, run.plan):
            pair = measure.run(run.plan, predicted[key], tell)
        for where, result in ((LINUX, pair.linux), (SIMULATED, pair.simulated)):
            own = f"{label} ({where})"
            cells[where].append(cell((own, None, seed), result, folder))
            fabrics.setdefault(own, []).append(Fabric.of(run.plan, result))
    variants = list(dict.fromkeys(run.variant for run in runs.values()))
    seeds = list(dict.fromkeys(seed for _, _, seed in runs))
    spec = next(iter(runs.values())).plan.spec
    sides = [compared(spec, variants, seeds, cells[where], where) for where in (LINUX, SIMULATED)]
    return Study(sides[0], sides[1], fabrics)


def compared(
    spec: Spec, variants: Sequence[Variant], seeds: Sequence[int], cells: Sequence[Cell], where: str
) -> Comparison:
    """The runs of one kind as a comparison."""
    own = [replace(variant, label=f"{variant.label} ({where})") for variant in variants]
    return Comparison(spec, own, [None], sorted(seeds), list(cells))


def planned(spec: Spec, variants: Sequence[Variant], seeds: Sequence[int], labs: Labs) -> dict[Key, Run]:
    """Every run, seed by seed; all are refused before any is made.

    If one scheme needs agents, all have them, so that the cost of a tunnel affects all alike.

    Raises:
        SpecError: a lab cannot be one of them.
    """
    found: dict[Key, Run] = {}
    needed = any(variant.name not in fit.PLAIN for variant in variants)
    steering: Steering = "always" if needed and labs.steering == "needed" else labs.steering
    for place, seed in enumerate(seeds):
        # Each round begins with another scheme, so that none always follows the same one.
        turn = place % len(variants)
        for variant in (*variants[turn:], *variants[:turn]):
            try:
                given = resolve(variant.apply(spec), seed=seed)
                made = checked_plan(given, labs.name, labs.factor, steering)
                found[variant.label, None, seed] = Run(variant, given, made)
            except SpecError as error:
                hint = f"scheme {variant.label}" + (f"; {error.hint}" if error.hint else "")
                raise SpecError(error.key, error.value, error.allowed, hint) from None
    return found


def cell(key: Key, result: Result, folder: Path | None) -> Cell:
    """The comparison's cell for a run, which is written below `folder`."""
    label, load, seed = key
    found = measured_of(result.spec, result)
    place = f"{RUNS}/{run_name(key)}"
    if folder is not None:
        (folder / place).mkdir(parents=True)
        result.write_files(folder / place)
    return Cell(
        label=label,
        load=load,
        seed=seed,
        summary=found.summary,
        curves=found.curves,
        outcome_hash=result.report["outcome_hash"],
        traffic_hash=result.report["traffic_hash"],
        wall_seconds=result.report["wall_seconds"],
        packet_hops=result.report["packet_hops"],
        jobs=found.jobs,
        min_rto_s=found.min_rto_s,
        transport=found.transport,
        ended_s=found.ended_s,
        folder=None if folder is None else place,
    )
