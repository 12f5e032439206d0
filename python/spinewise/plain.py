"""Convert given values to plain ones: tables, lists, texts, numbers and booleans, and nothing else.

NumPy's numbers and arrays, tuples and paths are converted. A value that JSON cannot represent, that
is too deep or that contains itself is refused by its key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import SupportsFloat, SupportsInt

from spinewise.errors import SpecError
from spinewise.replies import Json

MOST_LEVELS = 32
LEAST, MOST = -(2**63), 2**64 - 1
SHARE = 'a share above 0 and at most 1, such as "2%" or 0.02'
NUMBERS = "a whole number from -2^63 to 2^64 - 1, or a finite number"


def plain(value: object, path: str = "", level: int = 0) -> Json:
    """A plain copy of `value`, which is at the key `path`.

    Raises:
        SpecError: at the first thing that is not plain.
    """
    # A fast path for nearly all values: lists of flows have millions of numbers.
    if value is None or isinstance(value, bool) or (type(value) is int and LEAST <= value <= MOST):
        return value
    if isinstance(value, Mapping | list | tuple):
        if level >= MOST_LEVELS:
            raise too_deep(path)
        if isinstance(value, Mapping):
            return table(value, path, level)
        return [plain(item, f"{path}[{index}]", level + 1) for index, item in enumerate(value)]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain(value.tolist(), path, level)
    return scalar(value, path)


def scalar(value: object, path: str) -> str | int | float:
    """One text or number."""
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    if isinstance(value, str):
        return text(value, path)
    if isinstance(value, Integral):
        return whole(value, path)
    if isinstance(value, Real):
        return finite(value, path)
    raise SpecError(path or "spec", f"{shown(value)} ({type(value).__name__})", "a string, number, boolean, list")


def table(value: Mapping[object, object], path: str, level: int) -> dict[str, Json]:
    """A table; its keys are texts."""
    made: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise SpecError(path or "spec", shown(key), "keys that are strings")
        if not key:
            raise SpecError(path or "spec", '""', "keys of 1 character or more")
        made[str(key)] = plain(item, f"{path}.{key}" if path else key, level + 1)
    return made


def text(value: str, path: str) -> str:
    """A text that can be written as UTF-8."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SpecError(path or "spec", ascii(value), "UTF-8 text") from None
    return str(value)


def whole(value: SupportsInt, path: str) -> int:
    """A whole number that fits into 64 bits."""
    number = int(value)
    if LEAST <= number <= MOST:
        return number
    raise SpecError(path or "spec", f"a number of {number.bit_length()} bits", NUMBERS)


def finite(value: SupportsFloat, path: str) -> float:
    """A finite number."""
    number = float(value)
    if math.isfinite(number):
        return number
    raise SpecError(path or "spec", number, "a finite number")


def too_deep(path: str) -> SpecError:
    """The error about too many nested tables."""
    allowed = f"tables and lists of 1 to {MOST_LEVELS} levels"
    return SpecError(path or "spec", "more levels", allowed, "does a table contain itself?")


def shown(value: object) -> str:
    """A value as text, whatever its type."""
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def share(where: str, given: object) -> float:
    """A share: a number, or a text with a percent sign.

    Raises:
        SpecError: it is not a share, or not above 0 and at most 1.
    """
    words = shown(given).strip()
    try:
        found = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not isinstance(given, bool) and 0.0 < found <= 1.0:
        return found
    raise SpecError(where, shown(given), SHARE)


def unlike(name: str, needed: str, given: object) -> TypeError:
    """The error about an argument of a wrong type."""
    what = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
    return TypeError(f"{name}: {needed} is needed, not {what}")


def as_whole(value: object) -> int | None:
    """A whole number of any kind but a boolean; None for anything else."""
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def as_number(value: object) -> float | None:
    """A number of any kind but a boolean; None for anything else."""
    return None if isinstance(value, bool) or not isinstance(value, Real) else float(value)
