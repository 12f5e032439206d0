"""A reader of capture files, written from the format's description alone: it shares no code with the writer.

PCAP Next Generation Capture File Format (draft-ietf-opsawg-pcapng); RFC 791, 768, 9293, 1071; InfiniBand Annex A17.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

SECTION, INTERFACE, NAMES, STATISTICS, PACKET = 0x0A0D0D0A, 1, 4, 5, 6


@dataclass
class Frame:
    port: int
    time_ps: int
    kept: bytes
    length: int
    options: dict[int, bytes]

    @property
    def whole(self) -> bytes:
        """All of it: what was cut off is zeros, but for the CRC of RoCE, which is then not there."""
        return self.kept + bytes(self.length - len(self.kept))

    @property
    def ip(self) -> bytes:
        return self.whole[14:]

    @property
    def protocol(self) -> int:
        return self.ip[9] if self.whole[12:14] == b"\x08\x00" else -1

    @property
    def segment(self) -> bytes:
        return self.ip[20 : int.from_bytes(self.ip[2:4], "big")]

    @property
    def seq(self) -> int:
        return int.from_bytes(self.segment[4:8], "big")

    @property
    def ack(self) -> int:
        return int.from_bytes(self.segment[8:12], "big")

    @property
    def flags(self) -> int:
        return self.segment[13]

    @property
    def payload(self) -> int:
        return len(self.segment) - 4 * (self.segment[12] >> 4)

    @property
    def ports(self) -> tuple[int, int]:
        source, destination = struct.unpack(">HH", self.segment[:4])
        return source, destination

    def tcp_options(self) -> dict[int, bytes]:
        data = self.segment[20 : 4 * (self.segment[12] >> 4)]
        found: dict[int, bytes] = {}
        while data and data[0] != 0:
            if data[0] == 1:
                data = data[1:]
                continue
            assert 2 <= data[1] <= len(data)
            found[data[0]] = data[2 : data[1]]
            data = data[data[1] :]
        return found


@dataclass
class Capture:
    section: dict[int, bytes] = field(default_factory=dict)
    interfaces: list[dict[int, bytes]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    statistics: dict[int, dict[int, bytes]] = field(default_factory=dict)

    def at(self, port: str) -> list[Frame]:
        number = [one[2].decode() for one in self.interfaces].index(port)
        return [frame for frame in self.frames if frame.port == number]


def options(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while data:
        code, length = struct.unpack("<HH", data[:4])
        if code == 0:
            assert (length, len(data)) == (0, 4), "the end of options is their end"
            return found
        found[code] = data[4 : 4 + length]
        data = data[4 + length + -length % 4 :]
    assert not found, "options without an end"
    return found


def read(data: bytes) -> Capture:
    capture = Capture()
    assert struct.unpack("<I", data[:4]) == (SECTION,), "a file begins with a section"
    while data:
        kind, length = struct.unpack("<II", data[:8])
        assert length % 4 == 0
        assert length >= 12
        assert struct.unpack("<I", data[length - 4 : length]) == (length,), "both lengths agree"
        take(capture, kind, data[8 : length - 4])
        data = data[length:]
    return capture


def take(capture: Capture, kind: int, body: bytes) -> None:
    if kind == SECTION:
        assert struct.unpack("<IHHq", body[:16]) == (0x1A2B3C4D, 1, 0, -1)
        capture.section = options(body[16:])
    elif kind == INTERFACE:
        link, reserved, _ = struct.unpack("<HHI", body[:8])
        assert (link, reserved) == (1, 0), "Ethernet"
        capture.interfaces.append(options(body[8:]))
    elif kind == NAMES:
        while (head := struct.unpack("<HH", body[:4])) != (0, 0):
            assert head[0] == 1
            record = body[4 : 4 + head[1]]
            capture.names[".".join(map(str, record[:4]))] = record[4:-1].decode()
            body = body[4 + head[1] + -head[1] % 4 :]
    elif kind == PACKET:
        port, high, low, kept, length = struct.unpack("<IIIII", body[:20])
        assert port < len(capture.interfaces)
        assert kept <= length
        rest = options(body[20 + kept + -kept % 4 :])
        capture.frames.append(Frame(port, high << 32 | low, body[20 : 20 + kept], length, rest))
    else:
        assert kind == STATISTICS, f"no block of type {kind} is written"
        capture.statistics[struct.unpack("<I", body[:4])[0]] = options(body[12:])


def ones_sum(data: bytes) -> int:
    """The sum of RFC 1071: 0xffff over data with its checksum."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return int(total)


def check(frame: Frame) -> None:
    """Lengths and checksums of a frame."""
    if frame.protocol < 0:
        assert frame.whole[:6].hex() == "0180c2000001"
        assert frame.whole[12:14].hex() == "8808"
        assert frame.length == 60
        return
    ip = frame.ip
    assert ip[0] == 0x45
    assert ones_sum(ip[:20]) == 0xFFFF
    assert int.from_bytes(ip[2:4], "big") == frame.length - 14
    inner = frame.segment
    pseudo = ip[12:20] + struct.pack(">BBH", 0, ip[9], len(inner))
    if frame.protocol == 17:
        assert int.from_bytes(inner[4:6], "big") == len(inner)
        if frame.ports[1] == 4791:
            check_roce(frame)
            return
    assert ones_sum(pseudo + inner) == 0xFFFF


def check_roce(frame: Frame) -> None:
    """The invariant CRC, where it was kept."""
    assert frame.segment[6:8] == b"\0\0"
    if len(frame.kept) < frame.length:
        return
    data = bytearray(b"\xff" * 8 + frame.ip)
    for at in (9, 16, 18, 19, 34, 35, 40):  # DS field, TTL, IP checksum, UDP checksum, what is reserved in the BTH
        data[at] = 0xFF
    assert zlib.crc32(bytes(data[:-4])) == int.from_bytes(data[-4:], "little")
