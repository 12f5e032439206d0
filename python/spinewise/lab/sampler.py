"""Queues and counts of every port of a lab, read from the kernel by netlink: no process is started for a look.

A netlink socket stays in the namespace in which it was opened, so one thread opens one in each and ends.
Formats: linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from spinewise.lab.machine import NAMESPACES, LabError
from spinewise.lab.plan import Plan

CLONE_NEWNET = 0x40000000
NETLINK_ROUTE, RTM_NEWLINK, RTM_GETLINK, RTM_NEWQDISC, RTM_GETQDISC = 0, 16, 18, 36, 38
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST_DUMP = 0x301
IFLA_IFNAME, TCA_KIND, TCA_STATS2, STATS_BASIC, STATS_QUEUE = 3, 1, 7, 1, 3
LINK_HEAD = struct.Struct("=BxHiII")
"""struct ifinfomsg and struct tcmsg both have the number of the interface at offset 4."""
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Count:
    """A port's packets, bytes and drops, and the bytes currently waiting."""

    packets: int
    sent_bytes: int
    drops: int
    waiting_bytes: int

    def since(self, before: Count) -> Count:
        """The difference from an earlier count; the waiting bytes are current. The kernel counts packets in 32 bits."""
        return Count(
            (self.packets - before.packets) % (1 << 32),
            self.sent_bytes - before.sent_bytes,
            (self.drops - before.drops) % (1 << 32),
            self.waiting_bytes,
        )


@dataclass
class Sampler:
    """Open sockets into the namespaces of a lab, and the links that their interfaces feed."""

    sockets: list[socket.socket]
    links: list[dict[int, str]]
    number: int = field(default=0)

    @classmethod
    def into(cls, plan: Plan) -> Sampler:
        """Sockets into every namespace of a lab that is up.

        Raises:
            LabError: a namespace is not there.
        """
        made = cls([], [])
        for node in plan.nodes:
            names = {port.device: port.link for port in plan.ports if port.node == node}
            opened = opened_in(plan.namespace(node))
            made.sockets.append(opened)
            devices = dict(made.dump(opened, RTM_GETLINK))
            found = {index: text(attributes(body).get(IFLA_IFNAME, b"")) for index, body in devices.items()}
            made.links.append({index: names[name] for index, name in found.items() if name in names})
        return made

    def close(self) -> None:
        """Close the sockets."""
        for opened in self.sockets:
            opened.close()

    def read(self) -> dict[str, Count]:
        """The counts of every port, by the name of the link that it feeds."""
        found: dict[str, Count] = {}
        for opened, links in zip(self.sockets, self.links, strict=True):
            for index, body in self.dump(opened, RTM_GETQDISC):
                told = attributes(body)
                if index in links and text(told.get(TCA_KIND, b"")) == "tbf" and TCA_STATS2 in told:
                    found[links[index]] = count_of(attributes(told[TCA_STATS2]))
        return found

    def dump(self, opened: socket.socket, kind: int) -> Iterator[tuple[int, bytes]]:
        """Number of the interface and attributes of all that the kernel lists."""
        self.number += 1
        body = LINK_HEAD.pack(0, 0, 0, 0, 0)
        opened.send(struct.pack("=IHHII", 16 + len(body) + 4, kind, REQUEST_DUMP, self.number, 0) + body + bytes(4))
        while True:
            data = opened.recv(READ_BYTES)
            at = 0
            while at < len(data):
                length, what, _, number, _ = struct.unpack_from("=IHHII", data, at)
                if what == NLMSG_DONE:
                    return
                if what == NLMSG_ERROR:
                    raise LabError(f"netlink: {os.strerror(-struct.unpack_from('=i', data, at + 16)[0])}")
                if number == self.number:
                    head = 20 if what == RTM_NEWQDISC else 16
                    index = struct.unpack_from("=i", data, at + 20)[0]
                    yield index, data[at + 16 + head : at + length]
                at += (length + 3) & ~3


def opened_in(namespace: str) -> socket.socket:
    """A netlink socket in a namespace."""
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    made = inside(namespace, lambda: socket.socket(socket.AF_NETLINK, kind, NETLINK_ROUTE))
    with suppress(OSError):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return made


def inside(namespace: str, make: Callable[[], socket.socket]) -> socket.socket:
    """Create a socket in a namespace, in which it stays.

    Raises:
        LabError: the namespace is not there, or the socket could not be made.
    """
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def enter() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            handle = os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if libc.setns(handle, CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
                made.append(make())
            finally:
                os.close(handle)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise LabError(f"{namespace}: {failed[0]}")
    return made[0]


def attributes(body: bytes) -> dict[int, bytes]:
    """Attributes by type (struct rtattr); nested ones are taken apart by another call."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        if length < 4:
            break
        found[kind & 0x3FFF] = body[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def count_of(stats: Mapping[int, bytes]) -> Count:
    """Struct gnet_stats_basic and struct gnet_stats_queue."""
    sent, packets = struct.unpack_from("=QI", stats[STATS_BASIC])
    _, waiting, drops = struct.unpack_from("=III", stats[STATS_QUEUE])
    return Count(packets, sent, drops, waiting)


def text(data: bytes) -> str:
    """A name that ends in a zero byte."""
    return data.rstrip(b"\0").decode()


def between(before: Mapping[str, Count], after: Mapping[str, Count]) -> dict[str, Count]:
    """The counts of every port between two looks."""
    return {link: count.since(before[link]) for link, count in after.items()}
