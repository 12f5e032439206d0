"""Blocks of a capture file (PCAP Next Generation Capture File Format, draft-ietf-opsawg-pcapng), little endian.

It covers what a simulated capture needs: one section with its interfaces, names of addresses, packets, and what each
interface has dropped. Times are picoseconds since the start of the run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

SECTION, INTERFACE, NAMES, STATISTICS, PACKET = 0x0A0D0D0A, 1, 4, 5, 6
BYTE_ORDER = 0x1A2B3C4D
ETHERNET = 1
# Options, by block (sections 3.5, 4.1 to 4.6).
END, COMMENT = 0, 1
SECTION_APPLICATION = 4
INTERFACE_NAME, INTERFACE_DESCRIPTION, INTERFACE_SPEED, INTERFACE_RESOLUTION = 2, 3, 8, 9
PACKET_FLAGS = 2
RECEIVED, DROPPED = 4, 5
NAME_OF_IPV4 = 1
# if_tsresol: a negative power of ten.
PICOSECONDS = 12
# Bits 0 and 1 of epb_flags.
INBOUND, OUTBOUND = 1, 2

_BLOCK = struct.Struct("<II")
_OPTION = struct.Struct("<HH")
_PACKET = struct.Struct("<IIIII")


def padded(data: bytes) -> bytes:
    """`data`, filled up to 32 bits with zeros."""
    return data + bytes(-len(data) % 4)


def block(kind: int, body: bytes) -> bytes:
    """A block: its type and length, the body, its length again (section 3.1)."""
    length = len(body) + 12
    return _BLOCK.pack(kind, length) + body + length.to_bytes(4, "little")


def options(pairs: Iterable[tuple[int, bytes]]) -> bytes:
    """A list of options with its end; empty if there are none."""
    data = b"".join(_OPTION.pack(code, len(value)) + padded(value) for code, value in pairs)
    return data + _OPTION.pack(END, 0) if data else b""


def section(application: str, comment: str) -> bytes:
    """The header of a file, without its length."""
    body = struct.pack("<IHHq", BYTE_ORDER, 1, 0, -1)
    return block(SECTION, body + options([(COMMENT, comment.encode()), (SECTION_APPLICATION, application.encode())]))


def interface(name: str, description: str, rate_bps: int, snap_bytes: int) -> bytes:
    """An Ethernet interface; `snap_bytes` is the most kept of a frame, 0 for all of it."""
    pairs = [
        (INTERFACE_NAME, name.encode()),
        (INTERFACE_DESCRIPTION, description.encode()),
        (INTERFACE_SPEED, struct.pack("<Q", rate_bps)),
        (INTERFACE_RESOLUTION, bytes([PICOSECONDS])),
    ]
    return block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, snap_bytes) + options(pairs))


def names(of: Iterable[tuple[bytes, str]]) -> bytes:
    """Names of IPv4 addresses."""
    records = [
        _OPTION.pack(NAME_OF_IPV4, len(address) + len(name) + 1) + padded(address + name.encode() + b"\0")
        for address, name in of
    ]
    return block(NAMES, b"".join(records) + _OPTION.pack(END, 0))


def packet(port: int, time_ps: int, frame: bytes, *, length: int, flags: int, comment: str = "") -> bytes:
    """A frame of `length` bytes, of which `frame` is kept, at interface number `port`."""
    pairs = [(PACKET_FLAGS, flags.to_bytes(4, "little"))]
    if comment:
        pairs.append((COMMENT, comment.encode()))
    head = _PACKET.pack(port, time_ps >> 32, time_ps & 0xFFFFFFFF, len(frame), length)
    return block(PACKET, head + padded(frame) + options(pairs))


def statistics(port: int, time_ps: int, received: int, dropped: int) -> bytes:
    """The number of packets an interface has seen by the end of the capture, and the number left out of the file."""
    pairs = [(RECEIVED, received.to_bytes(8, "little")), (DROPPED, dropped.to_bytes(8, "little"))]
    return block(STATISTICS, struct.pack("<III", port, time_ps >> 32, time_ps & 0xFFFFFFFF) + options(pairs))
