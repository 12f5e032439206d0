"""The kept evidence: the results of an experiment's runs, small enough for a repository.

```text
EVIDENCE/<experiment>/evidence.json    its origin, and every check with its verdict and the lines behind it
EVIDENCE/<experiment>/runs.parquet     a row a run: form, curve, x, seed, flows, hashes, and every number measured
EVIDENCE/<experiment>/lines.parquet    the lines of its figures over time, as means over seeds, thinned out
```

Pages are made from it alone: verdicts can be recomputed from the numbers of the runs, and figures drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.reproduction.experiment import (
    Claim,
    Effort,
    Experiment,
    Measured,
    Measurement,
    Run,
    Status,
    Timeline,
    Verdict,
)
from spinewise.reproduction.files import provenance_record
from spinewise.reproduction.provenance import Provenance
from spinewise.reproduction.records import CheckRecord, EvidenceRecord, ProvenanceRecord
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.rows import Check
from spinewise.runs import formats

if TYPE_CHECKING:
    pass

RUNS, LINES = "runs.parquet", "lines.parquet"
# Bytes kept of the hashes of a run: enough to distinguish any two.
HASH_BYTES = 8
# Columns of a run; the others are measurements.
VALUE = "value."


@dataclass(frozen=True)
class KeptRun:
    """The identity of a run of the evidence, and the outcome it must give when repeated.

    Attributes:
        measurement: its numbers.
        spec: first bytes of the hash of its resolved spec, hex.
        outcome: first bytes of the hash of its outcome, hex.
        packet_hops: how many links its packets crossed, a measure of how long it takes.
    """

    measurement: Measurement
    spec: str
    outcome: str
    packet_hops: int


@dataclass(frozen=True)
class KeptMeasured(Measured):
    """Measurements of kept evidence, whose lines over time are already means over seeds."""

    lines: Mapping[tuple[str, str, float, str], Timeline] = field(default_factory=dict)

    def within(self, variant: str) -> KeptMeasured:
        """The measurements of one variant of the experiment."""
        return KeptMeasured(super().within(variant).measurements, variant, self.lines)

    def timeline(self, curve: str, metric: str, x: float | None = None) -> Timeline:
        """The mean over seeds of a line, as kept."""
        place = (self.variant, curve, self.xs[0] if x is None else x, metric)
        return self.lines.get(place, Timeline(np.array([]), np.array([])))


@dataclass(frozen=True)
class Kept:
    """The evidence of an experiment.

    Attributes:
        id: the id of the experiment.
        paper: key of its paper.
        title: its title.
        provenance: its origin.
        checks: every check, with its verdict.
        runs: every run.
        lines: the lines of its figures, by form, curve, x and metric.
    """

    id: str
    paper: str
    title: str
    provenance: Provenance
    checks: tuple[Check, ...]
    runs: tuple[KeptRun, ...]
    lines: Mapping[tuple[str, str, float, str], Timeline]

    @property
    def measured(self) -> KeptMeasured:
        """The numbers of all runs."""
        return KeptMeasured([run.measurement for run in self.runs], "", self.lines)

    def reproduction(self, experiment: Experiment) -> Reproduction:
        """The reproduction as if it had just been run."""
        verdicts = {check.key: check.verdict for check in self.checks if check.verdict}
        return Reproduction(
            experiment, self.provenance.effort, self.measured, verdicts, provenance=self.provenance
        )  # fmt: skip


def record(name: str, paper: str, title: str, provenance: Provenance | None, checks: Iterable[Check]) -> str:
    """evidence.json."""
    found = {
        "format": formats.EVIDENCE.name,
        "id": name,
        "paper": paper,
        "title": title,
        "provenance": provenance_record(provenance),
        "checks": [
            {
                "claim": check.claim,
                "reading": check.reading,
                "headline": check.headline,
                "figure": check.figure,
                "statement": check.statement,
                "status": check.verdict.status.value,
                "comparisons": check.verdict.comparisons,
                "evidence": list(check.verdict.evidence),
            }
            for check in checks
            if check.verdict is not None
        ],
    }
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(folder: Path, name: str) -> Kept | None:
    """Read the evidence of an experiment; None if there is none.

    Raises:
        SpecError: it is damaged, or of another format.
    """
    place = folder / name
    file = place / formats.EVIDENCE.record
    if not file.is_file():
        return None
    read = formats.read(file, formats.EVIDENCE, "evidence", "kept evidence of an experiment")
    found = cast(EvidenceRecord, read)
    try:
        return Kept(
            id=found["id"],
            paper=found["paper"],
            title=found["title"],
            provenance=provenance_of(found["provenance"]),
            checks=tuple(check_of(found["id"], one) for one in found["checks"]),
            runs=tuple(runs_of(place / RUNS)),
            lines=dict(lines_of(place / LINES)),
        )
    except (KeyError, TypeError, ValueError, pa.ArrowInvalid) as error:
        hint = f"{type(error).__name__}: {error}"
        raise SpecError("evidence", name, "what `--keep` has written", hint, file=printable(place)) from None


def provenance_of(found: ProvenanceRecord) -> Provenance:
    """The provenance in a record."""
    return Provenance(
        effort=Effort(found["effort"]),
        versions=tuple(found["versions"]),
        engine=found["engine"],
        seeds=tuple(found["seeds"]),
        days=tuple(found["days"]),
        runs=found["runs"],
        lacking=found["lacking"],
        earlier=tuple(found.get("earlier", [])),
    )


def check_of(name: str, found: CheckRecord) -> Check:
    """A check with its verdict."""
    verdict = Verdict(Status(found["status"]), tuple(found["evidence"]), found["comparisons"])
    return Check(
        found["claim"], name, found["figure"], found["reading"], found["headline"], found["statement"], verdict
    )


def runs_of(file: Path) -> Iterator[KeptRun]:
    """The runs of an experiment; empty for one that needs none."""
    if not file.is_file():
        return
    table = pq.read_table(file)
    names = [name for name in table.column_names if name.startswith(VALUE)]
    for row in table.to_pylist():
        values = {name.removeprefix(VALUE): row[name] for name in names if row[name] is not None}
        run = Run(row["curve"], row["x"], row["seed"], {}, row["variant"])
        outcome = row["outcome"].hex()
        measurement = Measurement(run, values, outcome, row["unfinished"], row["overloaded"], row["flows"])
        yield KeptRun(measurement, row["spec"].hex(), outcome, row["packet_hops"])


def lines_of(file: Path) -> Iterator[tuple[tuple[str, str, float, str], Timeline]]:
    """The lines of an experiment over time."""
    if file.is_file():
        for row in pq.read_table(file).to_pylist():
            place = (row["variant"], row["curve"], row["x"], row["metric"])
            yield place, Timeline(np.array(row["at"]), np.array(row["value"], dtype=float))


def judged_again(kept: Kept, experiment: Experiment) -> Kept:
    """The same numbers under the current checks.

    A check that needs a number missing in the evidence keeps its old verdict; a new one has none.
    """
    before = {check.key: check.verdict for check in kept.checks}
    checks = [
        Check.of(experiment, claim, verdict_of(claim, kept.measured, before.get(claim.key)))
        for claim in experiment.claims
    ]
    return replace(kept, title=experiment.title, checks=tuple(checks))


def verdict_of(claim: Claim, measured: Measured, before: Verdict | None) -> Verdict | None:
    """The verdict of a check on kept numbers; its earlier verdict if they do not suffice."""
    try:
        return claim.check(measured)
    except SpecError:
        return before


def text_of(kept: Kept) -> str:
    """The text of evidence.json for evidence."""
    return record(kept.id, kept.paper, kept.title, kept.provenance, kept.checks)
