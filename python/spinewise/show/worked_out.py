"""Values that follow from the fabric, for people."""

from __future__ import annotations

from collections.abc import Sequence

from spinewise.replies import WorkedOut


def block(found: Sequence[WorkedOut]) -> list[str]:
    """A line for each value: key, value, derivation; empty if all values were given."""
    if not found:
        return []
    keys = max(len(one["key"]) for one in found)
    values = max(len(f"{one['value']:,}") for one in found)
    lines = [f"  {one['key']:<{keys}}  {one['value']:>{values},}  {one['how']}" for one in found]
    return ["derived from the fabric:", *lines]


def line(found: Sequence[WorkedOut]) -> list[str]:
    """All values on one line, without their derivations."""
    if not found:
        return []
    return ["from the fabric: " + " · ".join(f"{one['key']} {one['value']:,}" for one in found)]
