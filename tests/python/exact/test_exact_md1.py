"""Poisson arrivals of one-packet flows at one port: M/D/1, packet by packet and in the mean."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import floor
from pathlib import Path

import numpy as np
import pytest

from exact.engine import simulate

HOSTS = 16
PACKETS = 80_000
DELAY_PS = 1000
# The hosts' own links are so fast that a packet has left before its host's next flow starts, but for a few.
HOST_GBPS = 100_000
BATCHES = 40


def poisson(service_ps: Fraction, load: float, seed: int) -> tuple[list[int], list[int]]:
    """Starts, ascending and distinct, and the host of each: a Poisson process, split at random."""
    draw = np.random.default_rng(seed)
    gaps = draw.exponential(float(service_ps) / load, PACKETS + 100)
    starts = np.unique(np.cumsum(gaps).astype(np.int64))[:PACKETS]
    return [int(start) for start in starts], [int(host) for host in draw.integers(0, HOSTS, PACKETS)]


def lindley(arrivals: list[int], service: Fraction) -> list[Fraction]:
    """W(n + 1) = max(0, W(n) + S - T(n)), with T the time between the arrivals."""
    waits = [Fraction(0)]
    for before, after in pairwise(arrivals):
        waits.append(max(Fraction(0), waits[-1] + service - (after - before)))
    return waits


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize(("gbps", "payload"), [(10, 1460), (3, 1461)], ids=["10 Gbps", "3 Gbps, not dividing"])
def test_every_wait_is_lindleys_and_the_mean_is_theory(load: float, gbps: int, payload: int, tmp_path: Path) -> None:
    wire = payload + 40
    service = Fraction(8 * wire * 1000, gbps)
    nic = Fraction(8 * wire * 1000, HOST_GBPS)
    starts, hosts = poisson(service, load, seed=gbps)
    rows = (f"{host},{HOSTS},{payload},{start / 1000:.3f}" for start, host in zip(starts, hosts, strict=True))
    table = tmp_path / "arrivals.csv"
    table.write_text("src,dst,size_bytes,start_ns\n" + "\n".join(rows) + "\n")
    receiver = {"host": HOSTS, "direction": "down", "rate_gbps": gbps}
    topology = {
        "leaves": 1,
        "spines": 1,
        "hosts_per_leaf": HOSTS + 1,
        "host_rate_gbps": HOST_GBPS,
        "host_delay_ns": DELAY_PS / 1000,
        "override": [receiver],
    }
    outcome = simulate(
        {
            "preset": "datacenter",
            "topology": topology,
            "switch": {"buffer_bytes": 1 << 40, "ecn_threshold_bytes": 0},
            "transport": {"mss_bytes": payload, "header_bytes": 40},
            "traffic": [{"kind": "flows", "file": str(table)}],
        }
    )
    assert outcome.column("start_ps") == starts

    # When each packet is at the port: its own host's line first, which is almost always free.
    free = [Fraction(0)] * HOSTS
    arrivals = []
    for start, host in zip(starts, hosts, strict=True):
        free[host] = max(free[host], Fraction(start)) + nic
        arrivals.append(floor(free[host]) + DELAY_PS)
    assert all(before < after for before, after in pairwise(arrivals)), "no ties"

    waits = lindley(arrivals, service)
    expected = [
        floor(arrival + wait + service) + DELAY_PS - start
        for start, arrival, wait in zip(starts, arrivals, waits, strict=True)
    ]
    assert outcome.column("fct_ps") == expected

    # The mean over the engine's own numbers, against Pollaczek and Khinchine; waits are correlated, batches hardly.
    measured = outcome.flows["fct_ps"].astype(np.int64) - expected_without_wait(starts, arrivals, service)
    in_services = measured / float(service)
    batches = in_services.reshape(BATCHES, -1).mean(axis=1)
    sigma = batches.std(ddof=1) / np.sqrt(BATCHES)
    theory = load / (2 * (1 - load))
    assert abs(in_services.mean() - theory) <= 4 * sigma
    assert sigma < 0.03 * theory, "the batches are long enough for the comparison to mean something"
    assert np.abs(np.corrcoef(batches[:-1], batches[1:])[0, 1]) < 0.5, "batches are close to independent"


def expected_without_wait(
    starts: list[int], arrivals: list[int], service: Fraction
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The completion time of each packet had it met no queue."""
    return np.asarray(
        [floor(arrival + service) + DELAY_PS - start for start, arrival in zip(starts, arrivals, strict=True)],
        dtype=np.int64,
    )
