"""Specs that come with Spinewise: demonstrations, and checks with their own bounds.

`spinewise scenarios` lists them; the name of a scenario is accepted in place of a spec file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from spinewise.errors import nearest

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Scenario:
    """A spec that comes with Spinewise.

    Attributes:
        name: the name of its file, without the suffix.
        about: the first sentence of its comment.
        path: the path of its file.
    """

    name: str
    about: str
    path: Path

    @classmethod
    def of(cls, path: Path) -> Scenario:
        """Read from a file."""
        return cls(path.stem, first_sentence(path.read_text()), path)


def scenarios() -> list[Scenario]:
    """All scenarios, by name."""
    return [Scenario.of(path) for path in sorted(FOLDER.glob("*.toml"))]


def first_sentence(text: str) -> str:
    """The first sentence of the comment at the beginning of a spec."""
    comment = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    return " ".join(comment).partition(". ")[0].partition(": `")[0].rstrip(".")


def spec_path(given: str | Path) -> str:
    """The file that `given` means: itself, or the scenario of that name if there is no such file."""
    name = str(given)
    found = FOLDER / f"{name}.toml"
    return str(found) if name.isidentifier() and not Path(name).exists() and found.is_file() else name


def way_out(given: str | Path) -> str | None:
    """A hint if no file has this name: the scenario that was meant, if one has a similar name."""
    name = str(given)
    if os.path.lexists(name):
        return None
    known = [path.stem for path in sorted(FOLDER.glob("*.toml"))]
    stem = Path(name).stem
    if name.endswith(".toml") and stem in known:
        return (
            f'no such file; the scenario "{stem}" comes with Spinewise: name it so, or see `spinewise scenarios --help`'
        )
    return nearest(name, known) if name.isidentifier() else None
