"""The flows worth explaining: the slowest of a run, those that waited for timers, and those that faults hurt most."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spinewise.errors import SpecError
from spinewise.explanation.explain import traced_again
from spinewise.explanation.facts import leaves_of
from spinewise.explanation.losses import Losses, Lost
from spinewise.explanation.resent import NEARLY
from spinewise.explanation.story import us
from spinewise.explanation.wanted import wanted
from spinewise.magnitudes import PS_PER_US
from spinewise.measures import units
from spinewise.measures.afterwards import timeouts_of
from spinewise.measures.entries import names
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.specs.carriers import transports

MOST = 8
"""The length of a list of flows."""
LATER = 1.1
"""The factor by which a flow must be slower than without the faults to count as hurt."""
RESENT = 32
"""The number of flows examined that retransmitted more than without the faults: those that were delayed most."""
NEVER_SLOWER = {"loss", "black_hole"}
"""Faults that lose packets, and leave the number and the rates of paths unchanged."""


@dataclass(frozen=True)
class Asked:
    """A flow worth explaining.

    Attributes:
        flow: its number.
        traffic: the traffic entry.
        src, dst: hosts.
        size_bytes: its size; 0 if it has none.
        start_us: when it started.
        took_us: until it had arrived, or the run ended.
        finished: whether it had arrived by then.
        slowdown: that time over its ideal.
        timeouts: retransmission timeouts.
        src_name, dst_name: what the spec calls the hosts; None where it names none.
    """

    flow: int
    traffic: str
    src: int
    dst: int
    size_bytes: int
    start_us: float
    took_us: float
    finished: bool
    slowdown: float
    timeouts: int
    src_name: str | None = None
    dst_name: str | None = None


@dataclass(frozen=True)
class Hurt:
    """A flow that took longer with faults than without.

    Attributes:
        flow: the flow.
        without_us: its time without the faults.
        why: the reason, in words.
    """

    flow: Asked
    without_us: float
    why: str


@dataclass(frozen=True)
class Victims:
    """The effect of a run's faults on its flows.

    Attributes:
        flows: flows between racks that had arrived without the faults.
        later: how many took more than a tenth longer with the faults.
        sooner: how many took less time, by more than a tenth.
        worst: those that lost packets to the faults and took the most longer, against their ideals.
        others: those that lost none to them, and took the most longer.
    """

    flows: int
    later: int
    sooner: int
    worst: list[Hurt]
    others: list[Hurt]


class Table:
    """The flows of a run as arrays; those that can be explained are between two racks, and have sent something."""

    def __init__(self, result: Result) -> None:
        if not result.flows.num_rows:
            raise SpecError(
                "RUN", "a run that kept no flows", "one with a table of flows", "raise metrics.keep_flows_up_to"
            )
        self.result = result
        self.nodes = Nodes.of(result.spec)
        leaves = leaves_of(result.spec)
        src, dst = (leaves[numbers(result.flows, name)] for name in ("src", "dst"))
        self.finished = numbers(result.flows, "finished").astype(bool)
        start = numbers(result.flows, "start_ps").astype(float)
        self.took = (
            np.where(self.finished, numbers(result.flows, "fct_ps"), result.report["stop_ps"] - start) / PS_PER_US
        )
        ideal = np.maximum(numbers(result.flows, "ideal_fct_ps"), 1) / PS_PER_US
        self.slowdown = self.took / ideal
        self.timeouts = numbers(result.flows, "timeouts")
        endless = numbers(result.flows, "size_bytes") == 0
        self.can = (src != dst) & (numbers(result.flows, "packets") > 0) & ~endless

    def worst(self, badness: Array, least: float, most: int = MOST) -> list[int]:
        """The flows that are worst by some measure, of those above a minimum."""
        order = np.argsort(-badness, kind="stable")
        return [int(flow) for flow in order if self.can[flow] and badness[flow] > least][:most]

    def asked(self, flow: int) -> Asked:
        """The facts about a flow in the list."""
        row = self.result.flows.slice(flow, 1).to_pylist()[0]
        return Asked(
            flow=flow,
            traffic=names(self.result.spec["traffic"])[row["entry"]],
            src=row["src"],
            dst=row["dst"],
            size_bytes=row["size_bytes"],
            start_us=row["start_ps"] / PS_PER_US,
            took_us=float(self.took[flow]),
            finished=bool(self.finished[flow]),
            slowdown=float(self.slowdown[flow]),
            timeouts=int(row["timeouts"]),
            src_name=self.nodes.host(row["src"]) if self.nodes.given else None,
            dst_name=self.nodes.host(row["dst"]) if self.nodes.given else None,
        )


def slowest(result: Result, entry: str | None = None, size_class: str | None = None) -> tuple[list[Asked], list[Asked]]:
    """The slowest flows against their ideals, and others that waited for retransmission timeouts most often.

    Those of a traffic entry and of a size class, where one is given.

    Raises:
        SpecError: there is no such entry or class, or no table of flows.
    """
    table = Table(result)
    table.can &= wanted(result, entry, size_class)
    slow = table.worst(table.slowdown, 0.0)
    # A flow that took less than a timeout had arrived before its sender's timer expired.
    every = (seconds for one in transports(result.spec) for _, seconds, _ in timeouts_of(one))
    least_us = 1e6 * min(every, default=0.0)
    table.timeouts = np.where(table.took >= NEARLY * least_us, table.timeouts, 0)
    waited = [flow for flow in table.worst(table.timeouts.astype(float), 0.0) if flow not in slow]
    return [table.asked(flow) for flow in slow], [table.asked(flow) for flow in waited]


def victims(result: Result, without: Result, again: Callable[[list[int]], Result]) -> Victims:
    """The flows of `result` that took longer than in the same run `without` its faults; `again` traces some of them.

    Raises:
        SpecError: the two have different flows.
    """
    table, whole = Table(result), Table(without)
    if result.report["traffic_hash"] != without.report["traffic_hash"]:
        allowed = "a run whose traffic does not depend on its faults"
        raise SpecError("--hurt", str(result.spec.get("name", "this run")), allowed)
    known = table.can & whole.can & whole.finished
    sooner = int((known & (LATER * table.took < whole.took)).sum())
    table.can = known & (table.took > LATER * whole.took)
    badness = table.slowdown - whole.slowdown
    more = numbers(result.flows, "retransmits") > numbers(without.flows, "retransmits")
    asked = list(dict.fromkeys([*table.worst(badness, 0.0), *table.worst(np.where(more, badness, 0.0), 0.0, RESENT)]))
    told = traced_again(result, again(asked)) if asked else result
    lost = {flow: [one for one in Losses(told, flow).all() if one.faults] for flow in asked}
    order = sorted(asked, key=lambda flow: -badness[flow])

    def hurt(flow: int) -> Hurt:
        return Hurt(table.asked(flow), float(whole.took[flow]), why(lost[flow]) if lost[flow] else elsewhere(result))

    by_faults = [hurt(flow) for flow in order if lost[flow]][:MOST]
    others = [hurt(flow) for flow in order if not lost[flow]][: MOST - len(by_faults)]
    return Victims(int(known.sum()), int(table.can.sum()), sooner, by_faults, others)


def why(lost: Sequence[Lost]) -> str:
    """The flow's losses to the faults, in words, by place."""
    more = f"; {units.counted(len(lost) - 2, 'more place')}" if len(lost) > 2 else ""
    return "; ".join(str(one) for one in lost[:2]) + more


def elsewhere(result: Result) -> str:
    """Possible reasons why a flow was late that lost no packet to the faults."""
    kinds = {fault["kind"] for fault in result.spec.get("fault") or []}
    queues = "it met other queues, as other flows sent at other times"
    return queues if kinds <= NEVER_SLOWER else f"a link on its way was slower or longer, paths were fewer, or {queues}"


def line(one: Asked) -> str:
    """A flow in a line."""
    ratio = f"{units.digits(one.slowdown, 3):>6} times its ideal"
    took = f"{ratio}: {us(one.took_us)}" if one.finished else f"not arrived after {us(one.took_us)}, {ratio.strip()}"
    waited = f", {units.counted(one.timeouts, 'timeout')}" if one.timeouts else ""
    src, dst = one.src_name or f"host {one.src}", one.dst_name or f"host {one.dst}"
    return (
        f"  {one.flow:>6}  {took}{waited};"
        f" {units.size(one.size_bytes)} from {src} to {dst}, {one.traffic}, at {us(one.start_us)}"
    )


@dataclass(frozen=True)
class Questions:
    """The commands that ask more about a run.

    Attributes:
        run: its folder.
        further: other arguments that they need.
        one_path: packets had no choice: what a flow waited for can be told, but no choices.
    """

    run: str
    further: Sequence[str]
    one_path: bool

    def about(self, flow: int) -> str:
        """The command about a flow."""
        return self._command([self.run, self.run] if self.one_path else [self.run], "--flow", str(flow))

    def hurt(self) -> str:
        """The command about flows that faults hurt."""
        return self._command([self.run], "--hurt")

    def _command(self, runs: Sequence[str], *options: str) -> str:
        """The command about these runs."""
        return shlex.join(["spinewise", "explain", *runs, *self.further, *options])


def told(slow: list[Asked], waited: list[Asked], asked: Questions, *, faulty: bool, of: str = "") -> str:
    """The flows worth explaining, and the next commands; `of` says whose flows were asked for."""
    parts = ["\n".join([f"The slowest flows{of} between racks, against their ideals:", *map(line, slow)])]
    if waited:
        parts.append("\n".join(["Others that waited for retransmission timeouts:", *map(line, waited)]))
    if not slow:
        return f"No flow{of} between two racks has sent anything: there are no paths to explain."
    on = [f"Why: {asked.about(slow[0].flow)}"]
    if faulty:
        on.append(f"Which flows the faults hurt, against the same run without them: {asked.hurt()}")
    return "\n\n".join([*parts, "\n".join(on)])


def told_victims(found: Victims, asked: Questions, breaks: list[str]) -> str:
    """The flows that the faults hurt, and why."""
    lines = [
        f"{found.later:,} of {units.counted(found.flows, 'flow')} between racks took more than a tenth longer than in"
        f" the same run without its faults, and {found.sooner:,} more than a tenth less ({'; '.join(breaks)})."
    ]
    if found.worst:
        lines += ["", "Of those that lost packets to the faults, these took the most longer, against their ideals:"]
    for one in found.worst:
        lines += [f"{line(one.flow)}; {us(one.without_us)} without", f"          {one.why}"]
    if found.others:
        lines += ["", f"These lost none to the faults: {found.others[0].why}."]
    lines += [f"{line(one.flow)}; {us(one.without_us)} without" for one in found.others]
    if listed := [*found.worst, *found.others]:
        lines += ["", f"To explain one: {asked.about(listed[0].flow.flow)}"]
    return "\n".join(lines)
