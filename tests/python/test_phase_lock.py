"""A link that flaps every 2 ms and timeouts of 10, 20, 40 ms stay in step for ever; clocks that tick do not."""

from __future__ import annotations

import pytest

import spinewise as sw


def unfinished(preset: str) -> int:
    """Flows not done after a second: their packets meet an outage each time they are sent again."""
    spec = {
        "preset": preset,
        "topology": {"kind": "fat_tree", "k": 4},
        "traffic": [{"kind": "permutation", "size_bytes": 5_000_000}],
        "fault": [{"kind": "flap", "switch": "core3", "at_us": 500, "period_us": 2000, "down_us": 500}],
        "detection": {"mode": "never"},
        "run": {"until_us": 1_000_000},
    }
    return sw.run(spec).summary().of("all").unfinished


@pytest.mark.parametrize(("preset", "locked"), [("datacenter", True), ("linux", False)])
def test_timeouts_of_hosts_of_today_fall_out_of_step(preset: str, locked: bool) -> None:
    assert bool(unfinished(preset)) == locked
