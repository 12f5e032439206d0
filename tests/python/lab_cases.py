"""Specs of labs for tests."""

from __future__ import annotations

from copy import deepcopy

from spinewise.lab import commands, plan
from spinewise.lab.checked import checked_plan
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve

SPEC: Spec = {
    "name": "A lab",
    "preset": "linux",
    "topology": {
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "host_rate_gbps": 0.1,
        "fabric_rate_gbps": 0.05,
        "override": [{"leaf": 0, "spine": 1, "rate_gbps": 0.0125}, {"leaf": 2, "spine": 0, "up": False}],
    },
    "transport": {"kind": "newreno"},
    "traffic": [
        {"kind": "poisson", "cdf": "web_search", "load": 0.3, "load_of": "leaf_uplinks", "duration_us": 2_000_000}
    ],
}


def planned(**tables: object) -> plan.Plan:
    spec = deepcopy(SPEC)
    spec.update(tables)  # type: ignore[typeddict-item]
    return checked_plan(resolve(spec))


def lines(made: plan.Plan, program: str, node: str) -> list[str]:
    batches = commands.building(made, frozenset(commands.OPTIONAL))
    return [line for batch in batches if (batch.program, batch.node) == (program, node) for line in batch.lines]
