"""The flows of one host over real TCP, in one light process; run as a script inside the host's namespace.

It uses only the standard library and starts in a few hundredths of a second. Its instructions come as one line
of JSON on its standard input, its results leave as one line on its standard output; it ends when its flows have,
at the end of the run, or when its input is closed.

A flow has a connection of its own. It is opened some time ahead, so that the flow starts with a fresh window and no
handshake, or when the flow starts, as in the spec. A flow is known by its two addresses and the sender's port. The
payload is zeros, and the receiver lets the kernel discard it.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import TypeAlias, TypedDict

CHUNK = 1 << 18
WAKE_BYTES = 1 << 17
"""The number of bytes for which a receiver is woken, or fewer for the last ones."""
INFO_BYTES = 256
TCP_CONGESTION, TCP_INFO = 13, 11
# Offsets in struct tcp_info (linux/tcp.h) of the values read, and their formats.
INFO = {
    "retransmits": ("I", 100),
    "min_rtt_us": ("I", 148),
    "packets": ("I", 156),
    "delivered_ce": ("I", 196),
    "dsack_dups": ("I", 216),
    "ooo": ("I", 224),
    "timeouts": ("H", 240),
}


Sending: TypeAlias = tuple[int, str, int, int, int]
"""A flow to send: its number, the receiver's address, the own port, bytes, nanoseconds from time zero to its start."""


class Orders(TypedDict):
    """The instructions for a host; `receives` has flow numbers, addresses and ports of senders, and bytes."""

    address: str
    congestion: str
    ahead_ns: int
    sends: list[Sending]
    receives: list[tuple[int, str, int, int]]


class Outgoing:
    """A flow that this host sends."""

    def __init__(self, order: Sending, port: int, epoch_ns: int) -> None:
        self.flow, address, self.local_port, self.size, start_ns = order
        self.start_ns = epoch_ns + start_ns
        self.to = (address, port)
        self.left = self.size
        self.socket: socket.socket | None = None
        self.connected = self.started = self.late = False
        self.began_ns = self.done_ns = 0
        self.info: dict[str, int] = {}


class Incoming:
    """A flow that this host receives."""

    def __init__(self, flow: int, size: int, connection: socket.socket) -> None:
        self.flow, self.left, self.socket = flow, size, connection
        self.done_ns = 0
        self.ooo = 0


class Host:
    """All flows of a host."""

    def __init__(self, told: Orders) -> None:
        self.address = told["address"]
        self.control = told["congestion"].encode()
        self.ahead_ns = told["ahead_ns"]
        self.sends = told["sends"]
        self.expected = {(source, port): (flow, size) for flow, source, port, size in told["receives"]}
        self.poll = select.epoll()
        self.out: dict[int, Outgoing] = {}
        self.into: dict[int, Incoming] = {}
        self.ended_out: list[Outgoing] = []
        self.ended_in: list[Incoming] = []
        self.plans: list[tuple[int, int, Outgoing]] = []
        self.zeros = memoryview(bytes(CHUNK))
        self.sink = bytearray(CHUNK)
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.address, 0))
        self.listener.listen(4096)
        self.listener.setblocking(False)

    def run(self, ports: dict[str, int], epoch_ns: int, end_ns: int) -> None:
        """Carry the flows; `ports` are those on which the others listen."""
        self.poll.register(self.listener, select.EPOLLIN)
        self.poll.register(sys.stdin.fileno(), select.EPOLLIN)
        flows = [Outgoing(order, ports[order[1]], epoch_ns) for order in self.sends]
        self.plans = [(flow.start_ns - self.ahead_ns, flow.flow, flow) for flow in flows]
        heapq.heapify(self.plans)
        whole_out, whole_in = len(flows), len(self.expected)
        while len(self.ended_out) < whole_out or len(self.ended_in) < whole_in:
            now = time.monotonic_ns()
            if now >= end_ns:
                break
            self.due(now)
            until = min(end_ns, self.plans[0][0]) if self.plans else end_ns
            for handle, events in self.poll.poll(max(0.0, (until - time.monotonic_ns()) / 1e9)):
                self.handle(handle, events)
        for flow in self.out.values():
            self.look(flow)
        for connection in [flow.socket for flow in self.out.values()] + [flow.socket for flow in self.into.values()]:
            if connection is not None:
                # Reset, not closed: unsent data must not meet the flows of the next run.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def handle(self, handle: int, events: int) -> None:
        """Handle an event at a socket."""
        if handle == self.listener.fileno():
            self.accept()
        elif handle in self.into:
            self.receive(self.into[handle])
        elif handle in self.out:
            self.serve(self.out[handle], events)
        elif handle == sys.stdin.fileno():
            raise SystemExit(0)

    def due(self, now: int) -> None:
        """Open connections and start flows whose time has come."""
        while self.plans and self.plans[0][0] <= now:
            _, _, flow = heapq.heappop(self.plans)
            if flow.socket is None:
                self.open(flow)
                heapq.heappush(self.plans, (flow.start_ns, flow.flow, flow))
            else:
                self.start(flow)

    def open(self, flow: Outgoing) -> None:
        """Open the connection of a flow, ahead of its start."""
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.control)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind((self.address, flow.local_port))
        with suppress(BlockingIOError):
            made.connect(flow.to)
        flow.socket = made
        self.out[made.fileno()] = flow
        self.poll.register(made, select.EPOLLOUT)

    def start(self, flow: Outgoing) -> None:
        """Start a flow: all its bytes are to be sent."""
        # Without time ahead the connection is part of the flow, as with a handshake in the spec.
        flow.started, flow.began_ns = True, time.monotonic_ns()
        flow.late = not flow.connected and self.ahead_ns > 0
        if flow.connected:
            self.send(flow)

    def serve(self, flow: Outgoing, events: int) -> None:
        """Handle a connection that is open, has room, or was closed by the other end."""
        assert flow.socket is not None
        if events & (select.EPOLLERR | select.EPOLLHUP) and not events & select.EPOLLIN:
            self.end(flow)
        elif not flow.connected:
            flow.connected = True
            self.poll.modify(flow.socket, select.EPOLLIN)
            if flow.started:
                self.send(flow)
        elif events & select.EPOLLIN:
            # The other end has read all of it and closed: the last byte is acknowledged.
            if flow.left == 0:
                flow.done_ns = time.monotonic_ns()
            self.end(flow)
        else:
            self.send(flow)

    def send(self, flow: Outgoing) -> None:
        """Give the kernel as much as it accepts."""
        assert flow.socket is not None
        try:
            while flow.left:
                flow.left -= flow.socket.send(self.zeros[: min(flow.left, CHUNK)])
        except BlockingIOError:
            self.poll.modify(flow.socket, select.EPOLLIN | select.EPOLLOUT)
            return
        except OSError:
            self.end(flow)
            return
        flow.socket.shutdown(socket.SHUT_WR)
        self.poll.modify(flow.socket, select.EPOLLIN)

    def look(self, flow: Outgoing) -> None:
        """Read the kernel's counts for a flow."""
        if flow.socket is not None:
            with suppress(OSError):
                flow.info = info(flow.socket)

    def end(self, flow: Outgoing) -> None:
        """Close a flow's connection."""
        assert flow.socket is not None
        self.look(flow)
        del self.out[flow.socket.fileno()]
        self.poll.unregister(flow.socket)
        flow.socket.close()
        self.ended_out.append(flow)

    def accept(self) -> None:
        """Accept the connections that others have opened."""
        while True:
            try:
                made, peer = self.listener.accept()
            except BlockingIOError:
                return
            known = self.expected.get((str(peer[0]), int(peer[1])))
            if known is None:
                made.close()
                continue
            made.setblocking(False)
            flow = Incoming(*known, made)
            self.wake_later(flow)
            self.into[made.fileno()] = flow
            self.poll.register(made, select.EPOLLIN)

    def wake_later(self, flow: Incoming) -> None:
        """Ask to be woken for many bytes or for the last."""
        flow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, max(1, min(flow.left, WAKE_BYTES)))

    def receive(self, flow: Incoming) -> None:
        """Receive data and let the kernel discard it."""
        try:
            while True:
                count = flow.socket.recv_into(self.sink, 0, socket.MSG_TRUNC)
                if count == 0:
                    break
                flow.left -= count
                if flow.left == 0:
                    flow.done_ns = time.monotonic_ns()
        except BlockingIOError:
            if flow.left < WAKE_BYTES:
                self.wake_later(flow)
            return
        except OSError:
            pass
        with suppress(OSError):
            flow.ooo = info(flow.socket)["ooo"]
        del self.into[flow.socket.fileno()]
        self.poll.unregister(flow.socket)
        flow.socket.close()
        self.ended_in.append(flow)

    def result(self) -> dict[str, object]:
        """The results of this host."""
        sent = [
            [flow.flow, flow.began_ns, flow.done_ns, flow.late, flow.info]
            for flow in (*self.ended_out, *self.out.values())
            if flow.started
        ]
        received = [[flow.flow, flow.done_ns, flow.left, flow.ooo] for flow in (*self.ended_in, *self.into.values())]
        used = time.process_time()
        return {"sent": sent, "received": received, "cpu_s": used}


def info(connection: socket.socket) -> dict[str, int]:
    """The kernel's counts for a connection; 0 for those that an older kernel lacks."""
    data = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, INFO_BYTES).ljust(INFO_BYTES, b"\0")
    return {name: struct.unpack_from(f"={form}", data, offset)[0] for name, (form, offset) in INFO.items()}


PRIORITY = -10
"""The priority, above other processes: a late process would look like a slow fabric."""


def main() -> None:
    """Read the instructions, listen, wait for the ports of the others, run, and print the results."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    host = Host(json.loads(sys.stdin.readline()))
    print(json.dumps({"port": host.listener.getsockname()[1]}), flush=True)
    go = json.loads(sys.stdin.readline())
    host.run(go["ports"], int(go["epoch_ns"]), int(go["end_ns"]))
    print(json.dumps(host.result()), flush=True)


if __name__ == "__main__":
    main()
