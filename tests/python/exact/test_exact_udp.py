"""UDP: every packet's arrival to the picosecond, over mixed rates and several links.

A leaf-spine fabric has paths of two links (one rack) and of four (two racks). Paths of one and of three links do not
exist; their recursions are tested with the other links at 100 Tbps, a packet of 1500 bytes in 120 ps.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from exact.engine import Outcome, Spec, simulate, two_racks
from exact.lines import Line, tandem
from exact.udp import instants, sizes

FAST = 100_000.0
Schedule = Sequence[tuple[int, float]]

PATHS: dict[str, list[float]] = {
    "two links, 3 then 6": [3, 6],
    "two links, 100 then 1": [100, 1],
    "two links, 25 then 10": [25, 10],
    "four links, rising": [1, 3, 6, 100],
    "four links, falling": [100, 25, 6, 3],
    "four links, mixed": [10, 3, 25, 6],
    "four links, mixed again": [6, 100, 1, 10],
    "one slow link": [3, FAST],
    "one slow link, the last": [FAST, 6],
    "three slow links": [6, 25, 3, FAST],
    "three others": [FAST, 3, 10, 6],
}

SCHEDULES: dict[str, Schedule] = {
    "as fast as any": [(0, 100)],
    "3 Gbps": [(1_000_007, 3)],
    "below all": [(0, 0.7)],
    "steps": [(0, 6), (5_000_001, 25), (9_000_000, 0), (70_000_003, 3), (90_000_000, 100)],
    "late": [(0, 0), (333, 1), (30_000_000, 10)],
}


def udp(src: int, dst: int, packet_bytes: int, total: int, schedule: Schedule) -> Spec:
    """One source."""
    return {
        "kind": "udp",
        "src": src,
        "dst": dst,
        "packet_bytes": packet_bytes,
        "size_bytes": total,
        "schedule": [{"at_us": at / 10**6, "rate_gbps": rate} for at, rate in schedule],
    }


def run(topology: Spec, sources: Sequence[Spec]) -> Outcome:
    """Switches without bounds."""
    return simulate(
        {"preset": "datacenter", "topology": topology, "switch": {"buffer_bytes": 1 << 40}, "traffic": list(sources)}
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("packet_bytes", [1500, 1501, 64])
def test_every_packet_of_a_source_arrives_when_the_recursion_says(path: str, schedule: str, packet_bytes: int) -> None:
    rates, delays = PATHS[path], [1_000_000, 2_000_003, 7, 999_999][: len(PATHS[path])]
    topology = two_racks(rates, delays)
    steps = SCHEDULES[schedule]
    # What is behind a packet cannot delay it: the source that stops after packet n tells when packet n arrives.
    for n in [1, 2, 3, 4, 5, 7, 11, 24]:
        for short in (0, packet_bytes - 1, packet_bytes // 3):
            total = n * packet_bytes - short
            packets = sizes(packet_bytes, total)
            due = instants(packet_bytes, steps, n)
            lines = [Line(rate, delay) for rate, delay in zip(rates, delays, strict=True)]
            arrivals = tandem(lines, list(zip(due, packets, strict=True)))
            outcome = run(topology, [udp(0, 1, packet_bytes, total, steps)])
            assert outcome.column("fct_ps") == [arrivals[-1] - steps[0][0]], f"{n} packets, {short} bytes short"
            assert outcome.column("packets") == [n]


@pytest.mark.parametrize("gbps", [3, 6, 7, 0.9])
def test_the_remainder_is_carried_through_a_busy_period_and_no_further(gbps: float) -> None:
    """By hand: 1501 bytes do not divide; n of them take the floor of n times the exact time, not n floors."""
    topology = two_racks([100, gbps], [1000, 1000])
    bits, rate = 1501 * 8 * 10**12, round(gbps * 10**9)
    for n in (1, 2, 3, 100, 1000):
        whole = run(topology, [udp(0, 1, 1501, n * 1501, [(0, 100)])])
        first = 1501 * 80 + 1000  # at the switch, which is then busy until the last has gone
        assert whole.column("fct_ps") == [first + n * bits // rate + 1000]
    # At a tenth of the rate each packet finds the line free, and begins with nothing carried over.
    for n in (1, 2, 3, 50):
        slow = run(topology, [udp(0, 1, 1501, n * 1501, [(0, gbps / 10)])])
        due = (n - 1) * bits * 10 // rate
        assert slow.column("fct_ps") == [due + first + bits // rate + 1000]


@pytest.mark.parametrize("gbps", [1, 3, 6, 10, 25, 100])
def test_sources_of_different_packets_share_a_port_first_come_first_served(gbps: float) -> None:
    """Three hosts of a rack send packets of 1499, 701 and 8999 bytes to the fourth."""
    starts, packet_bytes, counts = [0, 501, 1003], [1499, 701, 8999], [40, 60, 12]
    hosts = [1.0, 3.0, 6.0]
    override = [{"host": host, "direction": "up", "rate_gbps": rate, "delay_ns": 1} for host, rate in enumerate(hosts)]
    override.append({"host": 3, "direction": "down", "rate_gbps": gbps, "delay_ns": 1})
    topology = {"leaves": 1, "spines": 1, "hosts_per_leaf": 4, "override": override}
    schedules = [[(start, 3.0), (20_000_000, 1.0)] for start in starts]
    totals = [size * count - 13 for size, count in zip(packet_bytes, counts, strict=True)]
    at_port: list[tuple[int, int, int]] = []
    for source in range(3):
        due = instants(packet_bytes[source], schedules[source], counts[source])
        packets = list(zip(due, sizes(packet_bytes[source], totals[source]), strict=True))
        arrivals = tandem([Line(hosts[source], 1000)], packets)
        at_port += [(at, source, size) for at, (_, size) in zip(arrivals, packets, strict=True)]
    at_port.sort()
    assert len({at for at, _, _ in at_port}) == len(at_port), "no ties: the order is certain"
    ends = tandem([Line(gbps, 1000)], [(at, size) for at, _, size in at_port])
    last = [max(end for end, (_, of, _) in zip(ends, at_port, strict=True) if of == source) for source in range(3)]
    outcome = run(topology, [udp(n, 3, packet_bytes[n], totals[n], schedules[n]) for n in range(3)])
    assert outcome.column("fct_ps") == [end - start for end, start in zip(last, starts, strict=True)]
