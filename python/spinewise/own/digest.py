"""Which code a scheme written in Python is: a digest over all that decides what it does.

What counts: the text of its file and of the modules which that imports, as far as they are no part of Python or of
installed packages; the values of its attributes and of the global names that its methods read; what methods have by
default and from the functions around them. Of a function without a text, or with one that says something else by now,
the compiled code counts. Nothing of it depends on where the files lie, or on the process.
"""

from __future__ import annotations

import dataclasses
import dis
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)

from spinewise.errors import SpecError
from spinewise.own import texts

PLAIN = (bool, int, float, complex, str, bytes, type(None))
# What Python itself notes down of a class: where it stands, what its text says, or what follows from the rest.
NOTED = {
    "__module__", "__qualname__", "__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__static_attributes__", "__firstlineno__", "__dataclass_fields__",
    "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__slotnames__",
}  # fmt: skip


def digest(scheme: type) -> str:
    """SHA-256 (hex) of a class with all that decides what it does, the present values of its attributes included."""
    return walked(Walk, scheme)


def bound(scheme: type) -> str:
    """The same without what lists, tables and other objects hold: a class that keeps notes keeps this."""
    return walked(Bound, scheme)


def walked(walk: type[Walk], scheme: type) -> str:
    """What a walk comes to.

    Raises:
        SpecError: something in the class is nested deeper than can be followed.
    """
    try:
        return walk(scheme).whole.hexdigest()
    except RecursionError:
        allowed = "attributes, defaults and global values that are nested less deep"
        raise SpecError("scheme", scheme.__qualname__, allowed, "all of them tell one scheme from another") from None


class Walk:
    """A walk from a class to all that it refers to, each once, in an order that is always the same.

    Attributes:
        whole: what the walk has come by.
    """

    def __init__(self, scheme: type) -> None:
        """Walks at once."""
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
        """Adds words, each with its length: no two lists of words are the same bytes."""
        for word in words:
            raw = word if isinstance(word, bytes) else str(word).encode(errors="surrogatepass")
            self.whole.update(b"%d:" % len(raw) + raw)

    def enter(self, value: object) -> None:
        """Gives what can be changed a number; it is kept, for its address must stay its own."""
        self.seen[id(value)] = len(self.seen)
        self.kept.append(value)

    def value(self, value: object) -> None:
        """Anything."""
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
        """What can refer to other things, once."""
        if isinstance(value, FunctionType):
            self.function(value)
        elif isinstance(value, type):
            self.klass(value)
        elif isinstance(value, ModuleType):
            self.module(value)
        elif isinstance(value, property):
            self.each("property", (value.fget, value.fset, value.fdel))
        elif isinstance(value, staticmethod | classmethod):
            self.each(type(value).__name__, (value.__func__,))
        elif isinstance(value, MethodType):
            self.each("method", (value.__self__, value.__func__))
        elif isinstance(value, MemberDescriptorType | GetSetDescriptorType):
            self.say("slot", value.__name__)
        elif isinstance(value, PurePath):
            self.say("path", self.portable(str(value)))
        else:
            self.held(value)

    def held(self, value: object) -> None:
        """An object, by what it holds."""
        if isinstance(value, MappingProxyType) or type(value) is dict:
            self.each("table", ((key, one) for key, one in value.items()))
        elif type(value) is list:
            self.each("list", value)
        elif type(value) is set:
            self.unordered(value)
        else:
            self.other(value)

    def other(self, value: object) -> None:
        """Another object, as it would be copied; of one that cannot be, such as an open file, its class alone."""
        self.say("object")
        self.value(type(value))
        try:
            inner = getattr(value, "__wrapped__", None)
            parts = value.__reduce_ex__(4)
        except Exception:  # its own code may raise anything
            return
        self.value(inner)
        if isinstance(parts, str):
            # What is wrapped says all; its module has another name where it is run as a script.
            self.say("named", parts, str(getattr(value, "__module__", "")) if inner is None else "")
            return
        made, args, *rest = parts
        state, items, pairs = (*rest, None, None, None)[:3]
        self.each("made", (made, args, state, tuple(items or ()), tuple(pairs or ())))

    def each(self, what: str, values: Iterable[object]) -> None:
        """Some values, in order."""
        held = list(values)
        self.say(what, len(held))
        for value in held:
            self.value(value)

    def unordered(self, values: Iterable[object]) -> None:
        """The members of a set, by what each comes to: their order is one of addresses."""
        before, found = self.whole, []
        seen, files = self.seen, self.files
        for value in values:
            self.whole, self.seen, self.files = hashlib.sha256(), dict(seen), dict(files)
            self.value(value)
            found.append(self.whole.digest())
        self.whole, self.seen, self.files = before, seen, files
        self.say("set", *sorted(found))

    def portable(self, text: str) -> str:
        """A text as it is the same on all machines: an absolute path near the scheme is written from its folder."""
        if not self.folder or not os.path.isabs(text) or text in self.first:
            return text
        path, here = os.path.realpath(text), self.folder
        related = os.path.commonpath((path, here)) in (path, here) and path != os.sep
        return f"./{os.path.relpath(path, here)}" if related else text

    # ---- code -----------------------------------------------------------------------------------------------------

    def klass(self, of: type) -> None:
        """A class: its bases, and its attributes with their values."""
        # The class that the walk began with is nobody else's, whatever it says.
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

    def function(self, of: FunctionType) -> None:
        """A function: its code, what it has from those around it, and what its global names refer to."""
        names = of.__globals__
        if not texts.installed(names):
            self.code_of(of.__code__, names)
        else:
            self.say("installed", str(names.get("__name__")), of.__qualname__)
        for cell in of.__closure__ or ():
            try:
                self.value(cell.cell_contents)
            except ValueError:
                self.say("empty")
        if not texts.installed(names):
            self.value(of.__defaults__)
            self.value(tuple(sorted((of.__kwdefaults__ or {}).items())))
            self.value(of.__dict__ or None)
            self.names(of.__code__, names)

    def code_of(self, code: CodeType, names: Mapping[str, object]) -> None:
        """The code of a function: the text and the place in it, where the text still says so."""
        file = texts.file_of(names)
        if self.text(file, texts.package_of(names)) and file is not None:
            place = texts.compiled(texts.read(file)).get(code)
            if place is not None:
                self.say("def", place)
                return
        self.code(code)

    def code(self, code: CodeType) -> None:
        """Compiled code, without where it stood."""
        self.say("code", code.co_qualname, code.co_code, code.co_exceptiontable, code.co_flags)
        self.say(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        self.value((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_consts))

    def names(self, code: CodeType, names: Mapping[str, object]) -> None:
        """What the global names in a code refer to, and of modules what the code may look up there."""
        read, used, imported = names_of(code)
        for name in read:
            if name in names:
                self.say(name)
                self.value(names[name])
                self.looked_up(names[name], used)
        for file, package in texts.imported_files(imported, Path(self.folder) if self.folder else None):
            self.text(file, package)

    def looked_up(self, module: object, used: frozenset[str]) -> None:
        """The names of a module that a code uses."""
        if not isinstance(module, ModuleType) or texts.installed(vars(module)) or (id(module), used) in self.looked:
            return
        self.looked.add((id(module), used))
        for name in sorted(used & vars(module).keys()):
            self.say(name)
            self.value(vars(module)[name])
            self.looked_up(vars(module)[name], used)

    def module(self, of: ModuleType) -> None:
        """A module: its text, if it is anybody's own."""
        names = vars(of)
        if texts.installed(names) or not self.text(texts.file_of(names), texts.package_of(names)):
            self.say("module", of.__name__)

    def text(self, file: Path | None, package: str) -> bool:
        """A text and those that it imports, transitively; False without one."""
        if file is None:
            return False
        place = os.path.realpath(file)
        if place in self.files:
            self.say("text", self.files[place])
            return True
        try:
            content = texts.read(file)
        except OSError:
            return False
        self.files[place] = len(self.files)
        self.say("text", content)
        for one, inside in texts.imported_files(texts.imports(content, package), Path(place).parent):
            self.text(one, inside)
        return True


class Bound(Walk):
    """A walk that leaves out what can be filled as it runs."""

    def held(self, value: object) -> None:
        """An object, by its class."""
        self.say("object", type(value).__qualname__)


def names_around(of: type) -> Mapping[str, object]:
    """The names of the module of a class: those that its methods read, for another module may have its name by now."""
    for value in vars(of).values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and inner.__module__ == of.__module__ and not written_by_dataclass(inner):
            return inner.__globals__
    module = sys.modules.get(of.__module__)
    return {} if module is None else vars(module)


def written_by_dataclass(value: object) -> bool:
    """Is it a method that no text has?"""
    inner = getattr(value, "__wrapped__", value)
    return isinstance(inner, FunctionType) and inner.__code__.co_filename in ("<string>", dataclasses.__file__)


@lru_cache(maxsize=4096)
def names_of(code: CodeType) -> tuple[tuple[str, ...], frozenset[str], tuple[str, ...]]:
    """Global names that a code reads, all names in it, and the modules that it imports; nested codes included."""
    read: set[str] = set()
    used: set[str] = set()
    imported: set[str] = set()
    waiting = [code]
    while waiting:
        one = waiting.pop()
        used |= set(one.co_names)
        for step in dis.get_instructions(one):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(str(step.argval))
            elif step.opname == "IMPORT_NAME" and step.argval:
                imported.add(str(step.argval))
        waiting += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    return tuple(sorted(read)), frozenset(used), tuple(sorted(imported))
