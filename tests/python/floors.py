"""The modules of each Rust crate and which of them stand on which, read from their imports.

    python tests/python/floors.py            # the floors of every crate, and of every module that has modules
    python tests/python/floors.py --write    # the same into ARCHITECTURE.md

Modules of one folder are compared with each other, each with all that is inside it. The module that a folder is named
after may use what is inside, as what is inside may use it. Code that is compiled for tests alone does not count.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CRATES = {
    "policy": ROOT / "crates/policy/src",
    "sim": ROOT / "crates/sim/src",
    "py": ROOT / "crates/py/src",
    "agent": ROOT / "crates/agent/src",
}
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- floors: `python tests/python/floors.py --write` -->\n", "<!-- end of floors -->\n"

Name = tuple[str, ...]
Graph = dict[str, set[str]]

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{")
_TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod (\w+);")
_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")
_LIST = re.compile(r"([\w:]*?)(?:::)?\{(.*)\}", re.DOTALL)


def modules(source: Path) -> dict[Name, str]:
    """The text of each module of a crate, without comments and without what is for tests."""
    found: dict[Name, str] = {}
    for file in sorted(source.rglob("*.rs")):
        *folders, last = file.relative_to(source).with_suffix("").parts
        name = tuple(folders) if last in ("lib", "mod") else (*folders, last)
        found[name] = _TESTS.split(_COMMENT.sub("", file.read_text()))[0]
    for_tests = {(*name, inner) for name, text in found.items() for inner in _TEST_FILE.findall(text)}
    return {name: text for name, text in found.items() if not any(name[: len(one)] == one for one in for_tests)}


def paths(text: str) -> Iterator[list[str]]:
    """Every path that a module names, lists of imports taken apart."""
    for use in _USE.findall(text):
        yield from apart([], use)
    for path in _PATH.findall(text):
        yield path.split("::")


def apart(before: list[str], text: str) -> Iterator[list[str]]:
    """`a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`."""
    text = text.strip().split(" as ")[0] if "{" not in text else text.strip()
    match = _LIST.fullmatch(text)
    if match is None:
        yield [*before, *filter(None, text.split("::"))]
        return
    before = [*before, *filter(None, match[1].split("::"))]
    depth, start, inner = 0, 0, match[2] + ","
    for place, character in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if inner[start:place].strip():
                yield from apart(before, inner[start:place])
            start = place + 1


def absolute(name: Name, path: list[str]) -> Name:
    """A path as seen from the root of the crate; `name` is the module that names it."""
    base, rest = name, list(path)
    while rest and rest[0] in ("crate", "super", "self"):
        base = {"crate": (), "super": base[:-1], "self": base}[rest.pop(0)]
    return (*base, *rest)


def uses(name: Name, text: str, known: Mapping[Name, str]) -> set[Name]:
    """The modules of its own crate that a module uses."""
    found: set[Name] = set()
    for path in paths(text):
        whole = absolute(name, path)
        if path[0] not in ("crate", "super", "self") and (*name, path[0]) not in known:
            continue
        while whole not in known:
            whole = whole[:-1]
        found.add(whole)
    return found - {name}


@dataclass(frozen=True)
class Storey:
    """The modules of one folder.

    Attributes:
        folder: its name; empty for the crate itself.
        stands_on: of each module the others that it uses.
    """

    folder: Name
    stands_on: Graph

    def floors(self) -> list[list[str]]:
        """The modules from the ground up; each uses only modules of floors below.

        Raises:
            CycleError: some use each other in a circle.
        """
        height: dict[str, int] = {}
        for module in TopologicalSorter(self.stands_on).static_order():
            height[module] = 1 + max((height[below] for below in self.stands_on[module]), default=-1)
        return [
            sorted(module for module, its in height.items() if its == floor)
            for floor in range(1 + max(height.values(), default=-1))
        ]


def storeys(source: Path) -> list[Storey]:
    """Every folder of a crate that has modules, the crate itself first."""
    known = modules(source)
    used = {name: uses(name, text, known) for name, text in known.items()}
    made = []
    for folder in sorted({name[:-1] for name in known if name}, key=lambda name: (len(name), name)):
        level = len(folder)

        def within(name: Name, folder: Name = folder, level: int = level) -> str | None:
            return name[level] if len(name) > level and name[:level] == folder else None

        graph: Graph = {found: set() for name in known if (found := within(name))}
        for name, others in used.items():
            own = within(name)
            if own is not None:
                graph[own] |= {found for other in others if (found := within(other)) not in (None, own)}
        made.append(Storey(folder, graph))
    return made


def floors_text() -> str:
    """The floors of the crates, for ARCHITECTURE.md."""
    lines = []
    for crate, source in CRATES.items():
        lines.append(f"crates/{crate}")
        for number, floor in reversed(list(enumerate(storeys(source)[0].floors()))):
            lines.append(f"  {number:2}  {' · '.join(floor)}")
    return "```text\n" + "\n".join(lines) + "\n```\n"


def with_floors(page: str) -> str:
    """A page with the floors as they are."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + floors_text() + END + rest.split(END)[1]


def main() -> None:
    """Print the floors, or write them into ARCHITECTURE.md."""
    parser = argparse.ArgumentParser(description="the floors of the Rust crates")
    parser.add_argument("--write", action="store_true", help="write them into ARCHITECTURE.md")
    if parser.parse_args().write:
        PAGE.write_text(with_floors(PAGE.read_text()))
        return
    for crate, source in CRATES.items():
        for storey in storeys(source):
            print("::".join((crate, *storey.folder)))
            try:
                for number, floor in enumerate(storey.floors()):
                    print(f"  {number:2}  {', '.join(floor)}")
            except CycleError as error:
                print("  a circle:", " -> ".join(error.args[1]))


if __name__ == "__main__":
    main()
