"""Keep the evidence of an experiment whose runs are complete."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spinewise import core
from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.reproduction.evidence import HASH_BYTES, LINES, RUNS, VALUE, judged_again, read, record, text_of
from spinewise.reproduction.experiment import Effort, Measured, Panel, Run, Timeline
from spinewise.reproduction.files import variants
from spinewise.reproduction.measured import measurement
from spinewise.reproduction.provenance import day
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.rows import Check
from spinewise.runs import formats
from spinewise.runs.folder import as_spec_error
from spinewise.specs.spec import spec_hash

if TYPE_CHECKING:
    from spinewise.reproduction.suite import Part
    from spinewise.sweeps.store import Ledger
    from spinewise.sweeps.sweep import Swept

# Points kept of a line: more than a figure can resolve.
POINTS = 400


def keep(part: Part, done: Reproduction, ledger: Ledger, folder: Path) -> None:
    """Write the evidence of an experiment whose runs are complete; that of others is unchanged.

    Raises:
        SpecError: its effort is quick, runs are missing, or the folder cannot be written.
    """
    refuse_unfit(done)
    place = folder / done.experiment.id
    with as_spec_error(place, "--keep"):
        runs, lines = runs_table(part, done, ledger), lines_table(done)
        text = record(done.experiment.id, part.entry.paper, done.experiment.title, done.provenance, checks_of(done))
        write_tables(place, runs, lines)
        write_record(place, text)


def keep_forms(part: Part, swept: Swept, folder: Path, forms: Collection[tuple[str, str]]) -> None:
    """Replace the runs of some forms in the evidence of an experiment, whose other runs stay; judge it again.

    A form is a variant of the experiment and a curve of it.

    Raises:
        SpecError: there is no evidence, runs of these forms are missing, or the folder cannot be written.
    """
    experiment, place = part.experiment, folder / part.experiment.id
    before = read(folder, experiment.id)
    if before is None:
        raise SpecError("--keep", printable(folder), f"a folder with evidence of {experiment.id}")
    pairs = [(run, task) for run, task in zip(part.runs, part.tasks, strict=True) if form(run) in forms]
    some = replace(part, runs=tuple(run for run, _ in pairs), tasks=tuple(task for _, task in pairs))
    try:
        measured = Measured([measurement(run, task, swept) for run, task in pairs])
    except KeyError:
        raise SpecError("--keep", experiment.id, "forms whose runs are all there") from None
    done = Reproduction(experiment, part.effort, measured, {})
    order = {(run.variant, run.curve, float(run.x), run.seed): at for at, run in enumerate(part.runs)}
    with as_spec_error(place, "--keep"):
        runs = beside(place / RUNS, forms, runs_table(some, done, swept.ledger))
        rows = zip(*(runs.column(name).to_pylist() for name in ("variant", "curve", "x", "seed")), strict=True)
        at = np.argsort([order[row] for row in rows], kind="stable")
        write_tables(place, runs.take(at), beside(place / LINES, forms, lines_table(done)))
        days = {day(swept.ledger.ended(task.key)) for _, task in pairs}
        old = before.provenance
        origin = replace(
            old,
            engine=core.engine_digest(),
            days=tuple(sorted({*old.days, *days})),
            earlier=tuple(dict.fromkeys((old.engine, *old.earlier))),
        )
        now = read(folder, experiment.id)
        assert now is not None
        write_record(place, text_of(judged_again(replace(now, provenance=origin), experiment)))


def form(run: Run) -> tuple[str, str]:
    """The variant and the curve of a run."""
    return run.variant, run.curve


def beside(file: Path, forms: Collection[tuple[str, str]], new: pa.Table) -> pa.Table:
    """The kept rows of other forms, and the new ones of these."""
    if not file.is_file():
        return new
    old = pq.read_table(file)
    rows = [row for row in old.to_pylist() if (row["variant"], row["curve"]) not in forms] + new.to_pylist()
    return pa.Table.from_pylist(rows, pa.unify_schemas([new.schema, old.schema]))


def write_tables(place: Path, runs: pa.Table, lines: pa.Table) -> None:
    """Write the runs and the lines of an experiment, each whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    tables = {RUNS: runs, LINES: lines}
    for name, table in tables.items():
        with (place / f".{name}").open("wb") as stream:
            pq.write_table(table, stream, compression="zstd", compression_level=19)
    # On a full disk nothing has been replaced so far.
    for name, table in tables.items():
        os.replace(place / f".{name}", place / name)
        if not table.num_rows:
            (place / name).unlink()


def write_record(place: Path, text: str) -> None:
    """Write evidence.json."""
    (place / f".{formats.EVIDENCE.record}").write_text(text, encoding="utf-8")
    os.replace(place / f".{formats.EVIDENCE.record}", place / formats.EVIDENCE.record)


def refuse_unfit(done: Reproduction) -> None:
    """Refuse anything but whole experiments of full length as evidence."""
    if done.effort is Effort.QUICK:
        raise SpecError("--keep", "with --quick", "an effort of full length", "a quick run gives a direction only")
    if done.lacking:
        raise SpecError("--keep", done.experiment.id, "an experiment whose runs are all there")


def checks_of(done: Reproduction) -> list[Check]:
    """Every check of an experiment, with its verdict."""
    return [Check.of(done.experiment, claim, done.verdicts[claim.key]) for claim in done.experiment.claims]


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
    """A measured number; None if there is none."""
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
    """The metrics that a panel draws."""
    return [panel.metric, *(metric for _, metric in panel.also)]


def thinned(line: Timeline) -> Timeline:
    """A line of at most `POINTS` points: the minimum and maximum of each stretch are kept, in order."""
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
