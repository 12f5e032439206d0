"""Which code a scheme written in Python is: two that can differ in what they do never share a digest."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import spinewise as sw
from spinewise.measures.report import Report
from spinewise.own.digest import digest
from spinewise.own.load import load_scheme

SMALL: dict[str, object] = {
    "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 20_000}],
}
HEAD = "import spinewise as sw\n"
Told = Callable[..., str]


def scheme_text(body: str, before: str = "") -> str:
    """A file with a scheme `S` whose pick has this body."""
    pick = textwrap.indent(f"def pick(self, cx, flow, packet, header):\n    {body}\n", "    ")
    return f"{HEAD}{before}\nclass S(sw.SwitchScheme):\n    name = 'own_s'\n{pick}"


def sha_of(scheme: type[sw.SwitchScheme]) -> str:
    return str(sw.run(SMALL, scheme=scheme).spec["scheme"]["source"]["sha256"])


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """The digest of `S` in a process of its own, by some files and what is run there."""

    def of(files: dict[str, str], how: str = "from mine import S", folder: str = "one", **env: str) -> str:
        place = tmp_path / folder
        shutil.rmtree(place, ignore_errors=True)
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        code = f"{how}\nfrom spinewise.own.contract import source_of\nprint(source_of(S)['sha256'])\n"
        python = [sys.executable, "-B", "-c", "import sys; exec(compile(sys.stdin.read(), '<stdin>', 'exec'))"]
        path = os.pathsep.join([str(place), *sys.path])
        ran = subprocess.run(
            python,
            input=code,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path, **env},
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    return of


# ---- what must change it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("import helper", "return helper.WAY"),
        ("from helper import WAY", "return WAY"),
        ("from helper import way", "return way()"),
        ("", "import helper; return helper.WAY"),
        ("import between", "return between.helper.WAY"),
    ],
)
def test_modules_that_it_imports_count(told: Told, before: str, body: str) -> None:
    def files(way: int) -> dict[str, str]:
        helper = f"WAY = {way}\ndef way():\n    return WAY\n"
        return {"mine.py": scheme_text(body, before), "helper.py": helper, "between.py": "import helper\n"}

    assert told(files(0)) != told(files(1))
    assert told(files(0)) == told(files(0), folder="two")


def test_modules_of_a_package_count(told: Told) -> None:
    def files(way: int) -> dict[str, str]:
        mine = scheme_text("return deep.WAY", "from .low import deep")
        return {
            "pack/__init__.py": "",
            "pack/mine.py": mine,
            "pack/low/__init__.py": "",
            "pack/low/deep.py": f"WAY = {way}",
        }

    how = "from pack.mine import S"
    assert told(files(0), how) != told(files(1), how)


def test_what_is_typed_counts(told: Told) -> None:
    typed = [
        scheme_text(f"return {body}", before) for body, before in (("0", ""), ("1", ""), ("W", "W = 0"), ("W", "W = 1"))
    ]
    assert len({told({"x.py": ""}, how) for how in typed}) == 4
    assert told({"x.py": ""}, typed[0]) == told({"x.py": ""}, typed[0], folder="two")


def made(way: int) -> type[sw.SwitchScheme]:
    class Made(sw.SwitchScheme):
        def pick(self, cx: object, flow: object, packet: object, header: object) -> int:
            return way

    return Made


def test_what_a_function_puts_into_a_class_counts() -> None:
    first, other = sw.run(SMALL, scheme=made(0)), sw.run(SMALL, scheme=made(3))
    assert first.report["outcome_hash"] != other.report["outcome_hash"]
    assert first.spec["scheme"]["source"] != other.spec["scheme"]["source"]
    assert sw.run(first.spec).report["outcome_hash"] == first.report["outcome_hash"]
    assert sha_of(made(0)) == sha_of(made(0))


def test_a_store_keeps_them_apart(tmp_path: Path) -> None:
    slow = {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, "override": [{"leaf": 0, "spine": 3, "rate_gbps": 1}]}
    found = []
    for scheme in (made(0), made(3)):
        comparison = sw.compare(SMALL | {"topology": slow}, [scheme], seeds=1, store=tmp_path / "store")
        found.append(comparison.interval("Made", None, "all", "fct_s.mean").mean)
    assert found[0] != found[1]


def variants() -> list[type[sw.SwitchScheme]]:
    """Classes of one name that differ in one thing each."""

    def of(**attributes: object) -> type[sw.SwitchScheme]:
        return type("Odd", (sw.SwitchScheme,), {"pick": lambda *_: 0, **attributes})

    def default(way: int = 0) -> object:
        return lambda self, cx, flow, packet, header, way=way: way

    class Row:
        start = 0

    class Other(Row):
        start = 1

    return [
        of(),
        of(way=0),
        of(way=1),
        of(way=1.0),
        of(way=True),
        of(table={0: [1, 2]}),
        of(table={0: [2, 1]}),
        of(names={"a", "b"}),
        of(names={"a", "c"}),
        of(Flow=Row),
        of(Flow=Other),
        of(pick=default(0)),
        of(pick=default(1)),
        of(where=Path("a")),
        of(where=Path("b")),
        of(gap_us=sw.number(1.0, 0, 9)),
        of(gap_us=sw.number(2.0, 0, 9)),
        of(way=property(lambda _: 0)),
        of(way=property(lambda _: 1)),
        of(way=staticmethod(default(0))),  # type: ignore[arg-type]
        of(way=staticmethod(default(1))),  # type: ignore[arg-type]
        of(way=memoryview),
        of(way=max),
        of(way=min),
    ]


def test_attributes_and_defaults_count() -> None:
    found = [digest(scheme) for scheme in variants()]
    assert len(set(found)) == len(found)
    assert found == [digest(scheme) for scheme in variants()]


def test_a_class_that_was_changed_is_not_what_it_was() -> None:
    scheme = type("Changed", (sw.SwitchScheme,), {"way": 0, "pick": lambda self, *_: self.way})
    first = sw.run(SMALL, scheme=scheme)
    scheme.way = 3  # type: ignore[attr-defined]
    other = sw.run(SMALL, scheme=scheme)
    assert first.spec["scheme"]["source"] != other.spec["scheme"]["source"]
    with pytest.raises(sw.SpecError, match="the code has changed"):
        sw.run(first.spec)
    assert sw.run(other.spec).report["outcome_hash"] == other.report["outcome_hash"]


class Noting(sw.SwitchScheme):
    notes: list[int] = []  # noqa: RUF012

    def pick(self, cx: object, flow: object, packet: object, header: object) -> int:
        self.notes.append(1)
        return 0


def test_a_class_that_keeps_notes_runs_again() -> None:
    first = sw.run(SMALL, scheme=Noting)
    sw.run(SMALL, scheme=Noting)
    assert sw.run(first.spec).report["outcome_hash"] == first.report["outcome_hash"]


SCORES: dict[int, int] = {}


class Scoring(sw.SwitchScheme):
    """Keeps its state in a global value."""

    def pick(self, cx: object, flow: object, packet: object, header: object) -> int:
        SCORES[0] = SCORES.get(0, 0) + 1
        return SCORES[0] % 2


class Counting(sw.SwitchScheme):
    """Sets an attribute of its class anew."""

    count = 0

    def pick(self, cx: object, flow: object, packet: object, header: object) -> int:
        type(self).count += 1
        return 0


class Tidy(sw.SwitchScheme):
    """Names values that can be filled, and leaves them as they are."""

    ways: list[int] = [0, 1]  # noqa: RUF012

    def pick(self, cx: object, flow: object, packet: object, header: object) -> int:
        return self.ways[len(BEFORE) % 2]


BEFORE: dict[str, int] = {}


def state_kept(report: Report) -> list[str]:
    return [one["text"] for one in report["warnings"] if one["code"] == "scheme_keeps_state"]


@pytest.mark.parametrize(
    ("scheme", "name"),
    [(Noting, "Noting.notes differs"), (Scoring, "SCORES differs"), (Counting, "Counting.count differs"), (Tidy, None)],
)
def test_what_a_run_leaves_changed_is_told(scheme: type[sw.SwitchScheme], name: str | None) -> None:
    """Runs of a comparison met the state of those before them, and their numbers depended on the order."""
    for _ in range(2):
        said = state_kept(sw.run(SMALL, scheme=scheme).report)
        assert [text[: len(name or "")] for text in said] == ([name] if name else [])
    told = [one for cell in sw.compare(SMALL, ["ecmp", scheme], seeds=2, jobs=1).cells for one in cell.summary.warnings]
    assert len([one for one in told if one.code == "scheme_keeps_state"]) == (2 if name else 0)


def test_a_file_that_was_changed_after_its_import_is_told_by_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stale_own.py"
    file.write_text(scheme_text("return 0"))
    monkeypatch.syspath_prepend(tmp_path)
    module: ModuleType = importlib.import_module("stale_own")
    before = digest(module.S)
    file.write_text(scheme_text("return 1"))
    stale = digest(module.S)
    fresh = load_scheme(f"{file}:S")
    assert len({before, stale, digest(fresh)}) == 3
    del sys.modules["stale_own"]


# ---- what must not ------------------------------------------------------------------------------------------------


def test_it_is_the_same_wherever_the_files_lie_and_whoever_runs_them(told: Told) -> None:
    before = (
        "import os\nfrom dataclasses import dataclass\nfrom pathlib import Path\nimport helper\n"
        "HERE = Path(__file__).resolve().parent\nTEXT = os.path.join(str(HERE), 'data')\nONE = {'a', 'b', helper.way}\n"
        "@dataclass(slots=True)\nclass Row:\n    last: int = 0\n"
    )
    mine = scheme_text("return len(str(HERE)) + len(TEXT) + len(ONE) + helper.way() and 0", before)
    files = {"mine.py": mine + "    Flow = Row\n", "helper.py": "def way():\n    return 1\n"}
    found = {told(files, folder=folder, PYTHONHASHSEED=seed) for folder in ("one", "a/b") for seed in ("1", "2", "3")}
    load = "from spinewise.own.load import load_scheme; import sys; S = load_scheme(sys.path[1] + '/mine.py:S')"
    found.add(told(files, load))
    assert len(found) == 1


OBJECTS = """
import enum, functools, random, threading
from collections import namedtuple

class Kind(enum.Enum):
    A = 1

Pair = namedtuple("Pair", "a b")
PAIR, DICE, LOCK, LOOP = Pair(1, {Kind.A, "x", len}), random.Random(3), threading.Lock(), []
LOOP.append(LOOP)

@functools.lru_cache
def kept():
    return 3
"""


def test_all_kinds_of_objects_are_told_alike(told: Told) -> None:
    text = scheme_text("return (PAIR, DICE, LOCK, LOOP, kept) and 0", OBJECTS)
    load = "from mine import S\nfrom spinewise.own.digest import digest\nassert digest(S) == digest(S)"
    found = {told({"mine.py": text}, load, PYTHONHASHSEED=seed) for seed in ("1", "2", "3")}
    typed = {told({"x.py": ""}, text.replace("Random(3)", f"Random({seed})")) for seed in (3, 4)}
    script = (
        "import importlib.util as u, sys; spec = u.spec_from_file_location('__main__', sys.path[1] + '/mine.py')\n"
        "main = sys.modules['__main__'] = u.module_from_spec(spec); spec.loader.exec_module(main); S = main.S"
    )
    assert found == {told({"mine.py": text}, script)}
    assert len(typed) == 2


def test_members_of_a_set_do_not_depend_on_each_other(told: Told) -> None:
    """What one had looked up in a module, the next did not tell again, whichever came first."""
    before = "import helper\ndef one():\n    return helper.WAY\ndef other():\n    return 1 + helper.WAY"
    sums = (
        "from mine import S, one, other\nfrom spinewise.own.digest import Walk\nwalks = [Walk(S), Walk(S)]\n"
        "walks[0].unordered([one, other])\nwalks[1].unordered([other, one])\n"
        "assert walks[0].whole.digest() == walks[1].whole.digest()"
    )
    assert told({"mine.py": scheme_text("return 0", before), "helper.py": "WAY = 0\n"}, sums)


def test_unrelated_names_of_the_script_do_not_count(told: Told) -> None:
    text = scheme_text("return 0")
    assert told({"x.py": ""}, f"seed = 1\n{text}") == told({"x.py": ""}, f"seed = 2\n{text}")
