"""Tables of flows in the store: Parquet files that record how many flows their run had."""

from __future__ import annotations

import io
import os
from pathlib import Path

from spinewise.measures import tables
from spinewise.runs.result import Result

PARQUET = b"PAR1"
FLOWS_OF_RUN = "flows_of_run"
"""The metadata key of a table for the number of the run's flows, which may be more than its rows."""


def parquet(result: Result) -> bytes:
    """The table of flows of a run as a Parquet file."""
    stream = io.BytesIO()
    tables.write(result.flows.replace_schema_metadata({FLOWS_OF_RUN: str(result.report["flows"])}), stream)
    return stream.getvalue()


def is_whole(file: Path) -> bool:
    """Whether a file begins and ends like a Parquet file."""
    try:
        with file.open("rb") as stream:
            head = stream.read(len(PARQUET))
            stream.seek(-len(PARQUET), os.SEEK_END)
            return head == stream.read() == PARQUET
    except OSError:
        return False


def has_flows(file: Path) -> bool:
    """Whether a table of flows exists and has those of its run."""
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - slow to import

    if not is_whole(file):
        return False
    try:
        with file.open("rb") as stream:
            found = parquet.read_metadata(stream)
    except (ArrowException, OSError):
        return False
    return bool(found.num_rows) or (found.metadata or {}).get(FLOWS_OF_RUN.encode()) == b"0"
