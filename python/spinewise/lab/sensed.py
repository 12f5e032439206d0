"""The reports of agents about a run: points of their schemes over time, counters, and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from spinewise.lab.plan import Plan
from spinewise.lab.steer import Steering
from spinewise.measures.report import Report

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = ("counters", "events", "ways", "runs_as")
"""The parts kept of an agent's status."""


@dataclass(frozen=True)
class Point:
    """A value of a scheme's series at a host, in nanoseconds of the run."""

    at_ns: int
    host: str
    series: str
    value: float


@dataclass(frozen=True)
class Sight:
    """A scheme's view of the path from a host to another over a spine, by quantity; time in nanoseconds of the run."""

    at_ns: int
    host: str
    target: str
    spine: str
    saw: Mapping[str, float]


@dataclass(frozen=True)
class Sensed:
    """The reports of agents: their status by host, points over time, and their schemes' views, if recorded."""

    agents: Mapping[str, dict[str, object]]
    points: Sequence[Point]
    sights: Sequence[Sight] = ()


def read(plan: Plan, steering: Steering, epoch_ns: int) -> Sensed:
    """Read what the agents of a run have recorded so far."""
    points: list[Point] = []
    sights: list[Sight] = []
    agents: dict[str, dict[str, object]] = {}
    spines = {cable.upper.ip: cable.upper.node for cable in plan.core}
    for host in plan.hosts:
        said = steering.status(host)
        met: list[dict[str, object]] = []
        for entry in entries(steering, host):
            at = int(str(entry["t_ns"])) - epoch_ns
            if "sight" in entry:
                sights += sights_of(plan, spines, host, at, entry)
            elif "series" in entry:
                points.append(Point(at, host, str(entry["series"]), float(str(entry["value"]))))
            else:
                met.append({"at_s": at / 1e9, **{key: value for key, value in entry.items() if key != "t_ns"}})
        agents[host] = {**{key: said[key] for key in KEPT if key in said}, "met": met}
        if (ended := steering.ended(host)) is not None:
            agents[host]["ended"] = ended
    return Sensed(agents, points, sights)


def sights_of(
    plan: Plan, spines: Mapping[str, str], host: str, at_ns: int, entry: Mapping[str, object]
) -> Iterator[Sight]:
    """The views of each path in one line of a record; paths with an unknown spine are left out."""
    target = plan.hosts[int(str(entry["peer"]))]
    for way in cast("list[dict[str, object]]", entry["sight"]):
        spine = spines.get(str(way["via"]))
        if spine is not None:
            saw = {name: float(str(value)) for name, value in way.items() if name != "via" and value is not None}
            yield Sight(at_ns, host, target, spine, saw)


def entries(steering: Steering, host: str) -> list[dict[str, object]]:
    """The lines that an agent has written; the last may be cut."""
    try:
        lines = steering.record(host).read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(cast("dict[str, object]", json.loads(line)))
        except ValueError:
            continue
    return found


def with_points(series: pa.Table, report: Report, sensed: Sensed, plan: Plan) -> tuple[pa.Table, list[str]]:
    """A table of series with the points of schemes, and the names of all series."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    names = list(report["series_names"])
    scheme = str(plan.spec["scheme"]["name"])
    points = [point for point in sensed.points if point.at_ns >= 0]
    for point in points:
        if f"{scheme}.{point.series}" not in names:
            names.append(f"{scheme}.{point.series}")
    if not points:
        return series, names
    entities = {name: number for number, name in reversed(list(enumerate(report["entity_names"])))}
    columns = (
        [point.at_ns * 1_000 for point in points],
        [names.index(f"{scheme}.{point.series}") for point in points],
        [entities[point.host] for point in points],
        [point.value for point in points],
    )
    arrays = [pa.array(np.array(values), field.type) for values, field in zip(columns, series.schema, strict=True)]
    more = pa.Table.from_arrays(arrays, schema=series.schema)
    return pa.concat_tables([series, more]).sort_by("time_ps"), names
