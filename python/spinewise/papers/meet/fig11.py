"""MEET Fig. 11: the enterprise workload, tiny flows, on the asymmetric fabric, at one load."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, ahead, below

PLAN = evaluation.Plan(
    number="11",
    workload="enterprise_meet",
    topology="asymmetric",
    loads=(0.2,),
    duration_us=8_000.0,
    seeds=5,
    quick=((0.2,), 1_000.0, 3),
    beside={},
)

EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 11: enterprise, asymmetric",
    "13 to 19 of 64 fabric links at 1 Gbps; 8 ms of the enterprise workload (quick: 1 ms)",
    (
        Statement(
            "C2-33a",
            "abcd",
            "CONGA better than all others, at every size",
            partial(ahead, "CONGA", ["MEET", "Hermes", *evaluation.REST], evaluation.TINY_FCT),
        ),
        Statement(
            "C2-33b",
            "abcd",
            "CONGA 25 % better than MEET, at every size",
            partial(below, "CONGA", ["MEET"], evaluation.TINY_FCT, 0.25),
        ),
    ),
    notes=(evaluation.TINY_NOTE,),
)
