"""Why a round of a collective operation ended when it did: the flows that waited for each other up to its end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spinewise.measures.units import duration

PS_PER_SECOND = 1e12

# Columns of flows that say why one was late.
NEEDED = [
    *("flow", "src", "dst", "step", "start_ps", "finished", "fct_ps", "sender_fct_ps", "ideal_fct_ps", "packets"),
    *("timeouts", "retransmits", "spurious_retransmits", "marks", "cnps", "out_of_order", "path_changes", "cut_off"),
]

# A best path is called slow if it takes so much longer than that of the middle flow of its step.
SLOW = 1.5


@dataclass(frozen=True)
class Late:
    """A flow that the end of a round waited for.

    Attributes:
        flow: its number.
        src: sending host.
        dst: receiving host.
        step: step of the round; 0 if that has one only.
        after_s: when it started, from the start of the round.
        time_s: its completion time; NaN if unfinished.
        ideal_s: the least it could take.
        reasons: what happened to it, in words, the gravest first; empty if nothing did but waiting in queues.
    """

    flow: int
    src: int
    dst: int
    step: int
    after_s: float
    time_s: float
    ideal_s: float
    reasons: tuple[str, ...]

    @property
    def excess_s(self) -> float:
        """How much longer than its ideal it took; infinite if it did not finish."""
        return math.inf if math.isnan(self.time_s) else self.time_s - self.ideal_s

    def __str__(self) -> str:
        step = f", step {self.step}" if self.step else ""
        return f"flow {self.flow} (host {self.src} to {self.dst}{step})"


@dataclass(frozen=True)
class Straggler:
    """Why a round ended when it did.

    Attributes:
        chain: the flows that waited for each other up to the end, in order; the last one is the straggler. Each but
            the first started the instant the one before was through.
        cause: the flow of the chain that took the longest over its ideal.
    """

    chain: tuple[Late, ...]
    cause: Late

    @property
    def last(self) -> Late:
        """The straggler itself."""
        return self.chain[-1]

    def __str__(self) -> str:
        last, cause = self.last, self.cause
        if math.isnan(last.time_s):
            text = f"{last} had not finished"
        else:
            text = f"{last} arrived last, {duration(last.after_s + last.time_s)} after the round began"
        if len(self.chain) > 1:
            text += f"; it waited for {len(self.chain) - 1} before it"
        if self.chain[0].after_s > 0.0:
            text += f"; the first of them began {duration(self.chain[0].after_s)} late"
        if cause is not last:
            text += f"; the longest delay was at {cause}"
        if math.isfinite(cause.excess_s):
            text += f": {duration(cause.excess_s)} over its ideal"
        return f"{text}: {', '.join(cause.reasons) or 'queues, without loss or mark'}"


Rows = Mapping[int, Mapping[str, Any]]
"""Rows of the table of flows, by flow."""


def straggler(rows: Rows, last: int, begin_s: float) -> Straggler:
    """Why a round of these flows, which began at `begin_s`, ended with flow `last`."""
    chain = [rows[last]]
    waited_for: dict[tuple[int, int, int], Mapping[str, Any]] = {}
    for row in rows.values():
        # What a flow waits for is known at its host: it has received a flow, or its own is acknowledged.
        if row["finished"]:
            waited_for[row["step"], row["dst"], row["start_ps"] + row["fct_ps"]] = row
        if row["sender_fct_ps"]:
            waited_for.setdefault((row["step"], row["src"], row["start_ps"] + row["sender_fct_ps"]), row)
    while before := waited_for.get((chain[-1]["step"] - 1, chain[-1]["src"], chain[-1]["start_ps"])):
        chain.append(before)
    usual = usual_ideals(rows.values())
    told = tuple(late(row, begin_s, usual[row["step"]]) for row in reversed(chain))
    return Straggler(told, max(told, key=lambda one: one.excess_s))


def usual_ideals(rows: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """The ideal time of the middle flow of each step."""
    of_step: dict[int, list[int]] = {}
    for row in rows:
        of_step.setdefault(row["step"], []).append(row["ideal_fct_ps"])
    return {step: sorted(ideals)[len(ideals) // 2] for step, ideals in of_step.items()}


def late(row: Mapping[str, Any], begin_s: float, usual_ps: int) -> Late:
    """A flow of a round that began at `begin_s`; `usual_ps` is the ideal of the middle flow of its step."""
    return Late(
        flow=row["flow"],
        src=row["src"],
        dst=row["dst"],
        step=row["step"],
        after_s=row["start_ps"] / PS_PER_SECOND - begin_s,
        time_s=row["fct_ps"] / PS_PER_SECOND if row["finished"] else math.nan,
        ideal_s=row["ideal_fct_ps"] / PS_PER_SECOND,
        reasons=tuple(reasons(row, usual_ps)),
    )


def reasons(row: Mapping[str, Any], usual_ps: int) -> list[str]:
    """What happened to a flow, the gravest first; `usual_ps` is the ideal of the middle flow of its step."""
    found = []
    if row["cut_off"]:
        found.append("its hosts were cut off from each other")
    if row["timeouts"]:
        found.append(counted(row["timeouts"], "timeout"))
    if row["retransmits"]:
        again = counted(row["retransmits"], "packet") + " sent again"
        found.append(again + (f", {row['spurious_retransmits']} for nothing" if row["spurious_retransmits"] else ""))
    if row["ideal_fct_ps"] > SLOW * usual_ps:
        found.append(f"its best path is {row['ideal_fct_ps'] / max(usual_ps, 1):.1f} times as slow as others'")
    if row["marks"]:
        found.append(f"{row['marks'] / max(row['packets'], 1):.0%} of its packets marked")
    if row["cnps"] and not row["marks"]:
        found.append(counted(row["cnps"], "congestion notification"))
    if row["out_of_order"]:
        found.append(counted(row["out_of_order"], "packet") + " out of order")
    if row["path_changes"]:
        found.append(counted(row["path_changes"], "path change"))
    return found


def counted(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
