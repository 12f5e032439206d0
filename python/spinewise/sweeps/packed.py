"""Measurements as bytes: MessagePack of typed dataclasses, exact to the last bit.

Floats keep all their bits, including NaN and infinities. NumPy arrays are stored as their bytes with their type and
shape; NumPy numbers become Python's.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TypeVar, cast

import msgspec
import numpy as np

T = TypeVar("T")

ARRAY = 1
"""The code of MessagePack's extension type that holds an array."""


def pack(value: object) -> bytes:
    """`value` as bytes: equal values of equal types give equal bytes.

    Raises:
        TypeError: it holds something that is neither plain, nor a dataclass, nor a NumPy value.
    """
    return encoder().encode(value)


def unpack(blob: bytes, kind: type[T]) -> T:
    """The value of type `kind` from which `pack` made `blob`.

    Raises:
        ValueError: the bytes are damaged, or are not a `kind`.
    """
    try:
        return cast(T, decoder(cast("Hashable", kind)).decode(blob))
    except (msgspec.MsgspecError, TypeError) as error:
        raise ValueError(f"no {getattr(kind, '__name__', kind)}: {error}") from error


@cache
def encoder() -> msgspec.msgpack.Encoder:
    """The encoder, which is shared."""
    return msgspec.msgpack.Encoder(enc_hook=of_numpy)


@cache
def decoder(kind: Hashable) -> msgspec.msgpack.Decoder[object]:
    """The decoder of one type."""
    return msgspec.msgpack.Decoder(cast("type[object]", kind), ext_hook=array, dec_hook=checked)


def of_numpy(value: object) -> object:
    """Convert a value that MessagePack does not support itself."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of objects cannot be stored: numbers are needed")
        parts = (value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes())
        return msgspec.msgpack.Ext(ARRAY, pack(parts))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int | float | str):
        # A subclass of a plain type, which MessagePack treats as something else.
        return next(plain(value) for plain in (int, float, str) if isinstance(value, plain))
    raise TypeError(f"{type(value).__name__} cannot be stored: a number, text, array, dataclass or list is needed")


def array(code: int, data: memoryview) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """An array from its bytes."""
    if code != ARRAY:
        raise ValueError(f"unknown extension type {code}")
    dtype, shape, raw = msgspec.msgpack.decode(data, type=tuple[str, tuple[int, ...], bytes])
    return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()


def checked(kind: object, value: object) -> object:
    """Convert a value whose type MessagePack does not know: an array, if one is declared."""
    if getattr(kind, "__origin__", kind) is np.ndarray and isinstance(value, np.ndarray):
        return value
    raise TypeError(f"{kind} was expected, not {type(value).__name__}")
