"""Measurements of a run of Figs. 2, 3, 4 and 7 of ELAB."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spinewise.measures.stats import mean
from spinewise.measures.tables import numbers
from spinewise.papers.elab.labels import CLOVE, ELAB, HERMES, HIDDEN, MASKED, ORACLE, SLOW
from spinewise.papers.elab.measure import splits
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

# Rate of path 1 in Gbps: the paper's, and others under the first transport.
PAPERS, SECOND = 3.0, 6.0
# A split counts from here: slow start and the queues it leaves are over.
SETTLED_S = 0.2
DRAWN_S = {"3": (0.2, 0.5), "4": (0.1, 0.6), "7": (0.2, 0.4)}
# Ratios are drawn up to here.
CUT = 2.5
# The schemes whose split each figure shows.
SPLITS = {"3": (CLOVE, SLOW), "4": (HERMES,), "7": (ELAB, HIDDEN, MASKED, ORACLE)}


def measure(run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure the share of both paths used by new data, and by any, and the split of packets."""
    size, seconds = float(numbers(result.flows, "size_bytes")[0]), float(numbers(result.flows, "fct_ps")[0]) / 1e12
    capacity = splits.rate(result, 0, 0) + splits.rate(result, 0, 1)
    transport = result.spec["transport"]
    wire = 1.0 + transport["header_bytes"] / transport["mss_bytes"]
    share = splits.share_of_first(result, 0)
    settled = share.value[share.time_s >= SETTLED_S]
    settled = settled[np.isfinite(settled)]
    return {
        "utilisation": 8.0 * wire * size / seconds / capacity,
        "carried": 8.0 * sum(splits.carried(result, 0, spine) for spine in (0, 1)) / seconds / capacity,
        "first": mean(settled),
        **{f"first_p{p:02}": float(np.percentile(settled, p)) for p in (5, 25, 50, 75, 95)},
        "one_path": mean((settled < 0.1) | (settled > 0.9)),
        **splits.packets(result),
        **drawn(run, share),
    }


def drawn(run: Run, share: Timeline) -> Mapping[str, Timeline]:
    """Ratio of the two paths over a stretch, of one seed: means over seeds would hide swings."""
    nothing = Timeline(np.array([]), np.array([]))
    found = dict.fromkeys((f"split_{figure}" for figure in SPLITS), nothing)
    if run.seed == 1 and run.x == PAPERS:
        # Two decimals: negligible values become zero.
        ratio = np.round(np.minimum(share.value / np.maximum(1.0 - share.value, 0.01), CUT), 2)
        for figure, (begin, end) in DRAWN_S.items():
            inside = (share.time_s > begin) & (share.time_s <= end)
            if run.curve in SPLITS[figure]:
                found[f"split_{figure}"] = Timeline(share.time_s[inside], ratio[inside].astype(np.float64))
    return found
