"""What RESULTS are, and the parts of a page that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spinewise import core
from spinewise.comparison.cells import Comparison
from spinewise.comparison.kept import read_comparison
from spinewise.errors import SpecError
from spinewise.page import moving, of_comparison, of_run
from spinewise.page.model import Page, Part
from spinewise.page.moving import Making
from spinewise.reading import printable
from spinewise.runs import formats
from spinewise.runs.result import Result

MOST_TRACKS = 4
"""Runs side by side."""
ALLOWED = "the folder of a run, comparison or reproduction, kept evidence, a study or a store of runs"


@dataclass(frozen=True)
class Source:
    """One of RESULTS, read.

    Attributes:
        place: as it was given.
        found: what it holds.
    """

    place: str
    found: Result | Comparison

    @property
    def name(self) -> str:
        """What to call it where it has no name of its own."""
        return Path(self.place).resolve().name

    @property
    def fabric(self) -> object:
        """What must be equal in runs that are shown side by side."""
        return self.found.spec["topology"]


def read(place: str) -> Source:
    """What lies at a place.

    Raises:
        SpecError: nothing that a page can show, or something damaged.
    """
    folder = Path(place)
    if not folder.exists():
        raise SpecError("RESULTS", printable(place), ALLOWED, "there is none")
    if (folder / formats.COMPARE.record).is_file():
        return Source(place, read_comparison(folder))
    if (folder / formats.RUN.record).is_file():
        return Source(place, Result.read(folder))
    raise SpecError("RESULTS", printable(place), ALLOWED, unknown(folder))


def unknown(folder: Path) -> str:
    """Why a place holds nothing that a page can show."""
    if not folder.is_dir():
        return "this is a file"
    for kind in formats.ALL:
        if (folder / kind.record).exists():
            return f"these are results of `spinewise {kind.kind}`, which a page cannot show"
    names = sorted(one.name for one in folder.iterdir())
    return f"it holds {', '.join(names[:5])}{' …' * (len(names) > 5)}" if names else "it is empty"


def page(sources: Sequence[Source], making: Making) -> Page:
    """All parts as one page."""
    parts = tuple(part(one, sources, making) for one in sources)
    title = parts[0].title if len(parts) == 1 else " · ".join(dict.fromkeys(one.title for one in parts))
    made = f"Spinewise {core.version()}, from {', '.join(one.place for one in sources)}"
    return Page(title, parts, made, tuple(dict.fromkeys(making.notes)))


def part(source: Source, sources: Sequence[Source], making: Making) -> Part:
    """One of RESULTS as a part; runs on one fabric are shown side by side in the part of the first."""
    if isinstance(source.found, Comparison):
        runs = of_comparison.side_by_side(source.found, source.place, making)
        return of_comparison.part(source.found, source.name, moving.sections(runs, making) if runs else ())
    together = [one for one in sources if isinstance(one.found, Result) and one.fabric == source.fabric]
    if together[0] is not source:
        return of_run.part(source.found, source.name)
    labels = of_run.labels([(one.name, one.found) for one in together[:MOST_TRACKS] if isinstance(one.found, Result)])
    return of_run.part(source.found, source.name, moving.sections(labels, making))
