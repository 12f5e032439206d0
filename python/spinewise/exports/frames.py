"""A packet of the model as an Ethernet frame, as a capture on a real link would contain it.

The model has no addresses and no payload. Their substitutes:

- Hosts are 10.0.0.1 and up, switches 172.16.0.1 and up, both in the order of their numbers. Each node has one MAC
  address, 02:00 and its number: a frame carries those of the two ends of the link.
- The ports of a flow are `FIRST_PORT` plus its number modulo `PORTS`, and plus its number divided by that: no dissector
  of Wireshark claims them. What follows the header is zeros.
- The class selector of the DS field (RFC 2474 section 4.2.2) is the priority of the data; ECN is that of the model.
- Ultra Ethernet goes as plain UDP: the model has none of the fields of its own headers.
- Headers of schemes have no published encoding and are left out; so are path tags.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from spinewise.exports import roce, tcp
from spinewise.exports.settings import FrameSettings, Packet

FIRST_PORT = 61_000
PORTS = 4_000
# UDP ports of packets that schemes send: source and destination are the same.
SCHEME_PORTS = {"probe": 65_401, "probe_reply": 65_402, "message": 65_403}

IPV4, FLOW_CONTROL = b"\x08\x00", b"\x88\x08"
TCP, UDP = 6, 17
ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES = 14, 20, 8
# IEEE 802.1Qbb: the destination of flow control, its opcode, its frame without FCS, the unit of its times, bits.
PAUSE_ADDRESS = bytes.fromhex("0180c2000001")
CLASS_PAUSE = 0x0101
LEAST_FRAME = 60
QUANTUM_BITS = 512
MOST_QUANTA = 65_535
NOT_ECT, ECT_0, CE = 0, 2, 3

_IPV4 = struct.Struct(">BBHHHBBH4s4s")
_UDP = struct.Struct(">HHHH")
_PS = 10**12


@dataclass(frozen=True)
class Link:
    """The link that a packet is on: numbers of the nodes at its ends, and its rate."""

    sender: int
    receiver: int
    rate_bps: int


@dataclass(frozen=True)
class Frame:
    """The bytes of a frame that are not zero, and its length; they are followed by zeros, and then `tail`."""

    head: bytes
    zeros: int
    tail: bytes = b""

    @property
    def length(self) -> int:
        """Bytes, without FCS."""
        return len(self.head) + self.zeros + len(self.tail)

    def kept(self, snap_bytes: int) -> bytes:
        """The first `snap_bytes` of it; 0 for all."""
        if 0 < snap_bytes <= len(self.head):
            return self.head[:snap_bytes]
        all_of_it = self.head + bytes(self.zeros if not snap_bytes else min(self.zeros, snap_bytes - len(self.head)))
        whole = all_of_it + self.tail
        return whole[:snap_bytes] if snap_bytes else whole


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) over `data`."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address(node: int, hosts: int) -> bytes:
    """The IPv4 address of a node."""
    number = (10 << 24) + node + 1 if node < hosts else (172 << 24) + (16 << 16) + node - hosts + 1
    return number.to_bytes(4, "big")


def station(node: int) -> bytes:
    """The MAC address of a node, which is locally administered."""
    return b"\x02\x00" + node.to_bytes(4, "big")


def ports(packet: Packet, settings: FrameSettings) -> tuple[int, int]:
    """Source and destination port of the flow or subflow that a packet belongs to, at its sender."""
    number = packet.flow * settings.subflows + packet.subflow - 1 if packet.subflow else packet.flow
    return FIRST_PORT + number % PORTS, FIRST_PORT + number // PORTS % PORTS


def frame(packet: Packet, settings: FrameSettings, link: Link, seen: set[tuple[int, int, bool]]) -> Frame:
    """The frame of a packet on `link`.

    Args:
        packet: a row of packets.parquet.
        settings: the settings common to all packets.
        link: the link where it is captured.
        seen: the flows that have closed, by direction, at this port; updated here.
    """
    if packet.kind == "pause":
        return pause(packet, link)
    ethernet = station(link.receiver) + station(link.sender) + IPV4
    ends = (address(packet.src, settings.hosts), address(packet.dst, settings.hosts))
    if packet.protocol == "tcp":
        first, second = ports(packet, settings)
        opener = packet.kind == "data"
        header, payload = tcp.segment(packet, settings, (first, second) if opener else (second, first), seen)
        whole = with_checksum(header, ends, TCP, payload, at=16)
        return Frame(ethernet + ipv4(packet, ends, TCP, len(header) + payload) + whole, payload)
    if packet.protocol == "rdma":
        return queue_pair(packet, settings, ethernet, ends)
    return datagram(packet, settings, ethernet, ends)


def ipv4(packet: Packet, ends: tuple[bytes, bytes], protocol: int, inner: int) -> bytes:
    """The header (RFC 791) of a packet with `inner` bytes behind it; it is never fragmented (RFC 6864 section 4.1)."""
    ecn = CE if packet.ce else ECT_0 if packet.ect else NOT_ECT
    service = (packet.priority & 7) << 5 | ecn
    fields = (0x45, service, IPV4_BYTES + inner, 0, 0x4000, 64, protocol)
    head = _IPV4.pack(*fields, 0, *ends)
    return _IPV4.pack(*fields, checksum(head), *ends)


def with_checksum(header: bytes, ends: tuple[bytes, bytes], protocol: int, payload: int, at: int) -> bytes:
    """A header of TCP or UDP with its checksum at byte `at`, over the pseudo-header and a payload of zeros."""
    pseudo = ends[0] + ends[1] + struct.pack(">BBH", 0, protocol, len(header) + payload)
    found = checksum(pseudo + header)
    if protocol == UDP and not found:
        found = 0xFFFF
    return header[:at] + found.to_bytes(2, "big") + header[at + 2 :]


def datagram(packet: Packet, settings: FrameSettings, ethernet: bytes, ends: tuple[bytes, bytes]) -> Frame:
    """UDP, and what schemes send: of the model's bytes on the wire, 28 are the headers of IPv4 and UDP."""
    payload = max(0, packet.wire_bytes - IPV4_BYTES - UDP_BYTES)
    if packet.kind in SCHEME_PORTS:
        source = destination = SCHEME_PORTS[packet.kind]
    else:
        source, destination = ports(packet, settings)
    header = _UDP.pack(source, destination, UDP_BYTES + payload, 0)
    whole = with_checksum(header, ends, UDP, payload, at=6)
    return Frame(ethernet + ipv4(packet, ends, UDP, UDP_BYTES + payload) + whole, payload)


def queue_pair(packet: Packet, settings: FrameSettings, ethernet: bytes, ends: tuple[bytes, bytes]) -> Frame:
    """RoCEv2 (InfiniBand Architecture, Annex A17): UDP without checksum, the transport header, the invariant CRC."""
    header, payload = roce.header(packet, settings)
    length = UDP_BYTES + len(header) + payload + roce.CRC_BYTES
    udp = _UDP.pack(ports(packet, settings)[0], roce.PORT, length, 0)
    ip = ipv4(packet, ends, UDP, length)
    return Frame(ethernet + ip + udp + header, payload, roce.invariant_crc(ip, udp, header, payload))


def pause(packet: Packet, link: Link) -> Frame:
    """A frame of priority flow control (IEEE 802.1Qbb), its time rounded up to pause quanta of the link."""
    quanta = min(MOST_QUANTA, -(-packet.pause_ps * link.rate_bps // (_PS * QUANTUM_BITS)))
    times = [quanta if priority == packet.priority else 0 for priority in range(8)]
    head = PAUSE_ADDRESS + station(link.sender) + FLOW_CONTROL
    head += struct.pack(">HH8H", CLASS_PAUSE, 1 << packet.priority, *times)
    return Frame(head, LEAST_FRAME - len(head))
