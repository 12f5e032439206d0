"""Measurements of a run of Fig. 10 of PDLB: its three quantities over time, and around the window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

Floats = NDArray[np.float64]

PATHS = 4
HOSTS_PER_LEAF = 2 + PATHS
SENDERS = ("host0", "host1")
RECEIVERS = tuple(f"host{HOSTS_PER_LEAF + k}" for k in range(2))
WINDOW_MS = (100.0, 200.0)
END_MS = 300.0
STEP_MS = 5.0


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """The three quantities of Fig. 10 over time, and their means before, in and after the window."""
    downlinks = [f"spine{path}->leaf1" for path in range(PATHS)]
    utilisation = binned(result, "link_utilisation", downlinks) / PATHS
    # An interval without an event has no point.
    dupacks = np.nan_to_num(binned(result, "dupack3_events", SENDERS))
    sent = np.nan_to_num(binned(result, "sent_packets", SENDERS))
    payload = np.nan_to_num(binned(result, "received_bytes", RECEIVERS))
    lines = {
        "granularity": granularity(result),
        "dupack3": np.divide(dupacks, sent, out=np.full_like(sent, np.nan), where=sent > 0),
        "utilisation": utilisation,
        "tcp_share": 8e3 * payload / STEP_MS / readings.path_bits_per_second(result),
    }
    values: dict[str, float | Timeline] = {}
    for name, line in lines.items():
        values[name] = Timeline(grid_ms() / 1e3, line)
        for part, (start, end) in PARTS.items():
            inside = (grid_ms() > start) & (grid_ms() <= end)
            values[f"{name} {part}"] = mean_of(line[inside])
    active = sent > 0
    for name in ("utilisation", "tcp_share"):
        values[f"{name} active"] = mean_of(lines[name][active])
    values["active inside"] = float(active[(grid_ms() > WINDOW_MS[0]) & (grid_ms() <= WINDOW_MS[1])].mean())
    values["last end ms"] = float(grid_ms()[active].max())
    return values


PARTS = {"before": (0.0, WINDOW_MS[0]), "inside": WINDOW_MS, "after": (WINDOW_MS[1], END_MS)}


def grid_ms() -> Floats:
    """Ends of the intervals, in milliseconds."""
    return np.arange(STEP_MS, END_MS + STEP_MS / 2, STEP_MS)


def mean_of(values: Floats) -> float:
    """The mean of the known values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def binned(result: Result, series: str, entities: Iterable[str]) -> Floats:
    """The sum of a series over entities, one value per interval; NaN if there is no value."""
    total = np.full(len(grid_ms()), np.nan)
    for entity in entities:
        time_s, value = result.series_of(series, entity)
        slots = np.rint(time_s * 1e3 / STEP_MS).astype(int) - 1
        known = (slots >= 0) & (slots < len(total))
        total[slots[known]] = np.nan_to_num(total[slots[known]]) + value[known]
    return total


def granularity(result: Result) -> Floats:
    """PDLB's mean granularity of the senders per interval, in packets; NaN while no flow is active."""
    if result.spec["scheme"]["name"] != "pdlb":
        return np.full(len(grid_ms()), np.nan)
    sums, counts = np.zeros(len(grid_ms())), np.zeros(len(grid_ms()))
    for sender in SENDERS:
        time_s, value = result.series_of("pdlb.granularity", sender)
        slots = np.ceil(time_s * 1e3 / STEP_MS).astype(int) - 1
        known = (slots >= 0) & (slots < len(sums)) & (value > 0)
        np.add.at(sums, slots[known], value[known])
        np.add.at(counts, slots[known], 1.0)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
