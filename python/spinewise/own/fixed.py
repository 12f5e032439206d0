"""Containers on the object of a scheme, which cannot be changed once it runs: all devices share it."""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Callable
from typing import NoReturn

_CHANGES = (
    "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "__missing__",
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert",
    "intersection_update", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort",
    "symmetric_difference_update", "update",
)  # fmt: skip


def refusal(what: str) -> str:
    """The refusal of a change on an object, in words."""
    return f"{what} while it runs: all devices share this object, so keep state in rows (Flow, Peer, Route, Port, Node)"


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    """Stand in for a method that changes the container."""
    raise AttributeError(refusal(f"{getattr(self, 'place', '')} cannot be changed"))


def _fixed(kind: type) -> type:
    """The same kind of container without a way to change it."""
    changes = {name: _refuse for name in _CHANGES if hasattr(kind, name)}
    return type(f"Fixed{kind.__name__.capitalize()}", (kind,), {"place": "", **changes})


_KINDS: dict[type, Callable[..., object]] = {
    kind: _fixed(kind) for kind in (list, dict, set, bytearray, deque, defaultdict)
}


def fixed(value: object, place: str) -> object:
    """A copy of a container that refuses changes, and so do the containers in it; anything else as it is.

    Args:
        value: of Python's own kinds of containers; an array of NumPy becomes read-only.
        place: its name in errors, such as ``Mine.table``.
    """
    if type(value) is tuple:
        return tuple(fixed(item, place) for item in value)
    kind = _KINDS.get(type(value))
    if kind is None:
        return read_only(value)
    if isinstance(value, dict):
        table = {key: fixed(item, place) for key, item in value.items()}
        made = kind(value.default_factory, table) if isinstance(value, defaultdict) else kind(table)
    elif isinstance(value, list | deque):
        items = [fixed(item, place) for item in value]
        made = kind(items, value.maxlen) if isinstance(value, deque) else kind(items)
    else:
        made = kind(value)
    object.__setattr__(made, "place", place)
    return made


def read_only(value: object) -> object:
    """A view of an array that cannot be written; anything else as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
