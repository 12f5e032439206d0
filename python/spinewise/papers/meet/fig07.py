"""MEET Fig. 7: data mining on the symmetric fabric, schemes over load."""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation
from spinewise.papers.meet.evaluation import Statement, ahead, below, like, up_to
from spinewise.papers.meet.fabric import HERMES_CODE
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Measured, Status, Verdict

SMALL, LARGE, MEAN, P99 = evaluation.WORDS

# The only load at which MEET is "only slightly worse than CONGA" (Fig. 7a), and the limit for "slightly".
HIGHEST, SLIGHT = 0.9, 0.1

PLAN = evaluation.Plan(
    number="7",
    workload="data_mining_vl2",
    topology="symmetric",
    beside_loads=(0.3, 0.5, HIGHEST),
    duration_us=70_000.0,
    seeds=5,
    quick=((0.5,), 50_000.0, 3),
    beside={HERMES_CODE: (0.5, evaluation.COMPARED)},
)


def slightly_worse(measured: Measured) -> Verdict:
    """MEET's small flows take slightly longer than CONGA's at 90 %, and at no other load; in part if at others too."""
    if HIGHEST not in measured.xs:
        return claims.line(Status.UNTESTED, f"no runs at {100 * HIGHEST:g} %")
    there = claims.combined(
        [
            claims.higher(measured, "MEET", ["CONGA"], SMALL, [HIGHEST]),
            claims.alike(measured, "MEET", "CONGA", SMALL, HIGHEST, within=SLIGHT),
        ]
    )
    elsewhere = evaluation.no_worse("MEET", "CONGA", [SMALL], measured, xs=[x for x in measured.xs if x != HIGHEST])
    return claims.graded([there, elsewhere])


def better_elsewhere(measured: Measured) -> Verdict:
    """MEET's small flows are ahead of CONGA's at all other loads."""
    return below("MEET", ["CONGA"], [SMALL], 0.01, measured, xs=[x for x in measured.xs if x != HIGHEST])


EXPERIMENT = evaluation.experiment(
    PLAN,
    "MEET Fig. 7: data mining, symmetric",
    "70 ms of data mining (quick: 50 ms)",
    (
        evaluation.up_to_hermes("c"),
        Statement(
            "C2-15",
            "a",
            "small: MEET slightly worse than CONGA at 90 % (by 10 % at most), elsewhere not (by more than 5 %)",
            slightly_worse,
            evaluation.ONLY_TO_COMPLETION,
        ),
        Statement("C2-16", "a", "small, other loads: MEET 1 to 8 % better than CONGA", better_elsewhere),
        Statement("C2-17", "a", "small: MEET up to 9 % below Hermes", up_to("Hermes", SMALL, 0.09)),
        Statement(
            "C2-18",
            "bcd",
            "large, average, p99: Hermes like CONGA (within 5 %)",
            partial(like, "Hermes", "CONGA", [LARGE, MEAN, P99]),
        ),
        Statement(
            "C2-19",
            "bcd",
            "large, average, p99: MEET 1 to 8 % better than Hermes",
            partial(below, "MEET", ["Hermes"], [LARGE, MEAN, P99], 0.01),
        ),
        Statement(
            "C2-35",
            "a",
            "small: MEET better than Hermes, CLOVE, LetFlow, DRILL",
            partial(ahead, "MEET", ("Hermes", *evaluation.REST), [SMALL]),
        ),
    ),
    notes=("A quick effort has no runs at 90 %, of which C2-15 speaks.",),
)
