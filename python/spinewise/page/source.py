"""The kinds of RESULTS, and the parts of a page for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spinewise import core
from spinewise.advice import files as advice_files
from spinewise.advice.answer import Advice
from spinewise.comparison.cells import Comparison
from spinewise.comparison.kept import read_comparison
from spinewise.comparison.side_by_side import SideBySide, share_a_table
from spinewise.errors import SpecError
from spinewise.own.scheme import Scheme
from spinewise.page import moving, of_advice, of_claims, of_comparison, of_resilience, of_run, of_runs, of_study
from spinewise.page.model import Page, Part
from spinewise.page.moving import Making
from spinewise.page.of_claims import Shown
from spinewise.reading import printable
from spinewise.resilience import stored as resilience_files
from spinewise.resilience.stored import Stored
from spinewise.runs import formats
from spinewise.runs.result import Result
from spinewise.specs.spec import unrun
from spinewise.studies.conduct import Conducted
from spinewise.sweeps.store import LEDGER

MOST_TRACKS = 4
"""Runs side by side."""
ALLOWED = (
    "the folder of a run, a comparison, an advice, a study of faults or a reproduction, kept evidence,"
    " or a study (STUDY.toml)"
)


@dataclass(frozen=True)
class Source:
    """One of RESULTS, read.

    Attributes:
        place: the place as given.
        found: its contents.
    """

    place: str
    found: Result | Comparison | Advice | Stored | Conducted | list[Shown]

    @property
    def name(self) -> str:
        """A name for something without one of its own."""
        return printable(Path(self.place).resolve().name)

    @property
    def shown(self) -> str:
        """The place in texts."""
        return printable(self.place)

    @property
    def fabric(self) -> object:
        """The part that must be equal in runs shown side by side; None if it is not a run."""
        return self.found.spec["topology"] if isinstance(self.found, Result) else None


@dataclass(frozen=True)
class OfStudy:
    """What is asked of a study.

    Attributes:
        store: the folder of the store with its runs.
        own: schemes written in Python.
        overrides: overrides of its spec, as `sweep` had them.
        until_ci: the bound that `sweep` had; None for that of its file.
    """

    store: str
    own: Sequence[type[Scheme]] = ()
    overrides: Sequence[str] = ()
    until_ci: float | None = None


def read(place: str, asked: OfStudy) -> Source:
    """Read what is at a place; for a study, what a store has of it.

    Raises:
        SpecError: nothing that a page can show, or something damaged.
    """
    folder = Path(place)
    if folder.suffix == ".toml":
        if hint := unrun(folder):
            raise SpecError("RESULTS", printable(place), ALLOWED, hint)
        return Source(place, of_study.read_study(place, asked.store, asked.own, asked.overrides, asked.until_ci))
    refuse_of_study(place, asked)
    if not folder.exists():
        raise SpecError("RESULTS", printable(place), ALLOWED, "it does not exist")
    if (folder / formats.COMPARE.record).is_file():
        return Source(place, read_comparison(folder))
    if (folder / formats.RUN.record).is_file():
        return Source(place, Result.read(folder))
    if (folder / formats.ADVISE.record).is_file():
        return Source(place, advice_files.read(folder))
    if (folder / formats.RESILIENCE.record).is_file():
        return Source(place, resilience_files.read(folder))
    if of_claims.there(folder):
        return Source(place, of_claims.read_claims(folder))
    raise SpecError("RESULTS", printable(place), ALLOWED, unknown(folder))


def refuse_of_study(place: str, asked: OfStudy) -> None:
    """Refuse options that change a study for what is not one.

    Raises:
        SpecError: naming the option.
    """
    for option, value in (("--set", ", ".join(asked.overrides)), ("--until-ci", asked.until_ci)):
        if value:
            raise SpecError(option, value, "only a study (STUDY.toml)", f"{printable(place)} is none")


def unknown(folder: Path) -> str:
    """The reason why a place holds nothing that a page can show."""
    if not folder.is_dir():
        return "this is a file"
    if (folder / LEDGER).is_file():
        return f"this is a store: name the study instead, as in `report STUDY.toml --store {printable(folder)}`"
    for kind in formats.ALL:
        if (folder / kind.record).exists():
            return f"these are results of `{kind.by}`, which a page cannot show"
    names = sorted(one.name for one in folder.iterdir())
    return f"it holds {', '.join(names[:5])}{' …' * (len(names) > 5)}" if names else "it is empty"


def page(sources: Sequence[Source], together: SideBySide | None, making: Making) -> Page:
    """All parts as one page, first the comparison of the runs among them."""
    parts = told_apart([part(one, sources, making) for one in sources], sources)
    title = parts[0].title if len(parts) == 1 else " · ".join(dict.fromkeys(one.title for one in parts))
    made = f"Spinewise {core.version()}, from {', '.join(one.shown for one in sources)}"
    first = (of_runs.part(together),) if together else ()
    return Page(title, (*first, *parts), made, tuple(dict.fromkeys(making.notes)))


def side_by_side(sources: Sequence[Source]) -> SideBySide | None:
    """The comparison of the runs among RESULTS that share fabric or traffic with the first; None for fewer than two."""
    runs = [(one.shown, one.found) for one in sources if isinstance(one.found, Result)]
    alike = [(place, run) for place, run in runs if share_a_table(run.spec, runs[0][1].spec)]
    return SideBySide.of([place for place, _ in alike], [run for _, run in alike]) if len(alike) > 1 else None


def told_apart(parts: Sequence[Part], sources: Sequence[Source]) -> tuple[Part, ...]:
    """The same parts; those that share a title get a distinction in brackets: scheme, folder, place."""
    names: list[tuple[str, ...]] = [(one.title,) for one in parts]
    for told in (scheme_of, lambda source: source.name, lambda source: source.shown):
        more = [told(source) for source in sources]
        groups: dict[tuple[str, ...], set[str]] = {}
        for name, one in zip(names, more, strict=True):
            groups.setdefault(name, set()).add(one)
        names = [(*name, one) if one and len(groups[name]) > 1 else name for name, one in zip(names, more, strict=True)]
    titles = [f"{title} ({', '.join(more)})" if more else title for title, *more in names]
    return tuple(replace(one, title=title) for one, title in zip(parts, titles, strict=True))


def scheme_of(source: Source) -> str:
    """The scheme of a run; "" if it is not a run."""
    return str(source.found.spec["scheme"].get("name", "")) if isinstance(source.found, Result) else ""


def part(source: Source, sources: Sequence[Source], making: Making) -> Part:
    """One of RESULTS as a part."""
    if isinstance(source.found, Result):
        return run_part(source, source.found, sources, making)
    if isinstance(source.found, Comparison):
        runs = of_comparison.side_by_side(source.found, source.place, making)
        which = of_comparison.shown_run(source.found)
        return of_comparison.part(source.found, source.name, moving.sections(runs, making, which) if runs else ())
    return kept_part(source.found, source.name)


def kept_part(found: Advice | Stored | Conducted | list[Shown], name: str) -> Part:
    """A part with results shown as they were kept."""
    if isinstance(found, Conducted):
        return of_study.part(found, name)
    if isinstance(found, Advice):
        return of_advice.part(found, name)
    if isinstance(found, Stored):
        return of_resilience.part(found)
    return of_claims.part(found, name)


def run_part(source: Source, run: Result, sources: Sequence[Source], making: Making) -> Part:
    """The part of a run; runs on one fabric are shown side by side in the part of the first."""
    together = [one for one in sources if isinstance(one.found, Result) and one.fabric == source.fabric]
    if together[0] is not source:
        return of_run.part(run, source.name)
    labels = of_run.labels([(one.name, one.found) for one in together[:MOST_TRACKS] if isinstance(one.found, Result)])
    return of_run.part(run, source.name, moving.sections(labels, making))
