"""Possible meanings of "continuously monitors" (§III): three readings of it, over θ and τ, on T3-B at 0.8.

A short grid first, then the default and its neighbours for as long as Figs. 5 and 6 run, with both workloads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from spinewise.papers.selb import fabric, fig05, fig06
from spinewise.papers.selb.evaluation import HIGH, LONG
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Panel, Run, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant, parse

MODES = tuple(fabric.MODES)
THETAS = (0.02, 0.05, 0.1, 0.2)
DEFAULT = "packet, τ 10 µs"
CONWEAVE = f"{fabric.CONWEAVE}:reorder_queues=8@ConWeave"
GRID, DURATION_US = "grid", 1000.0


@dataclass(frozen=True)
class Reading:
    """A reading: when a path is judged, and how often classes are made."""

    name: str
    monitor: str
    tau_us: float

    def scheme(self, theta: float) -> str:
        """SELB with this reading."""
        given = f"theta={theta:g}:k=3:tau_us={self.tau_us:g}:monitor={self.monitor}:reorder_queues=8"
        return f"selb:{given}@{self.name}"


READINGS = (
    Reading("timer of 0.5 µs", "interval", 0.5),
    Reading("timer of 1 µs", "interval", 1.0),
    Reading("timer of 2 µs", "interval", 2.0),
    Reading("timer of 10 µs", "interval", 10.0),
    Reading("since measured, τ 1 µs", "measured", 1.0),
    Reading("since measured, τ 10 µs", "measured", 10.0),
    Reading("packet, τ 1 µs", "packet", 1.0),
    Reading(DEFAULT, "packet", 10.0),
)
# The default, what it was before, and one step away from each.
NEIGHBOURS = (("timer of 1 µs", 0.05), ("timer of 10 µs", 0.2), ("since measured, τ 10 µs", 0.2), (DEFAULT, 0.2))
# By the number of the figure: its workload, its claims' names and numbers.
FIGURES = {"5": ("ali_storage", fig05.IDS, fig05.CLAIMED), "6": ("hadoop", fig06.IDS, fig06.CLAIMED)}


def of(workload: str, mode: str, duration_us: float) -> Spec:
    """The spec without a scheme."""
    return fabric.spec(fabric.EVALUATION_HOSTS, mode, workload, HIGH, duration_us, name="SELB, monitoring")


def reading(name: str) -> Reading:
    """The reading of this name."""
    return next(one for one in READINGS if one.name == name)


def one(scheme: str) -> Variant:
    """The variant in a text."""
    return parse(scheme)


def runs(effort: Effort) -> list[Run]:
    """The grid in both modes; at more than quick effort also the neighbours of the default, long."""
    seeds = range(1, 1 + effort.choose(full=3, quick=2))
    readings = effort.choose(full=READINGS, quick=tuple(map(reading, ("timer of 10 µs", DEFAULT))))
    made = []
    for mode in MODES:
        base = of("ali_storage", mode, effort.choose(full=DURATION_US, quick=300.0))
        for theta in effort.choose(full=THETAS, quick=(0.05, 0.2)):
            variants = [one(CONWEAVE), *(one(entry.scheme(theta)) for entry in readings)]
            made += [Run(v.label, theta, seed, v.apply(base), f"{GRID}, {mode}") for seed in seeds for v in variants]
    return made if effort is Effort.QUICK else made + long_runs()


def long_runs() -> list[Run]:
    """ConWeave and the neighbours, as long as in Figs. 5 and 6."""
    duration, seeds = LONG
    made = []
    for number, (workload, _, _) in FIGURES.items():
        for mode in MODES:
            base = of(workload, mode, duration)
            for theta, curves in long_curves().items():
                made += [
                    Run(v.label, theta, seed, v.apply(base), long_variant(number, mode))
                    for seed in range(1, 1 + seeds)
                    for v in curves
                ]
    return made


def long_curves() -> dict[float, list[Variant]]:
    """The variants that run long, by θ: ConWeave for every θ."""
    thetas = dict.fromkeys(theta for _, theta in NEIGHBOURS)
    return {
        theta: [one(CONWEAVE), *(one(reading(name).scheme(theta)) for name, at in NEIGHBOURS if at == theta)]
        for theta in thetas
    }


def long_variant(number: str, mode: str) -> str:
    """Name of the long runs with the workload of a figure."""
    return f"10 ms, Fig. {number}, {mode}"


def ahead(variant: str, neighbour: tuple[str, float], metric: str, claimed: float, measured: Measured) -> Verdict:
    """SELB in this reading is below ConWeave by the paper's share."""
    part, (name, theta) = measured.within(variant), neighbour
    if not part.at(name, theta):
        return claims.combined([])
    return claims.reduction(part, name, "ConWeave", metric, theta, claimed=claimed)


def panels() -> tuple[Panel, ...]:
    """The grid, over θ."""
    x = "θ, share of the link's rate"
    return tuple(
        panel
        for mode in MODES
        for name in (f"{GRID}, {mode}",)
        for panel in (
            shapes.mean_fct("monitoring", x, variant=name),
            shapes.p99_fct("monitoring", x, variant=name),
            Panel("monitoring", "reroutes", "reroutes", x, "per run", 1.0, name),
            Panel("monitoring", "early_mean_us", "held before its TAIL for", x, "µs", 1.0, name),
        )
    )


def statements() -> tuple[Claim, ...]:
    """The statements of Figs. 5 and 6 about SELB and ConWeave, in every reading that runs long."""
    made = []
    for number, (_, ids, claimed_of) in FIGURES.items():
        for (mode, metric), key in ids.items():
            claimed = claimed_of[mode][metric]["ConWeave"]
            for name, theta in NEIGHBOURS:
                check = partial(ahead, long_variant(number, mode), (name, theta), metric, claimed)
                text = f"Fig. {number}, {mode}: SELB {100 * claimed:.0f} % below ConWeave"
                which = f"against ConWeave, {name}, θ {theta:g}"
                made.append(Claim(key, "monitoring", text, check, reading=which, headline=False))
    return tuple(made)


EXPERIMENT = Experiment(
    id="selb-monitoring",
    figures=("monitoring",),
    title="SELB: three readings of continuous monitoring, over θ and τ",
    setup="as selb-5 at load 0.8: a grid with 1 ms of arrivals (quick: 0.3 ms), then the default and its neighbours"
    " with 10 ms and both workloads; the first third is not counted",
    runs=runs,
    measure=measure,
    panels=panels(),
    claims=statements(),
    headline="none: those of selb-5 and selb-6 are",
    assumptions=(Assumption("all else", "as in selb-5", "so that one thing differs at a time"),),
    notes=(
        "The default judges each packet's path as it comes: it is the one reading without a period. It was chosen by"
        " the paper's word, continuously. A timer of 1 µs is faster than it on lossless AliStorage, slower on Hadoop.",
    ),
)
