"""The code of a scheme written in Python: for a function its text or its compiled code, and all it refers to."""

from __future__ import annotations

import dataclasses
import dis
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from spinewise.own import texts


class Coded(ABC):
    """The part of a walk that follows functions, modules and their texts; see `spinewise.own.digest`.

    Attributes:
        folder: the folder of the scheme's file; "" if it has none.
        files: texts that the walk has visited, with their numbers.
        looked: modules, and the names that were looked up in them.
    """

    folder: str
    files: dict[str, int]
    looked: set[tuple[int, frozenset[str]]]

    @abstractmethod
    def say(self, *words: str | bytes | int) -> None:
        """Add words."""

    @abstractmethod
    def value(self, value: object) -> None:
        """Add any value."""

    def function(self, of: FunctionType) -> None:
        """Add a function: its code, the values it uses from those around it, and what its global names refer to."""
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
        """Add the code of a function: the text and its place there, if the text still has it."""
        file = texts.file_of(names)
        if self.text(file, texts.package_of(names)) and file is not None:
            place = texts.compiled(texts.read(file)).get(code)
            if place is not None:
                self.say("def", place)
                return
        self.code(code)

    def code(self, code: CodeType) -> None:
        """Add compiled code, without its place in a file."""
        self.say("code", code.co_qualname, code.co_code, code.co_exceptiontable, code.co_flags)
        self.say(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        self.value((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_consts))

    def names(self, code: CodeType, names: Mapping[str, object]) -> None:
        """Add the values of the global names in a code, and of modules what the code may look up there."""
        read, used, imported = names_of(code)
        for name in read:
            if name in names:
                self.say(name)
                self.value(names[name])
                self.looked_up(names[name], used)
        for file, package in texts.imported_files(imported, Path(self.folder) if self.folder else None):
            self.text(file, package)

    def looked_up(self, module: object, used: frozenset[str]) -> None:
        """Add the names of a module that a code uses."""
        if not isinstance(module, ModuleType) or texts.installed(vars(module)) or (id(module), used) in self.looked:
            return
        self.looked.add((id(module), used))
        for name in sorted(used & vars(module).keys()):
            self.say(name)
            self.value(vars(module)[name])
            self.looked_up(vars(module)[name], used)

    def module(self, of: ModuleType) -> None:
        """Add a module: its text, if it is the user's own."""
        names = vars(of)
        if texts.installed(names) or not self.text(texts.file_of(names), texts.package_of(names)):
            self.say("module", of.__name__)

    def text(self, file: Path | None, package: str) -> bool:
        """Add a text and those that it imports, transitively; return False without one."""
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


def names_around(of: type) -> Mapping[str, object]:
    """The module names of a class that its methods read; by now, another module may have the module's name."""
    for value in vars(of).values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and inner.__module__ == of.__module__ and not written_by_dataclass(inner):
            return inner.__globals__
    module = sys.modules.get(of.__module__)
    return {} if module is None else vars(module)


def written_by_dataclass(value: object) -> bool:
    """Whether a method has no text, because a dataclass made it."""
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
