"""MEET Fig. 9: web search on the asymmetric fabric, six schemes (and ECMP) over load."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, ahead, always_ahead, below, like, up_to
from spinewise.papers.meet.fabric import HERMES_CODE, RACK

SMALL, LARGE, MEAN, P99 = evaluation.WORDS

PLAN = evaluation.Plan(
    number="9",
    workload="web_search",
    topology="asymmetric",
    beside_loads=(0.1, 0.3, 0.6, 0.9),
    duration_us=60_000.0,
    seeds=5,
    quick=((0.1, 0.3, 0.6), 20_000.0, 3),
    beside={RACK: (0.6, evaluation.REORDERING), HERMES_CODE: (0.6, evaluation.COMPARED)},
)
ABOVE_40 = [load for load in evaluation.PAPER_LOADS if load > 0.4]
ON_DRILL = Statement(
    "C2-03", "c", "abstract: MEET up to 50 % better than others such as DRILL", up_to("DRILL", MEAN, 0.50)
)

EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 9: web search, asymmetric",
    "13 to 19 of 64 fabric links at 1 Gbps; 60 ms of web search (quick: 20 ms)",
    (
        evaluation.up_to_hermes("c"),
        ON_DRILL,
        evaluation.under_rack(ON_DRILL),
        Statement("C2-22", "a", "small: MEET close to Hermes (within 5 %)", partial(like, "MEET", "Hermes", [SMALL])),
        Statement("C2-23", "a", "small: CONGA 9 % better than MEET", partial(below, "CONGA", ["MEET"], [SMALL], 0.09)),
        Statement(
            "C2-24", "bc", "large, average: MEET better than Hermes", partial(ahead, "MEET", ["Hermes"], [LARGE, MEAN])
        ),
        Statement(
            "C2-25a",
            "bc",
            "large, average at 10 %: MEET like Hermes (within 5 %)",
            partial(like, "MEET", "Hermes", [LARGE, MEAN], xs=[0.1]),
            evaluation.ONLY_TO_COMPLETION,
        ),
        Statement(
            "C2-25b",
            "bc",
            "large, average at 10 %: both better than CONGA",
            evaluation.both_ahead,
            evaluation.ONLY_TO_COMPLETION,
        ),
        Statement(
            "C2-26",
            "bc",
            "large, average at 90 %: MEET close to CONGA (within 5 %)",
            partial(like, "MEET", "CONGA", [LARGE, MEAN], xs=[0.9]),
            evaluation.ONLY_TO_COMPLETION,
        ),
        Statement("C2-27", "d", "p99: MEET always better than CONGA", partial(always_ahead, "MEET", ["CONGA"], [P99])),
        Statement(
            "C2-28",
            "d",
            "p99: MEET better than Hermes above 40 %",
            partial(always_ahead, "MEET", ["Hermes"], [P99], xs=ABOVE_40),
        ),
        evaluation.AT_LEAST_AS_GOOD,
    ),
)
