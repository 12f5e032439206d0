"""The columns of the tables that a comparison writes, each with its type, unit and meaning."""

from __future__ import annotations

from dataclasses import replace

from spinewise.measures.curves import BINS_PER_DECADE, FEWEST
from spinewise.sweeps.columns import FACTS, TIMES, Column, Type, real, text, whole

NUMBERS: Type = "list of float64"
WHOLES: Type = "list of int64"

OF_RUN = (
    text("scheme", "label of its scheme or variant"),
    real("load", "its load; null: the load of the spec"),
    Column("seed", "uint64", "", "its seed"),
)
"""The columns that identify a run."""

CELLS = (
    *OF_RUN,
    *TIMES,
    # Names of queues have no unit here.
    *(replace(one, name=one.name.removesuffix("_bytes")) if "_queue_" in one.name else one for one in FACTS),
)
"""The columns of `cells.parquet`."""

CURVES = (
    *OF_RUN,
    text("entry", "traffic entry by name; `all`: all traffic"),
    whole("flows", "flows that finished; UDP sources do not count"),
    Column("level", NUMBERS, "", "shares of these flows at which the next two columns are given; always the same"),
    Column("fct_s", NUMBERS, "s", "completion time that this share of the flows did not exceed; NaN at levels with"
           " fewer than one flow beyond"),
    Column("slowdown", NUMBERS, "", "likewise the slowdown: completion time over its ideal"),
    Column("size_size_bytes", NUMBERS, "bytes", f"bins of flow sizes that have flows, {BINS_PER_DECADE} a decade: the"
           " geometric middle of each"),
    Column("size_flows", WHOLES, "", "how many of the flows are in each bin"),
    Column("size_p50", NUMBERS, "", f"median of their slowdowns; NaN for fewer than {FEWEST['p50']} flows"),
    Column("size_p99", NUMBERS, "", f"99th percentile of their slowdowns; NaN for fewer than {FEWEST['p99']} flows"),
)  # fmt: skip
"""The columns of `curves.parquet`."""
