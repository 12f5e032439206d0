"""What docs/model.md says of `pause_offset_bytes`: beyond the guarantee it counts only where the pool must be full."""

from __future__ import annotations

import pytest

import spinewise as sw

GUARANTEED = 1049


def outcome(headroom_use: str, offset: int) -> str:
    """The outcome of two hosts that send to a third of their rack, through a small lossless buffer."""
    switch = {"buffer_bytes": 400_000, "headroom_use": headroom_use, "pause_offset_bytes": offset,
              "ecn_min_bytes": 300_000, "ecn_max_bytes": 390_000}  # fmt: skip
    flows = [{"src": src, "dst": 2, "size_bytes": 2_000_000, "start_ns": 333 * src} for src in (0, 1)]
    result = sw.run(
        {
            "preset": "selb",
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 3, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
            "switch": switch,
            "traffic": [{"kind": "flows", "list": flows}],
        }
    )
    assert result.spec["switch"]["guaranteed_bytes"] == GUARANTEED
    return str(result.report["outcome_hash"])


@pytest.mark.parametrize("offset", [2_096, 200_000])
def test_an_offset_beyond_the_guarantee_counts_only_with_the_whole_pool(offset: int) -> None:
    assert outcome("above_threshold", offset) == outcome("above_threshold", GUARANTEED)
    assert outcome("pool_full", offset) != outcome("pool_full", GUARANTEED)


def test_an_offset_below_the_guarantee_counts() -> None:
    assert outcome("above_threshold", 0) != outcome("above_threshold", GUARANTEED)
