"""The options of MPTCP (RFC 8684) on a packet of a subflow, if they take bytes on the wire.

Keys and random numbers follow from the number of the flow, so that a capture is the same each time. The connection is
not closed by DATA_FIN, for which the model has no packet.
"""

from __future__ import annotations

import hashlib
import hmac
import struct

from spinewise.exports.settings import NO_DATA, Packet

KIND = 30
CAPABLE, JOIN, SIGNAL = 0x00, 0x10, 0x20
VERSION = 1
# MP_CAPABLE: checksums are used, HMAC-SHA256 authenticates (section 3.1).
CHECKSUM_AND_HMAC = 0x81
# DSS: a data acknowledgement, a mapping, both with four octets (section 3.3).
ACK, MAPPING = 0x01, 0x04
_32_BITS = 2**32


def key(flow: int, sender: bool) -> bytes:
    """The key of one end of a connection."""
    return hashlib.sha256(f"key of flow {flow} {sender}".encode()).digest()[:8]


def nonce(packet: Packet, sender: bool) -> bytes:
    """The random number of one end of a subflow."""
    return hashlib.sha256(f"number of flow {packet.flow}.{packet.subflow} {sender}".encode()).digest()[:4]


def token(of: bytes) -> bytes:
    """The token of a connection, from the key of its end (section 3.2)."""
    return hashlib.sha256(of).digest()[:4]


def first_number(of: bytes) -> int:
    """The number of the first data byte, by the key of its sender (section 3.1)."""
    return int.from_bytes(hashlib.sha256(of).digest()[-8:], "big") + 1


def signature(packet: Packet, sender: bool) -> bytes:
    """The message authentication code of one end of a subflow (section 3.2)."""
    mine, theirs = key(packet.flow, sender), key(packet.flow, not sender)
    message = nonce(packet, sender) + nonce(packet, not sender)
    return hmac.new(mine + theirs, message, hashlib.sha256).digest()


def option(packet: Packet, *, syn: bool) -> bytes:
    """The option of a packet; empty if it has none."""
    if packet.kind == "data":
        if packet.payload_bytes:
            return mapping(packet)
        if syn:
            return opening(packet)
        return confirmation(packet) if packet.seq == 0 else b""
    if syn:
        return answer(packet)
    if packet.data_seq == NO_DATA:
        return b""
    number = first_number(key(packet.flow, sender=True)) + packet.data_seq
    return struct.pack(">BBBBI", KIND, 8, SIGNAL, ACK, number % _32_BITS)


def opening(packet: Packet) -> bytes:
    """The option of a SYN."""
    if packet.subflow == 1:
        return struct.pack(">BBBB", KIND, 4, CAPABLE | VERSION, CHECKSUM_AND_HMAC)
    whose = token(key(packet.flow, sender=False))
    return struct.pack(">BBBB", KIND, 12, JOIN, packet.subflow) + whose + nonce(packet, sender=True)


def answer(packet: Packet) -> bytes:
    """The option of a SYN-ACK."""
    if packet.subflow == 1:
        head = struct.pack(">BBBB", KIND, 12, CAPABLE | VERSION, CHECKSUM_AND_HMAC)
        return head + key(packet.flow, sender=False)
    head = struct.pack(">BBBB", KIND, 16, JOIN, packet.subflow)
    return head + signature(packet, sender=False)[:8] + nonce(packet, sender=False)


def confirmation(packet: Packet) -> bytes:
    """The option of the third packet of a handshake."""
    if packet.subflow == 1:
        head = struct.pack(">BBBB", KIND, 20, CAPABLE | VERSION, CHECKSUM_AND_HMAC)
        return head + key(packet.flow, sender=True) + key(packet.flow, sender=False)
    return struct.pack(">BBBB", KIND, 24, JOIN, 0) + signature(packet, sender=True)[:20]


def mapping(packet: Packet) -> bytes:
    """The option of data: its place in the connection, with a checksum over that and the payload, which is zeros."""
    number = first_number(key(packet.flow, sender=True)) + packet.data_seq
    back = first_number(key(packet.flow, sender=False))
    subflow = (packet.seq + 1) % _32_BITS
    where = struct.pack(">QIHH", number % 2**64, subflow, packet.payload_bytes, 0)
    total = sum(struct.unpack(">8H", where))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head = struct.pack(">BBBBI", KIND, 20, SIGNAL, ACK | MAPPING, back % _32_BITS)
    return head + struct.pack(">IIHH", number % _32_BITS, subflow, packet.payload_bytes, ~total & 0xFFFF)
