"""A constant-rate source as a fluid: a packet leaves whenever another packet's worth of work has flowed in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor


def instants(packet_bytes: int, schedule: Sequence[tuple[int, float]], packets: int) -> list[int]:
    """The picosecond in which each packet leaves; fewer if the schedule ends in silence.

    `schedule` has (instant in ps, Gbps). The first packet leaves as the first rate above zero begins. Packet k is due
    when the integral of the rate has reached k packets, at the floor of that instant; work that is complete just as
    the rate changes is sent in the stretch that begins.
    """
    stretches = []
    for n, (begin, gbps) in enumerate(schedule):
        until = schedule[n + 1][0] if n + 1 < len(schedule) else None
        if gbps > 0:
            stretches.append((begin, until, Fraction(str(gbps)) / 1000))  # bits per picosecond
    due: list[int] = []
    before = Fraction(0)  # work done in earlier stretches
    for begin, until, rate in stretches:
        after = None if until is None else before + (until - begin) * rate
        while len(due) < packets and (after is None or len(due) * 8 * packet_bytes < after):
            due.append(floor(begin + (len(due) * 8 * packet_bytes - before) / rate))
        before = before if after is None else after
    return due


def sizes(packet_bytes: int, total: int) -> list[int]:
    """Full packets, and a short last one if they do not divide."""
    return [packet_bytes] * (total // packet_bytes) + [rest for rest in [total % packet_bytes] if rest]


class Source:
    """The packets of a source one by one."""

    def __init__(self, packet_bytes: int, schedule: Sequence[tuple[int, float]], total: int) -> None:
        self.packet_bytes, self.schedule = packet_bytes, schedule
        self.sizes = sizes(packet_bytes, total)
        self.instants = instants(packet_bytes, schedule, len(self.sizes))
        self.taken = 0

    def next_instant(self) -> int | None:
        """When the next packet leaves."""
        return self.instants[self.taken] if self.taken < len(self.instants) else None

    def take(self) -> int:
        """The size of that packet."""
        self.taken += 1
        return self.sizes[self.taken - 1]
