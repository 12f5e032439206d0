"""Links over time: looks at every port at the interval of the spec's series."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spinewise.lab.plan import ETHERNET, Plan
from spinewise.lab.sampler import Count, Sampler, between
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Watched:
    """Looks at every port; times are on `time.monotonic_ns`, the first look before anything was sent.

    Attributes:
        looks: the time and every port's counts of each look.
    """

    looks: list[tuple[int, dict[str, Count]]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, Count]:
        """The counts of every port from the first look to the last."""
        return between(self.looks[0][1], self.looks[-1][1])

    @property
    def longest(self) -> dict[str, int]:
        """The longest queue that any look met, by link."""
        links = self.looks[-1][1]
        return {link: max(counts[link].waiting_bytes for _, counts in self.looks) for link in links}


def interval_us(plan: Plan) -> float:
    """The sampling interval of links in a spec; 0: only before and after."""
    return float(plan.spec["metrics"].get("series_interval_us") or 0.0)


@contextmanager
def watching(plan: Plan) -> Iterator[Watched]:
    """Look at every port before, meanwhile at the spec's interval, and after."""
    every = interval_us(plan) / 1e6
    sampler = Sampler.into(plan)
    found = Watched([looked(sampler)])
    ended = threading.Event()

    def look() -> None:
        due = time.monotonic() + every
        while not ended.wait(max(0.0, due - time.monotonic())):
            found.looks.append(looked(sampler))
            due += every

    thread = threading.Thread(target=look)
    if every:
        thread.start()
    try:
        yield found
    finally:
        ended.set()
        if every:
            thread.join()
        found.looks.append(looked(sampler))
        sampler.close()


def looked(sampler: Sampler) -> tuple[int, dict[str, Count]]:
    """The counts of every port, and their time: the middle of the look, which takes long on a busy machine."""
    before = time.monotonic_ns()
    counts = sampler.read()
    return (before + time.monotonic_ns()) // 2, counts


def series(watched: Watched, simulated: Result, epoch_ns: int) -> pa.Table:
    """Use and queue of each link over time, as in the simulator's table; empty if it has none."""
    table = simulated.series
    if "link_utilisation" not in simulated.report["series_names"] or len(watched.looks) < 3:
        return table.slice(0, 0)
    rates = {link["name"]: link.get("rate_bps", 0) for link in simulated.report["links"]}
    codes = {name: simulated.code("series_names", name) for name in ("link_utilisation", "link_queue_bytes")}
    links = {name: simulated.code("entity_names", name) for name in rates if name in watched.looks[0][1]}
    rows: list[tuple[int, int, int, float]] = []
    for (before_ns, before), (at_ns, at) in zip(watched.looks, watched.looks[1:], strict=False):
        if at_ns <= epoch_ns:
            continue
        time_ps = (at_ns - epoch_ns) * 1_000
        for name, entity in links.items():
            used = used_share(before[name], at[name], rates[name], (at_ns - before_ns) / 1e9)
            rows.append((time_ps, codes["link_utilisation"], entity, used))
            rows.append((time_ps, codes["link_queue_bytes"], entity, float(at[name].waiting_bytes)))
    return as_table(rows, table)


def used_share(before: Count, after: Count, rate_bps: int, seconds: float) -> float:
    """The share of an interval for which a link was in use."""
    count = after.since(before)
    bits = 8 * (count.sent_bytes - ETHERNET * count.packets)
    return min(1.0, max(0.0, bits / (rate_bps * seconds))) if rate_bps and seconds else 0.0


def as_table(rows: list[tuple[int, int, int, float]], like: pa.Table) -> pa.Table:
    """Rows as a table of the same columns as another."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    arrays = [pa.array(np.array(values), field.type) for values, field in zip(columns, like.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=like.schema)
