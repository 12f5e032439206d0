"""The owner of some code, and the texts behind it: files that do not belong to Python or to installed packages."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = str(Path(__file__).resolve().parents[1])
PYTHON = tuple(os.path.realpath(sysconfig.get_path(which)) for which in ("stdlib", "platstdlib"))
PACKAGES = {"site-packages", "dist-packages"}


def installed_file(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to Spinewise."""
    path = os.path.realpath(file)
    below = any(path.startswith(place + os.sep) for place in (PACKAGE, *PYTHON))
    return below or not PACKAGES.isdisjoint(Path(path).parts)


def installed(names: Mapping[str, object]) -> bool:
    """Whether a module belongs to these, by its names."""
    file, name = names.get("__file__"), names.get("__name__")
    if isinstance(file, str):
        return installed_file(file)
    return isinstance(name, str) and name != "__main__" and name.partition(".")[0] in sys.stdlib_module_names


def installed_class(of: type) -> bool:
    """Whether a class belongs to these: the module must have it under its name, as hand-made classes may have any."""
    module: object = sys.modules.get(of.__module__)
    if not isinstance(module, ModuleType) or not installed(vars(module)):
        return False
    for name in of.__qualname__.split("."):
        module = getattr(module, name, None)
    return module is of


def file_of(names: Mapping[str, object]) -> Path | None:
    """The file of a module, by its names; None for typed code."""
    file = names.get("__file__")
    return Path(file) if isinstance(file, str) and os.path.isfile(file) else None


def package_of(names: Mapping[str, object]) -> str:
    """The package to which a module's relative imports refer."""
    package = names.get("__package__")
    return package if isinstance(package, str) else ""


def read(file: Path) -> bytes:
    """Read a text, with the same line endings everywhere."""
    content = file.read_bytes()
    return content.replace(b"\r\n", b"\n") if file.suffix == ".py" else content


@lru_cache(maxsize=256)
def compiled(text: bytes) -> dict[CodeType, str]:
    """Every function of a text, and its place there."""
    try:
        waiting = [compile(text, "(text)", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return {}
    places: dict[CodeType, str] = {}
    counts: dict[str, int] = {}
    while waiting:
        code = waiting.pop(0)
        place = f"{code.co_qualname} in line {code.co_firstlineno}"
        counts[place] = counts.get(place, 0) + 1
        places.setdefault(code, f"{place}, {counts[place]}")
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
    return places


@lru_cache(maxsize=256)
def imports(text: bytes, package: str) -> tuple[str, ...]:
    """Names of the modules that a text imports, anywhere in it; some may not be modules."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    # As if it were a module of that package, whose name does not matter.
    names = imported(tree, f"{package}.it" if package else "it")
    parts = {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2)}
    return tuple(sorted(part for part in parts if part))


def imported(tree: ast.AST, module: str) -> Iterator[str]:
    """Names that a module imports: for each `from a import b` both `a` and `a.b`, as `b` may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def imported_files(names: tuple[str, ...], folder: Path | None) -> Iterator[tuple[Path, str]]:
    """Files of modules, those beside `folder`'s own before others of the same name, each with its package."""
    for name in names:
        file = found_beside(name, folder) or found(name)
        if file is not None and not installed_file(str(file)):
            yield file, name if file.name == "__init__.py" else name.rpartition(".")[0]


def found_beside(name: str, folder: Path | None) -> Path | None:
    """The file of a module in a folder."""
    if folder is None:
        return None
    base = folder.joinpath(*name.split("."))
    return next((file for file in (base / "__init__.py", base.with_name(f"{base.name}.py")) if file.is_file()), None)


def found(name: str) -> Path | None:
    """The file of a module that is loaded, or that would be if it were imported."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return file_of(vars(loaded))
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or (top in sys.modules and installed(vars(sys.modules[top]))):
        return None
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # this runs the package around it, which may fail in any way
        return None
    return file_of({"__file__": spec.origin}) if spec is not None else None
