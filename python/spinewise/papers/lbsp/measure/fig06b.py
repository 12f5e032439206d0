"""Measurements of a run of Fig. 6b of LBSP."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.papers.lbsp.measure.flows import completion, flows_of, packets
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure completion times, of all flows and pair by pair, and the fate of packets."""
    of_pairs = {
        f"{pair}_{key}": value
        for pair, inside in flows_of(result).items()
        for key, value in completion(result, inside).items()
    }
    return {**completion(result), **of_pairs, **packets(result)}
