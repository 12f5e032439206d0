"""The state of a Python scheme outside its rows, which each run must leave unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from types import FunctionType, ModuleType

from spinewise.own import texts
from spinewise.own.code import names_around
from spinewise.own.contract import OwnClass, class_of
from spinewise.own.digest import Walk
from spinewise.own.scheme import Scheme
from spinewise.shapes import Spec

MOST = 10_000
"""The number of items or bytes above which only the number is compared: this is done for every run."""


@dataclass(frozen=True)
class Held:
    """A class before a run.

    Attributes:
        scheme: the class.
        values: digests of what it holds, by name: ``Mine.scores``, or ``SCORES`` of its module.
    """

    scheme: OwnClass
    values: Mapping[str, bytes]

    def changed(self) -> str:
        """The changed names, with the verb; empty if nothing changed."""
        now = values(self.scheme)
        names = [name for name in {**self.values, **now} if now.get(name) != self.values.get(name)]
        return f"{' and '.join(names)} differ{'s' * (len(names) == 1)}" if names else ""


def before(resolved: Spec) -> Held | None:
    """The state of a spec's scheme before a run; None if it is not written in Python."""
    scheme = class_of(resolved)
    return None if scheme is None else Held(scheme, values(scheme))


class Value(Walk):
    """A walk to a value that a class refers to, but not to the class."""

    def klass(self, of: type) -> None:
        """Add a class that the value refers to."""
        if len(self.kept) > 1:
            super().klass(of)


def values(scheme: OwnClass) -> dict[str, bytes]:
    """Digests of the values that a class holds, by name."""
    walk = Value(scheme)
    return {name: glimpse(walk, value) for name, value in named(scheme)}


def glimpse(walk: Walk, value: object) -> bytes:
    """The digest of a value; for a large one only its size, and empty for one nested too deeply."""
    size = getattr(value, "nbytes", None)
    if not isinstance(size, int):
        size = len(value) if isinstance(value, Sized) else 0
    if size > MOST:
        return f"{type(value).__qualname__} of {size}".encode()
    try:
        return walk.child(value)
    except RecursionError:
        return b""


def named(scheme: OwnClass) -> Iterator[tuple[str, object]]:
    """Attributes of a class and its bases, defaults of methods, and the global values that methods use, except code.

    What they use of modules that are not installed counts, too.
    """
    seen: set[str] = set()
    for base in scheme.__mro__:
        if base in Scheme.__mro__:
            continue
        own = vars(base)
        yield from ((f"{base.__name__}.{name}", one) for name, one in own.items() if holds(one) and name[:2] != "__")
        methods = {name: one for name, one in own.items() if isinstance(one, FunctionType)}
        for name, one in methods.items():
            if one.__defaults__ or one.__kwdefaults__:
                yield f"a default of {base.__name__}.{name}", (one.__defaults__, one.__kwdefaults__)
        used = {name for one in methods.values() for name in one.__code__.co_names}
        around = names_around(base)
        for name in sorted(used & around.keys() - seen):
            seen.add(name)
            value = around[name]
            if holds(value):
                yield name, value
            elif isinstance(value, ModuleType) and not texts.installed(vars(value)):
                inside = sorted(used & vars(value).keys())
                yield from ((f"{name}.{one}", vars(value)[one]) for one in inside if holds(vars(value)[one]))


def holds(value: object) -> bool:
    """Whether it is a value, neither code nor part of Spinewise."""
    code = (type, FunctionType, ModuleType, property, staticmethod, classmethod)
    return not isinstance(value, code) and not type(value).__module__.startswith("spinewise.")
