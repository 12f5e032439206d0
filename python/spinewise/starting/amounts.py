"""The amount of traffic in a new spec: enough to tell schemes apart, and no more than a run of a minute or so."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spinewise.measures.notices import Notice
from spinewise.measures.units import digits, duration, size
from spinewise.starting.wishes import COLLECTIVES, LEAF_SPINE, Wishes, distributions

DELAY_NS = 1000
"""The delay of each link."""
MOST_HOPS = 400e6
MOST_FLOWS = 1e6
"""The most flows of a run, if that can be chosen: half a minute of one processor, or a whole one."""
PACKETS = {"tcp": (1460, 2.0), "rdma": (1000, 2.0), "uet": (4086, 1.25)}
"""Payload of a packet, and approximate packets that cross each link for it, including its share of the answers."""

OVERLOAD = 0.95
WIRE = 1.08
"""The load that reports call overload, and the approximate factor that headers and answers add to payload."""
SPREAD, LEAST_SPREAD = 0.1, 0.05
"""The allowed deviation of the drawn load at a leaf (one standard deviation, as a share): less if twice as much would
overload it, and never so small that runs take needlessly long."""
FLOWS = 300
FEWEST_US, MOST_US = 1_000, 1_000_000
STEPS_US = [50, *(10**power * digit for power in range(2, 7) for digit in (1, 2, 5))]

LEAST_BYTES, LEAST_RANKS = 8_000_000, 4
ROUNDS = 3
PEER_BYTES = 256_000
OUTWEIGHS = 2
"""The ratio of a message's sending time to its travel time; with less, rounds are mostly latency."""


@dataclass(frozen=True)
class Arrivals:
    """How long flows arrive, and the consequences.

    Attributes:
        duration_us: the duration.
        flows: their approximate number.
        spread: the deviation of the drawn load at a leaf: one standard deviation, as a share.
        wanted: the allowed deviation; see `SPREAD`.
    """

    duration_us: int
    flows: float
    spread: float
    wanted: float

    @property
    def is_short(self) -> bool:
        """Whether the load deviates much more than allowed."""
        return self.spread > 1.2 * self.wanted


@dataclass(frozen=True)
class Exchange:
    """A collective operation.

    Attributes:
        groups: the number of independent groups of hosts.
        ranks: hosts of a group, of the largest at least.
        size_bytes: data of each host.
        rounds: their number.
        peer_bytes: the bytes that a host sends to another at once.
        sending_s: how long that takes at the rate of a host.
        travel_s: how long a bit takes to the other host.
        wanted_bytes: the size of a message that takes long enough; see `OUTWEIGHS`.
    """

    groups: int
    ranks: int
    size_bytes: int
    rounds: int
    peer_bytes: float
    sending_s: float
    travel_s: float
    wanted_bytes: float

    @property
    def is_small(self) -> bool:
        """Whether messages take longer to travel than to send."""
        return self.peer_bytes < self.wanted_bytes / OUTWEIGHS


def links(wishes: Wishes) -> int:
    """Links between hosts of different racks."""
    if wishes.racks == 1:
        return 2
    return 4 if wishes.topology == LEAF_SPINE else 6


def hops(wishes: Wishes, size_bytes: float) -> float:
    """The approximate packet-hops of a message."""
    payload, each = PACKETS[wishes.transport]
    return (size_bytes / payload + 0.5) * each * links(wishes)


def arrivals(wishes: Wishes) -> Arrivals:
    """The arrival of flows of a distribution, for the requested load at each leaf."""
    sizes = distributions()[wishes.workload]
    leaf_gbps = wishes.load * min(wishes.uplinks * wishes.between_gbps, wishes.under_leaf * wishes.host_gbps)
    flows_per_us = leaf_gbps * 1e3 / 8 / sizes.mean
    # The variance of a Poisson number of sizes is that number times the mean of their squares.
    squares = 1.0 + (sizes.deviation / sizes.mean) ** 2
    room = OVERLOAD / (WIRE * wishes.load) - 1.0
    wanted = min(SPREAD, max(LEAST_SPREAD, room / 2))
    all_per_us = flows_per_us * wishes.racks
    needed_us = max(FEWEST_US, FLOWS / all_per_us, squares / wanted**2 / flows_per_us)
    bound_us = min(MOST_US, MOST_FLOWS / all_per_us, MOST_HOPS / all_per_us / hops(wishes, sizes.mean))
    steps = [step for step in STEPS_US if step <= bound_us] or STEPS_US[:1]
    chosen = next((step for step in steps if step >= needed_us), steps[-1])
    return Arrivals(chosen, chosen * all_per_us, math.sqrt(squares / (chosen * flows_per_us)), wanted)


def exchange(wishes: Wishes) -> Exchange:
    """A collective operation whose messages take longer to send than to travel.

    Many hosts are split into groups for that, unless a size is given: the messages of one ring grow with the square of
    its hosts.
    """
    hosts, wire = wishes.hosts, hops(wishes, 1.0) - hops(wishes, 0.0)
    each = 2 if wishes.workload == "all_reduce" else 1
    travel_us = links(wishes) * DELAY_NS / 1e3
    bytes_per_us = wishes.host_gbps * 1e3 / 8
    wanted = math.ceil(max(PEER_BYTES, OUTWEIGHS * travel_us * bytes_per_us))

    def messages(ranks: int) -> int:
        return max(hosts * (ranks - 1) * each, 1)

    ranks = hosts
    while wishes.size is None and ranks > LEAST_RANKS and messages(ranks) * wanted / OUTWEIGHS * wire > MOST_HOPS:
        ranks = 2 ** math.ceil(math.log2(ranks) - 1)
    groups = math.ceil(hosts / ranks)
    ranks = math.ceil(hosts / groups)
    parts = ranks if wishes.workload == "all_reduce" else max(ranks - 1, 1)
    most = MOST_HOPS / (messages(ranks) * wire)
    meant = max(LEAST_BYTES, parts * wanted)
    size = wishes.size or (meant if meant <= parts * most else parts * two_digits(most))
    rounds = min(ROUNDS, max(1, int(MOST_HOPS / (messages(ranks) * hops(wishes, size / parts)))))
    sending_s = size / parts / bytes_per_us / 1e6
    return Exchange(groups, ranks, size, rounds, size / parts, sending_s, travel_us / 1e6, wanted)


def two_digits(value: float) -> int:
    """The greatest number with two significant digits that is not above the value."""
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return int(value // unit * unit)


def why_so_long(found: Arrivals) -> str:
    """The comment on how long flows arrive."""
    more = "; a longer time would reduce that, but runs take minutes" if found.is_short else ""
    return (
        f"How long flows arrive: about {found.flows:,.0f} of them. As their sizes differ, the load drawn at a leaf"
        f" differs from the one requested by about {found.spread:.0%}{more}. Longer runs resolve tails better."
    )


def why_so_large(found: Exchange) -> str:
    """The comment on the size of a collective operation."""
    said = (
        f"Data of each host. {size(found.peer_bytes)} of it goes to another host at once, taking"
        f" {duration(found.sending_s, 2)} to send and {duration(found.travel_s, 2)} to travel."
    )
    if found.is_small:
        said += f" {too_small(found)}"
    return said


def why_groups(found: Exchange, hosts: int) -> str:
    """The comment on the groups of a collective operation among this many hosts."""
    at_most = "" if found.groups * found.ranks == hosts else "at most "
    return (
        f"Independent groups of {at_most}{found.ranks} hosts, each spread over the racks, like jobs of that"
        " size. Without this key all hosts form one group; its messages grow with the square of their number."
    )


def too_small(found: Exchange) -> str:
    """The benefit and the cost of larger messages."""
    times = found.wanted_bytes / found.peer_bytes
    return (
        f"Messages of {size(found.wanted_bytes)} would tell schemes apart better, in runs {digits(times, 2)} times"
        " as long; `groups` parts the hosts, and each part sends fewer and larger ones."
    )


def notes(wishes: Wishes) -> list[Notice]:
    """Notes for users who do not read the comments."""
    if wishes.workload in COLLECTIVES:
        found = exchange(wishes)
        return [Notice("small_messages", "traffic[0].size_bytes", too_small(found))] if found.is_small else []
    made, told = arrivals(wishes), []
    if wishes.load * WIRE > OVERLOAD:
        text = (
            f"With headers and answers a load of {wishes.load:g} is about {wishes.load * WIRE:.2f} on the wire:"
            " queues grow for as long as flows arrive, and results depend on how long that is."
        )
        told.append(Notice("overload_asked", "traffic[0].load", text))
    if made.is_short:
        text = f"The load drawn at a leaf differs by about {made.spread:.0%}; a longer time would reduce that."
        told.append(Notice("few_flows", "traffic[0].duration_us", text))
    return told
