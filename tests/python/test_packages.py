"""Packages in Python stand on those above them in ARCHITECTURE.md's table, and each lists its files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "python/spinewise"
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)

EXCEPTIONS = {("specs", "interop"), ("specs", "runs"), ("figures", "resilience")}
"""The text above the table names them."""
COMPILED = "_core"


def units() -> dict[str, list[Path]]:
    """The packages and modules directly below `spinewise`, each with its files; ``__main__`` belongs to the command."""
    found: dict[str, list[Path]] = {}
    for path in SOURCE.rglob("*.py"):
        if path.stem != "__main__" and path.parent / path.name != SOURCE / "__init__.py":
            found.setdefault(path.relative_to(SOURCE).parts[0].removesuffix(".py"), []).append(path)
    return found


def table() -> dict[str, int]:
    """The row of each in the table of ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = text.split("| package | what it is for |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    return {
        name.removesuffix(".py"): number
        for number, row in enumerate(rows)
        for name in re.findall(r"`([\w.]+?)/?`", row.split("|")[1])
    }


def imported(path: Path) -> Iterator[str]:
    """What a file imports from directly below `spinewise`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "spinewise":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spinewise."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("spinewise."))


def test_the_table_has_every_package() -> None:
    assert set(table()) == set(units())


def test_packages_stand_on_those_above_them() -> None:
    rank = table()
    below = {
        (name, other)
        for name, paths in units().items()
        for path in paths
        for other in imported(path)
        if other in rank and rank[other] > rank[name]
    }
    assert below == EXCEPTIONS
    assert COMPILED in set(imported(SOURCE / "core.py")), "imports are found"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_lists_its_files(package: Path) -> None:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    if package.name == "cli":
        modules -= {path.stem for path in package.glob("*.py") if re.search(r"^def command\(", path.read_text(), re.M)}
    missing = {name for name in modules if not re.search(rf"`(?:\w+\.)?{name}(?:\.\w+)?`", said)}
    assert missing == set()
