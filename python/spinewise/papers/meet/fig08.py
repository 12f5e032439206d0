"""MEET Fig. 8: the enterprise workload, tiny flows, on the symmetric fabric."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, always_ahead, below, with_thirds

PLAN = evaluation.Plan(
    number="8",
    workload="enterprise_meet",
    topology="symmetric",
    beside_loads=(0.2, 0.4),
    duration_us=20_000.0,
    seeds=3,
    quick=((0.4,), 2_000.0, 3),
    beside={},
    loads=(0.2, 0.4),
    whole_us=20_000.0,
    steady=True,
)

EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 8: enterprise, symmetric",
    "20 ms of the enterprise workload (quick: 2 ms), of which the second half counts",
    (
        evaluation.up_to_hermes("d"),
        Statement("C2-01", "", "50 % of flows below 75 B, 90 % below 350 B, 99 % below 10 kB", evaluation.percentiles),
        Statement(
            "C2-20",
            "abcd",
            "CONGA 6 % better than MEET and Hermes, at every size",
            with_thirds(partial(below, "CONGA", ["MEET", "Hermes"], evaluation.TINY_FCT, 0.06)),
        ),
        evaluation.SIMILAR_TO_HERMES,
        Statement(
            "C2-44",
            "abcd",
            "CONGA better than all others, at every size",
            with_thirds(partial(always_ahead, "CONGA", ["MEET", "Hermes", *evaluation.REST], evaluation.TINY_FCT)),
        ),
        Statement("C2-21", "abcd", "MEET's average FCT below 300 µs", evaluation.below_300_us),
    ),
    notes=(evaluation.TINY_NOTE,),
)
