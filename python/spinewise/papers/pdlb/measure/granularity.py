"""Measurements of a run with flowcells of a fixed size on the set-up of Fig. 7 of PDLB."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Completion time and reordering."""
    summary = result.summary()
    assert summary.packets is not None
    return {"mean_fct_s": summary.of("all").fct_s.mean, "dupack3": summary.packets.dupack3_ratio}
