"""Read the folder of a run, and refuse anything else: other formats, changed or foreign files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from spinewise.errors import SpecError
from spinewise.measures.report import Report
from spinewise.reading import ordinary, printable
from spinewise.runs import formats
from spinewise.shapes import Spec
from spinewise.specs.spec import spec_hash

if TYPE_CHECKING:
    import pyarrow as pa

ALLOWED = "a results folder of one run"

# Columns that every version of the format has had.
FLOW_COLUMNS = (
    "flow", "src", "dst", "entry", "tcp", "size_bytes", "start_ps", "finished", "fct_ps", "sender_fct_ps", "slowdown",
    "packets", "retransmits", "timeouts", "dupack3_events", "out_of_order", "marks", "nacks", "cnps",
)  # fmt: skip
COLLECTIVE_COLUMNS = (
    "entry", "group", "round", "step", "flows", "ranks", "bytes", "message_bytes", "start_ps", "end_ps", "finished",
    "last_flow",
)  # fmt: skip
SERIES_COLUMNS = ("time_ps", "series", "entity", "value")
TRACE_COLUMNS = ("choice", "time_ps", "flow", "device", "scheme", "way", "chosen")
LOSS_COLUMNS = ("time_ps", "flow", "kind", "seq", "fate", "device", "link", "rerouted_ps")

# The keys of the report in every version, and their types.
REPORT = {"counters": dict, "links": list, "series_names": list, "entity_names": list, "flows": int}
# Beside the report in the record.
BESIDE = {"seed": int, "outcome_hash": str, "traffic_hash": str}
# Tables of every resolved spec.
SPEC = {"topology": dict, "traffic": list, "metrics": dict, "scheme": dict, "run": dict}


class RunRecord(TypedDict):
    """The parts of run.json that are read; its head belongs to the report."""

    spec_hash: str
    seed: int
    version: NotRequired[str]
    wall_seconds: NotRequired[float]
    events: NotRequired[int]
    packet_hops: NotRequired[int]
    outcome_hash: str
    traffic_hash: str
    report: Report
    spec: Spec


def read_record(folder: Path) -> RunRecord:
    """The record of a run, checked.

    Raises:
        SpecError: there is none, its format is another, it lacks something, or it was changed.
    """
    file = folder / formats.RUN.record
    refuse_others(folder)
    record = cast(RunRecord, formats.read(file, formats.RUN, "RUN", ALLOWED))
    check_types(record, "", BESIDE | {"report": dict, "spec": dict}, file)
    check_types(record["report"], "report.", REPORT, file)
    check_types(record["spec"], "spec.", SPEC, file)
    if record.get("spec_hash") != spec_hash(record["spec"]):
        hint = "the spec in it was changed after the run"
        raise SpecError("spec_hash", record.get("spec_hash"), spec_hash(record["spec"]), hint, file=printable(file))
    return record


def refuse_others(folder: Path, key: str = "RUN", allowed: str = ALLOWED) -> None:
    """Refuse a folder that is not a run's, and say what it is; `key` is where it was named, `allowed` what it could be.

    Raises:
        SpecError: a file, nothing, results of another kind, or no results.
    """
    if not folder.is_dir():
        raise SpecError(key, printable(folder), allowed, "this is a file" if folder.exists() else "it does not exist")
    if os.path.lexists(folder / formats.RUN.record):
        return
    for kind in formats.ALL:
        if (folder / kind.record).exists():
            hint = f"these are results of `{kind.by}`: {kind.record}"
            # Those of `compare --keep-runs`.
            if single := sorted((folder / "runs").glob(f"*/{formats.RUN.record}")):
                hint += f"; each of its runs has a folder, such as {printable(single[0].parent)}"
            elif kind is formats.COMPARE:
                hint += "; `spinewise compare --keep-runs` keeps the folders of its runs, too"
            raise SpecError(key, printable(folder), allowed, hint)
    hint = f"it holds no {formats.RUN.record}"
    if (folder / formats.LEDGER).exists():
        hint = (
            f"this is a store: `spinewise report STUDY.toml --store {printable(folder)} --out FILE.html` shows a study"
            " of it, `spinewise query` asks it"
        )
    raise SpecError(key, printable(folder), allowed, hint)


def check_types(record: Mapping[str, object], prefix: str, wanted: Mapping[str, type], file: Path) -> None:
    """Refuse a table of the record in which something is missing or has another type."""
    words = {dict: "a table", list: "a list", int: "a whole number", str: "a text"}
    for key, kind in wanted.items():
        value = record.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            given = "(nothing)" if key not in record else json.dumps(value)
            raise SpecError(f"{prefix}{key}", given, words[kind], file=printable(file))


def read_table(path: Path, columns: tuple[str, ...], rows: int | None = None) -> pa.Table:
    """A Parquet table with at least these columns; with `rows`, it must have none or that many rows.

    Raises:
        SpecError: it cannot be read, or is not the table that was written.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    ordinary(path, "RUN", ALLOWED)
    try:
        # Arrow opens no file whose name is not UTF-8, and takes columns from folders such as "seed=1".
        with path.open("rb") as stream:
            table = parquet.read_table(stream)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise SpecError("(whole file)", str(error), "a Parquet file", file=printable(path)) from None
    missing = [name for name in columns if name not in table.schema.names]
    if missing:
        found = ", ".join(table.schema.names) or "none"
        raise SpecError("columns", found, ", ".join(columns), f"missing: {', '.join(missing)}", file=printable(path))
    refuse_types(table, columns, path)
    if rows is not None and table.num_rows not in (0, rows):
        raise SpecError("rows", table.num_rows, f"0 or {rows}, as the record says", file=printable(path))
    return table


@contextmanager
def complete(folder: Path) -> Iterator[None]:
    """Refuse a report that lacks something, or has a wrong value, when it is first summarised."""
    file = printable(folder / formats.RUN.record)
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = f"{type(error).__name__}: {error}"
        raise SpecError("report", why, "the report of a run, as it was written", file=file) from None


def refuse_types(table: pa.Table, columns: tuple[str, ...], path: Path) -> None:
    """Refuse columns that do not hold numbers, words or booleans, or have gaps."""
    import pyarrow as pa  # noqa: PLC0415

    for name in columns:
        kind = table.schema.field(name).type
        known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if not (known or pa.types.is_dictionary(kind)):
            raise SpecError(f"column {name}", kind, "numbers", file=printable(path))
        if known and table.column(name).null_count:
            raise SpecError(f"column {name}", "empty cells", "a number in every row", file=printable(path))
