"""Papers' claims as a part of a page: every verdict, what was measured, and the figures behind it.

From a folder of `reproduce --out`, of one experiment or of several, and from kept evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from spinewise.errors import SpecError
from spinewise.measures.plain import read
from spinewise.page import charts
from spinewise.page.model import Answer, Answers, Charts, Item, Part, Section, Table, Tone, Words, text
from spinewise.reading import printable
from spinewise.reproduction import evidence, files
from spinewise.reproduction.catalogue import load
from spinewise.reproduction.experiment import (
    Effort,
    Experiment,
    Measured,
    Measurement,
    Run,
    Status,
    Timeline,
    Verdict,
)
from spinewise.reproduction.provenance import Provenance
from spinewise.reproduction.records import ClaimRecord, MeasurementRecord, ReproduceRecord, ReproductionsRecord
from spinewise.reproduction.reproduce import Reproduction, find, load_experiment, papers_folder
from spinewise.reproduction.rows import Check, Row, catalogue_of, rows
from spinewise.runs import formats

ALLOWED = "results of `spinewise reproduce`, or evidence that it kept"
TONES: dict[str, Tone] = {
    Status.HOLDS.value: "good",
    Status.PARTLY.value: "head",
    Status.FAILS.value: "bad",
    "direction: for": "good",
    "direction: against": "bad",
}


@dataclass(frozen=True)
class Shown:
    """An experiment with its outcome.

    Attributes:
        id, title: those of the experiment.
        provenance: the origin of its numbers, if known.
        effort: the effort of its runs.
        missing: the missing parts, in words; empty if there are none.
        checks: every check, with its verdict if its runs exist.
        measured: the numbers of its runs.
    """

    id: str
    title: str
    provenance: Provenance | None
    effort: Effort
    missing: tuple[str, ...]
    checks: tuple[Check, ...]
    measured: Measured


def there(folder: Path) -> bool:
    """Whether a folder holds claims."""
    records = (formats.REPRODUCE.record, formats.REPRODUCTIONS.record, formats.EVIDENCE.record)
    return any((folder / name).is_file() for name in records) or bool(experiments_of(folder, formats.EVIDENCE.record))


def experiments_of(folder: Path, name: str) -> list[Path]:
    """The folders below this one that have such a record."""
    return sorted(one.parent for one in folder.glob(f"*/{name}"))


def read_claims(folder: Path) -> list[Shown]:
    """All experiments of a folder.

    Raises:
        SpecError: it is damaged, or its format is another.
    """
    if (folder / formats.REPRODUCE.record).is_file():
        return [reproduced(folder)]
    if (folder / formats.REPRODUCTIONS.record).is_file():
        file = folder / formats.REPRODUCTIONS.record
        record = cast(ReproductionsRecord, formats.read(file, formats.REPRODUCTIONS, "RESULTS", ALLOWED))
        found = [folder / str(one["id"]) for one in record.get("experiments", [])]
        lost = [one.name for one in found if not (one / formats.REPRODUCE.record).is_file()]
        if lost or not found:
            allowed = "a folder of each experiment that it names"
            raise SpecError("experiments", ", ".join(lost) or "none", allowed, file=printable(file))
        return [reproduced(one) for one in found]
    kept = experiments_of(folder, formats.EVIDENCE.record) or [folder]
    found_kept = [evidence.read(one.parent, one.name) for one in kept]
    return [of_kept(one) for one in found_kept if one is not None]


def of_kept(kept: evidence.Kept) -> Shown:
    """Kept evidence."""
    effort = kept.provenance.effort
    return Shown(kept.id, kept.title, kept.provenance, effort, (), kept.checks, kept.measured)


def reproduced(folder: Path) -> Shown:
    """The results of one experiment.

    Raises:
        SpecError: they are damaged, or their format is another.
    """
    file = folder / formats.REPRODUCE.record
    record = cast(ReproduceRecord, formats.read(file, formats.REPRODUCE, "RESULTS", ALLOWED))
    try:
        return shown(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise SpecError("(whole file)", why, "a reproduction as Spinewise wrote it", file=printable(file)) from None


def shown(record: ReproduceRecord) -> Shown:
    """Build from the contents of reproduce.json."""
    known = record.get("provenance")
    lacking = files.lacking(record["lacking"])
    errors = tuple(f"Failed: {where}: {why}" for where, why in record["errors"].items())
    return Shown(
        id=read(str, record["id"]),
        title=read(str, record["title"]),
        provenance=evidence.provenance_of(known) if known else None,
        effort=Effort(record["effort"]),
        missing=(*([f"Missing: {lacking}."] if lacking else []), *errors),
        checks=tuple(check(record["id"], one) for one in record["claims"]),
        measured=Measured([measurement(one) for one in record["measurements"]]),
    )


def check(name: str, one: ClaimRecord) -> Check:
    """A check of a record."""
    found = one["status"]
    verdict = Verdict(Status(found), tuple(one["evidence"]), one["comparisons"]) if found else None
    return Check(one["id"], name, one["figure"], one["reading"], one["headline"], one["statement"], verdict)


def measurement(one: MeasurementRecord) -> Measurement:
    """The numbers of a run of a record."""
    values: dict[str, float | Timeline] = {
        name: Timeline(np.array(value["time_s"], dtype=float), np.array(value["value"], dtype=float))
        if isinstance(value, dict)
        else float("nan" if value is None else value)
        for name, value in one["values"].items()
    }
    run = Run(one["curve"], one["x"], one["seed"], {}, one["variant"])
    return Measurement(run, values, one["outcome_hash"], one["unfinished"], one["overloaded"], one["flows"])


def part(found: Sequence[Shown], name: str) -> Part:
    """The part of some experiments: verdicts first, then each experiment with its figures."""
    folder = papers_folder()
    known = load(folder)
    checks = [check for one in found for check in one.checks]
    ids = {one.claim for one in checks}
    own = known is None or not all(any(claim.startswith(stated.id) for stated in known) for claim in ids)
    catalogue = catalogue_of(folder, checks) if known is None or own else known
    effort = found[0].effort
    every = rows(catalogue, checks, effort)
    missing = [f"{one.id}: {line}" for one in found for line in one.missing]
    return Part(
        title=found[0].title if len(found) == 1 else f"Outcome of the claims: {name}",
        kind="reproduction",
        subtitle=provenance(found),
        sections=(
            Section("Verdicts", (Answers(tuple(counts(every))), *([Words(tuple(missing), listed=True)] * bool(missing)),
                                 claims(every))),
            *(section(one, folder) for one in found),
        ),
    )  # fmt: skip


def provenance(found: Sequence[Shown]) -> str:
    """The origin of the numbers."""
    known = [one.provenance for one in found if one.provenance is not None]
    return Provenance.together(known).line if known else f"effort: {found[0].effort.value}"


def counts(every: Sequence[Row]) -> list[Answer]:
    """The number of claims with each verdict."""
    found = Counter(row.word for row in every)
    whole = f"of {len(every)} claims"
    return [Answer(word, str(count), (whole,), TONES.get(word, "")) for word, count in found.most_common()]


def claims(every: Sequence[Row]) -> Table:
    """Every claim with its verdict."""
    made = tuple(
        (
            text(row.statement.id),
            text(row.word, TONES.get(row.word, "unsure")),
            text(row.statement.text),
            text(row.statement.number),
            text("\n".join(row.measured[:3]) + ("\n…" if len(row.measured) > 3 else "")),
            text("\n".join(row.readings)),
            text(", ".join(row.statement.figures)),
        )
        for row in every
    )
    heads = ("claim", "verdict", "the paper states", "its number", "measured", "readings", "figure")
    return Table("Every claim", heads, made)


def section(one: Shown, folder: Path) -> Section:
    """An experiment with its figures and the evidence of each check."""
    lines = [
        f"{check.key}: {line}" for check in one.checks if check.verdict for line in (check.verdict.evidence or ("–",))
    ]
    proof = Words(tuple(lines), listed=True, summary=f"The evidence of {len(one.checks)} checks, line by line")
    return Section(one.title, (*drawings(one, folder), *([proof] if lines else [])))


def drawings(one: Shown, folder: Path) -> list[Item]:
    """The figures of an experiment that is known here."""
    try:
        experiment = load_experiment(find(folder, one.id))
    except SpecError:
        return [Words((f"Its figures are not drawn: no experiment is called {one.id} here (SPINEWISE_PAPERS).",))]
    done = Reproduction(experiment, one.effort, one.measured, {})
    items: list[Item] = []
    for variant in files.variants(done):
        found = figures(experiment, one.measured.within(variant), variant)
        if found.of:
            note = files.caption(done, one.measured.within(variant))
            items.append(Charts(found.of, f"{variant}. {note}" if variant else note))
    return items


def figures(experiment: Experiment, measured: Measured, variant: str) -> Charts:
    """The panels of one version of an experiment; one whose measurements are missing is left out."""
    panels = []
    for panel in experiment.panels:
        if panel.variant == variant:
            try:
                panels.append(files.drawn(panel, measured))
            except SpecError:
                continue
    looks = charts.looked([curve.label for panel in panels for curve in panel.curves])
    return Charts(tuple(charts.of_panel(panel, looks) for panel in panels if panel.curves))
