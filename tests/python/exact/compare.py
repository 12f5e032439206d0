"""The same flows in the engine and in the recursion of `pair`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from exact.engine import Spec, nanoseconds, simulate, two_racks
from exact.lines import Line, Rules
from exact.pair import Fate, Flow, Pair
from exact.tcp import Options

COLUMNS = (
    "fct_ps",
    "sender_fct_ps",
    "packets",
    "retransmits",
    "timeouts",
    "fast_retransmits",
    "out_of_order",
    "marks",
)


@dataclass
class Case:
    """Flows between host 0 and host 1 over links of these rates and delays, from host 0 on; one way each."""

    flows: Sequence[Flow]
    gbps: Sequence[float]
    delays_ps: Sequence[int]
    back_gbps: Sequence[float] = ()
    options: Options = field(default_factory=lambda: Options(ecn=False, initial_window=10))
    rules: Rules = field(default_factory=Rules)

    def spec(self) -> Spec:
        """For the engine."""
        return {
            "preset": "datacenter",
            "topology": two_racks(self.gbps, self.delays_ps, self.back_gbps),
            "transport": self.options.spec(),
            "switch": self.rules.spec(),
            "traffic": [traffic(flow) for flow in self.flows],
        }

    def expected(self) -> list[Fate]:
        """By the recursion."""
        back = self.back_gbps or [100.0] * len(self.gbps)
        there = [Line(rate, delay) for rate, delay in zip(self.gbps, self.delays_ps, strict=True)]
        here = [Line(rate, delay) for rate, delay in zip(back, reversed(self.delays_ps), strict=True)]
        return Pair(self.flows, self.options, there, here, self.rules).run()

    def check(self) -> list[Fate]:
        """Both must agree in every number; returns what became of the flows."""
        outcome = simulate(self.spec())
        columns = [outcome.column(name) for name in COLUMNS]
        found = [Fate(*row) for row in zip(*columns, strict=True)]
        expected = self.expected()
        assert found == expected, f"engine {found}\nrecursion {expected}\n{self}"
        assert all(astuple(fate)[0] > 0 for fate in found), "a flow did not finish"
        return found


def traffic(flow: Flow) -> dict[str, Any]:
    """One `[[traffic]]` entry. Flows are numbered by start, source, destination and entry: give them in that order."""
    ends = {"src": 0, "dst": 1} if flow.to_right else {"src": 1, "dst": 0}
    if flow.source is None:
        listed = {**ends, "size_bytes": flow.size, "start_ns": nanoseconds(flow.start)}
        return {"kind": "flows", "list": [listed]}
    schedule = [{"at_us": at / 10**6, "rate_gbps": rate} for at, rate in flow.source.schedule]
    size = {"packet_bytes": flow.source.packet_bytes, "size_bytes": flow.size}
    return {"kind": "udp", **ends, **size, "schedule": schedule}
