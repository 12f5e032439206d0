"""Containers on the object of a scheme, which cannot be changed once it runs: all devices share it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NoReturn

_CHANGES = (
    "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "append",
    "appendleft", "extend", "extendleft", "insert", "remove", "reverse", "rotate", "sort", "pop", "popleft", "popitem",
    "clear", "update", "setdefault", "add", "discard", "difference_update", "intersection_update",
    "symmetric_difference_update", "__missing__",
)  # fmt: skip


def refusal(what: str) -> str:
    """The refusal of a change on an object, in words."""
    return f"{what} while it runs: all devices share this object, so keep state in rows (Flow, Peer, Route, Port, Node)"


def _refused(name: str) -> Callable[..., NoReturn]:
    """A method that refuses to change the container."""

    def method(self: Any, *args: object, **named: object) -> NoReturn:
        del args, named
        raise AttributeError(refusal(f"{self.place} cannot be changed"))

    method.__name__ = name
    return method


def _fixed(kind: type) -> type:
    """The same kind of container without a way to change it."""
    changes = {name: _refused(name) for name in _CHANGES if hasattr(kind, name)}
    return type(f"Fixed{kind.__name__.capitalize()}", (kind,), {"place": "", **changes})


_KINDS: dict[type, Any] = {kind: _fixed(kind) for kind in (list, dict, set, bytearray, deque, defaultdict)}


def fixed(value: Any, place: str) -> Any:
    """A copy of a container that refuses changes, and so do the containers in it; anything else as it is.

    Args:
        value: of Python's own kinds of containers; an array of NumPy becomes read-only.
        place: its name in errors, such as ``Mine.table``.
    """
    kind = type(value)
    if kind is tuple:
        return tuple(fixed(item, place) for item in value)
    if kind not in _KINDS:
        if hasattr(value, "setflags") and hasattr(value, "view"):
            view = value.view()
            view.setflags(write=False)
            return view
        return value
    made = _KINDS[kind].__new__(_KINDS[kind])
    if isinstance(value, dict):
        pairs = {key: fixed(item, place) for key, item in value.items()}
        if isinstance(value, defaultdict):
            defaultdict.__init__(made, value.default_factory, pairs)
        else:
            dict.__init__(made, pairs)
    elif isinstance(value, deque):
        deque.__init__(made, (fixed(item, place) for item in value), value.maxlen)
    elif isinstance(value, bytearray):
        bytearray.__init__(made, value)
    elif isinstance(value, list):
        list.__init__(made, [fixed(item, place) for item in value])
    else:
        set.__init__(made, value)
    made.place = place
    return made
