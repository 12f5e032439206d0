"""What a scheme written in Python holds outside its rows, which each run is to leave as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType

from spinewise.errors import SpecError
from spinewise.own.code import names_around
from spinewise.own.contract import OwnClass, class_of
from spinewise.own.digest import PLAIN, Walk, digest
from spinewise.own.scheme import Scheme
from spinewise.shapes import Spec

# `values` of each class when it was first run with this digest.
_FIRST: dict[tuple[OwnClass, str], Mapping[str, bytes]] = {}


@dataclass(frozen=True)
class Held:
    """A class before a run.

    Attributes:
        scheme: the class.
        whole: its digest when the spec was given it.
        values: digests of the values that can be filled, by name: ``Mine.scores``, or ``SCORES`` of its module.
    """

    scheme: OwnClass
    whole: str
    values: Mapping[str, bytes]

    def changed(self) -> str:
        """What is not as it was, with the verb; empty if all is."""
        try:
            if digest(self.scheme) == self.whole:
                return ""
        except SpecError:  # nested too deeply by now
            pass
        now = values(self.scheme)
        names = [name for name, one in self.values.items() if now.get(name) != one]
        names += [name for name in now if name not in self.values]
        if not names:
            return f"{self.scheme.__name__} or a global value that it reads differs"
        return f"{' and '.join(names)} differ{'s' * (len(names) == 1)}"


def before(resolved: Spec) -> Held | None:
    """What the scheme of a spec holds before a run; None of one that is not written in Python."""
    scheme = class_of(resolved)
    if scheme is None:
        return None
    whole = str((resolved.get("scheme", {}).get("source") or {}).get("sha256"))
    if (scheme, whole) not in _FIRST:
        _FIRST[scheme, whole] = values(scheme)
    return Held(scheme, whole, _FIRST[scheme, whole])


class Value(Walk):
    """A walk to a value that a class refers to, and not to the class."""

    def klass(self, of: type) -> None:
        """A class that the value refers to."""
        if len(self.kept) > 1:
            super().klass(of)


def values(scheme: OwnClass) -> dict[str, bytes]:
    """Digests of what can be filled as a run goes on, by name; of what is nested too deeply none."""
    walk, found = Value(scheme), {}
    for name, value in named(scheme):
        try:
            found[name] = walk.child(value)
        except RecursionError:
            found[name] = b""
    return found


def named(scheme: OwnClass) -> Iterator[tuple[str, object]]:
    """Attributes of a class and of its bases, and global values that their methods name, which can be filled."""
    seen: set[str] = set()
    for base in scheme.__mro__:
        if base in Scheme.__mro__:
            continue
        own = vars(base)
        yield from ((f"{base.__name__}.{name}", one) for name, one in own.items() if fills(one) and name[:2] != "__")
        used = {name for one in own.values() if isinstance(one, FunctionType) for name in one.__code__.co_names}
        around = names_around(base)
        for name in sorted(used & around.keys() - seen):
            if fills(around[name]):
                seen.add(name)
                yield name, around[name]


def fills(value: object) -> bool:
    """Whether a value may come to hold something else without being set anew."""
    fixed = (*PLAIN, tuple, frozenset, type, FunctionType, ModuleType, property, staticmethod, classmethod)
    return not isinstance(value, fixed) and not type(value).__module__.startswith("spinewise.")
