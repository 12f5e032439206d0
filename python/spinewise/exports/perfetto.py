"""A run as a trace for Perfetto (ui.perfetto.dev): flows, rounds of collectives, quantities over time, faults.

| process | tracks |
|---|---|
| flows | by sending host, as many rows as flows overlap; a slice is a flow, its facts are the arguments |
| rounds | by traffic entry and group: a slice a round, and below it one a step |
| links, hosts | a quantity each, by the series of the run |
| faults | a slice while one holds, and an instant as it begins and as it ends |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spinewise import core
from spinewise.exports.lanes import laid_out
from spinewise.exports.rows import refuse_without
from spinewise.exports.tracks import Tracks, Value
from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.measures.collectives import Round
from spinewise.measures.entries import begun, entries_of
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import numbers
from spinewise.replies import FabricFault
from spinewise.runs.result import Result

FLOWS, ROUNDS, SERIES, FAULTS = 1, 2, 3, 4
FACTS = ("src", "dst", "size_bytes", "packets", "retransmits", "timeouts", "fast_retransmits", "out_of_order", "marks",
         "path_changes", "nacks", "cnps", "spurious_retransmits", "batch", "step")  # fmt: skip
# Series with the value of an interval; others have that at its end.
OF_INTERVALS = frozenset({
    "link_utilisation", "sent_packets", "received_bytes", "dupack3_events", "link_marks", "link_drops", "link_paused",
})  # fmt: skip
# Those of them without a point where there was nothing.
SPARSE = OF_INTERVALS - {"link_utilisation"}
UNITS = {
    "link_queue_bytes": "bytes", "received_bytes": "bytes", "sent_packets": "packets", "link_marks": "packets",
    "link_drops": "packets", "link_utilisation": "share", "link_paused": "share", "dupack3_events": "events",
}  # fmt: skip


@dataclass
class Counted:
    """The contents of a trace."""

    flows: int = 0
    rounds: int = 0
    points: int = 0
    faults: int = 0


def pieces(result: Result, counted: Counted) -> Iterator[bytes]:
    """Yield the trace, piece by piece; `counted` is updated.

    Raises:
        SpecError: the run kept no row per flow.
    """
    refuse_without(result)
    tracks = Tracks()
    for _ in write_flows(result, tracks, counted):
        yield from tracks.pieces()
    for _ in write_rounds(result, tracks, counted):
        yield from tracks.pieces()
    for _ in write_series(result, tracks, counted):
        yield from tracks.pieces()
    write_faults(result, tracks, counted)
    yield from tracks.pieces(least=1)


def write_flows(result: Result, tracks: Tracks, counted: Counted) -> Iterator[None]:
    """Write a slice for each flow that has started, below its sending host."""
    process = tracks.process(FLOWS, "flows")
    flows, stop = result.flows, result.report["stop_ps"]
    names = [*FACTS, "flow", "entry", "start_ps", "fct_ps", "ideal_fct_ps", "slowdown", "finished"]
    columns = {name: numbers(flows, name) for name in names if name in flows.column_names}
    entries, nodes, started = entries_of(result.spec), Nodes.of(result.spec), begun(flows, result.spec)
    for host in np.unique(columns["src"]).tolist():
        rows = np.flatnonzero((columns["src"] == host) & (columns["start_ps"] < stop) & started)
        starts, fcts = columns["start_ps"][rows].tolist(), columns["fct_ps"][rows].tolist()
        intervals = [(at, at + fct if fct else stop, row) for at, fct, row in zip(starts, fcts, rows, strict=True)]
        lanes: list[int] = []
        for lane, begin, end, row in laid_out(intervals):
            if lane == len(lanes):
                lanes.append(tracks.track(process, nodes.host(host)))
            facts = {name: columns[name][row].item() for name in columns}
            about = flow_facts(facts, entries[facts["entry"]].name)
            tracks.slice(lanes[lane], begin, end, f"flow {facts['flow']} to {nodes.host(facts['dst'])}", about)
            counted.flows += 1
            yield


def flow_facts(facts: dict[str, int | float], entry: str) -> dict[str, Value]:
    """The arguments of a flow; for an unfinished one, without times."""
    about: dict[str, Value] = {"entry": entry, "finished": bool(facts["finished"])}
    if facts["finished"]:
        about |= {"fct_us": facts["fct_ps"] / PS_PER_US, "slowdown": facts["slowdown"]}
    about["ideal_fct_us"] = facts["ideal_fct_ps"] / PS_PER_US
    return about | {name: facts[name] for name in FACTS if name in facts}


def write_rounds(result: Result, tracks: Tracks, counted: Counted) -> Iterator[None]:
    """Write a slice for each round, and below it one for each of its steps."""
    rounds = result.rounds.rounds
    if not rounds:
        return
    process, stop = tracks.process(ROUNDS, "rounds"), result.report["stop_ps"]
    groups: dict[tuple[str, int], list[Round]] = {}
    for one in rounds:
        groups.setdefault((one.name, one.group), []).append(one)
    for (name, group), ours in groups.items():
        parent = tracks.track(process, f"{name}, group {group}")
        started = [one for one in ours if one.begun and one.start_s * PS_PER_SECOND < stop]
        whole = [(*span(one.start_s, one.end_s, stop), one) for one in started]
        lanes: list[int] = []
        for lane, begin, end, one in laid_out(whole):
            if lane == len(lanes):
                lanes.append(tracks.track(parent, "rounds"))
            tracks.slice(lanes[lane], begin, end, f"round {one.round}", round_facts(one))
            counted.rounds += 1
        steps = [
            (*span(step.start_s, step.end_s, stop), (one, step)) for one in started for step in one.steps if step.begun
        ]
        lanes = []
        for lane, begin, end, (one, step) in laid_out(steps):
            if lane == len(lanes):
                lanes.append(tracks.track(parent, "steps"))
            about: dict[str, Value] = {"round": one.round, "flows": step.flows, "last_flow": step.last_flow}
            tracks.slice(lanes[lane], begin, end, f"step {step.step} of round {one.round}", about)
        yield


def span(start_s: float, end_s: float, stop: int) -> tuple[int, int]:
    """Begin and end in picoseconds; what has not ended lasts to the end of the run."""
    begin = round(start_s * PS_PER_SECOND)
    return begin, max(begin, stop if math.isnan(end_s) else round(end_s * PS_PER_SECOND))


def round_facts(one: Round) -> dict[str, Value]:
    """The arguments of a round."""
    about: dict[str, Value] = {
        "kind": one.kind, "ranks": one.ranks, "flows": one.flows, "bytes": one.bytes, "last_flow": one.last_flow,
        "finished": one.finished,
    }  # fmt: skip
    if one.finished and one.message_bytes:
        about |= {"algbw_gbyte_per_s": one.algbw_gbyte_per_s, "busbw_gbyte_per_s": one.busbw_gbyte_per_s}
    return about


def write_series(result: Result, tracks: Tracks, counted: Counted) -> Iterator[None]:
    """Write a quantity for each series of each entity, below the entity."""
    if result.series.num_rows == 0:
        return
    process = tracks.process(SERIES, "quantities")
    series, entities = numbers(result.series, "series"), numbers(result.series, "entity")
    times, values = numbers(result.series, "time_ps"), numbers(result.series, "value")
    interval = round(float(result.spec["metrics"]["series_interval_us"]) * PS_PER_US)
    order = np.lexsort((times, series, entities))
    keys = np.stack([entities[order], series[order]])
    starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
    parents: dict[int, int] = {}
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        entity, name = int(keys[0, begin]), result.report["series_names"][keys[1, begin]]
        if entity not in parents:
            parents[entity] = tracks.track(process, result.report["entity_names"][entity])
        counter = tracks.counter(parents[entity], name, UNITS.get(name, ""))
        rows = order[begin:end]
        for time, value in steps_of(name, times[rows].tolist(), values[rows].tolist(), interval):
            tracks.value(counter, time, value)
        counted.points += end - begin
        yield


def steps_of(name: str, times: list[int], values: list[float], interval: int) -> Iterator[tuple[int, float]]:
    """The value of a quantity from each instant on, in order: the value of an interval counts from its beginning."""
    if name not in OF_INTERVALS or not interval:
        yield from zip(times, values, strict=True)
        return
    for at, (time, value) in enumerate(zip(times, values, strict=True)):
        yield max(0, time - interval), value
        is_last = at + 1 == len(times)
        if is_last or (name in SPARSE and times[at + 1] - interval > time):
            yield time, 0.0


def write_faults(result: Result, tracks: Tracks, counted: Counted) -> None:
    """Write each fault while it is active, and when it begins and ends."""
    faults, stop = core.topology(result.spec)["faults"], result.report["stop_ps"]
    if not faults:
        return
    process = tracks.process(FAULTS, "faults")
    moments = tracks.track(process, "begin and end")
    for fault in faults:
        track = tracks.track(process, fault["kind"])
        about = fault_facts(fault)
        more = f" and {len(fault['links']) - 1} more" if len(fault["links"]) > 1 else ""
        name = f"{fault['kind']}: {fault['switch'] or fault['links'][0] + more}"
        for begin, until in fault["intervals"]:
            if begin is None or begin >= stop:
                continue
            end = stop if until is None else min(until, stop)
            tracks.slice(track, begin, end, name, about)
            tracks.instant(moments, begin, f"{name} begins", about)
            if until is not None and until < stop:
                tracks.instant(moments, until, f"{name} ends", about)
            counted.faults += 1


def fault_facts(fault: FabricFault) -> dict[str, Value]:
    """The arguments of a fault."""
    about: dict[str, Value] = {"links": ", ".join(fault["links"])}
    for name in ("probability", "fraction", "rate_bps", "added_ps"):
        if name in fault:
            about[name] = fault[name]
    return about
