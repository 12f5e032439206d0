"""Evidence that is kept: what the runs of an experiment came to, small enough for a repository.

```text
EVIDENCE/<experiment>/evidence.json    where it comes from, and every check with its verdict and the lines behind it
EVIDENCE/<experiment>/runs.parquet     a row a run: form, curve, x, seed, flows, hashes, and every number measured
EVIDENCE/<experiment>/lines.parquet    the lines of its figures over time, as means over seeds, thinned out
```

Pages are made from it alone: verdicts can be judged again from the numbers of the runs, and figures drawn.
"""

from __future__ import annotations

import json
import os
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
    Panel,
    Run,
    Status,
    Timeline,
    Verdict,
)
from spinewise.reproduction.files import provenance_record, variants
from spinewise.reproduction.provenance import Provenance
from spinewise.reproduction.records import CheckRecord, EvidenceRecord, ProvenanceRecord
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.rows import Check
from spinewise.runs import formats
from spinewise.runs.folder import as_spec_error
from spinewise.specs.spec import spec_hash

if TYPE_CHECKING:
    from spinewise.reproduction.suite import Part
    from spinewise.sweeps.store import Ledger

RUNS, LINES = "runs.parquet", "lines.parquet"
# Bytes kept of the hashes of a run: enough to tell any two apart.
HASH_BYTES = 8
# Points kept of a line: more than a figure can show.
POINTS = 400
# Columns of a run; the others are what was measured.
VALUE = "value."


@dataclass(frozen=True)
class KeptRun:
    """What tells a run of the evidence apart, and what it must give when it is made again.

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
    """Measurements of kept evidence, whose lines over time are means over seeds already."""

    lines: Mapping[tuple[str, str, float, str], Timeline] = field(default_factory=dict)

    def within(self, variant: str) -> KeptMeasured:
        """Only the measurements of one variant of the experiment."""
        return KeptMeasured(super().within(variant).measurements, variant, self.lines)

    def timeline(self, curve: str, metric: str, x: float | None = None) -> Timeline:
        """The mean over seeds of a line, as it was kept."""
        place = (self.variant, curve, self.xs[0] if x is None else x, metric)
        return self.lines.get(place, Timeline(np.array([]), np.array([])))


@dataclass(frozen=True)
class Kept:
    """The evidence of an experiment.

    Attributes:
        id: of the experiment.
        paper: key of its paper.
        title: what it shows.
        provenance: where it comes from.
        checks: every check, with its verdict.
        runs: every run.
        lines: of its figures, by form, curve, x and metric.
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
        """As if it had just been run."""
        verdicts = {check.key: check.verdict for check in self.checks if check.verdict}
        return Reproduction(
            experiment, self.provenance.effort, self.measured, verdicts, provenance=self.provenance
        )  # fmt: skip


# ---- writing ----


def keep(part: Part, done: Reproduction, ledger: Ledger, folder: Path) -> None:
    """Write the evidence of an experiment whose runs are all there; that of others stays as it is.

    Raises:
        SpecError: it is of a quick effort, runs are missing, or the folder cannot be written.
    """
    refuse_unfit(done)
    place = folder / done.experiment.id
    with as_spec_error(place, "--keep"):
        place.mkdir(parents=True, exist_ok=True)
        runs = runs_table(part, done, ledger)
        lines = lines_table(done)
        for name, table in ((RUNS, runs), (LINES, lines)):
            if table.num_rows:
                pq.write_table(table, place / f".{name}", compression="zstd", compression_level=19)
                os.replace(place / f".{name}", place / name)
            else:
                (place / name).unlink(missing_ok=True)
        text = record(done.experiment.id, part.entry.paper, done.experiment.title, done.provenance, checks_of(done))
        (place / f".{formats.EVIDENCE.record}").write_text(text, encoding="utf-8")
        os.replace(place / f".{formats.EVIDENCE.record}", place / formats.EVIDENCE.record)


def refuse_unfit(done: Reproduction) -> None:
    """Only whole experiments of full length are evidence."""
    if done.effort is Effort.QUICK:
        raise SpecError("--keep", "with --quick", "an effort of full length", "a quick run gives a direction only")
    if done.lacking:
        raise SpecError("--keep", done.experiment.id, "an experiment whose runs are all there")


def checks_of(done: Reproduction) -> list[Check]:
    """Every check of an experiment, with its verdict."""
    return [Check.of(done.experiment, claim, done.verdicts[claim.key]) for claim in done.experiment.claims]


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


def runs_table(part: Part, done: Reproduction, ledger: Ledger) -> pa.Table:
    """A row a run."""
    found = done.measured.measurements
    headlines = [ledger.headline(task.key) for task in part.tasks]
    names = list(dict.fromkeys(name for one in found for name, value in one.values.items() if is_number(value)))
    columns: dict[str, pa.Array] = {
        "variant": pa.array([one.run.variant for one in found], pa.string()).dictionary_encode(),
        "curve": pa.array([one.run.curve for one in found], pa.string()).dictionary_encode(),
        "x": pa.array([float(one.run.x) for one in found], pa.float64()),
        "seed": pa.array([one.run.seed for one in found], pa.int32()),
        "flows": pa.array([one.flows for one in found], pa.int64()),
        "unfinished": pa.array([one.unfinished for one in found], pa.int64()),
        "overloaded": pa.array([one.overloaded for one in found], pa.bool_()),
        "packet_hops": pa.array([one.packet_hops for one in headlines], pa.int64()),
        "spec": hashes(spec_hash(task.spec) for task in part.tasks),
        "outcome": hashes(one.outcome_hash for one in headlines),
    }
    for name in names:
        columns[VALUE + name] = pa.array([number_of(one.values.get(name)) for one in found], pa.float64())
    return pa.table(columns)


def hashes(texts: Iterator[str]) -> pa.Array:
    """The first bytes of hashes in hex."""
    return pa.array([bytes.fromhex(text)[:HASH_BYTES] for text in texts], pa.binary(HASH_BYTES))


def is_number(value: object) -> bool:
    """Whether a measured value is a number."""
    return not isinstance(value, Timeline)


def number_of(value: float | Timeline | None) -> float | None:
    """A measured number; None where there is none."""
    return None if value is None or isinstance(value, Timeline) else float(value)


def lines_table(done: Reproduction) -> pa.Table:
    """The lines that the figures show, a row each."""
    rows = [
        {
            "variant": name,
            "curve": curve,
            "x": float(x),
            "metric": metric,
            "at": np.asarray(line.time_s, dtype=np.float32),
            "value": np.asarray(line.value, dtype=np.float32),
        }
        for name in variants(done)
        for measured in [done.measured.within(name)]
        for panel in done.experiment.panels
        if panel.variant == name and panel.timeline
        for x in [measured.xs[0] if panel.at is None else panel.at]
        for metric in metrics_of(panel)
        for curve in measured.curves
        for line in [thinned(measured.timeline(curve, metric, x))]
        if len(line.time_s)
    ]
    numbers = pa.list_(pa.float32())
    schema = pa.schema(
        {"variant": pa.string(), "curve": pa.string(), "x": pa.float64(), "metric": pa.string(), "at": numbers,
         "value": numbers}
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema)


def metrics_of(panel: Panel) -> list[str]:
    """What a panel draws."""
    return [panel.metric, *(metric for _, metric in panel.also)]


def thinned(line: Timeline) -> Timeline:
    """A line of at most `POINTS` points: of each stretch of it the least and the greatest value stay, in order."""
    count = len(line.time_s)
    if count <= POINTS:
        return line
    values = np.asarray(line.value, dtype=float)
    kept: list[int] = []
    for stretch in np.array_split(np.arange(count), POINTS // 2):
        known = stretch[np.isfinite(values[stretch])]
        of = known if len(known) else stretch[:1]
        kept += sorted({int(of[np.argmin(values[of])]), int(of[np.argmax(values[of])])})
    return Timeline(np.asarray(line.time_s)[kept], values[kept])


# ---- reading ----


def read(folder: Path, name: str) -> Kept | None:
    """The evidence of an experiment; None where there is none.

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
    """Where evidence comes from."""
    return Provenance(
        effort=Effort(found["effort"]),
        versions=tuple(found["versions"]),
        engine=found["engine"],
        seeds=tuple(found["seeds"]),
        days=tuple(found["days"]),
        runs=found["runs"],
        lacking=found["lacking"],
    )


def check_of(name: str, found: CheckRecord) -> Check:
    """A check with its verdict."""
    verdict = Verdict(Status(found["status"]), tuple(found["evidence"]), found["comparisons"])
    return Check(
        found["claim"], name, found["figure"], found["reading"], found["headline"], found["statement"], verdict
    )


def runs_of(file: Path) -> Iterator[KeptRun]:
    """The runs of an experiment; none of one that needs none."""
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
    """The same numbers under the checks as they are now.

    A check that wants a number which was not measured then keeps the verdict that was kept; a new one has none.
    """
    before = {check.key: check.verdict for check in kept.checks}
    checks = [
        Check.of(experiment, claim, verdict_of(claim, kept.measured, before.get(claim.key)))
        for claim in experiment.claims
    ]
    return replace(kept, title=experiment.title, checks=tuple(checks))


def verdict_of(claim: Claim, measured: Measured, before: Verdict | None) -> Verdict | None:
    """What a check says of kept numbers; what it said before where they do not suffice."""
    try:
        return claim.check(measured)
    except SpecError:
        return before


def text_of(kept: Kept) -> str:
    """evidence.json of what was kept."""
    return record(kept.id, kept.paper, kept.title, kept.provenance, kept.checks)
