"""Two hosts, one path each way, any flows between them.

Whatever leaves a host crosses the same lines in the same order, so a packet's whole journey is known as it leaves
its host: no events are needed inside the network, only at the two ends. At an end the order of things at one instant
is: the NIC becomes free, packets arrive, timers expire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from exact.lines import Line, Packet, Rules, SwitchPort
from exact.opening import Opening, Word
from exact.tcp import Options, Receiver, Reply, Sender
from exact.udp import Source


@dataclass
class Flow:
    """What is sent: TCP, or UDP if it has a source."""

    to_right: bool
    size: int
    start: int = 0
    source: Source | None = None


@dataclass
class Fate:
    """What became of a flow."""

    fct: int = 0
    sender_fct: int = 0
    packets: int = 0
    retransmits: int = 0
    timeouts: int = 0
    fast_retransmits: int = 0
    out_of_order: int = 0
    marks: int = 0


class Path:
    """The lines from one host to the other: the NIC's, then those of the switches."""

    def __init__(self, lines: Sequence[Line], rules: Rules) -> None:
        self.nic = lines[0]
        self.ports = [SwitchPort(line, rules) for line in lines[1:]]
        self.arrivals: deque[Packet] = deque()
        self.busy_until = 0

    def send(self, packet: Packet, now: int) -> None:
        """Puts a packet on the NIC behind what was put there before; data is stamped as it begins."""
        begin, self.busy_until = self.nic.send(now, packet.size)
        if not packet.is_ack:
            packet.stamp = begin
        arrival: int | None = self.busy_until + self.nic.delay
        for port in self.ports:
            if arrival is not None:
                arrival = port.send(packet, arrival)
        if arrival is not None:
            packet.arrival = arrival
            self.arrivals.append(packet)


@dataclass
class End:
    """A host."""

    out: Path
    arrivals: deque[Packet]
    round: deque[int] = field(default_factory=deque)
    data_until: int = 0


class Pair:
    """The whole system."""

    def __init__(
        self, flows: Sequence[Flow], options: Options, there: Sequence[Line], back: Sequence[Line], rules: Rules
    ) -> None:
        self.flows, self.options = flows, options
        right, left = Path(there, rules), Path(back, rules)
        self.ends = [End(right, left.arrivals), End(left, right.arrivals)]
        self.senders = [Sender(options, flow.size) for flow in flows]
        self.receivers = [Receiver(options, flow.size) for flow in flows]
        self.opening: list[Opening | None] = [None] * len(flows)
        self.due: list[deque[int]] = [deque() for _ in flows]
        self.bytes_sent = [0] * len(flows)
        self.bytes_here = [0] * len(flows)
        self.started = [False] * len(flows)
        self.fates = [Fate() for _ in flows]
        self.now = 0

    def run(self) -> list[Fate]:
        """Until nothing is left to happen."""
        while (event := min(filter(None, map(self.next_of, (0, 1))), default=None)) is not None:
            now, kind, flow, side = event
            self.now = now
            end = self.ends[side]
            if kind == 1:
                self.pull(end, now)
            elif kind == 2:
                self.arrive(end, now, end.arrivals.popleft())
            elif kind == 3:
                self.start(end, now, flow)
            elif kind == 4:
                opening = self.opening[flow]
                if opening is not None:
                    opening.expire()
                else:
                    self.senders[flow].timeout(now)
                self.ready(end, flow)
            elif kind == 5:
                self.reply(end, now, flow, self.receivers[flow].reply(self.receivers[flow].expected))
            else:
                self.pace(end, flow)
        for number, fate in enumerate(self.fates):
            sender, receiver = self.senders[number], self.receivers[number]
            if self.flows[number].source is None:
                fate.packets, fate.retransmits = sender.packets, sender.retransmits
                fate.timeouts, fate.fast_retransmits = sender.timeouts, sender.fast_retransmits
                fate.out_of_order, fate.marks = receiver.out_of_order, receiver.marks
        return self.fates

    def next_of(self, side: int) -> tuple[int, int, int, int] | None:
        """The next event at a host: (instant, kind, flow, side)."""
        end = self.ends[side]
        events: list[tuple[int, int, int, int]] = []
        if end.round:
            events.append((max(self.now, end.data_until), 1, 0, side))
        if end.arrivals:
            events.append((end.arrivals[0].arrival, 2, 0, side))
        for number, flow in enumerate(self.flows):
            if flow.to_right == (side == 0):
                if not self.started[number]:
                    events.append((flow.start, 3, number, side))
                elif (opening := self.opening[number]) is not None:
                    if opening.timer is not None:
                        events.append((opening.timer, 4, number, side))
                elif (expiry := self.senders[number].timer) is not None:
                    events.append((expiry, 4, number, side))
                elif flow.source is not None and (at := flow.source.next_instant()) is not None:
                    events.append((at, 6, number, side))
            elif (expiry := self.receivers[number].timer) is not None:
                events.append((expiry, 5, number, side))
        return min(events, default=None)

    def start(self, end: End, now: int, number: int) -> None:
        self.started[number] = True
        if self.flows[number].source is None:
            if self.options.handshake:
                self.opening[number] = Opening(self.options)
            self.ready(end, number)

    def ready(self, end: End, number: int) -> None:
        """The flow joins the round of those that may send. The NIC pulls at once, or when the last data has left."""
        if number not in end.round:
            end.round.append(number)

    def pace(self, end: End, number: int) -> None:
        source = self.flows[number].source
        assert source is not None
        self.due[number].append(source.take())
        self.ready(end, number)

    def may_send(self, number: int) -> bool:
        if (opening := self.opening[number]) is not None:
            return opening.due is not None
        if self.flows[number].source is None:
            return not self.senders[number].is_done() and self.senders[number].wants_to_send()
        return bool(self.due[number])

    def pull(self, end: End, now: int) -> None:
        """The NIC takes one packet of the first flow of the round that has one; that flow goes to the back."""
        while end.round:
            number = end.round.popleft()
            if not self.may_send(number):
                continue
            if self.greet(end, now, number):
                end.data_until = end.out.busy_until
                return
            if self.flows[number].source is None:
                first, length = self.senders[number].send(now)
                size = length + self.options.header
                sender = self.senders[number]
                # RFC 3168 §6.1.5: what is sent again is not ECN-capable.
                ecn = self.options.ecn and not (self.options.halve and sender.again)
                packet = Packet(number, size, first, length, ecn=ecn, cwr=sender.cwr)
            else:
                size = self.due[number].popleft()
                packet = Packet(number, size, self.bytes_sent[number], size)
                self.bytes_sent[number] += size
                self.fates[number].packets += 1
            end.out.send(packet, now)
            end.data_until = end.out.busy_until
            if self.may_send(number):
                end.round.append(number)
            return

    def greet(self, end: End, now: int, number: int) -> bool:
        """Says what is due of a handshake; data follows its last word at once, and no other."""
        opening = self.opening[number]
        if opening is None:
            return False
        if opening.say(now) is Word.SYN:
            end.out.send(Packet(number, self.options.syn_bytes, is_syn=True), now)
            return True
        assert opening.rtt is not None
        self.senders[number].opened(opening.rtt, opening.timeouts)
        self.opening[number] = None
        end.out.send(Packet(number, self.options.ack_bytes), now)
        return False

    def greeted(self, end: End, now: int, packet: Packet) -> None:
        """A packet of a handshake arrived."""
        number, opening = packet.flow, self.opening[packet.flow]
        if not packet.is_ack:
            if packet.is_syn:
                reply = Packet(number, self.options.syn_bytes, is_ack=True, is_syn=True, stamp=packet.stamp)
                end.out.send(reply, now)
        elif opening is not None and opening.answered(now - packet.stamp):
            self.ready(end, number)

    def arrive(self, end: End, now: int, packet: Packet) -> None:
        number, flow = packet.flow, self.flows[packet.flow]
        if packet.is_syn or not (packet.is_ack or packet.payload):
            self.greeted(end, now, packet)
        elif packet.is_ack:
            sender = self.senders[number]
            if sender.is_done():
                return
            sender.acknowledge(now, packet.first, packet.marked, packet.stamp)
            if sender.is_done():
                self.fates[number].sender_fct = now - flow.start
            elif sender.wants_to_send():
                self.ready(end, number)
        elif flow.source is not None:
            self.bytes_here[number] += packet.payload
            if self.bytes_here[number] == flow.size:
                self.fates[number].fct = now - flow.start
        else:
            receiver = self.receivers[number]
            replies = receiver.data(now, packet.first, packet.payload, packet.marked, packet.stamp, cwr=packet.cwr)
            for reply in replies:
                self.reply(end, now, number, reply)
            if receiver.complete_at == now:
                self.fates[number].fct = now - flow.start

    def reply(self, end: End, now: int, number: int, reply: Reply) -> None:
        ack = Packet(number, self.options.ack_bytes, reply.ack, is_ack=True, stamp=reply.stamp, marked=reply.ece)
        end.out.send(ack, now)
