"""The effect of θ, k, τ and the number of reorder queues in SELB: each varied alone on T3-B, AliStorage at 0.8.

The paper gives none of them; ConWeave and ECMP on the same traffic are references. Arrivals are as long as those of
`variations`: without losses, SELB is ahead of ECMP only in shorter ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from spinewise.measures.stats import mean, p_of_zero, paired_difference
from spinewise.papers.selb import evaluation, fabric, fig05
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Status,
    Verdict,
)
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

REFERENCE = "reference"
OTHERS = f"ecmp@ECMP,{fabric.CONWEAVE}:reorder_queues=8@ConWeave"
# The values of each parameter, and its label on the axis.
PARAMETERS: dict[str, tuple[tuple[float, ...], str]] = {
    "theta": ((0.05, 0.1, 0.2, 0.3, 0.5), "θ, share of the link's rate"),
    "k": ((1, 2, 3, 4, 5), "clusters k"),
    "tau_us": ((2, 5, 10, 20, 50), "period τ, µs"),
    "reorder_queues": ((2, 4, 8, 16, 32), "reorder queues per port"),
}
# From Fig. 5, the statement on the mean, and the schemes SELB is compared with.
OF_MEAN = {mode: fig05.IDS[mode, "mean_fct_s"] for mode in fabric.MODES}
COMPARED = ("ECMP", "ConWeave")
FULL_US, SEEDS = evaluation.SHORT[0], 3


def scheme(parameter: str, value: float) -> str:
    """SELB with one parameter changed."""
    given = {"theta": 0.2, "k": 3, "tau_us": 10, "reorder_queues": 8} | {parameter: value}
    return "selb:" + ":".join(f"{key}={number:g}" for key, number in given.items()) + "@SELB"


def runs(effort: Effort) -> list[Run]:
    """SELB at every value of every parameter, and the others once."""
    duration = effort.choose(full=FULL_US, quick=300.0)
    seeds = range(1, 1 + SEEDS)
    made = []
    for mode in fabric.MODES:
        base = of(mode, duration)
        for seed in seeds:
            made += [Run(one.label, 0.0, seed, one.apply(base), f"{REFERENCE}, {mode}") for one in parse_list(OTHERS)]
            for parameter, (values, _) in PARAMETERS.items():
                for value in effort.choose(full=values, quick=(values[0], values[-1])):
                    (selb,) = parse_list(scheme(parameter, value))
                    made.append(Run(selb.label, float(value), seed, selb.apply(base), f"{parameter}, {mode}"))
    return made


def of(mode: str, duration_us: float) -> Spec:
    """The spec without a scheme."""
    hosts = fabric.EVALUATION_HOSTS
    return fabric.spec(hosts, mode, "ali_storage", 0.8, duration_us, name="SELB, sensitivity")


def claimed(mode: str, other: str) -> float:
    """The share by which the paper's mean for SELB is below that of another."""
    return fig05.CLAIMED[mode]["mean_fct_s"][other]


def some_value_does(parameter: str, mode: str, other: str, measured: Measured) -> Verdict:
    """Judge whether, at some value, SELB is ahead of another by at least half of the paper's share."""
    part = measured.within(f"{parameter}, {mode}")
    base = measured.within(f"{REFERENCE}, {mode}").values(other, 0.0, "mean_fct_s")
    scale = mean(base)
    found: list[Verdict] = []
    for x in part.xs:
        change = paired_difference(part.values("SELB", x, "mean_fct_s"), base)
        enough = -claims.ENOUGH * claimed(mode, other) * scale
        below = change.excludes_zero and change.mean <= enough
        status = Status.HOLDS if below else Status.FAILS if change.low > enough else claims.unsure(change)
        text = f"{parameter} = {x:g}: mean FCT {claims.percent(change, scale)} against {other}"
        judged = claims.line(status, text, p=p_of_zero(change))
        found.append(claims.best_of(len(part.xs), judged))
    statuses = {one.status for one in found} or {Status.UNTESTED}
    best_first = (Status.HOLDS, Status.OPEN, Status.UNTESTED)
    return claims.together(next((one for one in best_first if one in statuses), Status.FAILS), found)


def panels(parameter: str, mode: str) -> tuple[Panel, ...]:
    """One row of the figure of one parameter."""
    name, x = f"{parameter}, {mode}", PARAMETERS[parameter][1]
    made = (
        shapes.mean_fct("sensitivity", x, variant=name),
        shapes.p99_fct("sensitivity", x, variant=name),
        Panel("sensitivity", "reroutes", "reroutes", x, "per run", 1.0, name),
        Panel("sensitivity", "early_mean_us", "held before its TAIL for", x, "µs", 1.0, name),
        Panel("sensitivity", "held_mean_us", "queue held for", x, "µs", 1.0, name),
        Panel("sensitivity", "mean_in_use", "queues in use, mean", x, "", 1.0, name),
    )
    # Values of all but k differ by a constant factor.
    return tuple(replace(panel, log_x=parameter != "k") for panel in made)


EXPERIMENT = Experiment(
    id="selb-sensitivity",
    figures=("sensitivity",),
    title="SELB: θ, k, τ and the number of reorder queues, each varied alone",
    setup="as selb-5 at load 0.8 with 3 ms of arrivals (quick: 0.3 ms)",
    runs=runs,
    measure=measure,
    panels=tuple(panel for parameter in PARAMETERS for mode in fabric.MODES for panel in panels(parameter, mode)),
    claims=tuple(
        Claim(
            OF_MEAN[mode],
            "sensitivity",
            f"some {parameter} brings SELB's mean FCT below {other}'s by half of {100 * claimed(mode, other):.0f} %",
            partial(some_value_does, parameter, mode, other),
            reading=f"against {other}, some {parameter}",
            headline=False,
        )
        for other in COMPARED
        for parameter in PARAMETERS
        for mode in fabric.MODES
    ),
    headline="none: those of selb-5 are",
    assumptions=(Assumption("all else", "as in selb-5", "so that one thing differs at a time"),),
    notes=(
        "Runs are shorter than those of selb-5, and queues grow for as long as flows arrive: differences are smaller.",
        "ConWeave and ECMP on the same traffic are in the measurements as the variant `reference`.",
    ),
)
