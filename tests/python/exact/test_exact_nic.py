"""The NIC serves the flows of a host packet by packet, in turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from exact.compare import Case
from exact.pair import Flow
from exact.tcp import Options
from exact.udp import Source

MSS = 1460
PS_PER_BYTE = 800  # 10 Gbps
BEYOND = 10**6 + 1500 * 80 + 10**6  # two delays and a last link of 100 Gbps, for a packet of 1500 bytes


def udp_flow(packet_bytes: int, total: int, schedule: Sequence[tuple[int, float]]) -> Flow:
    return Flow(True, total, schedule[0][0], Source(packet_bytes, schedule, total))


@pytest.mark.parametrize(("first", "second"), [(1, 1), (5, 5), (5, 40), (40, 5)])
def test_two_saturating_sources_alternate(first: int, second: int) -> None:
    """By hand: both always have a packet due, so they alternate until one is through; the other has the rest."""
    case = Case(
        [udp_flow(1500, 1500 * first, [(0, 100)]), udp_flow(600, 600 * second, [(0, 100)])],
        [10, 100],
        [10**6, 10**6],
    )
    one, two = case.check()
    assert one.fct == (first * 1500 + min(first - 1, second) * 600) * PS_PER_BYTE + BEYOND
    assert two.fct == (second * 600 + min(first, second) * 1500) * PS_PER_BYTE + BEYOND - 900 * 80


@pytest.mark.parametrize("segments", [[10, 10], [10, 3], [4, 10, 7]])
def test_windows_of_tcp_alternate(segments: list[int]) -> None:
    """All segments fit the initial windows. By hand: the first flow to start finds the NIC free and sends at once;
    its next segment stands in the round before the other flows have started. From then on one each, in turn."""
    options = Options(ecn=False, initial_window=10)
    case = Case([Flow(True, MSS * n) for n in segments], [10, 100], [10**6, 10**6], (), options)
    in_turn = [segments[0] - 1, *segments[1:]]
    for number, fate in enumerate(case.check()):
        turns = in_turn[number]
        sent = 1 + sum(min(n, turns if other <= number else turns - 1) for other, n in enumerate(in_turn))
        assert fate.fct == sent * 1500 * PS_PER_BYTE + BEYOND


def test_any_mixture_by_the_recursion() -> None:
    """UDP of several sizes and rates beside TCP with its own acknowledgement clock, both ways."""
    for seed in range(8):
        flows = [
            udp_flow(1500, 1500 * 70 + 1, [(0, 2 + seed), (40_000_000, 1)]),
            udp_flow(333, 333 * 90, [(0, 1.5), (9_000_000, 0), (20_000_000, 3)]),
            Flow(True, 200_000),
            Flow(True, 90_000 + seed),
            Flow(False, 150_000),
        ]
        # Numbered by start, source, destination, entry: as they stand.
        Case(flows, [6, 10, 3, 25], [1_000_000, 500_000, 700_001, 1], (6, 10, 25, 3)).check()
