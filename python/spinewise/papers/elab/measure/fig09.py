"""Measurements of a run of Figs. 9 and 10 of ELAB."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spinewise.measures import stats
from spinewise.measures.tables import numbers
from spinewise.papers.elab.labels import CLOVE, ELAB, HERMES, ORACLE
from spinewise.papers.elab.measure import splits
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

FIRST, SECOND = "F1", "F2"
DRAWN = (ELAB, CLOVE, HERMES, ORACLE)


def measure(run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, and the spine of each flow."""
    fct_s = numbers(result.flows, "fct_ps") / 1e12
    order = np.argsort(numbers(result.flows, "src"))
    shares = {f"{flow}_first": spine_1(result, leaf) for leaf, flow in ((0, FIRST), (1, SECOND))}
    found: dict[str, float | Timeline] = {
        "mean_fct_s": stats.mean(fct_s),
        "F1_fct_s": float(fct_s[order[0]]),
        "F2_fct_s": float(fct_s[order[1]]),
        **shares,
        # Under ECMP a flow takes one spine: 11, 12, 21, 22, the spine of F1 before that of F2.
        "placement": sum(ten * (2 - round(share)) for ten, share in zip((10, 1), shares.values(), strict=True)),
        **splits.packets(result),
    }
    return {**found, **drawn(run, result)}


def spine_1(result: Result, leaf: int) -> float:
    """The share of a leaf's traffic that went over the first spine."""
    first, second = (splits.carried(result, leaf, spine) for spine in (0, 1))
    return float(first / (first + second))


def drawn(run: Run, result: Result) -> Mapping[str, Timeline]:
    """Share of spine 1 over time, of one seed."""
    nothing = Timeline(np.array([]), np.array([]))
    shown = run.seed == 1 and run.curve in DRAWN
    return {
        f"{flow}_split": splits.share_of_first(result, leaf) if shown else nothing
        for leaf, flow in ((0, FIRST), (1, SECOND))
    }
