"""The files that ``reproduce`` writes for several experiments: a page with every claim, and a folder for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinewise.reproduction import files, reasons
from spinewise.reproduction.choice import Choice
from spinewise.reproduction.experiment import Experiment
from spinewise.reproduction.forms import shown_in
from spinewise.reproduction.provenance import Provenance
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.rows import MOST_LINES, Check, Row, catalogue_of, rows
from spinewise.reproduction.verdicts import Chance, chance
from spinewise.runs import formats
from spinewise.show.markdown import cell
from spinewise.writing import write_json


@dataclass(frozen=True)
class Section:
    """An experiment on the page of several.

    Attributes:
        id: the id of the experiment.
        title: its title.
        provenance: where its numbers come from.
        lacking: how many runs of which forms are missing.
        failed: why runs failed.
        checks: the requested checks.
        pictures: the files of its figures by form.
        experiment: its definition.
    """

    id: str
    title: str
    provenance: Provenance
    lacking: Mapping[str, int]
    failed: tuple[str, ...]
    checks: tuple[Check, ...]
    pictures: dict[str, str]
    experiment: Experiment

    @property
    def missing(self) -> str:
        """The missing runs, in words; empty if there are none."""
        return files.lacking(self.lacking)


@dataclass(frozen=True)
class Overview:
    """Several experiments and their outcomes."""

    name: str
    folder: Path
    sections: tuple[Section, ...]
    rows: tuple[Row, ...]

    @property
    def provenance(self) -> Provenance:
        """The provenance of all of them together."""
        return Provenance.together(section.provenance for section in self.sections)

    @property
    def chance(self) -> Chance:
        """The possible amount of luck."""
        checks = (check for section in self.sections for check in section.checks)
        return chance(check.verdict for check in checks if check.verdict)

    @property
    def incomplete(self) -> list[Section]:
        """The experiments that lack runs."""
        return [section for section in self.sections if section.lacking]

    def pictures(self, row: Row) -> Iterator[str]:
        """The figures that show a statement, as files below the folder of all, by experiment."""
        for section in self.sections:
            for form in shown_in(section.experiment, row.statement, list(section.pictures)):
                yield f"{section.id}/{section.pictures[form]}"


def write(choice: Choice, found: Iterable[Reproduction], target: Path) -> Overview:
    """Write the folder of each experiment when it is judged, and the page of all of them."""
    sections = []
    for done in found:
        place = target if choice.alone else target / done.experiment.id
        place.mkdir(exist_ok=True)
        files.write_files(done, place)
        sections.append(section(choice, done))
    overview = together(choice, sections)
    if not choice.alone:
        write_json(target / formats.REPRODUCTIONS.record, record(overview))
        (target / "report.md").write_text("\n".join(page(overview)) + "\n", encoding="utf-8")
    return overview


def together(choice: Choice, sections: Sequence[Section]) -> Overview:
    """Several experiments, with the claims that they judge."""
    checks = [check for one in sections for check in one.checks]
    catalogue = choice.catalogue or catalogue_of(choice.folder, checks)
    found = rows(catalogue, checks, sections[0].provenance.effort)
    return Overview(choice.name, choice.folder, tuple(sections), tuple(found))


def section(choice: Choice, done: Reproduction) -> Section:
    """The section of one experiment on the page of several."""
    assert done.provenance is not None
    wanted = [claim for claim in done.experiment.claims if choice.wants(claim)]
    return Section(
        id=done.experiment.id,
        title=done.experiment.title,
        provenance=done.provenance,
        lacking=done.lacking,
        failed=tuple(f"{where}: {text}" for where, text in done.errors.items()),
        checks=tuple(Check.of(done.experiment, claim, done.verdicts.get(claim.key)) for claim in wanted),
        pictures={name: f"{files.figure_name(done, name)}.png" for name in files.variants(done)},
        experiment=done.experiment,
    )


def record(overview: Overview) -> dict[str, object]:
    """The overview as plain values for JSON."""
    return {
        "format": formats.REPRODUCTIONS.name,
        "name": overview.name,
        "provenance": files.provenance_record(overview.provenance),
        "claims": [row_record(overview, row) for row in overview.rows],
        "experiments": [
            {
                "id": one.id,
                "title": one.title,
                "provenance": files.provenance_record(one.provenance),
                "missing": one.missing,
                "failed": one.failed,
            }
            for one in overview.sections
        ],
    }


def row_record(overview: Overview, row: Row) -> dict[str, object]:
    """A row as plain values."""
    return {
        "id": row.statement.id,
        "figures": row.statement.figures,
        "statement": row.statement.text,
        "number": row.statement.number,
        "verdict": row.word,
        "readings": row.readings,
        "tested": reasons.lines(reasons.load(overview.folder), row),
        "measured": row.measured,
        "commands": [f"spinewise reproduce {name}" for name in row.experiments],
        "pictures": list(overview.pictures(row)),
    }


HEADS = ("claim", "figure", "the paper states", "its number", "measured", "verdict", "readings", "command", "drawn")


def page(overview: Overview) -> Iterator[str]:
    """The page of all experiments, line by line."""
    yield from (f"# Outcome of {overview.name}", "", f"{overview.provenance.line}.", "")
    if overview.incomplete:
        yield from ("## Missing", "", "The same command with --force makes what is missing.", "")
        for one in overview.incomplete:
            yield f"- {one.id}: {one.missing}"
            yield from (f"  - failed: {text}" for text in one.failed)
        yield ""
    yield from ("## Claims", "", f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|")
    yield from (page_row(overview, row) for row in overview.rows)
    yield from ("", overview.chance.text, "")
    yield from tested(overview)
    yield from ("## Experiments", "", "| experiment | what it shows | numbers |", "|---|---|---|")
    for one in overview.sections:
        yield f"| [{one.id}]({one.id}/report.md) | {cell(one.title)} | {one.provenance.line} |"


def tested(overview: Overview) -> Iterator[str]:
    """The changes tested for claims that may not be reproduced, and the outcomes."""
    found = {row.statement.id: reasons.lines(reasons.load(overview.folder), row) for row in overview.rows}
    if not any(found.values()):
        return
    yield from ("## What was tested where a claim may not come out", "")
    for name, lines in found.items():
        yield from (f"- {name}, {line}" for line in lines)
    yield ""


def page_row(overview: Overview, row: Row) -> str:
    """A claim as a row of the page."""
    stated = row.statement
    more = len(row.measured) - MOST_LINES
    measured = [*row.measured[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]
    texts = (
        stated.id, ", ".join(stated.figures), stated.text, stated.number,
        "<br>".join(measured),
        f"**{row.verdict}**",
        "<br>".join(row.readings),
        f"`spinewise reproduce {row.experiments[0]}`",
        " ".join(f"[{picture.partition('/')[0]}]({picture})" for picture in overview.pictures(row)),
    )  # fmt: skip
    return "| " + " | ".join(cell(text) or "–" for text in texts) + " |"
