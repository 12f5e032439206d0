"""Runs a spec in the engine and hands back what the recursions are compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinewise import _core

Spec = dict[str, Any]
NUMPY = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "f64": "<f8", "bool": "<u1"}


@dataclass(frozen=True)
class Outcome:
    """Columns of the flows, and the report."""

    flows: dict[str, npt.NDArray[Any]]
    report: dict[str, Any]

    def column(self, name: str) -> list[int]:
        """A column as Python integers, in the order of flow numbers."""
        return [int(value) for value in self.flows[name]]

    def link(self, name: str) -> dict[str, Any]:
        """The account of one link."""
        return next(link for link in self.report["links"] if link["name"] == name)

    @property
    def hash(self) -> str:
        """The hash of all that happened."""
        return str(self.report["outcome_hash"])


def simulate(spec: Mapping[str, Any], **tuning: Any) -> Outcome:
    """One run; `tuning` turns what must not change a result."""
    raw = _core.run(json.dumps(spec), None, json.dumps(tuning))
    flows = {name: np.frombuffer(data, NUMPY[dtype]) for name, (dtype, data) in raw["flows"].items()}
    return Outcome(flows, json.loads(raw["report"]))


def nanoseconds(ps: int) -> float:
    """Picoseconds as a spec says them; the engine rounds to the nearest, so nothing is lost."""
    return ps / 1000


def two_racks(rates_gbps: Sequence[float], delays_ps: Sequence[int], back_gbps: Sequence[float] = ()) -> Spec:
    """The topology in which host 0 reaches host 1 by links of these rates and delays.

    Two links: both hosts under one leaf. Four: two leaves and a spine. Nothing else exists in a leaf-spine fabric.
    The way back has the rates `back_gbps`, in its own order (100 Gbps where not given), and the same delays.
    """
    hops = len(rates_gbps)
    back = list(back_gbps) or [100.0] * hops
    # (selector, number of the link on the way from host 0, and on the way from host 1)
    cables: list[tuple[dict[str, int], int]] = [({"host": 0}, 0)]
    if hops == 4:
        cables += [({"leaf": 0, "spine": 0}, 1), ({"leaf": 1, "spine": 0}, 2)]
    cables.append(({"host": 1}, hops - 1))
    overrides: list[dict[str, Any]] = []
    for selector, number in cables:
        rising = number < hops / 2  # the way from host 0 goes up here
        for direction, rate in (
            ("up" if rising else "down", rates_gbps[number]),
            ("down" if rising else "up", back[hops - 1 - number]),
        ):
            overrides.append(
                {
                    **selector,
                    "direction": direction,
                    "rate_gbps": rate,
                    "delay_ns": nanoseconds(delays_ps[number]),
                }
            )
    leaves = 1 if hops == 2 else 2
    return {"leaves": leaves, "spines": 1, "hosts_per_leaf": 2 // leaves, "override": overrides}
