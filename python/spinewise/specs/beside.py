"""Tables of a spec file that do not concern the run itself, but are checked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spinewise.errors import SpecError, nearest

COMPARE_KEYS = ("schemes", "loads", "seeds")
BOUND = "a list of two numbers, the least and the most, such as [0, 0.5]"


def check_beside(spec: Mapping[str, object]) -> None:
    """Refuse an unusable [compare] or [bounds]."""
    if "compare" in spec:
        check_compare_table(spec["compare"])
    if "bounds" in spec:
        check_bounds_table(spec["bounds"])


def check_compare_table(table: object) -> None:
    """Refuse unknown keys and wrong types in [compare]."""
    if not isinstance(table, dict):
        raise SpecError("compare", table, "a table with schemes, loads, seeds")
    for key, value in table.items():
        if key not in COMPARE_KEYS:
            raise SpecError(f"compare.{key}", value, "schemes, loads or seeds", nearest(str(key), COMPARE_KEYS))
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (isinstance(value, list) or (key == "seeds" and whole)):
            raise SpecError(f"compare.{key}", value, "a list" + " or a number" * (key == "seeds"))


def check_bounds_table(table: object) -> None:
    """Refuse bounds other than a name with a minimum and a maximum."""
    if not isinstance(table, dict):
        raise SpecError("bounds", table, 'a table of bounds, such as "all.unfinished" = [0, 0]')
    for name, bound in table.items():
        if not (isinstance(bound, list) and len(bound) == 2 and all(is_number(end) for end in bound)):
            raise SpecError(f"bounds.{name}", bound, BOUND)
        least, most = bound
        if least > most:
            raise SpecError(f"bounds.{name}", bound, "the least first: no value lies between")


def is_number(value: object) -> bool:
    """Whether it is a number that can be compared."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
