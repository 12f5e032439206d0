"""SELB Figs. 2a and 2b: ConWeave with 8 reorder queues per port ("l") and without a limit ("n").

Set-up T3-A: 128 hosts, 2:1, AliStorage, loads 0.4 and 0.8. The paper does not say which of its two networks this is, so
both are run.
"""

from __future__ import annotations

from functools import partial

from spinewise.papers.selb import fabric
from spinewise.papers.selb.evaluation import extent
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Measured, Panel, Run, Status, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

LIMIT = 8
LIMITED, UNLIMITED = "ConWeave-l", "ConWeave-n"
SCHEMES = f"{fabric.CONWEAVE}:reorder_queues={LIMIT}@{LIMITED},{fabric.CONWEAVE}:reorder_queues=0@{UNLIMITED},ecmp@ECMP"
LOADS = (0.4, 0.8)


def runs(effort: Effort) -> list[Run]:
    """Both at both loads, and ECMP, which the limited one approaches."""
    found = []
    for mode in fabric.MODES:
        for load in LOADS:
            duration, seeds = extent(load, effort)
            for seed in range(1, 1 + seeds):
                for variant in parse_list(SCHEMES):
                    made = variant.apply(of(mode, load, duration))
                    found.append(Run(variant.label, load, seed, made, mode))
    return found


def of(mode: str, load: float, duration_us: float) -> Spec:
    """The spec without a scheme."""
    return fabric.spec(fabric.MOTIVATION_HOSTS, mode, "ali_storage", load, duration_us, name="SELB Fig. 2")


def limit_is_reached(mode: str, measured: Measured) -> Verdict:
    """Judge whether at 0.8 some ports use all queues, in every run."""
    part = measured.within(mode)
    most = part.values(LIMITED, 0.8, "most_in_use")
    share, refused = (part.interval(LIMITED, 0.8, key).mean for key in ("at_limit", "no_queue"))
    text = (
        f"most queues in use at a port: {min(most, default=0):.0f} to {max(most, default=0):.0f} of {LIMIT} in"
        f" {len(most)} runs at 0.8; all are in use for {100 * share:.2g} % of port-time; {refused:.0f} reroutes a run"
        " found none free"
    )
    if not most:
        return claims.line(Status.UNTESTED, text)
    reached = {value >= LIMIT for value in most}
    status = Status.PARTLY if len(reached) > 1 else Status.HOLDS if reached == {True} else Status.FAILS
    return claims.line(status, text, comparisons=0)


def limit_costs(mode: str, measured: Measured) -> Verdict:
    """Judge whether at 0.8 the limit makes mean completion times longer."""
    return claims.higher(measured.within(mode), LIMITED, [UNLIMITED], "mean_fct_s", [0.8])


def panels(mode: str) -> tuple[Panel, ...]:
    """Both loads' queues, and completion times."""
    return (
        *(
            Panel(
                "2a",
                "at_least_in_use",
                f"queues in use, load {load:g}",
                "reorder queues n",
                "% of port-time with n or more",
                scale=100.0,
                variant=mode,
                timeline=True,
                at=load,
                x_scale=1.0,
                log=True,
            )
            for load in LOADS
        ),
        shapes.mean_fct("2b", "load", variant=mode),
    )


EXPERIMENT = Experiment(
    id="selb-2",
    figures=("2a", "2b"),
    title="SELB Fig. 2: ConWeave with 8 reorder queues per port and without a limit",
    setup="8x8 leaf-spine, 128 hosts, 2:1, 100 Gbps, 1 µs; AliStorage; 3 ms of arrivals, at 0.8 10 ms (quick: 0.4 ms)",
    runs=runs,
    measure=measure,
    panels=tuple(panel for mode in fabric.MODES for panel in panels(mode)),
    claims=tuple(
        claim
        for mode in fabric.MODES
        for claim in (
            Claim(
                "C3-01",
                "2a",
                "at 0.8 some ports reach the limit of 8 queues",
                partial(limit_is_reached, mode),
                reading=mode,
            ),
            Claim("C3-02", "2b", "at 0.8 the limit raises the mean FCT", partial(limit_costs, mode), reading=mode),
        )
    ),
    headline="both networks: §II-B does not say which it is",
    assumptions=fabric.ASSUMPTIONS,
    notes=(
        "Queues in use are those of ports to hosts, from the first packet held until the queue has drained, over the"
        " time in which flows arrive.",
    ),
)
