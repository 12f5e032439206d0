"""One run's results: Arrow tables, report, resolved spec; and the folder they are kept in."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import numpy.typing as npt

from spinewise import core
from spinewise.errors import SpecError, nearest
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import html, stats, tables, units
from spinewise.measures.classes import ALL
from spinewise.measures.collectives import Collectives, Job
from spinewise.measures.entries import entries_of
from spinewise.measures.least import Ways
from spinewise.measures.nodes import Nodes
from spinewise.measures.plain import plain
from spinewise.measures.report import Report
from spinewise.measures.summary import Summary, summarise
from spinewise.own import copies
from spinewise.runs import formats, kept, packets, trace
from spinewise.runs.folder import new_results
from spinewise.shapes import Spec
from spinewise.specs.spec import spec_hash
from spinewise.writing import write_json

if TYPE_CHECKING:
    import pyarrow as pa

    from spinewise._core import RawOutcome

FLOWS_FILE = "flows.parquet"
SERIES_FILE = "series.parquet"
COLLECTIVES_FILE = "collectives.parquet"
TRACE_FILE = "trace.parquet"
LOSSES_FILE = "losses.parquet"
PACKETS_FILE = "packets.parquet"

Numbers = npt.NDArray[np.float64]

# Keys of the report at the top of run.json; the rest is under "report".
HEADLINE = ("seed", "version", "wall_seconds", "events", "packet_hops", "outcome_hash", "traffic_hash")


@dataclass(frozen=True)
class Result:
    """The result of one run.

    Attributes:
        spec: the resolved spec, with every default.
        flows: `pyarrow.Table`, one row per flow (see docs/results.md).
        series: `pyarrow.Table`, long form: time_ps, series, entity, value.
        report: the engine's report: outcome hash, counters, loads, links, wall seconds.
        trace: `pyarrow.Table` of the choices of traced flows (see docs/results.md); None if none was traced.
        collectives: `pyarrow.Table`, one row per round and step of collective operations, requests and other rounds
            (see docs/results.md, and `rounds`); None in results of older versions.
        packets: `pyarrow.Table` of captured packets (see docs/results.md); None if none were to be captured.
        losses: `pyarrow.Table` of packets of traced flows that were lost or trimmed (see docs/results.md); None if no
            flow was traced, and in results of older versions.
    """

    spec: Spec
    flows: pa.Table
    series: pa.Table
    report: Report
    trace: pa.Table | None = None
    collectives: pa.Table | None = None
    packets: pa.Table | None = None
    losses: pa.Table | None = None

    @classmethod
    def from_outcome(cls, spec: Spec, outcome: RawOutcome) -> Result:
        """Build from what the engine returned for `spec`."""
        described = core.columns()
        report: Report = json.loads(outcome["report"])
        return cls(
            spec=spec,
            flows=tables.table(outcome["flows"], described["flows"]),
            series=tables.table(outcome["series"], described["series"]),
            report=report,
            trace=trace.table(outcome["trace"], described) if "trace" in outcome else None,
            collectives=tables.table(outcome["collectives"], described["collectives"]),
            packets=packets.table(outcome["packets"], described) if "packets" in outcome else None,
            losses=trace.losses(outcome["trace"], described) if "trace" in outcome else None,
        )

    @cached_property
    def spec_hash(self) -> str:
        """SHA-256 of the resolved spec."""
        return spec_hash(self.spec)

    def summary(self, method: stats.Method = "nearest_rank") -> Summary:
        """Flow completion times by traffic entry and size class, overheads, loads and links."""
        return summarise(self.flows, self.report, self.spec, method, lambda: self.rounds.above_ideal)

    @cached_property
    def rounds(self) -> Collectives:
        """Collective operations, requests and other rounds: their times, bandwidths and stragglers."""
        ways = partial(Ways.of, self.spec, self.report)
        return Collectives(self.collectives, self.flows, entries_of(self.spec), ways, Nodes.of(self.spec))

    def series_of(self, name: str, entity: str | None = None) -> tuple[Numbers, Numbers]:
        """Times in seconds and values of one series, of all entities or of one.

        Raises:
            KeyError: there is no such series or entity in this run.
        """
        wanted = tables.numbers(self.series, "series") == self.code("series_names", name)
        if entity is not None:
            wanted &= tables.numbers(self.series, "entity") == self.code("entity_names", entity)
        time_s = tables.numbers(self.series, "time_ps")[wanted] / PS_PER_SECOND
        return time_s, tables.numbers(self.series, "value")[wanted]

    def entities_of(self, name: str) -> list[str]:
        """The entities for which series `name` has values."""
        wanted = tables.numbers(self.series, "series") == self.code("series_names", name)
        codes = np.unique(tables.numbers(self.series, "entity")[wanted])
        return [self.report["entity_names"][code] for code in codes]

    def code(self, table: Literal["series_names", "entity_names"], name: str) -> int:
        """The number of `name` in the series table."""
        names = self.report[table]
        if name in names:
            return names.index(name)
        there = sorted({one for one in names if one})
        what = "series" if table == "series_names" else "entity"
        # A KeyError shows its text as Python writes it: a single kind of quotes avoids backslashes.
        hint = (nearest(name, there) or "").replace('"', "'")
        raise KeyError(
            f"no {what} {name!r} in this run; there are {few(there) or 'none (see metrics.series_interval_us)'}"
            + (f" ({hint})" if hint else "")
        )

    def __repr__(self) -> str:
        return f"<Result of {self.title()}; see .summary(), .flows, .report>"

    def title(self) -> str:
        """The run in a line: its name, scheme, seed and flows."""
        report, (flows, lost) = self.report, self.counted_flows()
        sources = report["flows"] - flows
        scheme = self.spec.get("scheme", {}).get("name", "unknown scheme")
        return (
            f"{self.spec.get('name', 'run')}: {scheme}, seed {report['seed']}, {units.counted(flows, 'flow')}"
            + (f" ({lost:,} unfinished)" if lost else "")
            + (f", {units.counted(sources, 'UDP source')}" if sources > 0 else "")
            + f", simulated {units.duration(report['stop_ps'] / PS_PER_SECOND)}"
        )

    def counted_flows(self) -> tuple[int, int]:
        """The number of flows, and of those that had not finished; UDP sources do not count."""
        if self.flows.num_rows:
            asked = tables.numbers(self.flows, "tcp").astype(bool)
            return int(asked.sum()), int((asked & ~tables.numbers(self.flows, "finished").astype(bool)).sum())
        counted = self.report.get("classes", [])
        found = [(one["flows"], one["flows"] - one["finished"]) for one in counted if one["name"] == ALL]
        return found[0] if found else (self.report["flows"], 0)

    def _repr_html_(self) -> str:
        """The run and its flows by class, for notebooks."""
        return html.lines([self.title()]) + self.summary()._repr_html_()

    def run_record(self) -> dict[str, object]:
        """The contents of run.json."""
        report: dict[str, object] = dict(self.report)
        record: dict[str, object] = {"format": formats.RUN.name, "spec_hash": self.spec_hash}
        record |= {key: report.pop(key) for key in HEADLINE if key in report}
        record["summary"] = self.summary().as_dict()
        record["jobs"] = [job_record(self.rounds, job) for job in self.rounds.jobs]
        record["report"] = report
        record["spec"] = self.spec
        return record

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Keep the results in `folder`, whole or not at all; see `spinewise.runs.folder`."""
        with new_results(folder, force=force) as target:
            self.write_files(target)
        return Path(folder)

    def write_files(self, target: Path) -> None:
        """Write run.json, the Parquet files and the code of a scheme written in Python into an existing folder."""
        tables.write(self.flows, target / FLOWS_FILE)
        tables.write(self.series, target / SERIES_FILE)
        if self.collectives is not None:
            tables.write(self.collectives, target / COLLECTIVES_FILE)
        if self.trace is not None:
            tables.write(self.trace, target / TRACE_FILE)
        if self.losses is not None:
            tables.write(self.losses, target / LOSSES_FILE)
        if self.packets is not None:
            tables.write(self.packets, target / PACKETS_FILE)
        copies.write_of(self.spec, target)
        write_json(target / formats.RUN.record, self.run_record())

    @classmethod
    def read(cls, folder: str | Path) -> Result:
        """Read a folder written by `write`.

        Raises:
            SpecError: it is not such a folder, has another format, or was changed.
        """
        folder = Path(folder)
        record = kept.read_record(folder)
        flows = kept.read_table(folder / FLOWS_FILE, kept.FLOW_COLUMNS, record["report"]["flows"])
        series = kept.read_table(folder / SERIES_FILE, kept.SERIES_COLUMNS)
        traced = folder / TRACE_FILE
        choices = kept.read_table(traced, kept.TRACE_COLUMNS) if traced.exists() else None
        lost = folder / LOSSES_FILE
        losses = kept.read_table(lost, kept.LOSS_COLUMNS) if lost.exists() else None
        rounds = folder / COLLECTIVES_FILE
        collectives = kept.read_table(rounds, kept.COLLECTIVE_COLUMNS) if rounds.exists() else None
        captured = folder / PACKETS_FILE
        caught = kept.read_table(captured, packets.COLUMNS) if captured.exists() else None
        head = {key: value for key, value in record.items() if key in HEADLINE}
        report = cast(Report, {**record["report"], **head})
        read = cls(record["spec"], flows, series, report, choices, collectives, caught, losses)
        with kept.complete(folder):
            read.summary()
        return read


def refuse_linux(result: Result, key: str, place: str, fact: str = "") -> None:
    """Refuse to repeat a run of Linux: it would not come out the same, and the simulator would be another run.

    Raises:
        SpecError: the run was made by `spinewise lab`; `fact` is added to the text.
    """
    if "linux" in result.report:
        words = (
            fact,
            "this was measured on Linux, which keeps neither choices nor packets and is never alike twice",
        )
        hint = "; ".join(word for word in words if word)
        raise SpecError(key, place, "a run of the simulator", hint)


def job_record(rounds: Collectives, job: Job) -> dict[str, object]:
    """The results of the rounds of a traffic entry, without their steps, and why the slowest ended when it did."""
    slowest = job.slowest and replace(job.slowest, steps=())
    found: dict[str, object] = plain(replace(job, slowest=slowest))
    late = rounds.straggler(slowest) if slowest else None
    return found | {"straggler": None if late is None else str(late)}


def few(names: list[str], most: int = 12) -> str:
    """Some names, and the number of the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
