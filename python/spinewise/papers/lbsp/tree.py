"""The fat-trees of the experiments on LBSP, and their faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spinewise.shapes import Override, Topology

LINK_DELAY_NS = 50_000
# Messages of failures, which are there from the start, have arrived by then.
QUIET_US = 10_000
# Conditions, in their order on the axis of a figure.
WHOLE, LINK, SWITCH, DEGRADED = 0.0, 1.0, 2.0, 3.0
CONDITIONS = (WHOLE, LINK, SWITCH, DEGRADED)
WORDS = ((WHOLE, "whole"), (LINK, "link down"), (SWITCH, "switch down"), (DEGRADED, "link slow"))
DEGRADED_GBPS = 0.1


@dataclass(frozen=True)
class Tree:
    """A k-ary fat-tree and the place of its failure: the leaf `leaf` and the last aggregation switch of its pod.

    Attributes:
        k: ports of a switch.
        leaf: S2's leaf: the last one of pod 2 at k = 8 (T11 of Fig. 3).
    """

    k: int
    leaf: int

    @property
    def half(self) -> int:
        """The uplinks of a leaf, the leaves of a pod, the hosts of a leaf: the same number."""
        return self.k // 2

    @property
    def aggregation(self) -> int:
        """The aggregation switch of the failure: A11 at k = 8."""
        return self.leaf // self.half * self.half + self.half - 1

    def overrides(self, condition: float) -> list[Override]:
        """The faults of the tree in a condition, as overrides."""
        link: Override = {"leaf": self.leaf, "aggregation": self.aggregation}
        wrong: Mapping[float, list[Override]] = {
            WHOLE: [],
            LINK: [{**link, "up": False}],
            SWITCH: [{"aggregation": self.aggregation, "up": False}],
            DEGRADED: [{**link, "rate_gbps": DEGRADED_GBPS}],
        }
        return wrong[condition]

    def topology(self, override: Sequence[Override] = (), core_gbps: float = 1.0) -> Topology:
        """§4: every link 1 Gbps and 50 µs; links of cores may be slower."""
        return {
            "kind": "fat_tree",
            "k": self.k,
            "host_rate_gbps": 1,
            "fabric_rate_gbps": 1,
            "core_rate_gbps": core_gbps,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "core_delay_ns": LINK_DELAY_NS,
            "override": [one.copy() for one in override],
        }

    def host(self, pod: int, leaf: int, number: int) -> int:
        """A host by its pod, its leaf in that and its number there."""
        return (pod * self.half + leaf) * self.half + number


SMALL, LARGE = Tree(8, 11), Tree(16, 23)
