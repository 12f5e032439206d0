"""What a flow's completion time consists of: the chain of packets and answers that its last byte waited for.

The chain is followed backwards, from the arrival of the last missing byte to the start. A packet came from its sender;
the sender had waited for an answer, for its own earlier packets or for a timer; the answer had been caused by a packet.
Each link of the chain ends where the next one begins, so the parts add up to the completion time exactly.

All times are in picoseconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from spinewise.explanation.resent import NEARLY
from spinewise.magnitudes import BITS_PER_BYTE, PS_PER_SECOND
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa

Answers = Literal["never", "at once", "later too"]
"""When answers let packets go: never, if a rate alone decides; only at the instant at which they come, if a rate may
also have held the packet back; or also later, as the port may be busy, or packets paced within a window."""
Key = tuple[int, int, bool]
"""What packets with the same bytes share: subflow, number of the first byte or of the acknowledgement, SYN."""


class Step(NamedTuple):
    """A link of the chain.

    Attributes:
        part: "data" or "ack" crossed the network, "sender" (it waited), "receiver" (it waited), or "resent" (from the
            first transmission to the next of the same bytes).
        begin, end: when.
        number: for a crossing, the first byte of data, or the next byte expected of an acknowledgement; for "resent",
            the first byte; 0 otherwise.
        wire_bytes: for a crossing, the size of the packet; 0 otherwise.
        subflow: whose bytes `number` counts; 0: the flow's.
    """

    part: str
    begin: int
    end: int
    number: int = 0
    wire_bytes: int = 0
    subflow: int = 0


@dataclass(frozen=True)
class Port:
    """What a host's port sent, all flows together.

    Attributes:
        time: when each transmission started, in order.
        flow: the flow of each packet.
        takes: how long each transmission took.
    """

    time: Array
    flow: Array
    takes: Array

    def between(self, begin: int, end: int) -> slice:
        """The transmissions in progress at some instant of a period."""
        first = int(np.searchsorted(self.time, begin, side="left"))
        if first and self.time[first - 1] + self.takes[first - 1] > begin:
            first -= 1
        return slice(first, int(np.searchsorted(self.time, end, side="left")))

    def used(self, flow: int, begin: int, end: int) -> tuple[int, int]:
        """For how long of a period the port sent packets of this flow, and packets of others."""
        here = self.between(begin, end)
        until = np.minimum(self.time[here] + self.takes[here], end)
        spent = np.maximum(until - np.maximum(self.time[here], begin), 0)
        mine = self.flow[here] == flow
        return int(spent[mine].sum()), int(spent[~mine].sum())

    def in_turn(self, flow: int, begin: int, end: int) -> bool:
        """Whether the port was busy throughout, and no other flow had two turns."""
        here = self.between(begin, end)
        others = self.flow[here][self.flow[here] != flow]
        return sum(self.used(flow, begin, end)) >= end - begin and len(np.unique(others)) == len(others)


class Stream:
    """One direction of a flow at one port: when packets passed, and what they carried, in order of time."""

    def __init__(self, rows: pa.Table, number: str) -> None:
        self.time: list[int] = numbers(rows, "time_ps").astype(np.int64).tolist()
        self.wire: list[int] = numbers(rows, "wire_bytes").tolist()
        self.again: list[bool] = numbers(rows, "retransmit").tolist()
        self.trimmed: list[bool] = numbers(rows, "trimmed").tolist()
        columns = (numbers(rows, name).tolist() for name in ("subflow", number, "syn"))
        self.keys: list[Key] = list(zip(*columns, strict=True))
        self.places: dict[tuple[Key, bool], list[int]] = {}
        for at, key in enumerate(self.keys):
            self.places.setdefault((key, self.again[at]), []).append(at)
        self.sent: dict[Key, list[int]] = {}
        for at, key in enumerate(self.keys):
            self.sent.setdefault(key, []).append(at)

    def last(self, time: int) -> int | None:
        """The last packet up to an instant; None if there was none."""
        at = bisect_right(self.time, time) - 1
        return at if at >= 0 else None

    def earlier(self, at: int) -> int | None:
        """The previous packet with the same bytes."""
        same = self.sent[self.keys[at]]
        place = bisect_left(same, at)
        return same[place - 1] if place else None


class Crossings:
    """Which packet that left is which that arrived."""

    def __init__(self, out: Stream, into: Stream) -> None:
        self.out, self.into = out, into
        alone = (
            into.time[there[0]] - out.time[here[0]]
            for what, there in into.places.items()
            if len(there) == 1 and len(here := out.places.get(what, [])) == 1
        )
        self.least = min((time for time in alone if time > 0), default=0)

    def origin(self, at: int) -> int | None:
        """The packet that left and arrived as `at`; None if it is not known.

        Of several alike it is the one with the same place in order; if some were lost, the last that can have arrived.
        """
        what = (self.into.keys[at], self.into.again[at])
        here, there = self.out.places.get(what, []), self.into.places[what]
        if len(here) == len(there):
            found = here[bisect_left(there, at)]
            return found if self.out.time[found] <= self.into.time[at] else None
        before = [one for one in here if self.out.time[one] <= self.into.time[at] - self.least]
        return before[-1] if before else None


class Chain:
    """The chain of one flow."""

    def __init__(
        self, flow: int, data: Crossings, acks: Crossings, port: Port, *, ports: dict[str, str], answers: Answers
    ) -> None:
        """Prepare a chain.

        Args:
            flow: its number.
            data: its packets, from the sender's port to the receiver's.
            acks: the answers, from the receiver's port to the sender's.
            port: all that the sender's port sent.
            ports: the names of the hosts' ports that send its "data" and its "ack"s.
            answers: when answers let packets go.
        """
        self.flow, self.data, self.acks, self.port = flow, data, acks, port
        self.ports, self.answers = ports, answers

    def steps(self, start: int, end: int) -> Iterator[Step]:
        """The chain between the start of the flow and its end, last step first; they fill the time without gaps."""
        at, now = self.arrived(end), end
        while at is not None and now > start:
            came = max(self.data.into.time[at], start)
            if came < now:
                yield Step("receiver", came, now)
            now = came
            sent = self.data.origin(at)
            if sent is None:
                break
            left = max(self.data.out.time[sent], start)
            yield crossed("data", left, now, self.data.into, at)
            answer, now = yield from self.at_sender(sent, start)
            if answer is None:
                break
            left_there = self.acks.origin(answer)
            if left_there is None:
                break
            begun = max(self.acks.out.time[left_there], start)
            if begun < now:
                yield crossed("ack", begun, now, self.acks.into, answer)
            now = begun
            at = self.data.into.last(now)
        if now > start:
            yield Step("sender", start, now)

    def arrived(self, end: int) -> int | None:
        """The packet with the last missing byte."""
        at = self.data.into.last(end)
        while at is not None and self.data.into.trimmed[at]:
            at = at - 1 if at else None
        return at

    def at_sender(self, sent: int, start: int) -> Generator[Step, None, tuple[int | None, int]]:
        """The waits of the sender before a packet; returns the answer that ended them, and when it came."""
        out, back = self.data.out, self.acks.into
        while True:
            now = out.time[sent]
            if now <= start:
                return None, start
            before = out.earlier(sent) if out.again[sent] else None
            if before is not None:
                subflow, number, _ = out.keys[sent]
                yield Step("resent", max(out.time[before], start), now, number, subflow=subflow)
                sent = before
                continue
            previous, answer = sent - 1 if sent else None, back.last(now)
            came = -1 if answer is None else back.time[answer]
            if came >= start and (previous is None or self.lets_go(previous, sent, came)):
                if came < now:
                    yield Step("sender", came, now)
                return answer, came
            if previous is None:
                return None, now
            begun = max(out.time[previous], start)
            if begun < now:
                yield Step("sender", begun, now)
            sent = previous

    def lets_go(self, previous: int, sent: int, came: int) -> bool:
        """Whether it was the answer that came at an instant that let a packet go, and not the end of the one before."""
        now, before = self.data.out.time[sent], self.data.out.time[previous]
        if self.answers == "never" or came <= before + self.takes(previous):
            return False
        return came == now if self.answers == "at once" else not self.port.in_turn(self.flow, before, now)

    def takes(self, at: int) -> int:
        """How long a packet of the flow took at the sender's port."""
        here = self.port.between(self.data.out.time[at], self.data.out.time[at] + 1)
        return int(self.port.takes[here.stop - 1]) if here.stop > here.start else 0

    def missing(self, subflow: int, number: int, lost: float, now: int) -> bool:
        """Whether the bytes of a packet that was lost at some instant had not been sent again by now."""
        out = self.data.out
        return not any(
            lost < out.time[at] <= now
            for key, places in out.sent.items()
            if key[:2] == (subflow, number)
            for at in places
        )

    def timers(self, step: Step, least: float, *, of_packets: bool) -> int:
        """For how long of a step between two transmissions of the same bytes the flow waited for a timer.

        Args:
            step: the step; its subflow has a timer of its own.
            least: the least retransmission timeout.
            of_packets: whether each packet has a timer, so that the flow may go on meanwhile.
        """
        begin, end = step.begin, step.end
        if of_packets:
            return end - begin if end - begin >= NEARLY * least else 0
        out = self.data.out
        within = range(bisect_left(out.time, begin), bisect_right(out.time, end))
        mine = [at for at in within if out.keys[at][0] == step.subflow]
        waits = (out.time[at] - out.time[before] for before, at in pairwise(mine) if out.again[at])
        return min(sum(wait for wait in waits if wait >= NEARLY * least), end - begin)


def crossed(part: str, begin: int, end: int, into: Stream, at: int) -> Step:
    """The step of a packet that crossed the network and arrived as `at`."""
    subflow, number, _ = into.keys[at]
    return Step(part, begin, end, number, into.wire[at], subflow)


class Ports:
    """The captured ports of hosts, and the flows that passed them."""

    def __init__(self, packets: pa.Table, rates: dict[str, int]) -> None:
        """Sort captured packets by flow.

        Args:
            packets: see docs/results.md.
            rates: the rate of each port, bit/s.
        """
        self.packets, self.rates = packets, rates
        self.flows = numbers(packets, "flow")
        self.order = np.argsort(self.flows, kind="stable")
        self.sorted = self.flows[self.order]
        names = packets.column("interface").combine_chunks().dictionary_encode()
        self.names: list[str] = names.dictionary.to_pylist()
        self.at = names.indices.to_numpy(zero_copy_only=False)
        self.outbound = numbers(packets, "outbound").astype(bool)
        self.ports: dict[str, Port] = {}

    def port(self, name: str) -> Port:
        """What a port sent."""
        if name not in self.ports:
            here = np.flatnonzero((self.at == self.code(name)) & self.outbound)
            times = numbers(self.packets, "time_ps").astype(np.int64)[here]
            wire = numbers(self.packets, "wire_bytes").astype(np.int64)[here]
            takes = wire * BITS_PER_BYTE * PS_PER_SECOND // self.rates[name]
            # On a coarse clock a packet may take less, and the next one begins before that.
            takes[:-1] = np.minimum(takes[:-1], np.diff(times))
            self.ports[name] = Port(times, self.flows[here], takes)
        return self.ports[name]

    def code(self, name: str) -> int:
        """The number of a port in the table; -1 if it has captured nothing."""
        return self.names.index(name) if name in self.names else -1

    def chain(self, flow: int, src: str, dst: str, answers: Answers) -> Chain:
        """The chain of a flow between two ports."""
        first, last = (int(np.searchsorted(self.sorted, flow, side=side)) for side in ("left", "right"))
        mine = self.order[first:last]

        def stream(name: str, number: str, *, outbound: bool) -> Stream:
            wanted = mine[(self.at[mine] == self.code(name)) & (self.outbound[mine] == outbound)]
            return Stream(self.packets.take(wanted), number)

        data = Crossings(stream(src, "seq", outbound=True), stream(dst, "seq", outbound=False))
        acks = Crossings(stream(dst, "ack", outbound=True), stream(src, "ack", outbound=False))
        return Chain(flow, data, acks, self.port(src), ports={"data": src, "ack": dst}, answers=answers)
