"""No run of the fixed grid has another outcome than when it was recorded.

A change that is meant goes with `PYTHONPATH=tests/python python -m outcomes record`, and with its reason in
CHANGELOG.md.
"""

from __future__ import annotations

from collections import Counter

import pytest

from outcomes.grid import grid
from outcomes.table import changed

PARTS = sorted({name.split("/")[0] for name, _ in grid()})


@pytest.mark.parametrize("part", PARTS)
def test_outcomes_are_as_recorded(part: str) -> None:
    assert changed(f"{part}/") == []


def test_names_are_unique_and_every_spec_names_its_preset_and_its_transport() -> None:
    assert [name for name, times in Counter(name for name, _ in grid()).items() if times > 1] == []
    for name, spec in grid():
        transport = spec["transport"]
        assert isinstance(transport, dict), name
        assert "preset" in spec, name
        assert {"kind", "recovery"} <= transport.keys(), name
