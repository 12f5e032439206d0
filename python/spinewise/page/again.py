"""Repeated runs, with samples of every link and the choices of the slowest flows.

A run is the same however often it is made, and samples and traces change nothing in it. That the repetition agrees is
checked nevertheless, flow by flow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.facts import leaves_of
from spinewise.measures.classes import members
from spinewise.measures.entries import entries_of
from spinewise.measures.tables import numbers
from spinewise.runs import api
from spinewise.runs.otherwise import why_otherwise
from spinewise.runs.result import Result, refuse_linux

FRAMES = 240
"""The approximate number of frames of a replay."""
MOST_ROWS = 5_000
"""The most intervals of a whole run: a run that lasts long after its flows is sampled more coarsely."""
FLOWS_A_CLASS, MOST_FLOWS = 2, 10
"""Flows traced of each size class of each traffic entry, and in all."""
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
TAIL = 1.2
"""The length of a replay, as a multiple of the time of 99 in 100 flows."""


@dataclass(frozen=True)
class Sampled:
    """A run with samples of its links.

    Attributes:
        label: its name.
        result: the result with series, and a trace if its scheme chooses.
        interval_us: the time between samples.
        until_us: when a replay of it ends.
        notes: what was repeated, and what could not be shown.
    """

    label: str
    result: Result
    interval_us: float
    until_us: float
    notes: tuple[str, ...]


def kept(result: Result, label: str) -> Sampled | None:
    """A run as it is, if it has kept series of its links."""
    interval = float(result.spec.get("metrics", {}).get("series_interval_us") or 0.0)
    if not interval or "link_utilisation" not in result.report["series_names"]:
        return None
    every = result.spec["metrics"].get("series_links") == "all"
    missing = "" if every else (
        "The run sampled only some of its links; marks, drops and pauses over time need metrics.series_links = \"all\"."
    )  # fmt: skip
    return Sampled(label, result, interval, until_us(result), (missing,) if missing else ())


def sampled(result: Result, label: str, flows: list[int], interval_us: float, progress: ProgressHook | None) -> Sampled:
    """Repeat a run, with every link sampled and these flows traced.

    Raises:
        SpecError: it cannot be repeated, or does not come out the same.
    """
    refuse_linux(result, "RESULTS", label)
    metrics = result.spec["metrics"] | {"series_interval_us": interval_us, "series_links": "all"}
    spec = {**result.spec, "metrics": metrics}
    notes = []
    there = set(numbers(result.flows, "flow").tolist())
    # The slowest flows of all runs together: not every run may have them.
    wanted = [flow for flow in flows if flow in there]
    try:
        again = api.run(spec, trace=wanted or None, progress=progress)
    except SpecError as error:
        if error.key != "trace":
            raise
        notes.append(f"{label}: no paths of flows, for {error.hint or error.one_line()}.")
        again = api.run(spec, progress=progress)
    if not alike(result, again):
        raise SpecError("RESULTS", label, "a run that repeats exactly", why_otherwise(result))
    traced = len(again.report.get("traced_flows", ()))
    with_traces = f", with the choices of {traced} flows" if traced else ""
    notes.insert(
        0, f"{label}: repeated with every link sampled each {interval_us:g} µs{with_traces}; the outcome was the same."
    )
    return Sampled(label, again, interval_us, until_us(result), tuple(notes))


def alike(one: Result, two: Result) -> bool:
    """Whether the same happened in two runs, whatever was sampled in them."""
    if one.report["traffic_hash"] != two.report["traffic_hash"] or one.report["totals"] != two.report["totals"]:
        return False
    if not (one.flows.num_rows and two.flows.num_rows):
        return one.report["stop_ps"] == two.report["stop_ps"]
    return all(
        np.array_equal(numbers(one.flows, name), numbers(two.flows, name)) for name in ("fct_ps", "packets", "finished")
    )


def until_us(result: Result) -> float:
    """When 99 in 100 flows have arrived, and a little later; the end of the run if it keeps no flows."""
    stop = result.report["stop_ps"] / 1e6
    if not result.flows.num_rows:
        return stop
    done = numbers(result.flows, "finished").astype(bool)
    ends = (numbers(result.flows, "start_ps") + numbers(result.flows, "fct_ps"))[done] / 1e6
    return min(stop, TAIL * float(np.quantile(ends, 0.99))) if len(ends) else stop


def interval_us(results: list[Result]) -> float:
    """An interval for samples of all these runs: a round number of microseconds."""
    until = max(until_us(one) for one in results)
    stop = max(one.report["stop_ps"] / 1e6 for one in results)
    return rounded(max(until / FRAMES, stop / MOST_ROWS, 1e-3))


def rounded(value: float) -> float:
    """The next number of a few digits."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(step * power for step in STEPS if step * power >= value * (1 - 1e-9)):.3g}")


def slowest(result: Result) -> list[int]:
    """The flows with the greatest slowdown of each size class of each traffic entry, among those between racks.

    Flows that did not finish come first.
    """
    table = result.flows
    if not table.num_rows:
        return []
    leaves = leaves_of(result.spec)
    src, dst = (leaves[numbers(table, name)] for name in ("src", "dst"))
    can = (src != dst) & numbers(table, "tcp").astype(bool) & (numbers(table, "packets") > 0)
    finished = numbers(table, "finished").astype(bool)
    badness = np.where(finished, numbers(table, "slowdown"), np.inf)
    entry, size = numbers(table, "entry"), numbers(table, "size_bytes")
    found: list[list[int]] = []
    for number, one in enumerate(entries_of(result.spec)):
        for size_class in one.size_classes or [{}]:
            inside = np.flatnonzero(can & (entry == number) & members(size, size_class))
            worst = inside[np.argsort(-badness[inside], kind="stable")]
            found.append(worst[:FLOWS_A_CLASS].tolist())
    turns = [flows[turn] for turn in range(FLOWS_A_CLASS) for flows in found if turn < len(flows)]
    return turns[:MOST_FLOWS]
