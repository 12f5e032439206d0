"""A value for a key: mostly within its bounds, else at them, beside them, or of another type."""

from __future__ import annotations

import re
from random import Random
from typing import Any, TypedDict

Value = Any


class Param(TypedDict):
    """A key as the registry describes it."""

    name: str
    type: str
    allowed: str
    default: Value


WRONG: list[Value] = [
    None, True, False, "", "x", "0", "nan", [], [[]], {}, {"a": 1}, [1, 2], -1, 0, 1, 0.5, -0.0, 1e-12, 1e308, 5e-324,
    2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 0.1 + 0.2, "\0", "é", "[red]", "x" * 300, "leaf0",
]  # fmt: skip
NAMES = [
    "leaf0",
    "leaf1",
    "spine0",
    "spine1",
    "host0",
    "host3",
    "aggregation0",
    "core0",
    "switch0",
    "agg0",
    "leaf99",
    "",
]


def value(random: Random, param: Param, size: int) -> Value:
    """A value for `param`; `size` is about how large things may be to stay quick."""
    if random.random() < 0.05:
        return random.choice(WRONG)
    kind = param["type"]
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "string":
        return word(random, param)
    if kind in ("integer", "number"):
        return number(random, param, size, whole=kind == "integer")
    if kind == "list":
        return [random.choice(WRONG) for _ in range(random.randrange(3))]
    return random.choice(WRONG)


def word(random: Random, param: Param) -> str:
    """One of the words in what is allowed, or nearly."""
    words: list[str] = re.findall(r'"([^"]*)"', param["allowed"]) or NAMES
    chosen: str = random.choice(words)
    return chosen + random.choice(["x", " ", "\n"]) if random.random() < 0.05 else chosen


def number(random: Random, param: Param, size: int, *, whole: bool) -> Value:
    """A number: at a bound, beside one, the default, or between."""
    least, most = bounds(param["allowed"])
    draw = random.random()
    if draw < 0.07:
        return fitted(random.choice([least, most]), whole=whole)
    if draw < 0.10:
        return fitted(random.choice([least - 1, most + 1, -least - 1, most * 2]), whole=whole)
    default = param["default"]
    if draw < 0.40 and isinstance(default, int | float) and not isinstance(default, bool):
        return fitted(default * random.choice([0.5, 1, 1, 2, 4]), whole=whole)
    if draw < 0.85:
        return fitted(min(most, least + random.randrange(size + 1)), whole=whole)
    spread = random.random() ** 8
    return fitted(least + (min(most, 1e15) - least) * spread, whole=whole)


def bounds(allowed: str) -> tuple[float, float]:
    """The least and the greatest number that a phrase allows, as far as it tells."""
    found = re.search(r"from (-?[\d.]+) to (-?[\d.]+)", allowed)
    if found:
        return float(found[1]), float(found[2])
    most = re.search(r"at most (-?[\d.]+)", allowed)
    least = 1.0 if "1 or more" in allowed else 0.0
    return least, float(most[1]) if most else 2.0**63


def fitted(given: float, *, whole: bool) -> Value:
    """A number of the type that is asked for."""
    return int(given) if whole or given == int(given) else given
