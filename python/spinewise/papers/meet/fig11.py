"""MEET Fig. 11: the enterprise workload, tiny flows, on the asymmetric fabric."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, always_ahead, below, no_worse, with_thirds

PLAN = evaluation.Plan(
    number="11",
    workload="enterprise_meet",
    topology="asymmetric",
    beside_loads=(0.1, 0.2),
    duration_us=24_000.0,
    seeds=3,
    quick=((0.2,), 2_000.0, 3),
    beside={},
    loads=(0.1, 0.2),
    whole_us=24_000.0,
    steady=True,
)

EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 11: enterprise, asymmetric",
    "13 to 19 of 64 fabric links at 1 Gbps; 24 ms of the enterprise workload (quick: 2 ms), of which the second half"
    " counts",
    (
        evaluation.up_to_hermes("d"),
        Statement(
            "C2-33a",
            "abcd",
            "CONGA better than all others, at every size",
            with_thirds(partial(always_ahead, "CONGA", ["MEET", "Hermes", *evaluation.REST], evaluation.TINY_FCT)),
        ),
        Statement(
            "C2-33b",
            "abcd",
            "CONGA 25 % better than MEET, at every size",
            with_thirds(partial(below, "CONGA", ["MEET"], evaluation.TINY_FCT, 0.25)),
        ),
        evaluation.SIMILAR_TO_HERMES,
        Statement(
            "C2-42",
            "abcd",
            "MEET not behind Hermes (by 5 % at most), at every size",
            partial(no_worse, "MEET", "Hermes", evaluation.TINY_FCT),
        ),
    ),
    notes=(evaluation.TINY_NOTE,),
)
