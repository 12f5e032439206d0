"""Follows recorded runs event by event and compares them flow by flow.

ECMP leaves nothing to chance but which packets of a half-full queue are marked, and ns-3's random numbers are known: so
each completion time of such a case can be had again, to the nanosecond (``run.follow = "conweave-ns3"``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from spinewise import api
from spinewise.agreement import comparison, recorded, scores, setting
from spinewise.agreement.recorded import BASELINE, TCP, Flows, Recorded
from spinewise.errors import SpecError
from spinewise.spec import Spec

#: Most relative difference, ours against theirs.
BOUNDS = {"flow": 0.02, "mean": 0.02, "p95": 0.02, "p99": 0.05}
NEAR_NS = 10

Follow = Callable[[Spec], Any]
"""Runs a spec and gives the table of its flows."""


@dataclass(frozen=True)
class Replay:
    """A case followed.

    Attributes:
        case: its name.
        flows: how many it has.
        finished: how many finished here.
        equal: share of flows with the same completion time, to the nanosecond.
        near: share within 10 ns.
        relative: by statistic, ours against theirs less one: ``flow`` the median over flows of the absolute relative
            difference of completion times, ``mean``, ``p95`` and ``p99`` of slowdowns.
        swapped: the first of each pair of flows that start at once at one host and that the run took the other way
            round than the file, which is sorted; the order, by which queue pairs get ports, is found by trying.
        first: the first flow to end otherwise: its number in the file, and both times in ns; None if there is none.
    """

    case: str
    flows: int
    finished: int
    equal: float
    near: float
    relative: dict[str, float]
    swapped: list[int]
    first: dict[str, int] | None

    @property
    def problems(self) -> list[str]:
        """Why it does not agree; nothing when it does."""
        found = [] if self.finished == self.flows else [f"{self.flows - self.finished} flows did not finish"]
        for stat, bound in BOUNDS.items():
            if abs(self.relative[stat]) > bound:
                found.append(f"{stat}: {100 * self.relative[stat]:+.2f} %, at most {100 * bound:g} %")
        return found

    def as_dict(self) -> dict[str, Any]:
        """The record in the JSON list."""
        head = {"case": self.case, "flows": self.flows, "finished": self.finished, "equal": self.equal}
        head |= {"within_10ns": self.near, "relative": self.relative, "swapped": self.swapped, "first": self.first}
        return head | {"verdict": "fail" if self.problems else "pass", "problems": self.problems}


def plan(folder: str | Path, patterns: list[str]) -> list[Recorded]:
    """The cases of a folder that can be followed.

    Raises:
        SpecError: there is none.
    """
    cases = [case for case in recorded.find(folder, patterns)[0] if case.scheme == BASELINE and case.mode != TCP]
    if not cases:
        allowed = "cases of ecmp over RDMA: other schemes draw random numbers of their own, which are not known"
        raise SpecError("--follow", folder, allowed)
    return cases


def replay(case: Recorded, follow: Follow | None = None) -> Replay:
    """Follow one case.

    Raises:
        SpecError: a malformed file.
    """
    flows = recorded.read(case)
    run = follow or followed
    swapped: list[int] = []
    best = run_once(case, flows, swapped, run)
    for first in ambiguous(flows):
        if (best == flows.fct_ns).all():
            break
        other = run_once(case, flows, [*swapped, first], run)
        if (other == flows.fct_ns).sum() > (best == flows.fct_ns).sum():
            best, swapped = other, [*swapped, first]
    return judged(case, flows, best, swapped)


def ambiguous(flows: Flows) -> list[int]:
    """Neighbours in the list that start at once and share a host at one end: the number of the first of each pair."""
    same = flows.start_ns[1:] == flows.start_ns[:-1]
    shares = (flows.src[1:] == flows.src[:-1]) | (flows.dst[1:] == flows.dst[:-1])
    return [int(at) for at in np.nonzero(same & shares)[0]]


def run_once(case: Recorded, flows: Flows, swapped: list[int], follow: Follow) -> Any:
    """Our completion times in ns, in the order of `flows`, with some neighbours listed the other way round."""
    order = np.arange(len(flows))
    for first in swapped:
        order[[first, first + 1]] = order[[first + 1, first]]
    listed = Flows(*(getattr(flows, name)[order] for name in recorded.COLUMNS))
    with TemporaryDirectory(prefix="spinewise-") as folder:
        path = Path(folder) / "flows.csv"
        path.write_text(setting.flow_csv(listed))
        spec = setting.spec_of(case, setting.fabric_of(flows, case), path, 0, {"name": BASELINE})
        table = follow({**spec, "run": {"follow": "conweave-ns3"}})
    return comparison.sender_fct_ns(flows, table)


def followed(spec: Spec) -> Any:
    """The flows of a run."""
    return api.run(spec).flows


def judged(case: Recorded, flows: Flows, ours: Any, swapped: list[int]) -> Replay:
    """What a run came to."""
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
