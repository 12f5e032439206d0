"""MEET Fig. 6: web search on the symmetric fabric, six schemes (and ECMP) over load."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Check, Statement, all_ahead, below, like, up_to
from spinewise.papers.meet.fabric import HERMES_CODE, RACK

SMALL, LARGE, MEAN, P99 = evaluation.WORDS
REST, DRILL = evaluation.REST, ("DRILL",)

PLAN = evaluation.Plan(
    number="6",
    workload="web_search",
    topology="symmetric",
    beside_loads=(0.1, 0.3, 0.6, 0.9),
    duration_us=60_000.0,
    seeds=5,
    quick=((0.3, 0.6), 20_000.0, 3),
    beside={RACK: (0.6, evaluation.REORDERING), HERMES_CODE: (0.6, evaluation.COMPARED)},
)


def on_rest(others: Sequence[str]) -> list[Statement]:
    """Statements about the schemes other than Hermes and CONGA, judged on those given.

    For a range, the lower end is required: "35% ~ 50%" holds from half of 35 on.
    """

    def by(metric: str, share: float) -> Check:
        return partial(below, "MEET", others, [metric], share)

    return [
        Statement(
            "C2-03", "c", "abstract: MEET up to 50 % better than others such as DRILL", up_to("DRILL", MEAN, 0.50)
        ),
        Statement("C2-08", "b", "large: MEET 35 to 50 % better than CLOVE, LetFlow, DRILL", by(LARGE, 0.35)),
        Statement("C2-11", "c", "average: MEET 25 to 50 % better than CLOVE, LetFlow, DRILL", by(MEAN, 0.25)),
        Statement("C2-14", "d", "p99: MEET 23 to 49 % below CLOVE, LetFlow, DRILL", by(P99, 0.23)),
    ]


# Once more for DRILL alone, where reordering does not mislead the sender.
ON_REST = [
    one
    for every, drill in zip(on_rest(REST), on_rest(DRILL), strict=True)
    for one in (every, evaluation.under_rack(drill))
]

EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 6: web search, symmetric",
    "60 ms of web search (quick: 20 ms)",
    (
        evaluation.up_to_hermes("c"),
        Statement(
            "C2-04", "a", "small: MEET 10 % better than Hermes", partial(below, "MEET", ["Hermes"], [SMALL], 0.10)
        ),
        Statement("C2-05", "a", "small: CONGA 13 % better than MEET", partial(below, "CONGA", ["MEET"], [SMALL], 0.13)),
        Statement("C2-06", "b", "large: MEET as good as CONGA (within 5 %)", partial(like, "MEET", "CONGA", [LARGE])),
        Statement(
            "C2-07", "b", "large: MEET 25 % better than Hermes", partial(below, "MEET", ["Hermes"], [LARGE], 0.25)
        ),
        Statement(
            "C2-09",
            "c",
            "average: MEET always within 9 % of CONGA",
            partial(like, "MEET", "CONGA", [MEAN], within=0.09),
        ),
        Statement("C2-10", "c", "average: MEET up to 23 % better than Hermes", up_to("Hermes", MEAN, 0.23)),
        Statement("C2-12", "d", "p99: MEET 22 % below Hermes", partial(below, "MEET", ["Hermes"], [P99], 0.22)),
        Statement("C2-13", "d", "p99: MEET 1 % better than CONGA", partial(below, "MEET", ["CONGA"], [P99], 0.01)),
        *ON_REST,
        Statement(
            "C2-38",
            "abcd",
            "MEET, CONGA and Hermes better than CLOVE, LetFlow, DRILL",
            partial(all_ahead, ("MEET", "CONGA", "Hermes"), REST, (SMALL, LARGE, MEAN, P99)),
        ),
    ),
)
