"""The Python package is a graph without circles: a reader can begin at the bottom and meet nothing unread."""

from __future__ import annotations

import ast
import pickle
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FunctionType

import pytest

from spinewise.reproduction.reproduce import OWN_PAPERS, Listed, listed, load_experiment
from spinewise.sweeps.sources import file_of, with_imports

ROOT = Path(__file__).parents[2] / "python"
PACKAGE, PAPERS = "spinewise", "spinewise.papers"


def module_name(path: Path) -> str:
    """As it is imported; a package by its own name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, known: set[str]) -> set[str]:
    """Modules of the package that a file imports, in functions too; what only types need does not count."""
    tree = ast.parse(path.read_text())
    typed = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                longer = f"{node.module}.{alias.name}"
                found.add(longer if longer in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


@cache
def graph() -> dict[str, set[str]]:
    """Which module imports which."""
    files = {module_name(path): path for path in (ROOT / PACKAGE).rglob("*.py")}
    # Importing the package itself is how its submodules, the engine among them, are found.
    return {name: imports(path, set(files)) - {PACKAGE} for name, path in files.items()}


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        order = list(TopologicalSorter(graph()).static_order())
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' <- '.join(error.args[1])}") from None
    assert order.index("spinewise.errors") < order.index("spinewise.core") < order.index("spinewise.cli")


def test_a_circle_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    from spinewise.b import g\n")
    assert imports(tmp_path / "a.py", {"spinewise.a", "spinewise.b"}) == {"spinewise.b"}


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_nothing_depends_on_the_papers_but_papers() -> None:
    users = {name for name, found in graph().items() if any(within(one, PAPERS) for one in found)}
    assert users
    assert [name for name in sorted(users) if not within(name, PAPERS)] == []


def test_a_paper_depends_on_no_other_paper() -> None:
    for name, found in graph().items():
        if within(name, PAPERS):
            own = ".".join(name.split(".")[:3])
            assert [one for one in found if within(one, PAPERS) and not within(one, own)] == [], name


def test_experiments_stand_on_reproduction_specs_runs_and_measures_alone() -> None:
    """What is run by hand beside them may use more."""
    found = graph()
    waiting = [f"{PAPERS}.{entry.module}" for entry in listed(OWN_PAPERS)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        below = {one for one in found[name] if not within(one, PAPERS)}
        packages = {".".join(one.split(".")[:2]) for one in below}
        assert packages <= {f"{PACKAGE}.{one}" for one in ("reproduction", "specs", "runs", "measures", "shapes")}, name
        waiting += sorted(found[name] - below - seen)
    assert len(seen) > 40


@pytest.mark.parametrize("entry", listed(OWN_PAPERS), ids=lambda entry: str(entry.id))
def test_what_is_measured_stands_apart_from_what_is_run_drawn_and_judged(entry: Listed) -> None:
    """A claim that is reworded leaves the digest of the measurements as it was."""
    measure = load_experiment(entry).measure
    assert pickle.loads(pickle.dumps(measure)) == measure
    function = measure.func if isinstance(measure, partial) else measure
    assert isinstance(function, FunctionType)
    assert within(function.__module__, f"{PAPERS}.{entry.paper}.measure")
    for path in with_imports(file_of(function), OWN_PAPERS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and within(str(node.module), "spinewise.reproduction"):
                assert {alias.name for alias in node.names} <= {"Run", "Timeline", "readings"}, path
