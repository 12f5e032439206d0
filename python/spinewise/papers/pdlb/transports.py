"""The transports under which verdicts on reordering are given, and the queues of the authors' ns-2 script."""

from __future__ import annotations

from spinewise.shapes import Transport

# By name, the keys of [transport] besides its kind: three duplicate ACKs mean a loss, or time does, by a sender
# that learns how late packets can be (RFC 8985). The bound represents no real sender: it never interprets duplicate
# acknowledgements as a loss, and is an upper bound of what any tolerance of reordering could give.
THREE = "three duplicate ACKs"
RACK = "RACK-TLP"
TOLERANT = "reordering tolerated"
TRANSPORTS: dict[str, Transport] = {THREE: {"dupack_threshold": 3}, RACK: {"recovery": "rack"}}
BOUND: dict[str, Transport] = {TOLERANT: {"dupack_threshold": 0}}

# The authors' script counts queues in bytes, in packets of 1460: K = 65 of them, limits likewise. Counted in packets, a
# probe of 64 bytes would take the room of a full packet.
PACKET_BYTES = 1460
ECN_BYTES = 65 * PACKET_BYTES
BUFFER_BYTES = 250 * PACKET_BYTES
