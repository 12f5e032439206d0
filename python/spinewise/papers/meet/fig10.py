"""MEET Fig. 10: data mining on the asymmetric fabric, schemes over load."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, all_ahead, below, up_to
from spinewise.papers.meet.fabric import HERMES_CODE, RACK, TO_COMPLETION, UNSTOPPED
from spinewise.reproduction import claims

SMALL, LARGE, MEAN, P99 = evaluation.WORDS

PLAN = evaluation.Plan(
    number="10",
    workload="data_mining_vl2",
    topology="asymmetric",
    beside_loads=(0.3, 0.5, 0.9),
    duration_us=70_000.0,
    seeds=5,
    quick=((0.3,), 50_000.0, 3),
    beside={
        RACK: (0.3, evaluation.REORDERING),
        HERMES_CODE: (0.3, evaluation.COMPARED),
        UNSTOPPED: (0.3, ("MEET", "Hermes")),
    },
)


def on_rest(others: tuple[str, ...]) -> Statement:
    """C2-31 for these schemes."""
    check = partial(below, "MEET", others, [SMALL], 0.50)
    return Statement("C2-31", "a", "small: MEET 50 to 70 % better than CLOVE, LetFlow, DRILL", check)


EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 10: data mining, asymmetric",
    "13 to 19 of 64 fabric links at 1 Gbps; 70 ms of data mining (quick: 50 ms)",
    (
        evaluation.up_to_hermes("c"),
        Statement("C2-29", "a", "small: MEET up to 28 % better than Hermes", up_to("Hermes", SMALL, 0.28)),
        Statement("C2-30", "a", "small: MEET 50 % better than CONGA", partial(below, "MEET", ["CONGA"], [SMALL], 0.50)),
        on_rest(evaluation.REST),
        evaluation.under_rack(on_rest(("DRILL",))),
        Statement(
            "C2-32",
            "bcd",
            "large, average, p99: MEET 20 % better than Hermes",
            partial(below, "MEET", ["Hermes"], [LARGE, MEAN, P99], 0.20),
            (TO_COMPLETION, HERMES_CODE, UNSTOPPED),
        ),
        Statement(
            "C2-36",
            "abcd",
            "MEET and Hermes better than CONGA, CLOVE, LetFlow, DRILL",
            partial(all_ahead, ("MEET", "Hermes"), ("CONGA", *evaluation.REST), tuple(evaluation.WORDS)),
        ),
        Statement(
            "C2-37",
            "bcd",
            "large, average, p99: MEET far better than these (at least the 20 % against Hermes)",
            partial(below, "MEET", ("CONGA", *evaluation.REST), [LARGE, MEAN, P99], 0.20, whose=claims.OURS),
        ),
        evaluation.AT_LEAST_AS_GOOD,
    ),
)
