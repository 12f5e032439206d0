"""Traffic that outlasts the traffic beside it."""

from __future__ import annotations

import pytest

import spinewise as sw
from spinewise.shapes import Spec, Traffic

RING: Traffic = {"name": "ring", "kind": "all_reduce", "size_bytes": 2_000_000, "hosts": [0, 1, 4, 5]}


def told(*traffic: Traffic) -> list[tuple[str | None, str]]:
    spec: Spec = {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}, "traffic": list(traffic)}
    found = sw.run(spec, seed=1).summary().warnings
    return [(one.key, one.text) for one in found if one.code == "outlasts_others"]


def storage(**keys: float) -> Traffic:
    entry: Traffic = {"name": "storage", "kind": "poisson", "cdf": "ali_storage", "load": 0.3}
    return entry | keys  # type: ignore[return-value]


def test_a_ring_that_outlasts_its_background_is_told() -> None:
    """Four fifths of a ring ran on an empty fabric, and its time was told as that under load."""
    ((key, text),) = told(storage(duration_us=300), RING)
    assert key == "traffic[0].duration_us"
    assert text.startswith("Flows of storage arrived until 300.0 µs, and ring lasted until ")
    assert text.endswith("no new flow of storage came. A larger duration_us lets them overlap.")


@pytest.mark.parametrize("traffic", [(storage(duration_us=9000), RING), (RING,), (storage(duration_us=300),)])
def test_traffic_that_overlaps_or_is_alone_needs_no_word(traffic: tuple[Traffic, ...]) -> None:
    assert told(*traffic) == []


def test_the_key_is_the_one_that_ends_it() -> None:
    ((key, _),) = told(RING, storage(max_flows=10))
    assert key == "traffic[1].max_flows"
