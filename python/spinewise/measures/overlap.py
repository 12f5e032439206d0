"""Warnings about traffic that ends while other traffic goes on: what is measured then is an emptier fabric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.measures.entries import entries_of
from spinewise.measures.notices import Notice
from spinewise.measures.tables import numbers
from spinewise.measures.units import duration, percent
from spinewise.shapes import Spec

if TYPE_CHECKING:
    import pyarrow as pa

ARRIVING = ("poisson", "on_off")
"""Kinds of traffic whose flows start at their own times, however long others take."""
AWAITED = ("all_reduce", "all_to_all", "permutation", "dag")
"""Kinds of traffic that last as long as their flows take."""
ALONE = 0.1
"""The share of its time from which on an entry that is alone is told."""


def outlasted(flows: pa.Table, spec: Spec) -> Iterator[Notice]:
    """Entries that last much longer than flows of another entry arrive, from a row for each flow of a run."""
    entries = entries_of(spec)
    if not flows.num_rows or "entry" not in flows.column_names or len(entries) < 2:
        return
    of, starts, took = (numbers(flows, name).astype(np.int64) for name in ("entry", "start_ps", "fct_ps"))
    for place, beside in enumerate(entries):
        arrivals = starts[of == place]
        if beside.kind not in ARRIVING or not len(arrivals):
            continue
        given = spec["traffic"][place]
        lasts = given.get("duration_us") or 0.0
        last = round((given.get("start_us", 0.0) + lasts) * PS_PER_US) if lasts else int(arrivals.max())
        for other, entry in enumerate(entries):
            mine = (of == other) & (took > 0)
            if entry.kind not in AWAITED or not mine.any():
                continue
            begin, end = int(starts[mine].min()), int((starts + took)[mine].max())
            alone = (end - max(begin, last)) / max(end - begin, 1)
            if alone > ALONE:
                key = "duration_us" if lasts else "max_flows"
                over, until = duration(last / PS_PER_SECOND), duration(end / PS_PER_SECOND)
                yield Notice(
                    "outlasts_others",
                    f"traffic[{place}].{key}",
                    f"Flows of {beside.name} arrived until {over}, and {entry.name} lasted until {until}: for"
                    f" {percent(alone, 2)} of its time no new flow of {beside.name} came. A larger {key} lets them"
                    " overlap.",
                    entry.name,
                )
