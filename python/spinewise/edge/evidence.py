"""The evidence of the study in the repository: a row for each run, and the origin of the rows.

```text
docs/evidence/edge-2026/study.json    engine, days, what was refused
docs/evidence/edge-2026/runs.parquet  a row a run: its place in the study, and `row.Row`
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from spinewise import core
from spinewise.edge.row import Row
from spinewise.edge.study import Found, Place, Refusal
from spinewise.runs import formats

FOLDER = Path("docs/evidence/edge-2026")
RUNS = "runs.parquet"
ALLOWED = "what `python -m spinewise.edge` wrote"
TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True)
class Evidence:
    """The kept study.

    Attributes:
        rows: the record of each run, by its place.
        refusals: combinations that cannot be run, and why.
        engines: digests of the engines that made runs (hex), and the day (UTC).
    """

    rows: dict[Place, Row]
    refusals: list[Refusal] = field(default_factory=list)
    engines: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The total time of all runs."""
        return sum(row.wall_s for row in self.rows.values())

    def with_found(self, found: Found) -> Evidence:
        """The evidence updated with the results of another conduct of the study, or of a part of it."""
        kinds = {kind(place) for place in found.rows} | {kind(one) for one in found.refusals}
        rows = {place: row for place, row in self.rows.items() if kind(place) not in kinds}
        refusals = [one for one in self.refusals if kind(one) not in kinds]
        today = datetime.now(UTC).date().isoformat()
        return Evidence(rows | found.rows, refusals + found.refusals, self.engines | {core.engine_digest(): today})


def kind(one: Place | Refusal) -> tuple[str, int, str, str]:
    """A kind of run, whatever its seed."""
    return one.workload, one.hosts, one.condition, one.scheme


def schema() -> pa.Schema:
    """The columns of the table."""
    return pa.schema(
        [(name, TYPES[kind]) for of in (Place, Row) for name, kind in get_type_hints(of).items()]
    )  # fmt: skip


def write(evidence: Evidence, folder: Path) -> None:
    """Write both files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [vars(place) | vars(row) for place, row in sorted(evidence.rows.items())]
    pq.write_table(pa.Table.from_pylist(rows, schema()), folder / RUNS, compression="zstd")
    record = {
        "format": formats.EDGE.name,
        "engines": evidence.engines,
        "refusals": [vars(one) for one in sorted(evidence.refusals, key=lambda one: (kind(one), one.reason))],
    }
    (folder / formats.EDGE.record).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def read(folder: Path) -> Evidence:
    """Read what `write` wrote; empty if there is nothing.

    Raises:
        SpecError: the record is damaged, or of another format.
    """
    file = folder / formats.EDGE.record
    if not file.is_file():
        return Evidence({})
    record = formats.read(file, formats.EDGE, "--root", ALLOWED)
    refusals, engines = record["refusals"], record["engines"]
    assert isinstance(refusals, list) and isinstance(engines, dict)  # noqa: PT018 - both are of the format
    rows = dict(split(pq.read_table(folder / RUNS, schema=schema()).to_pylist()))
    return Evidence(rows, [Refusal(**one) for one in refusals], engines)


def split(rows: Iterable[dict[str, object]]) -> Iterable[tuple[Place, Row]]:
    """Each row of the table as a place and what was measured there."""
    for row in rows:
        place, measured = ({one.name: row[one.name] for one in fields(of)} for of in (Place, Row))
        yield Place(**place), Row(**measured)  # type: ignore[arg-type]
