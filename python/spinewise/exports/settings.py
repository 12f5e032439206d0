"""The settings common to all frames of a run, and one packet of the capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from spinewise.shapes import Transport

NO_DATA = 2**64 - 1
# Header bytes of a TCP packet on the wire from which it has time stamps: IPv4 20, TCP 20, the option 12 (RFC 7323).
WITH_STAMPS = 52
UNSCALED_WINDOW = 65_535
SCALE = 14


class Packet(NamedTuple):
    """A row of packets.parquet; docs/results.md has its columns."""

    time_ps: int
    interface: str
    outbound: bool
    lost: bool
    kind: str
    protocol: str | None
    flow: int
    subflow: int
    size_bytes: int
    src: int
    dst: int
    seq: int
    ack: int
    payload_bytes: int
    wire_bytes: int
    syn: bool
    retransmit: bool
    ect: bool
    ce: bool
    ece: bool
    cwr: bool
    nack: bool
    cnp: bool
    priority: int
    tag: int
    stamp_ps: int
    under_way_ps: int
    pause_ps: int
    data_seq: int
    sack_from: list[int]
    sack_to: list[int]


@dataclass(frozen=True)
class FrameSettings:
    """The settings of a spec common to all packets of a transport.

    Attributes:
        hosts: the number of hosts: nodes from there on are switches.
        mss: payload of a full packet, bytes.
        rdma: flows are queue pairs, not TCP connections.
        stamps: TCP packets have room for time stamps.
        ecn: TCP uses ECN.
        sack: TCP acknowledges selectively.
        fin: TCP connections are closed by packets.
        window: the window that TCP advertises, in units of 2**SCALE bytes.
        subflows: MPTCP's subflows of a connection, or the queue pairs that a message is split over; 0 without either.
        options: MPTCP's options are on the wire.
    """

    hosts: int
    mss: int
    rdma: bool
    stamps: bool
    ecn: bool
    sack: bool
    fin: bool
    window: int
    subflows: int
    options: bool

    @classmethod
    def of(cls, transport: Transport, hosts: int) -> FrameSettings:
        """Build from a resolved transport over a fabric of `hosts` hosts."""
        kind = transport["kind"]
        mptcp = kind == "mptcp"
        segments = transport.get("max_window_segments", 0)
        window = (segments * transport["mss_bytes"]) >> SCALE if segments else UNSCALED_WINDOW
        return cls(
            hosts=hosts,
            mss=transport["mss_bytes"],
            rdma=kind == "rdma",
            stamps=transport["header_bytes"] >= WITH_STAMPS,
            ecn=kind in ("dctcp", "ecn") or bool(transport.get("cubic_ecn")),
            sack=transport.get("recovery") in ("sack", "rack"),
            fin=bool(transport.get("fin")) and not mptcp,
            window=max(1, min(window, UNSCALED_WINDOW)),
            subflows=transport["subflows"] if mptcp else split_over(transport),
            options=mptcp and transport["mptcp_options"] == "charged",
        )


def split_over(transport: Transport) -> int:
    """The number of queue pairs that each message is split over; 0 if none is."""
    many = transport.get("queue_pairs") or 0
    return many if many > 1 and transport.get("queue_pair_use") == "split" else 0
