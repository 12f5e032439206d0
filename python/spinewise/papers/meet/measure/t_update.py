"""Measurements of a run of MEET with some T_update: the cost of its messages, and the age of its views."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.measures import stats
from spinewise.measures.summary import PS_PER_SECOND
from spinewise.papers.meet.measure import figures
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

# A message is one packet: headers, and 16 bytes of the scheme's own.
HEAD_BYTES = 42 + 16
# It has 8 bytes per path in a report, 4 in a broadcast.
REPORT_PATH_BYTES, BROADCAST_PATH_BYTES = 8, 4


def message_bytes(paths: int) -> tuple[int, int]:
    """Bytes of a report on this number of paths, and of a packet of the broadcast."""
    return HEAD_BYTES + REPORT_PATH_BYTES * paths, HEAD_BYTES + BROADCAST_PATH_BYTES * paths


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure what the figures of MEET need, and the cost of its messages and the age of its views."""
    found: dict[str, float | Timeline] = dict(figures.read_off(result))
    if result.spec["scheme"]["name"] == "meet":
        found |= messages(result)
    return found


def messages(result: Result) -> dict[str, float]:
    """Mbps of a host's reports and probes; T_latency and T_delay in seconds, the former also as a share of T_update.

    A rack has one proxy. All its other hosts report, and receive as many packets of the broadcast.
    """
    topology, t_update_us = result.spec["topology"], float(result.spec["scheme"]["params"]["t_update_us"])
    leaves, hosts = topology["leaves"], topology["hosts_per_leaf"]
    report, broadcast = message_bytes((leaves - 1) * topology["spines"])
    share = report / (report + broadcast)
    own = result.summary().overhead_bytes
    bits_per_s = 8.0 / (result.report["stop_ps"] / PS_PER_SECOND)
    latency_us = stats.mean(result.series_of("meet.t_latency_us")[1])
    return {
        "report_mbps": own["messages"] * share * bits_per_s / (leaves * (hosts - 1)) / 1e6,
        "probe_mbps": own["probes"] * bits_per_s / (leaves * hosts) / 1e6,
        "t_latency_s": latency_us / 1e6,
        "latency_share": latency_us / t_update_us,
        "t_delay_s": t_update_us / 1e6 + latency_us / 1e6,
    }
