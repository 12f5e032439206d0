"""The TCP header of a packet (RFC 9293), with the options that the model's transport has.

Sequence numbers begin at 0, so byte k of a flow has number k + 1, whether there was a handshake or not. A flow has data
in one direction: the acknowledging end stays at its number 1.
"""

from __future__ import annotations

import struct

from spinewise.exports import mptcp
from spinewise.exports.settings import SCALE, UNSCALED_WINDOW, FrameSettings, Packet
from spinewise.magnitudes import PS_PER_US

FIN, SYN, PSH, ACK, ECE, CWR = 1, 2, 8, 16, 64, 128
NOP, MSS, WINDOW_SCALE, SACK_PERMITTED, SACK, STAMPS = 1, 2, 3, 4, 5, 8
HEADER_BYTES = 20

_HEADER = struct.Struct(">HHIIBBHHH")
_MODULUS = 2**32


def segment(
    packet: Packet, settings: FrameSettings, ports: tuple[int, int], seen: set[tuple[int, int, bool]]
) -> tuple[bytes, int]:
    """The header, checksum zero, and the bytes of payload after it; `seen` as in `frames.frame`."""
    if packet.kind == "data":
        seq, ack, flags = of_data(packet, settings)
    else:
        seq, ack, flags = of_ack(packet, settings, seen)
    listed = options(packet, settings, flags)
    # A SYN's window is never scaled (RFC 7323 section 2.2).
    window = UNSCALED_WINDOW if flags & SYN else settings.window
    words = (HEADER_BYTES + len(listed)) // 4
    head = _HEADER.pack(*ports, seq % _MODULUS, ack % _MODULUS, words << 4, flags, window, 0, 0)
    return head + listed, packet.payload_bytes


def of_data(packet: Packet, settings: FrameSettings) -> tuple[int, int, int]:
    """Sequence number, acknowledgement and flags of packets from the end that has the data."""
    if packet.syn:
        # RFC 3168 section 6.1.1: both bits ask for ECN.
        return 0, 0, SYN | (ECE | CWR if settings.ecn else 0)
    if not packet.payload_bytes:
        closes = settings.fin and packet.seq > 0
        return packet.seq + 1 + closes, 1 + closes, ACK
    flags = ACK | (CWR if packet.cwr else 0)
    if not packet.subflow and packet.seq + packet.payload_bytes == packet.size_bytes:
        flags |= PSH | (FIN if settings.fin else 0)
    return packet.seq + 1, 1, flags


def of_ack(packet: Packet, settings: FrameSettings, seen: set[tuple[int, int, bool]]) -> tuple[int, int, int]:
    """The same for packets from the other end. Its FIN rides on the first acknowledgement of everything."""
    if packet.syn:
        return 0, 1, SYN | ACK | (ECE if settings.ecn else 0)
    flags = ACK | (ECE if packet.ece else 0)
    if not (settings.fin and packet.ack == packet.size_bytes):
        return 1, packet.ack + 1, flags
    place = (packet.flow, packet.subflow, packet.outbound)
    again = place in seen
    seen.add(place)
    return 1 + again, packet.ack + 2, flags if again else flags | FIN


def options(packet: Packet, settings: FrameSettings, flags: int) -> bytes:
    """All options, padded to whole words."""
    found = b""
    if flags & SYN:
        found = struct.pack(">BBHBBBB", MSS, 4, settings.mss, NOP, WINDOW_SCALE, 3, SCALE)
        if settings.sack:
            found += bytes([NOP, NOP, SACK_PERMITTED, 2])
    if settings.stamps:
        found += stamps(packet)
    if settings.options and packet.subflow:
        found += mptcp.option(packet, syn=flags & SYN != 0)
    return found + sack(packet)


def stamps(packet: Packet) -> bytes:
    """Time stamps (RFC 7323) in microseconds. An acknowledgement was made as its data arrived."""
    sent = packet.stamp_ps // PS_PER_US
    made = (packet.stamp_ps + packet.under_way_ps) // PS_PER_US
    value, echo = (sent, 0) if packet.kind == "data" else (made, sent)
    return struct.pack(">BBBBII", NOP, NOP, STAMPS, 10, value % _MODULUS, echo % _MODULUS)


def sack(packet: Packet) -> bytes:
    """Blocks of selective acknowledgement (RFC 2018), if there are any."""
    if not packet.sack_from:
        return b""
    edges = [(edge + 1) % _MODULUS for pair in zip(packet.sack_from, packet.sack_to, strict=True) for edge in pair]
    return struct.pack(f">BBBB{len(edges)}I", NOP, NOP, SACK, 2 + 4 * len(edges), *edges)
