"""The identity of a function's code: a digest over its source, and over the sources that it reads results with.

A stored measurement is reused only while this digest is the same. It covers the module that defines the
function, the modules that it imports from its own package (or folder), transitively, and the packages that all
measurements depend on. Code that draws, judges or writes a measurement does not count, as long as it is in other
modules.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import cache, partial
from pathlib import Path
from types import FunctionType

from spinewise.own.texts import imported
from spinewise.sweeps.packed import pack

PACKAGE = Path(__file__).resolve().parents[1]
COMMON = ("measures", "runs/result.py", "reproduction/readings.py", "specs/carriers.py", "magnitudes.py")
"""The sources that every measurement depends on, below the package."""
MACHINERY = "spinewise.sweeps."
"""The modules that store a measurement, and do not compute it."""


def digest(value: object) -> str:
    """The SHA-256 (hex) of a function with everything that decides what it returns, or of a plain value.

    A `functools.partial` counts with its arguments, a function defined in another with the values it uses from there.

    Raises:
        TypeError: it is neither, or its source cannot be found.
    """
    return hashlib.sha256(pack(described(value))).hexdigest()


def described(value: object) -> object:
    """Plain values that differ whenever two functions or their arguments do."""
    if isinstance(value, partial):
        return ["partial", described(value.func), *map(described, value.args), sorted(
            (name, described(one)) for name, one in value.keywords.items()
        )]  # fmt: skip
    if isinstance(value, FunctionType):
        return ["function", value.__qualname__, sources_digest(file_of(value)), *map(described, enclosed(value))]
    if isinstance(value, type):
        return ["type", value.__module__, value.__qualname__]
    if callable(value):
        raise TypeError(f"{value!r} cannot be a measure: a function of a module is needed")
    return ["value", value]


def enclosed(function: FunctionType) -> list[object]:
    """The values that a function uses from those around it, and its defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [*cells, *(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]


def file_of(function: FunctionType) -> Path:
    """The source file of a function."""
    file = Path(function.__code__.co_filename)
    if not file.is_file():
        raise TypeError(f"{function.__qualname__} cannot be a measure: its source file {file} is not there")
    return file.resolve()


@cache
def sources_digest(file: Path) -> str:
    """The SHA-256 over the sources of a module, of its imports beside it, and of those all measures depend on."""
    whole = hashlib.sha256()
    root = root_of(file)
    for path in sorted({*with_imports(file, root), *common()}):
        text = path.read_bytes()
        place = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.relative_to(root)
        whole.update(f"{place.as_posix()}\0{len(text)}\0".encode() + text)
    return whole.hexdigest()


@cache
def common() -> tuple[Path, ...]:
    """The files that every measurement depends on."""
    return tuple(file for place in COMMON for file in python_files(PACKAGE / place))


def python_files(place: Path) -> list[Path]:
    """A file, or all Python files below a folder."""
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def root_of(file: Path) -> Path:
    """The root below which the imports of a module are followed: its package of `spinewise`, else its folder."""
    if file.is_relative_to(PACKAGE) and file.parent != PACKAGE:
        return PACKAGE / file.relative_to(PACKAGE).parts[0]
    return file.parent


def with_imports(file: Path, root: Path) -> set[Path]:
    """A module and those below `root` that it imports, transitively; all of them if it loads others by their files."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        tree = ast.parse(one.read_bytes())
        names = {name for name in imported(tree, module_of(one)) if not name.startswith(MACHINERY)}
        if "runpy" in names:
            return {*python_files(root)}
        waiting += [path for name in names if (path := source_of(name, root)) is not None]
    return found


def module_of(file: Path) -> str:
    """The name under which a file of `spinewise` is imported; for others the name of the file."""
    if not file.is_relative_to(PACKAGE):
        return file.stem
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


def source_of(name: str, root: Path) -> Path | None:
    """The file of a module below `root`; None if it is elsewhere."""
    loaded = sys.modules.get(name)
    known = getattr(loaded, "__file__", None)
    places = [Path(known)] if known else []
    parts = name.split(".")
    base = PACKAGE.parent if parts[0] == PACKAGE.name else root
    places += [base.joinpath(*parts).with_suffix(".py"), base.joinpath(*parts, "__init__.py")]
    for place in places:
        file = place.resolve()
        if file.is_relative_to(root) and file.is_file():
            return file
    return None
