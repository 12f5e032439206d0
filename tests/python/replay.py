"""Which uplink every flow takes under ECMP as ConWeave's code hashes, from the flow list alone.

Independent of the engine: MurmurHash3_x86_32 over the little-endian words {source address, destination address,
source port | destination port << 16}, seeded with the switch's node id; the hash modulo the number of spines is the
uplink. Ports count up from 10000 per sender and from 100 per receiver, in the order of the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from spinewise.agreement.recorded import Flows

MASK = 0xFFFFFFFF
MSS, HEADER, ACK = 1_000, 48, 60
SOURCE_PORT, DESTINATION_PORT = 10_000, 100


def rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (32 - by))) & MASK


def murmur3(words: Iterable[int], seed: int) -> int:
    """MurmurHash3_x86_32 of whole 32-bit words."""
    h, length = seed, 0
    for word in words:
        k = rotated(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        h = (rotated(h ^ k, 13) * 5 + 0xE6546B64) & MASK
        length += 4
    h ^= length
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def address(host: int) -> int:
    return 0x0B000001 + (host // 256 << 16) + (host % 256 << 8)


def ecmp_hash(src: int, dst: int, sport: int, dport: int, switch: int) -> int:
    return murmur3((address(src), address(dst), sport | dport << 16), switch)


def ports(flows: Flows) -> list[tuple[int, int, int, int]]:
    """(src, dst, source port, destination port) of every flow."""
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    found = []
    for src, dst in zip(flows.src.tolist(), flows.dst.tolist(), strict=True):
        found.append((src, dst, SOURCE_PORT + sent[src], DESTINATION_PORT + received[dst]))
        sent[src] += 1
        received[dst] += 1
    return found


def uplink_load(flows: Flows, hosts: int = 128, per_leaf: int = 16, spines: int = 8) -> dict[str, tuple[int, int]]:
    """(packets, bytes) on every uplink by name: data forth, an acknowledgement a packet back; nothing sent twice."""
    leaves = hosts // per_leaf
    packets = {f"leaf{leaf}->spine{spine}": 0 for leaf in range(leaves) for spine in range(spines)}
    sizes = dict.fromkeys(packets, 0)
    for (src, dst, sport, dport), size in zip(ports(flows), flows.size_bytes.tolist(), strict=True):
        here, there = src // per_leaf, dst // per_leaf
        if here == there:
            continue
        count = -(-size // MSS)
        forth = f"leaf{here}->spine{ecmp_hash(src, dst, sport, dport, hosts + here) % spines}"
        back = f"leaf{there}->spine{ecmp_hash(dst, src, dport, sport, hosts + there) % spines}"
        packets[forth] += count
        packets[back] += count
        sizes[forth] += size + HEADER * count
        sizes[back] += ACK * count
    return {name: (packets[name], sizes[name]) for name in packets}


def lone_fct_ns(size: int, links: int) -> int:
    """Completion time of a flow that meets no queue, on a clock that cuts every transmission to whole nanoseconds.

    Frames follow each other on the first link; the last one crosses the others behind the largest before it; the
    acknowledgement takes 4 ns a link.
    """
    frames = [MSS + HEADER] * (size // MSS) + ([size % MSS + HEADER] if size % MSS else [])
    times = [frame * 8 // 100 for frame in frames]
    done = [0] * len(times)
    for _ in range(links):
        free = 0
        for at, time in enumerate(times):
            free = max(free, done[at]) + time
            done[at] = free
    return done[-1] + 2 * links * 1_000 + links * (ACK * 8 // 100)
