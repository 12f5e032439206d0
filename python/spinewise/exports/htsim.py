"""Completion times as htsim prints them (ultraethernet/uet-htsim, `uec.cpp` and `main_uec.cpp`).

A line for each finished flow, in the order of finishing, and a line of sums at the end. Scripts such as its
`validate.py` read the time after "finished at" and the last line.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spinewise.exports.rows import refuse_without
from spinewise.magnitudes import PS_PER_US
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ps", "sender_fct_ps", "packets", "retransmits")


def lines(result: Result) -> list[str]:
    """The lines of a run.

    A flow ends as its last byte is acknowledged at the sender, which is what htsim times; the time is counted from the
    start of the run. htsim's packets are those of the flow without those sent again. Fields that it has besides, and a
    run of ours has not, are 0: requests to send (RTS), packets bounced, pulls, probes of its SLEEK recovery. A flow is
    one message. UDP sources are not flows.

    Raises:
        SpecError: the run kept no row per flow.
    """
    refuse_without(result)
    found = list(flow_lines(result))
    totals, acks = result.report["totals"], result.report["counters"]["acks"]["packets"]
    fresh = totals["sent"] - totals["retransmits"]
    found.append(
        f"New: {fresh} Rtx: {totals['retransmits']} RTS: 0 Bounced: 0 ACKs: {acks - totals['nacks']}"
        f" NACKs: {totals['nacks']} Pulls: 0 sleek_pkts: 0"
    )
    return found


def flow_lines(result: Result) -> Iterator[str]:
    """The lines of finished flows, in the order of finishing."""
    done = numbers(result.flows, "tcp").astype(bool) & (numbers(result.flows, "sender_fct_ps") > 0)
    columns = [numbers(result.flows, name)[done] for name in COLUMNS]
    order = np.argsort(columns[4] + columns[5], kind="stable")
    for flow, src, dst, size, start, fct, packets, again in zip(*(one[order].tolist() for one in columns), strict=True):
        yield (
            f"Flow Uec_{src}_{dst} flowId {flow} uecSrc {flow} finished at {microseconds(start + fct)} total messages 1"
            f" total packets {packets - again} RTS 0 total bytes {size}"
        )


def microseconds(time_ps: int) -> str:
    """A time in microseconds, exactly."""
    whole, rest = divmod(time_ps, PS_PER_US)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
