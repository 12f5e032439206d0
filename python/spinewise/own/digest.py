"""The identity of the code of a Python scheme: a digest over all that decides what it does.

What counts: the text of its file and of the modules which that imports, except those of Python or of
installed packages; the values of its attributes and of the global names that its methods read; what methods have by
default and from the functions around them. For a function without a text, or whose text has changed since,
the compiled code counts. The digest does not depend on where the files are, or on the process.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import PurePath
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import NamedTuple

from spinewise.errors import SpecError
from spinewise.own import texts
from spinewise.own.code import Coded, names_around, written_by_dataclass

PLAIN = (bool, int, float, complex, str, bytes, type(None))
# Python's own notes about a class: its place, its text, or what follows from the rest.
NOTED = {
    "__module__", "__qualname__", "__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__static_attributes__", "__firstlineno__", "__dataclass_fields__",
    "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__slotnames__",
}  # fmt: skip


def digest(scheme: type) -> str:
    """SHA-256 (hex) of a class with all that decides what it does, including the present values of its attributes."""
    return walked(Walk, scheme)


def bound(scheme: type) -> str:
    """The same without the contents of lists, tables and other objects: a class that keeps notes keeps this digest."""
    return walked(Bound, scheme)


def walked(walk: type[Walk], scheme: type) -> str:
    """The digest of a walk.

    Raises:
        SpecError: something in the class is nested deeper than can be followed.
    """
    try:
        return walk(scheme).whole.hexdigest()
    except RecursionError:
        allowed = "attributes, defaults and global values that are nested less deeply"
        raise SpecError("scheme", scheme.__qualname__, allowed, "all of them tell one scheme from another") from None


class Walk(Coded):
    """A walk from a class to all that it refers to, each once, in an order that is always the same.

    Attributes:
        whole: the hash of what the walk has visited.
    """

    def __init__(self, scheme: type) -> None:
        """Walk the class at once."""
        self.whole = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.kept: list[object] = []
        self.files: dict[str, int] = {}
        self.looked: set[tuple[int, frozenset[str]]] = set()
        names = names_around(scheme)
        file = texts.file_of(names)
        self.folder = os.path.dirname(os.path.realpath(file)) if file is not None else ""
        self.first = texts.read(file).decode(errors="replace") if file is not None else ""
        self.enter(scheme)
        self.klass(scheme)

    def say(self, *words: str | bytes | int) -> None:
        """Add words, each with its length, so that different lists of words have different bytes."""
        for word in words:
            raw = word if isinstance(word, bytes) else str(word).encode(errors="surrogatepass")
            self.whole.update(b"%d:" % len(raw) + raw)

    def enter(self, value: object) -> None:
        """Number a mutable value, and keep it, so that its address stays unique."""
        self.seen[id(value)] = len(self.seen)
        self.kept.append(value)

    def value(self, value: object) -> None:
        """Add any value."""
        if type(value) in PLAIN:
            self.say(type(value).__name__, self.portable(value) if isinstance(value, str) else repr(value))
        elif type(value) is tuple:
            self.each("tuple", value)
        elif type(value) is frozenset:
            self.unordered(value)
        elif isinstance(value, CodeType):
            self.code(value)
        elif id(value) in self.seen:
            self.say("again", self.seen[id(value)])
        else:
            self.enter(value)
            self.part(value)

    def part(self, value: object) -> None:
        """Add a value that can refer to others, once."""
        for row in self.rows():
            if type(value) in row.kinds or (not row.exact and isinstance(value, row.kinds)):
                row.tell(self, value)
                return
        self.other(value)

    def rows(self) -> Sequence[Row]:
        """The rows for values with a treatment of their own."""
        return (*PARTS, *HOLDERS)

    def accessor(self, value: property) -> None:
        """Add a property, by its functions."""
        self.each("property", (value.fget, value.fset, value.fdel))

    def unbound(self, value: staticmethod[..., object] | classmethod[object, ..., object]) -> None:
        """Add a method without an object, by its function."""
        self.each(type(value).__name__, (value.__func__,))

    def method(self, value: MethodType) -> None:
        """Add a method of an object."""
        self.each("method", (value.__self__, value.__func__))

    def slot(self, value: MemberDescriptorType | GetSetDescriptorType) -> None:
        """Add a slot of objects, by its name."""
        self.say("slot", value.__name__)

    def path(self, value: PurePath) -> None:
        """Add the name of a file."""
        self.say("path", self.portable(str(value)))

    def table(self, value: Mapping[object, object]) -> None:
        """Add keys with their values, in order."""
        self.each("table", value.items())

    def listed(self, value: Iterable[object]) -> None:
        """Add some values, in order."""
        self.each("list", value)

    def other(self, value: object) -> None:
        """Add another object, as it would be copied; for one that cannot be, such as an open file, only its class."""
        self.say("object")
        self.value(type(value))
        try:
            inner = getattr(value, "__wrapped__", None)
            parts = value.__reduce_ex__(4)
        except Exception:  # its own code may raise anything
            return
        self.value(inner)
        if isinstance(parts, str):
            # The wrapped object has everything; its module has another name if it is run as a script.
            self.say("named", parts, str(getattr(value, "__module__", "")) if inner is None else "")
            return
        made, args, *rest = parts
        state, items, pairs = (*rest, None, None, None)[:3]
        self.each("made", (made, args, state, tuple(items or ()), tuple(pairs or ())))

    def each(self, what: str, values: Iterable[object]) -> None:
        """Add the number of some values, and each in order."""
        held = list(values)
        self.say(what, len(held))
        for value in held:
            self.value(value)

    def unordered(self, values: Iterable[object]) -> None:
        """Add the members of a set, sorted by their digests, as their order depends on addresses."""
        self.say("set", *sorted(self.child(value) for value in values))

    def child(self, value: object) -> bytes:
        """The digest of a value, by a walk that knows what this one does, and leaves this one unchanged."""
        walk = copy(self)
        walk.whole, walk.seen, walk.files = hashlib.sha256(), dict(self.seen), dict(self.files)
        walk.looked = set(self.looked)
        walk.value(value)
        return walk.whole.digest()

    def portable(self, text: str) -> str:
        """A text in a form that is the same on all machines: an absolute path near the scheme becomes relative."""
        if not self.folder or not os.path.isabs(text) or text in self.first:
            return text
        path, here = os.path.realpath(text), self.folder
        related = os.path.commonpath((path, here)) in (path, here) and path != os.sep
        return f"./{os.path.relpath(path, here)}" if related else text

    def klass(self, of: type) -> None:
        """Add a class: its bases, and its attributes with their values."""
        # The class with which the walk began always belongs to the user, whatever its module claims.
        if len(self.kept) > 1 and texts.installed_class(of):
            self.say("installed", of.__module__, of.__qualname__)
            return
        names = names_around(of)
        has_text = self.text(texts.file_of(names), texts.package_of(names))
        self.say("class", of.__qualname__)
        self.each("bases", (*of.__bases__, type(of)))
        fields = dataclasses.fields(of) if dataclasses.is_dataclass(of) else ()
        self.each("fields", ((field.name, field.default, field.default_factory) for field in fields))
        for name, value in sorted(vars(of).items()):
            follows = has_text and bool(fields) and written_by_dataclass(value)
            if name not in NOTED and not follows:
                self.say(name)
                self.value(value)


class Bound(Walk):
    """A walk that leaves out containers that may be filled as it runs."""

    def rows(self) -> Sequence[Row]:
        """The rows for values with a treatment of their own."""
        return PARTS

    def other(self, value: object) -> None:
        """Add an object, by its class."""
        self.say("object", type(value).__qualname__)


class Row(NamedTuple):
    """The treatment of values of some classes.

    Attributes:
        kinds: the classes.
        tell: adds such a value to a walk.
        exact: whether values of derived classes are treated differently.
    """

    kinds: tuple[type, ...]
    tell: Callable[..., None]
    exact: bool = False


PARTS = (
    Row((FunctionType,), Walk.function),
    Row((type,), Walk.klass),
    Row((ModuleType,), Walk.module),
    Row((property,), Walk.accessor),
    Row((staticmethod, classmethod), Walk.unbound),
    Row((MethodType,), Walk.method),
    Row((MemberDescriptorType, GetSetDescriptorType), Walk.slot),
    Row((PurePath,), Walk.path),
)
"""The treatments of values with an identity of their own, in order of precedence."""
HOLDERS = (
    Row((MappingProxyType,), Walk.table),
    Row((dict,), Walk.table, exact=True),
    Row((list,), Walk.listed, exact=True),
    Row((set,), Walk.unordered, exact=True),
)
"""The treatments of containers, whose number of items may change."""
