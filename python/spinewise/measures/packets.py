"""Packets of flows, and their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spinewise.measures.report import Totals
from spinewise.measures.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {"sent": "packets"}
"""Columns of flows that have another name."""


@dataclass(frozen=True)
class Packets:
    """Data packets of flows, and their events, summed over the run; UDP not included.

    Attributes:
        sent: retransmissions included.
        retransmits: sent again.
        timeouts: retransmission timeouts.
        out_of_order: arrivals behind a later byte of the flow.
        dupack3_events: times a third duplicate acknowledgement arrived (TCP).
        marks: arrivals marked CE.
        nacks: NACKs that reached a sender (RDMA).
        cnps: congestion notifications that reached a sender (RDMA).
        spurious_retransmits: sent again though it had arrived, according to duplicate SACK (TCP).
        fast_retransmits: recoveries begun by acknowledgements or RACK's timer, not by a timeout.
        path_changes: packets tagged with another path than the one before (host schemes).
    """

    sent: int
    retransmits: int
    timeouts: int
    out_of_order: int
    dupack3_events: int
    marks: int
    nacks: int
    cnps: int
    spurious_retransmits: int = 0
    fast_retransmits: int = 0
    path_changes: int = 0

    @classmethod
    def of_totals(cls, totals: Totals) -> Packets:
        """Build from the engine's counts; a count that an older engine lacks is zero."""
        return cls.of_sums({**totals})

    @classmethod
    def of_sums(cls, sums: Mapping[str, object]) -> Packets:
        """Build from sums by name; those missing are zero."""
        found = {name: sums.get(name, 0) for name in cls.__dataclass_fields__}
        return cls(**{name: value for name, value in found.items() if isinstance(value, int)})

    @property
    def out_of_order_ratio(self) -> float:
        """Arrivals out of order over packets sent."""
        return ratio(self.out_of_order, self.sent)

    @property
    def dupack3_ratio(self) -> float:
        """Third duplicate acknowledgements over packets sent, PDLB's measure of reordering."""
        return ratio(self.dupack3_events, self.sent)


def sum_packets(flows: pa.Table) -> Packets:
    """Sums over all flows but UDP."""
    tcp = numbers(flows, "tcp").astype(bool)
    totals = {}
    for name in Packets.__dataclass_fields__:
        column = COLUMNS.get(name, name)
        if column in flows.column_names:
            totals[name] = int(numbers(flows, column)[tcp].sum(dtype=np.int64))
    return Packets.of_sums(totals)


def ratio(part: int, whole: int) -> float:
    """`part / whole`, NaN if the whole is zero."""
    return part / whole if whole else float("nan")
