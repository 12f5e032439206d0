"""Measurements of a run with more or fewer path groups of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures.tables import numbers
from spinewise.papers.lbsp.measure.flows import completion, packets, tree_of
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, of all flows and of those to or from the leaf, and the fate of packets."""
    tree = tree_of(result)
    ends = [numbers(result.flows, name) // tree.half == tree.leaf for name in ("src", "dst")]
    own = {f"own_{key}": value for key, value in completion(result, ends[0] | ends[1]).items()}
    return {**completion(result), **own, **packets(result)}
