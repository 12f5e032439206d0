"""The number of reorder queues SELB and ConWeave need: from 1 to any number, on T3-B at 0.8; added to Figs. 5, 6.

The paper's argument, step by step: SELB's early packets come less early, so they are held for less long, so fewer
queues do, so with 8 of them it is faster.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from spinewise.measures.stats import mean, paired_difference
from spinewise.papers.selb import fabric
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Measured, Panel, Run, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

WORKLOADS = {"AliStorage": "ali_storage", "Hadoop": "hadoop"}
LOAD = 0.8
# Position on the axis, and reorder queues per port; 0 means no limit.
LIMITS = {1.0: 1, 8.0: 8, 16.0: 16, 32.0: 32, 64.0: 0}
FEWEST, PAPER, NO_LIMIT = 1.0, 8.0, 64.0


def schemes(limit: int) -> str:
    """Both schemes with this number of queues."""
    of = {"ConWeave": fabric.CONWEAVE, "SELB": fabric.SELB}
    return ",".join(f"{scheme}:reorder_queues={limit}@{label}" for label, scheme in of.items())


def runs(effort: Effort) -> list[Run]:
    """Both schemes with every limit, workload and mode, over seeds."""
    duration = effort.choose(full=1000.0, quick=400.0)

    def of(mode: str, workload: str) -> Spec:
        hosts, name = fabric.EVALUATION_HOSTS, "SELB, reorder queues"
        return fabric.spec(hosts, mode, WORKLOADS[workload], LOAD, duration, name=name)

    return [
        Run(variant.label, x, seed, variant.apply(of(mode, workload)), f"{workload}, {mode}")
        for workload in WORKLOADS
        for mode in fabric.MODES
        for x in effort.choose(full=tuple(LIMITS), quick=(FEWEST, PAPER, NO_LIMIT))
        for seed in range(1, 1 + effort.choose(full=5, quick=3))
        for variant in parse_list(schemes(LIMITS[x]))
    ]


def lower(variant: str, measured: Measured, *, metric: str) -> Verdict:
    """SELB's value is below ConWeave's with 8 queues and without a limit."""
    return claims.lower(measured.within(variant), "SELB", ["ConWeave"], metric, [PAPER, NO_LIMIT])


def limit_costs(variant: str, measured: Measured, *, x: float) -> Verdict:
    """ConWeave with this number of queues is slower than without a limit."""
    part = measured.within(variant)
    few, many = (part.values("ConWeave", place, "mean_fct_s") for place in (x, NO_LIMIT))
    change = paired_difference(few, many)
    base = mean(many)
    text = f"mean FCT with {LIMITS[x]} against no limit: {claims.percent(change, base)}"
    return claims.told(change, text)


def better_with_few(variant: str, measured: Measured) -> Verdict:
    """Judge whether SELB is faster than ConWeave with one queue a port."""
    return claims.lower(measured.within(variant), "SELB", ["ConWeave"], "mean_fct_s", [FEWEST])


STATEMENTS = (
    ("C3-14a", "", "SELB's packets that overtake come less early", partial(lower, metric="early_mean_us")),
    ("C3-14b", "", "SELB's reorder queues are held for a shorter time", partial(lower, metric="held_mean_us")),
    ("own-in-use", "", "SELB has fewer reorder queues in use, on average", partial(lower, metric="mean_in_use")),
    (
        "own-limit",
        "8 queues",
        "ConWeave's mean FCT is higher with 8 queues than without a limit",
        partial(limit_costs, x=PAPER),
    ),
    (
        "own-limit",
        "1 queue",
        "ConWeave's mean FCT is higher with 1 queue than without a limit",
        partial(limit_costs, x=FEWEST),
    ),
    ("own-few", "", "with 1 queue, SELB's mean FCT is below ConWeave's", better_with_few),
)
NAMES = tuple(f"{workload}, {mode}" for workload in WORKLOADS for mode in fabric.MODES)


def panels(name: str) -> tuple[Panel, ...]:
    """Completion times and the life of queues, over their number."""
    x = "reorder queues per port (64: no limit)"
    made = (
        shapes.mean_fct("queues", x, variant=name),
        shapes.p99_fct("queues", x, variant=name),
        Panel("queues", "early_mean_us", "held before its TAIL for", x, "µs", 1.0, name),
        Panel("queues", "held_mean_us", "queue held for", x, "µs", 1.0, name),
        Panel("queues", "mean_in_use", "queues in use, mean", x, "", 1.0, name),
        Panel("queues", "no_queue", "reroutes that found no queue", x, "per run", 1.0, name),
    )
    return tuple(replace(panel, log_x=True) for panel in made)


EXPERIMENT = Experiment(
    id="selb-queues",
    figures=("queues",),
    title="SELB and ConWeave with 1, 8, 16, 32 and any number of reorder queues",
    setup="as selb-5 and selb-6 at load 0.8, 1 ms of arrivals (quick: 0.4 ms)",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in NAMES for panel in panels(name)),
    claims=tuple(
        Claim(key, "queues", statement, partial(check, name), reading=f"{queues}, {name}" if queues else name)
        for key, queues, statement, check in STATEMENTS
        for name in NAMES
    ),
    headline="both workloads and both networks: §III-B speaks of none alone",
    assumptions=fabric.ASSUMPTIONS,
)
