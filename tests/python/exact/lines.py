"""Store and forward in rational numbers.

A line is the single server of queueing theory: packet n begins at the later of its arrival and the end of packet
n - 1, and takes its bits divided by the rate. Those instants are kept as fractions and never rounded. What the next
node sees is the floor: simulated time is counted in whole picoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

PS_PER_S = 10**12


class Line:
    """A transmitter with a queue before it, served first come, first served."""

    def __init__(self, gbps: float, delay_ps: int) -> None:
        self.bits_per_ps = Fraction(str(gbps)) * 10**9 / PS_PER_S
        self.delay = delay_ps
        self.end = Fraction(0)

    def send(self, arrival: int, size: int) -> tuple[int, int]:
        """Queues `size` bytes at `arrival`: the picosecond in which they begin, and the one in which they end."""
        begin = max(Fraction(arrival), self.end)
        self.end = begin + Fraction(8 * size) / self.bits_per_ps
        return floor(begin), floor(self.end)


def tandem(lines: Sequence[Line], packets: Sequence[tuple[int, int]]) -> list[int]:
    """When each packet (instant, bytes) has crossed all lines, which are one behind the other."""
    arrivals = [at for at, _ in packets]
    for line in lines:
        arrivals = [line.send(at, size)[1] + line.delay for at, (_, size) in zip(arrivals, packets, strict=True)]
    return arrivals


@dataclass
class Rules:
    """What a switch does to a queue: room and marking threshold in packets or bytes, `None` for without bound."""

    room_packets: int | None = None
    room_bytes: int | None = None
    mark_packets: int | None = None
    mark_bytes: int | None = None
    mark_at_dequeue: bool = False
    count_in_service: bool = False

    def spec(self) -> dict[str, object]:
        """As `[switch]`."""
        said: dict[str, object] = {
            "ecn_at": "dequeue" if self.mark_at_dequeue else "enqueue",
            "queue_counts": "in_service" if self.count_in_service else "waiting",
        }
        if self.room_packets is None and self.room_bytes is None:
            said["buffer_bytes"] = 1 << 40
        if self.mark_packets is None and self.mark_bytes is None:
            said["ecn_threshold_packets"] = 0
        keys = {
            "buffer_packets": self.room_packets,
            "buffer_bytes": self.room_bytes,
            "ecn_threshold_packets": self.mark_packets,
            "ecn_threshold_bytes": self.mark_bytes,
        }
        return said | {key: value for key, value in keys.items() if value is not None}


@dataclass
class Packet:
    """What crosses a path. `marked` may still be set while the packet waits (marking at dequeue)."""

    flow: int
    size: int
    first: int = 0
    payload: int = 0
    is_ack: bool = False
    is_syn: bool = False
    cwr: bool = False
    stamp: int = 0
    ecn: bool = False
    marked: bool = False
    arrival: int = 0


@dataclass
class Queued:
    """A packet in a port: when it begins, and how much is behind it."""

    packet: Packet
    begin: int
    end: int
    bytes_behind: int = 0
    packets_behind: int = 0


class SwitchPort:
    """A line with drop-tail and marks. A packet stands in the queue until the instant at which it begins."""

    def __init__(self, line: Line, rules: Rules) -> None:
        self.line, self.rules = line, rules
        self.waiting: deque[Queued] = deque()
        self.waiting_bytes = 0
        self.serving: Queued | None = None

    def send(self, packet: Packet, arrival: int) -> int | None:
        """When the packet reaches the next node; nothing if there was no room for it."""
        rules = self.rules
        self.forget(arrival)
        packets, size = len(self.waiting), self.waiting_bytes
        busy = self.serving is not None
        if self.serving is not None and rules.count_in_service:
            packets, size = packets + 1, size + self.serving.packet.size
        if busy and (
            (rules.room_packets is not None and packets >= rules.room_packets)
            or (rules.room_bytes is not None and size + packet.size > rules.room_bytes)
        ):
            return None
        if rules.mark_at_dequeue:
            for queued in self.waiting:
                queued.packets_behind += 1
                queued.bytes_behind += packet.size
                self.judge(queued)
        else:
            self.mark(packet, packets, size)
        begin, end = self.line.send(arrival, packet.size)
        queued = Queued(packet, begin, end)
        self.judge(queued)
        self.waiting.append(queued)
        self.waiting_bytes += packet.size
        return end + self.line.delay

    def forget(self, now: int) -> None:
        """Takes off the queue what has begun by `now`, and off the line what has ended."""
        while self.waiting and self.waiting[0].begin <= now:
            self.serving = self.waiting.popleft()
            self.waiting_bytes -= self.serving.packet.size
        if self.serving is not None and self.serving.end <= now:
            self.serving = None

    def judge(self, queued: Queued) -> None:
        """Marks at dequeue by what a packet leaves behind as it begins."""
        own = int(self.rules.count_in_service)
        if self.rules.mark_at_dequeue:
            size = queued.packet.size
            self.mark(queued.packet, queued.packets_behind + own, queued.bytes_behind + own * size)

    def mark(self, packet: Packet, packets: int, size: int) -> None:
        rules = self.rules
        over = (rules.mark_packets is not None and packets >= rules.mark_packets) or (
            rules.mark_bytes is not None and size >= rules.mark_bytes
        )
        packet.marked |= packet.ecn and over
