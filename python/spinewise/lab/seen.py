"""Compare what schemes saw in a run with the fabric: their series at each host, and what each path can carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinewise.lab.plan import Plan
from spinewise.runs.result import Result

SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Seen:
    """The values of one series at one host: how many, and their 10th, 50th and 90th percentiles."""

    series: str
    host: str
    values: int
    p10: float
    p50: float
    p90: float


@dataclass(frozen=True)
class Path:
    """A path between two leaves: its spine, and its slowest link."""

    source: str
    target: str
    spine: str
    rate_bps: int


def seen(result: Result) -> list[Seen]:
    """Every series of the run's scheme at every host that has values."""
    scheme = str(result.spec["scheme"]["name"])
    found: list[Seen] = []
    for series in sorted({name for name in result.report["series_names"] if name.startswith(f"{scheme}.")}):
        for host in result.entities_of(series):
            _, values = result.series_of(series, host)
            low, middle, high = (float(np.quantile(values, share)) for share in SHARES)
            found.append(Seen(series, host, len(values), low, middle, high))
    return found


def paths(plan: Plan) -> list[Path]:
    """Every path between two leaves over links that work from the start."""
    up = {(cable.lower.node, cable.upper.node): cable for cable in plan.core if cable.up}
    return [
        Path(source, target, spine, min(up[source, spine].lower.rate_bps, up[target, spine].upper.rate_bps))
        for source in plan.leaves
        for target in plan.leaves
        for spine in plan.spines
        if source != target and (source, spine) in up and (target, spine) in up
    ]
