"""Measures as plain values, which JSON can represent, and back."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints, is_typeddict

Plain: TypeAlias = Any
"""A plain value, or one of the requested type: the caller knows which."""


def plain(value: object) -> Plain:
    """`value` with dataclasses as dicts of the fields that are written, and without NaN."""
    if is_dataclass(value) and not isinstance(value, type):
        written = [one.name for one in fields(value) if not one.metadata.get("unwritten")]
        return {name: plain(getattr(value, name)) for name in written}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def without_nan(value: object) -> Plain:
    """`value` with every NaN and infinity below it replaced by None, which JSON can represent."""
    return plain(value)


class NotPlainError(ValueError):
    """A plain value that does not have the shape of a type; its text says where."""


def read(wanted: object, value: object, where: str = "value") -> Plain:
    """The reverse of `plain`: a value of the type `wanted`, which may be a dataclass or hold some.

    None means NaN where a float is expected. A field that is missing takes its default.

    Raises:
        NotPlainError: `value` does not have the shape of `wanted`.
    """
    origin, args = get_origin(wanted), get_args(wanted)
    if is_dataclass(wanted) and isinstance(wanted, type):
        return read_fields(wanted, value, where)
    if is_typeddict(wanted) and isinstance(value, dict):
        return {key: read(kind, value[key], f"{where}.{key}") for key, kind in get_type_hints(wanted).items()}
    if origin in (UnionType, Union):
        (only,) = (arg for arg in args if arg is not NoneType)
        return None if value is None and NoneType in args else read(only, value, where)
    if origin in (list, tuple) and isinstance(value, list):
        return origin(read(args[0], item, f"{where}[{n}]") for n, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: read(args[1], item, f"{where}.{key}") for key, item in value.items()}
    return value if wanted is Any else read_scalar(wanted, value, where)


def read_scalar(wanted: object, value: object, where: str) -> object:
    """A number, a word or a truth value."""
    if wanted is float and (value is None or (isinstance(value, int | float) and not isinstance(value, bool))):
        return math.nan if value is None else float(value)
    if wanted in (int, str, bool) and type(value) is wanted:
        return value
    raise NotPlainError(f"{where}: {str(value)[:60]!r} is not a {getattr(wanted, '__name__', wanted)}")


def read_fields(wanted: type, value: object, where: str) -> object:
    """A dataclass from a dict of its fields."""
    if not isinstance(value, dict):
        raise NotPlainError(f"{where}: {str(value)[:60]!r} is not a table")
    types = get_type_hints(wanted)
    found = {}
    for one in fields(wanted):
        if one.name in value:
            found[one.name] = read(types[one.name], value[one.name], f"{where}.{one.name}")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise NotPlainError(f"{where}.{one.name} is missing")
    return wanted(**found)
