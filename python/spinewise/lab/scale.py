"""Spec and lab at one scale: rates divided by a factor, times multiplied by it.

Bytes are unchanged, so a flow takes as many packets and a window as many segments; a bandwidth-delay product
would be unchanged, too, if the lab could delay packets, but it has no netem. What remains is the time that the
kernel takes, some tens of microseconds a hop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from spinewise import core
from spinewise.errors import SpecError
from spinewise.replies import Fabric
from spinewise.shapes import Spec

FASTEST_BPS = 200_000_000
"""Links faster than this are limited by two cores and not by their token buckets."""
TIMES, RATES = ("_us", "_ns", "_ms"), ("_gbps", "_mbps")
WAITS = ("max_rto_us", "syn_timeout_us")
"""Default timeouts of a transport that are longer than any lab at every factor."""
LONGEST_US = 9e9
"""The longest time of a spec: two and a half hours."""


def factors() -> Iterator[int]:
    """1, 2, 5, 10, 20, … in order."""
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def default_factor(fabric: Fabric) -> int:
    """The smallest factor that brings the fastest link into the range of the lab."""
    fastest = max(link["rate_bps"] for link in fabric["links"])
    return next(factor for factor in factors() if fastest <= factor * FASTEST_BPS)


def at_scale(resolved: Spec, factor: int) -> Spec:
    """A resolved spec with its rates divided by `factor` and its times multiplied by it.

    Raises:
        SpecError: a value leaves what the spec allows, or a file has times of its own.
    """
    if factor == 1:
        return resolved
    for number, entry in enumerate(resolved["traffic"]):
        if entry.get("kind") == "flows" and entry.get("file"):
            allowed = "a spec whose rates the lab can carry as they are, when its flows are in a file"
            raise SpecError(f"traffic[{number}].file", entry["file"], allowed, f"the factor would be {factor}")
    scaled = cast(Spec, stretched(resolved, factor))
    # Longer runs are refused before they are carried, by a bound of the lab's own.
    scaled["run"]["until_us"] = min(float(scaled["run"]["until_us"]), LONGEST_US)
    try:
        return core.resolve(scaled)
    except SpecError as error:
        hint = f"after rates were divided and times multiplied by the lab's factor {factor}"
        raise SpecError(error.key, error.value, error.allowed, hint) from None


def stretched(value: object, factor: int, key: str = "") -> object:
    """A table, list or number of a spec at the scale of the lab."""
    if isinstance(value, dict):
        return {name: stretched(inner, factor, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [stretched(inner, factor, key) for inner in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if key in WAITS:
        return min(value * factor, LONGEST_US)
    if key.endswith(TIMES):
        return value * factor
    return value / factor if key.endswith(RATES) else value
