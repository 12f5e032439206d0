"""A comparison read back from its folder, and the table of the distributions of completion times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from spinewise.comparison.cells import Cell, Comparison, Skipped
from spinewise.comparison.columns import CURVES
from spinewise.errors import SpecError
from spinewise.measures.collectives import Job
from spinewise.measures.curves import LEVELS, Curves, SizeBin
from spinewise.measures.plain import NotPlainError, read
from spinewise.measures.summary import Summary
from spinewise.reading import ordinary, printable
from spinewise.runs import formats
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant
from spinewise.sweeps.columns import schema

ALLOWED = "a results folder of a comparison"
CURVES_FILE = "curves.parquet"
Key = tuple[str, float | None, int]


def write_curves(comparison: Comparison, path: Path) -> None:
    """Write one row per run and traffic entry: distributions at fixed shares of flows, and percentiles by flow size."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415

    rows = [
        {
            "scheme": cell.label,
            "load": cell.load,
            "seed": cell.seed,
            "entry": entry,
            "flows": curves.flows,
            "level": list(LEVELS),
            "fct_s": list(curves.fct_s),
            "slowdown": list(curves.slowdown),
            **{f"size_{one.name}": [getattr(found, one.name) for found in curves.sizes] for one in fields(SizeBin)},
        }
        for cell in comparison.cells
        for entry, curves in cell.curves.items()
    ]
    with path.open("wb") as stream:
        parquet.write_table(pa.Table.from_pylist(rows, schema(CURVES)), stream, compression="zstd")


def read_curves(path: Path) -> dict[Key, dict[str, Curves]]:
    """Read the curves by run and traffic entry; empty if an older comparison has none.

    Raises:
        SpecError: it is not the table that was written.
    """
    if not path.exists():
        return {}
    ordinary(path, "folder", ALLOWED)
    with as_written(path):
        return curves_in(path)


def curves_in(path: Path) -> dict[Key, dict[str, Curves]]:
    """The curves in a file."""
    from pyarrow import parquet  # noqa: PLC0415

    with path.open("rb") as stream:
        rows = parquet.read_table(stream, schema=schema(CURVES)).to_pylist()
    found: dict[Key, dict[str, Curves]] = {}
    for row in rows:
        sizes = zip(*(row[f"size_{one.name}"] for one in fields(SizeBin)), strict=True)
        curves = Curves(
            row["flows"], tuple(row["fct_s"]), tuple(row["slowdown"]), tuple(SizeBin(*size) for size in sizes)
        )
        found.setdefault((row["scheme"], row["load"], row["seed"]), {})[row["entry"]] = curves
    return found


class VariantRecord(TypedDict):
    """A scheme and its settings."""

    label: str
    name: str
    settings: list[tuple[str, object]]


class CellRecord(TypedDict):
    """A run. The values are checked as they are read."""

    scheme: str
    load: float | None
    seed: int
    summary: object
    outcome_hash: str
    traffic_hash: str
    wall_seconds: float
    packet_hops: int
    min_rto_s: NotRequired[float | None]
    transport: NotRequired[str]
    ended_s: NotRequired[dict[str, float | None]]
    jobs: NotRequired[dict[str, object] | None]
    folder: NotRequired[str | None]


class SkippedRecord(TypedDict):
    """A scheme that did not take part."""

    scheme: str
    reason: str


class CompareRecord(TypedDict):
    """The parts of compare.json that are read."""

    spec_of_first_cell: Spec
    given: NotRequired[Spec | None]
    schemes: list[str]
    variants: NotRequired[list[VariantRecord]]
    loads: list[float | None]
    seeds: list[int]
    cells: list[CellRecord]
    skipped: list[SkippedRecord]


def read_comparison(folder: str | Path) -> Comparison:
    """The comparison that `compare --out` or `sw.write` kept in `folder`.

    Raises:
        SpecError: it is not such a folder, has another format, or was changed.
    """
    folder = Path(folder)
    file = folder / formats.COMPARE.record
    record = formats.read(file, formats.COMPARE, "folder", ALLOWED)
    curves = read_curves(folder / CURVES_FILE)
    with as_written(file):
        return comparison_of(cast(CompareRecord, record), curves)


@contextmanager
def as_written(file: Path) -> Iterator[None]:
    """Refuse a file in which something is missing, or has another type than what was written.

    Raises:
        SpecError: naming the file.
    """
    try:
        yield
    except (SpecError, PermissionError):
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, NotPlainError) else f"{type(error).__name__}: {error}"
        allowed = "a comparison as Spinewise wrote it"
        raise SpecError("(whole file)", why[:300], allowed, file=printable(file)) from None


def comparison_of(record: CompareRecord, curves: dict[Key, dict[str, Curves]]) -> Comparison:
    """Build a comparison from the contents of compare.json."""
    variants = [
        Variant(one["label"], one["name"], tuple((key, value) for key, value in one["settings"]))
        for one in record.get("variants") or [VariantRecord(label=x, name=x, settings=[]) for x in record["schemes"]]
    ]
    cells = [
        Cell(
            label=read(str, one["scheme"], "scheme"),
            load=read(float | None, one["load"], "load"),
            seed=read(int, one["seed"], "seed"),
            summary=read(Summary, one["summary"], "summary"),
            outcome_hash=read(str, one["outcome_hash"]),
            traffic_hash=read(str, one["traffic_hash"]),
            wall_seconds=read(float, one["wall_seconds"]),
            packet_hops=read(int, one["packet_hops"]),
            min_rto_s=read(float | None, one.get("min_rto_s")),
            transport=read(str, one.get("transport", "")),
            ended_s=read(dict[str, float], one.get("ended_s") or {}, "ended_s"),
            jobs={name: read(Job, job, f"jobs.{name}") for name, job in (one.get("jobs") or {}).items()},
            folder=read(str | None, one.get("folder")),
            curves=curves.get((one["scheme"], one["load"], one["seed"]), {}),
        )
        for one in record["cells"]
    ]
    return Comparison(
        spec=record["spec_of_first_cell"],
        variants=variants,
        loads=read(list[float | None], record["loads"], "loads"),
        seeds=read(list[int], record["seeds"], "seeds"),
        cells=cells,
        skipped=[Skipped(one["scheme"], one["reason"]) for one in record["skipped"]],
        given=record.get("given"),
    )
