"""The best result of any flowcell size on the set-up of PDLB Fig. 7: an upper bound for an adaptive choice.

PDLB chooses 1 to 44 packets. Presto's flowcell is 44 packets. So PDLB can only beat Presto where cells finer than
Presto's are better than Presto's: here every size is tried, fixed, without probes and without any estimate. Cells go
round the paths in turn, as Presto's do.

Besides the transport of Fig. 7, another one never interprets duplicate acknowledgements as a loss, which bounds from
above what SACK or any other tolerance of reordering could give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from spinewise.measures.stats import Interval, paired_difference
from spinewise.papers.pdlb import fig07
from spinewise.papers.pdlb.measure.granularity import measure
from spinewise.papers.pdlb.transports import THREE, TOLERANT
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Verdict,
)
from spinewise.shapes import Spec

# The largest size is a whole flow: no cell ends before the flow does.
SIZES = (1, 2, 4, 8, 16, 44, 137)
PRESTO = 44
HOT_PATHS = (1, 4)
TRANSPORTS: dict[str, dict[str, object]] = {
    THREE: {},
    TOLERANT: {"transport.dupack_threshold": 0},
}


def log2(packets: int) -> float:
    """The position of a size on the axis."""
    return round(math.log2(packets), 1)


def spec(hot: int, packets: int, changes: Mapping[str, object]) -> Spec:
    """Fig. 7 with flowcells of this size."""
    made = shapes.changed(fig07.base(hot), changes)
    made["scheme"] = {"name": "flowcell", "params": {"packets": packets, "dispatch": "round_robin"}}
    return made


def runs(effort: Effort) -> list[Run]:
    """Every size at one and at four hot paths, under both transports, over seeds."""
    return [
        Run(curve(hot), log2(packets), seed, spec(hot, packets, changes), transport)
        for transport, changes in TRANSPORTS.items()
        for hot in HOT_PATHS
        for packets in SIZES
        for seed in range(1, 1 + effort.choose(full=30, quick=5))
    ]


def curve(hot: int) -> str:
    """Name of the line."""
    return f"{hot} hot path{'s' if hot > 1 else ''}"


def presto_size_is_best(transport: str, measured: Measured) -> Verdict:
    """No size below Presto's completes flows sooner than Presto's."""
    table = measured.within(transport)
    return claims.combined(
        claims.told(
            finer(table, name, packets),
            f"{name}: cells of {packets} take {percent(table, name, packets)} longer than those of {PRESTO}",
        )
        for name in table.curves
        for packets in SIZES
        if packets < PRESTO
    )


def finer(table: Measured, name: str, packets: int) -> Interval:
    """How much longer cells of this size take, paired by seed."""
    own, its = (table.values(name, log2(size), "mean_fct_s") for size in (packets, PRESTO))
    return paired_difference(own, its)


def percent(table: Measured, name: str, packets: int) -> str:
    """How much longer cells of this size take than with Presto's size."""
    base = table.interval(name, log2(PRESTO), "mean_fct_s").mean
    return claims.percent(finer(table, name, packets), base)


def panels(transport: str) -> tuple[Panel, ...]:
    """Completion time and reordering under one transport."""
    x = "log2 of a flowcell's packets (5.5: 44)"
    return (
        shapes.mean_fct("bound", x, variant=transport),
        shapes.share("bound", "dupack3", "3-dupACK events", x, of="packets sent", variant=transport),
    )


EXPERIMENT = Experiment(
    id="pdlb-7-granularity",
    figures=("bound",),
    title="Fixed flowcell sizes on the set-up of PDLB Fig. 7",
    setup="as pdlb-7; flowcells of a fixed size, round robin over the paths; 137 packets are a whole flow",
    runs=runs,
    measure=measure,
    panels=tuple(panel for transport in TRANSPORTS for panel in panels(transport)),
    claims=tuple(
        Claim(
            "own-cells",
            "7c",
            "no flowcell finer than Presto's is faster: an adaptive size cannot beat Presto",
            partial(presto_size_is_best, transport),
            reading=transport,
            headline=transport == THREE,
        )
        for transport in TRANSPORTS
    ),
    headline="three duplicate ACKs, as in pdlb-7",
    assumptions=(
        Assumption("all else", "as in pdlb-7", "so that sizes are all that differs"),
        Assumption("dispatch", "in turn", "as Presto; PDLB's random draw is in pdlb-7-variations"),
    ),
)
