"""The flows of a spec, as the simulator draws them, and its own run of them: the prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from spinewise.errors import SpecError
from spinewise.lab.plan import Plan
from spinewise.magnitudes import PS_PER_NS
from spinewise.measures.tables import numbers
from spinewise.runs import api
from spinewise.runs.result import Result
from spinewise.shapes import Spec

FIRST_PORT, LAST_PORT = 10_000, 60_000
MOST_SECONDS = 600
MOST_HOPS_PER_S = 400_000
"""Packets times links that two cores carry in a second, with a margin."""


@dataclass(frozen=True)
class Flow:
    """A flow to be carried: its number, the numbers of its hosts, and its own port."""

    number: int
    source: int
    target: int
    port: int
    size: int
    start_ns: int


def simulated(plan: Plan, spec: Spec, trace: Iterable[int] | None = None) -> Result:
    """The simulator's run of a spec at the scale of the lab: the flows are its own, and so is the prediction.

    The choices of the flows in `trace` are traced.

    Raises:
        SpecError: carrying it would take too long, or more than the machine can.
    """
    seconds = float(spec["run"]["until_us"]) / 1e6
    if seconds > MOST_SECONDS:
        allowed = f"at most {MOST_SECONDS} s in the lab: its seconds are real"
        raise SpecError("run.until_us", f"{seconds:g} s at the lab's factor {plan.factor}", allowed)
    result = api.run(spec, trace=trace)
    spent = result.report["stop_ps"] / 1e12
    pace = result.report["packet_hops"] / max(spent, 1e-9)
    if pace > MOST_HOPS_PER_S:
        allowed = f"traffic that crosses at most {MOST_HOPS_PER_S:,} links a second in a lab"
        hint = "give a larger --factor, a lower load or fewer hosts"
        raise SpecError("traffic", f"{pace:,.0f} packets times links a second", allowed, hint)
    return result


def flows_of(result: Result) -> list[Flow]:
    """The flows of a run, each with a port that is unique within its pair.

    Raises:
        SpecError: there are none, no rows of them were kept, or too many are of one pair.
    """
    table = result.flows
    if not table.num_rows:
        allowed = "traffic with flows, and metrics.keep_flows_up_to above their number"
        raise SpecError("traffic", f"{result.report['flows']} flows, no rows", allowed)
    found: list[Flow] = []
    seen: Counter[tuple[int, int]] = Counter()
    columns = [numbers(table, name).tolist() for name in ("flow", "src", "dst", "size_bytes", "start_ps")]
    for number, source, target, size, start in zip(*columns, strict=True):
        port = FIRST_PORT + seen[source, target]
        seen[source, target] += 1
        if port > LAST_PORT:
            allowed = f"at most {LAST_PORT - FIRST_PORT} flows between two hosts in a lab"
            raise SpecError("traffic", f"more between host{source} and host{target}", allowed)
        found.append(Flow(number, source, target, port, size, start // PS_PER_NS))
    return found
