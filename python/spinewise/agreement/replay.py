"""Follow recorded runs event by event and compare them flow by flow.

Chance decides which packets of a half-full queue are marked, and which paths some schemes draw. The random numbers
of ns-3 and of the C library are known, so each completion time of such a case can be reproduced, to the nanosecond
(``run.follow = "conweave-ns3"``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from spinewise.agreement import comparison, recorded, scores, setting, ties
from spinewise.agreement.recorded import BASELINE, TCP, Flows, Ints, Recorded
from spinewise.agreement.setting import Fabric
from spinewise.errors import SpecError
from spinewise.runs import api
from spinewise.runs.hidden import scratch
from spinewise.shapes import Spec

if TYPE_CHECKING:
    import pyarrow as pa

#: Largest relative difference, ours against theirs.
BOUNDS = {"flow": 0.02, "mean": 0.02, "p95": 0.02, "p99": 0.05}
NEAR_NS = 10
#: Schemes whose draws are followed.
FOLLOWED = ("ecmp", "letflow", "conga", "drill", "conweave")

Follow: TypeAlias = "Callable[[Spec], pa.Table]"
"""A function that runs a spec and returns the table of its flows."""


@dataclass(frozen=True)
class Replay:
    """The outcome of following a case.

    Attributes:
        case: its name.
        flows: how many it has.
        finished: how many finished here.
        equal: share of flows with the same completion time, to the nanosecond.
        near: share within 10 ns.
        relative: by statistic, ours against theirs less one: ``flow`` the median over flows of the absolute relative
            difference of completion times, ``mean``, ``p95`` and ``p99`` of slowdowns.
        swapped: the first of each pair of flows that start at the same time and that the run took in another order than
            the file, which is sorted; the order is found by trying (`ties`).
        first: the first flow to end at another time: its number in the file, and both times in ns; None if all agree.
        orders: how many orders of such flows were tried.
        ended: why no more orders were tried.
    """

    case: str
    flows: int
    finished: int
    equal: float
    near: float
    relative: dict[str, float]
    swapped: list[int]
    first: dict[str, int] | None
    orders: int = 1
    ended: str = ties.SETTLED

    @property
    def problems(self) -> list[str]:
        """The reasons why it does not agree; empty if it does."""
        found = [] if self.finished == self.flows else [f"{self.flows - self.finished} flows did not finish"]
        for stat, bound in BOUNDS.items():
            if abs(self.relative[stat]) > bound:
                found.append(f"{stat}: {100 * self.relative[stat]:+.2f} %, at most {100 * bound:g} %")
        return found

    def as_dict(self) -> dict[str, object]:
        """The record in the JSON list."""
        return {
            "case": self.case,
            "flows": self.flows,
            "finished": self.finished,
            "equal": self.equal,
            "within_10ns": self.near,
            "relative": self.relative,
            "swapped": self.swapped,
            "first": self.first,
            "orders": self.orders,
            "ended": self.ended,
            "verdict": "fail" if self.problems else "pass",
            "problems": self.problems,
        }


def plan(folder: str | Path, patterns: list[str]) -> list[Recorded]:
    """The cases of a folder that can be followed.

    Raises:
        SpecError: there are none.
    """
    there = recorded.find(folder, patterns)[0]
    cases = [case for case in there if case.scheme in FOLLOWED and case.mode != TCP and case.usual]
    if not cases:
        allowed = f"cases of {', '.join(FOLLOWED)} over RDMA, as such cases usually run: no other's draws are followed"
        raise SpecError("--follow", folder, allowed)
    return cases


def replays(cases: Sequence[Recorded], follow: Follow | None = None) -> Iterator[Replay]:
    """Follow cases one after the other; if two have the same flows, they share what was found of their order.

    Raises:
        SpecError: a malformed file.
    """
    known: list[tuple[Flows, list[int]]] = []
    for case in cases:
        flows = recorded.read(case)
        start = next((swapped for other, swapped in reversed(known) if flows.same_traffic(other)), [])
        found = replay(case, flows, start, follow or followed)
        known.append((flows, sorted({*start, *found.swapped})))
        yield found


def replay(case: Recorded, flows: Flows, start: Sequence[int] = (), follow: Follow | None = None) -> Replay:
    """Follow one case, at first with the pairs of `start` swapped, if their order may matter."""
    run, fabric, pairs = follow or followed, setting.fabric_of(flows, case), ambiguous(flows, case)

    def one(some: Flows, swapped: list[int]) -> Ints:
        return run_once(case, some, swapped, run, fabric)

    found = ties.settle(flows, pairs, one, [tie for tie in start if tie in pairs])
    return replace(judged(case, flows, found.ours, found.swapped), orders=found.orders, ended=found.ended)


def ambiguous(flows: Flows, case: Recorded) -> list[int]:
    """Neighbours in the list that start at the same time, if their order may matter: the first of each pair.

    The order matters if they share a host at one end, and if both draw a path.
    """
    matters = flows.start_ns[1:] == flows.start_ns[:-1]
    if case.scheme == BASELINE:
        matters &= (flows.src[1:] == flows.src[:-1]) | (flows.dst[1:] == flows.dst[:-1])
    return [int(at) for at in np.nonzero(matters)[0]]


def run_once(case: Recorded, flows: Flows, swapped: list[int], follow: Follow, fabric: Fabric) -> Ints:
    """Run once, and return our completion times in ns, in the order of `flows`, with some neighbours swapped."""
    with scratch() as folder:
        path = folder / "flows.csv"
        path.write_text(setting.flow_csv(ties.in_order(flows, swapped)))
        spec = setting.spec_of(case, fabric, path, 0, {"name": case.scheme})
        table = follow({**spec, "run": {"follow": "conweave-ns3"}})
    return comparison.sender_fct_ns(flows, table)


def followed(spec: Spec) -> pa.Table:
    """The flows of a run."""
    return api.run(spec).flows


def judged(case: Recorded, flows: Flows, ours: Ints, swapped: list[int]) -> Replay:
    """Judge a run against the recorded one."""
    apart = np.abs(ours - flows.fct_ns)
    slowdowns = [np.sort(scores.slowdowns(fct, flows.ideal_fct_ns)) for fct in (ours, flows.fct_ns)]
    mine, theirs = ([x.mean(), x[int(0.95 * len(x))], x[int(0.99 * len(x))]] for x in slowdowns)
    relative = {"flow": float(np.median(apart / flows.fct_ns))}
    relative |= {stat: float(a / b - 1) for stat, a, b in zip(("mean", "p95", "p99"), mine, theirs, strict=True)}
    late = np.nonzero(apart)[0]
    first = None
    if late.size:
        at = late[np.argmin((flows.start_ns + np.minimum(ours, flows.fct_ns))[late])]
        first = {"flow": int(at), "ours_ns": int(ours[at]), "theirs_ns": int(flows.fct_ns[at])}
    equal, near = float((apart == 0).mean()), float((apart <= NEAR_NS).mean())
    return Replay(case.name, len(flows), int((ours > 0).sum()), equal, near, relative, swapped, first)
