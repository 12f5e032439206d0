"""The reason why a round of a collective operation ended when it did: flows that waited for each other until then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures.nodes import NUMBERED, Nodes
from spinewise.measures.tables import Values
from spinewise.measures.units import counted, duration

# Columns of flows that show why one was late.
NEEDED = [
    *("flow", "src", "dst", "step", "start_ps", "finished", "fct_ps", "sender_fct_ps", "ideal_fct_ps", "packets"),
    *("timeouts", "retransmits", "spurious_retransmits", "marks", "cnps", "out_of_order", "path_changes", "cut_off"),
]

# A best path is called slow if it takes this much longer than that of the middle flow of its step.
SLOW = 1.5
# A delay of less than a picosecond does not count.
LEAST_S = 1e-12


@dataclass(frozen=True)
class Late:
    """A flow that the end of a round waited for.

    Attributes:
        flow: its number.
        src: sending host.
        dst: receiving host.
        step: step of the round; 0 if that has one only.
        after_s: its start, from the start of the round.
        time_s: its completion time; NaN if unfinished.
        ideal_s: its least possible time.
        reasons: the events that delayed it, in words, the gravest first; empty if it only waited in queues.
        nodes: the names of hosts.
    """

    flow: int
    src: int
    dst: int
    step: int
    after_s: float
    time_s: float
    ideal_s: float
    reasons: tuple[str, ...]
    nodes: Nodes = NUMBERED

    @property
    def excess_s(self) -> float:
        """How much longer than its ideal a flow took; infinite if it did not finish."""
        return math.inf if math.isnan(self.time_s) else self.time_s - self.ideal_s

    def __str__(self) -> str:
        step = f", step {self.step}" if self.step else ""
        src, dst = self.nodes.said(self.src), self.nodes.given[self.dst] if self.nodes.given else self.dst
        return f"flow {self.flow} ({src} to {dst}{step})"


@dataclass(frozen=True)
class Straggler:
    """The reason why a round ended when it did.

    Attributes:
        chain: the flows that waited for each other up to the end, in order; the last one is the straggler. Each but
            the first started the instant the previous one was done.
        cause: the flow of the chain that took the longest over its ideal.
    """

    chain: tuple[Late, ...]
    cause: Late

    @property
    def last(self) -> Late:
        """The straggler itself."""
        return self.chain[-1]

    @property
    def excess_s(self) -> float:
        """How much longer than their ideals all flows of the chain took together; infinite if one did not finish."""
        return sum(one.excess_s for one in self.chain)

    def __str__(self) -> str:
        last, cause = self.last, self.cause
        if math.isnan(last.time_s):
            text = f"{last} had not finished"
        else:
            text = f"{last} arrived last, {duration(last.after_s + last.time_s)} after the round began"
        if len(self.chain) > 1:
            text += f"; it waited for {len(self.chain) - 1} before it"
            if math.isfinite(self.excess_s):
                text += f", {duration(self.excess_s)} over their ideals in all"
        if self.chain[0].after_s > 0.0:
            text += f"; the first of them began {duration(self.chain[0].after_s)} late"
        if cause is not last:
            text += f"; the longest delay was at {cause}"
        if cause.excess_s < LEAST_S:
            return f"{text}: nothing delayed it"
        if math.isfinite(cause.excess_s):
            text += f": {duration(cause.excess_s)} over its ideal"
        alone = "queues, without loss or mark" if math.isfinite(cause.excess_s) else "it met no loss and no mark"
        return f"{text}: {', '.join(cause.reasons) or alone}"


Columns = Mapping[str, Values]
"""Columns of the flows of a round, `NEEDED` ones at least, in the order of their steps."""


def straggler(flows: Columns, last: int, begin_s: float, nodes: Nodes = NUMBERED) -> Straggler:
    """Find why a round of these flows, which began at `begin_s`, ended with flow `last`."""
    chain = [int(np.flatnonzero(flows["flow"] == last)[0])]
    while (before := waited_for(flows, chain[-1])) is not None:
        chain.append(before)
    told = tuple(late(flows, at, begin_s, nodes) for at in reversed(chain))
    return Straggler(told, max(told, key=lambda one: one.excess_s))


def waited_for(flows: Columns, at: int) -> int | None:
    """The flow of the previous step that let this one start: received by its host, or sent and acknowledged."""
    step, host, start = (int(flows[name][at]) for name in ("step", "src", "start_ps"))
    if step < 2:
        return None
    before = of_step(flows, step - 1)
    begun = flows["start_ps"][before]
    for end, time in (("dst", "fct_ps"), ("src", "sender_fct_ps")):
        took = flows[time][before]
        found = np.flatnonzero((flows[end][before] == host) & (took > 0) & (begun + took == start))
        if found.size:
            return int(before.start) + int(found[0])
    return None


def of_step(flows: Columns, step: int) -> slice:
    """The range of the flows of a step."""
    steps = flows["step"]
    # Of the same type: another type would convert all steps.
    first, last = np.searchsorted(steps, np.array([step, step + 1], dtype=steps.dtype))
    return slice(int(first), int(last))


def late(flows: Columns, at: int, begin_s: float, nodes: Nodes) -> Late:
    """A flow of a round that began at `begin_s`."""
    row = {name: flows[name][at].item() for name in NEEDED}
    ideals = np.sort(flows["ideal_fct_ps"][of_step(flows, row["step"])])
    return Late(
        flow=row["flow"],
        src=row["src"],
        dst=row["dst"],
        step=row["step"],
        after_s=row["start_ps"] / PS_PER_SECOND - begin_s,
        time_s=row["fct_ps"] / PS_PER_SECOND if row["finished"] else math.nan,
        ideal_s=row["ideal_fct_ps"] / PS_PER_SECOND,
        reasons=tuple(reasons(row, int(ideals[len(ideals) // 2]))),
        nodes=nodes,
    )


def reasons(row: Mapping[str, int], usual_ps: int) -> list[str]:
    """The events that delayed a flow, the gravest first; `usual_ps` is the ideal of the median flow of its step."""
    found = []
    if row["cut_off"]:
        found.append("its hosts were cut off from each other")
    if row["timeouts"]:
        found.append(counted(row["timeouts"], "timeout"))
    if row["retransmits"]:
        again = counted(row["retransmits"], "packet") + " sent again"
        found.append(again + (f", {row['spurious_retransmits']} for nothing" if row["spurious_retransmits"] else ""))
    if row["ideal_fct_ps"] > SLOW * usual_ps:
        times = row["ideal_fct_ps"] / max(usual_ps, 1)
        found.append(f"alone it would take {times:.1f} times as long as others of its step")
    if row["marks"]:
        found.append(f"{row['marks'] / max(row['packets'], 1):.0%} of its packets marked")
    if row["cnps"] and not row["marks"]:
        found.append(counted(row["cnps"], "congestion notification"))
    if row["out_of_order"]:
        found.append(counted(row["out_of_order"], "packet") + " out of order")
    if row["path_changes"]:
        found.append(counted(row["path_changes"], "path change"))
    return found
