"""The headers of RoCEv2 (InfiniBand Architecture Specification, volume 1, chapter 9, and Annex A17).

A flow is one message, an RDMA WRITE by a reliable connection: First, Middle, Last, or Only. The number of a packet
(PSN) is its first byte divided by the payload of a full packet, from 0. The model's congestion notification rides on an
acknowledgement: it is the BECN bit there, and not a separate packet. IRN's NACK refers to the packet that caused it,
for which there is no field. A message that is split over queue pairs is a WRITE on each.
"""

from __future__ import annotations

import struct
import zlib

from spinewise.exports.settings import FrameSettings, Packet

PORT = 4791
CRC_BYTES = 4
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, ACKNOWLEDGE = 6, 7, 8, 10, 0x11
# Numbers of queue pairs below this one mean management.
FIRST_QUEUE_PAIR = 256
DEFAULT_PARTITION = 0xFFFF
BECN = 0x40
ASKS_FOR_ACK = 0x80
# Syndromes: an acknowledgement without credits, and "PSN sequence error" (tables 44 and 45).
ACK_SYNDROME, OUT_OF_SEQUENCE = 0x1F, 0x60

_24_BITS = 2**24
_BTH = struct.Struct(">BBHII")


def header(packet: Packet, settings: FrameSettings) -> tuple[bytes, int]:
    """The transport headers, and the bytes after them, including padding."""
    number_of_pair = packet.flow * settings.subflows + packet.subflow - 1 if packet.subflow else packet.flow
    pair = FIRST_QUEUE_PAIR + number_of_pair % (_24_BITS - FIRST_QUEUE_PAIR)
    size = carried(packet, settings)
    if packet.kind == "ack":
        number, syndrome = answer(packet, settings.mss)
        head = _BTH.pack(ACKNOWLEDGE, 0, DEFAULT_PARTITION, (BECN if packet.cnp else 0) << 24 | pair, number)
        done = packet.ack == size
        return head + struct.pack(">I", syndrome << 24 | done), 0
    first = packet.seq == 0
    last = packet.seq + packet.payload_bytes == size
    code = (WRITE_ONLY if last else WRITE_FIRST) if first else WRITE_LAST if last else WRITE_MIDDLE
    padding = -packet.payload_bytes % 4
    number = packet.seq // settings.mss % _24_BITS
    head = _BTH.pack(code, padding << 4, DEFAULT_PARTITION, pair, ASKS_FOR_ACK << 24 | number)
    if first:
        # Where the message goes: address, key and length (section 9.3.1).
        head += struct.pack(">QII", 0, packet.flow, min(size, 2**32 - 1))
    return head, packet.payload_bytes + padding


def carried(packet: Packet, settings: FrameSettings) -> int:
    """The bytes of a message carried by the queue pair of a packet."""
    if not packet.subflow:
        return packet.size_bytes
    part, more = divmod(packet.size_bytes, settings.subflows)
    return part + (packet.subflow <= more)


def answer(packet: Packet, mss: int) -> tuple[int, int]:
    """Packet sequence number and syndrome: an ACK names the last packet that arrived in order, a NAK the next one."""
    if packet.nack:
        return packet.ack // mss % _24_BITS, OUT_OF_SEQUENCE
    return (-(-packet.ack // mss) - 1) % _24_BITS, ACK_SYNDROME


def invariant_crc(ip: bytes, udp: bytes, header: bytes, zeros: int) -> bytes:
    """The invariant CRC (Annex A17.3.3): fields that routers may change count as ones, as do eight bytes before all."""
    masked_ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    masked = b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff" + header[:4] + b"\xff" + header[5:]
    return zlib.crc32(bytes(zeros), zlib.crc32(masked)).to_bytes(CRC_BYTES, "little")
