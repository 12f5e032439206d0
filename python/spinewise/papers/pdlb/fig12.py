"""PDLB Figs. 12a-d: data mining on 256 hosts with one slow path, schemes over load; and web search beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from spinewise.measures.stats import paired_difference
from spinewise.papers.pdlb import large
from spinewise.papers.pdlb.transports import THREE, TRANSPORTS
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Claim, Effort, Measured, Run, Verdict
from spinewise.reproduction.words import named

# Enough to compare the workloads: the paper states it for all schemes.
BESIDE = ("ECMP", "PDLB")


def web_search(name: str) -> str:
    """The variant to which Fig. 12 is compared."""
    return f"web search, {name}"


def runs_of_web_search(effort: Effort) -> list[Run]:
    """Two schemes on web search, as in Fig. 11."""
    found: list[Run] = large.runs("web_search", effort)
    return [Run(r.curve, r.x, r.seed, r.spec, web_search(r.variant)) for r in found if r.curve in BESIDE]


def differs(metric: str, sign: float, name: str, measured: Measured) -> Verdict:
    """`metric` of data mining is above (sign 1) or below (-1) that of web search at every load.

    Pairs of runs share the seed, and so the bad path, but not the traffic.
    """
    mining, search = measured.within(name), measured.within(web_search(name))
    found = []
    for curve in BESIDE:
        for x in search.xs:
            own, its = (part.values(curve, x, metric) for part in (mining, search))
            change = paired_difference(own, its)
            ours = claims.percent(change, sum(its) / len(its))
            text = f"{named(metric)} of {curve} at {x:g}: data mining {ours} against web search{mining.mark(x)}"
            found.append(claims.told(claims.signed(change, sign), text))
    return claims.graded(found)


def compared(key: str, figure: str, text: str, check: Callable[[str, Measured], Verdict]) -> list[Claim]:
    """The claim under every transport."""
    return [Claim(key, figure, text, partial(check, name), reading=name, headline=name == THREE) for name in TRANSPORTS]


EXPERIMENT = large.experiment(
    number="12",
    workload="data_mining",
    title="PDLB Fig. 12: data mining with one slow path",
    tail=("C0-24", 0.20, 0.73),
    more=runs_of_web_search,
    further=[
        *compared(
            "C0-25a", "12a", "short flows: mean FCT lower than with web search",
            partial(differs, large.SHORT_MEAN, -1.0),
        ),
        *compared(
            "C0-25b", "12b", "short flows: p99 higher than with web search",
            partial(differs, large.SHORT_P99, 1.0),
        ),
    ],
)  # fmt: skip
