"""Whether a value is of the type that is declared for it, key for key."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict


def wrong(kind: Any, value: Any, where: str) -> list[str]:  # noqa: PLR0911 - one for each form of type
    """Where `value` is not of the type, key for key."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, str | ForwardRef):
        return []  # any plain value
    if origin is NotRequired:
        return wrong(args[0], value, where)
    if is_typeddict(kind):
        return wrong_keys(kind, value, where)
    if origin is Literal:
        return [] if value in args else [f"{where} is {value!r}, none of {args}"]
    if origin in (UnionType, Union):
        found = [wrong(arg, value, where) for arg in args]
        if value is None:
            return [] if NoneType in args else [f"{where} is null"]
        return min(found, key=len)
    if origin is list and isinstance(value, list):
        return [one for n, item in enumerate(value) for one in wrong(args[0], item, f"{where}[{n}]")]
    if origin is dict and isinstance(value, dict):
        return [one for key, item in value.items() for one in wrong(args[1], item, f"{where}.{key}")]
    fits = type(value) is kind or (kind is float and type(value) is int)
    return [] if fits else [f"{where} is {value!r}, not {getattr(kind, '__name__', kind)}"]


def wrong_keys(kind: Any, value: Any, where: str) -> list[str]:
    """Where a table has other keys, or values of other types."""
    if not isinstance(value, dict):
        return [f"{where} is {value!r}, not a table"]
    hints = get_type_hints(kind, include_extras=True)
    more = [f"{where}.{key} is in no type" for key in value if key not in hints]
    needed = [key for key, hint in hints.items() if kind.__total__ and get_origin(hint) is not NotRequired]
    less = [f"{where}.{key} is missing" for key in needed if key not in value]
    inner = [wrong(hints[key], value[key], f"{where}.{key}") for key in value if key in hints]
    return [*more, *less, *(one for found in inner for one in found)]
