"""How to enable a scheme on real equipment, if it exists there: from gear.toml, each step with its source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

Match = Literal["same", "kin"]
"""The same mechanism, or a related one that differs as in `note`."""


@dataclass(frozen=True)
class Step:
    """A setting of a product.

    Attributes:
        gear: the product.
        match: whether it is the scheme itself or a related one.
        do: the setting.
        note: the difference, or further conditions.
        source: its documentation.
        over: the family of transports that has it; empty: any.
    """

    gear: str
    match: Match
    do: str
    note: str
    source: str
    over: str = ""


@dataclass(frozen=True)
class Gear:
    """The contents of gear.toml.

    Attributes:
        step: steps by name.
        scheme: names of the steps of each scheme that a product has.
        transport: names of the steps that go with a family of transports, whatever the scheme.
    """

    step: dict[str, Step]
    scheme: dict[str, list[str]]
    transport: dict[str, list[str]]


@cache
def gear() -> Gear:
    """The table, checked."""
    text = resources.files("spinewise.advice").joinpath("gear.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=Gear)


def steps(scheme: str, family: str) -> tuple[Step, ...]:
    """The steps to enable a scheme over a family of transports; empty if no known product has it there."""
    found = gear()
    own = [step for name in found.scheme.get(scheme, []) if (step := found.step[name]).over in ("", family)]
    more = [found.step[name] for name in found.transport.get(family, [])] if own else []
    return (*own, *more)
