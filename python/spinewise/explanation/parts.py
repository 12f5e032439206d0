"""The parts of the completion times of flows: how long they waited for what, from the packets of a repeated run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from spinewise.explanation.again import Again
from spinewise.explanation.chain import Answers, Chain, Ports, Step
from spinewise.explanation.losses import (
    CIRCLED,
    DIED,
    DISCARDED,
    NO_ROOM,
    NO_WAY,
    ON_LINK,
    TRIMMED,
    Losses,
)
from spinewise.explanation.shortest import Shortest
from spinewise.explanation.waits import Leg, Waits
from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.measures.afterwards import timeouts_of
from spinewise.measures.nodes import Nodes, ends
from spinewise.measures.tables import numbers
from spinewise.shapes import Transport
from spinewise.specs.carriers import transport_of

TIMERS, RESENT, QUEUES, ACKS, TRAVEL, OWN, OTHERS, HELD, RECEIVER = (
    "timers", "resent", "queues", "ack_queues", "travel", "own_packets", "other_flows", "held", "receiver",
)  # fmt: skip
PARTS = {
    TIMERS: "waiting for retransmission timers",
    RESENT: "until lost or late packets were sent again, without a timer",
    QUEUES: "data waiting in queues",
    ACKS: "acknowledgements waiting in queues",
    TRAVEL: "packets and acknowledgements under way, without waiting",
    OWN: "the sender's port sending earlier packets of the flow",
    OTHERS: "the sender's port sending other flows",
    HELD: "the sender held back (its rate, pacing, credit, pauses)",
    RECEIVER: "the receiver, before it answered",
}
"""What a flow's time can be spent on, in words."""
ELSEWHERE = "link not known"
"""The place of waits of flows that were not traced."""
LATE, LOST_ACKS, UNKNOWN = "were late, and not lost", "had their acknowledgements lost", "were not traced"
"""The fates of packets sent again of which no loss is known."""
FATES = {
    NO_ROOM: "found no room at {link}",
    TRIMMED: "were trimmed at {link}",
    DISCARDED: "were dropped by the scheme at {link}",
    ON_LINK: "were lost on {link}",
    NO_WAY: "had no onward route at {device}",
    DIED: "waited at {device} when it failed",
    CIRCLED: "looped until their hop limit at {device}",
}
"""What became of packets that were sent again, in words."""


Amounts = dict[str, float]
"""µs by name; 0 for a name that it does not have."""


@dataclass
class Spent:
    """What the time of one flow was spent on.

    Attributes:
        us: µs by part, all of `PARTS`; they add up to its completion time.
        routes: µs under way without waiting, by path; `ELSEWHERE` if it is not known.
        queues, ack_queues: µs that data and acknowledgements waited, by link; `ELSEWHERE` for the rest.
        timers, resent: µs of these parts, by what had become of the packet.
        crossings: how often packets and acknowledgements crossed the network for it, one after the other: two are a
            round trip.
        exact: whether it is known of each how long it took without waiting: its path was traced, or all paths that it
            could take are equally fast. Of the others the least is counted, and the rest as waiting.
    """

    us: dict[str, float]
    routes: Amounts = field(default_factory=lambda: defaultdict(float))
    queues: Amounts = field(default_factory=lambda: defaultdict(float))
    ack_queues: Amounts = field(default_factory=lambda: defaultdict(float))
    timers: Amounts = field(default_factory=lambda: defaultdict(float))
    resent: Amounts = field(default_factory=lambda: defaultdict(float))
    crossings: int = 0
    exact: bool = True


def answers_of(transport: Transport) -> Answers:
    """When answers let packets of a transport go."""
    if transport["kind"] != "rdma":
        return "later too"
    windowed = transport.get("window_bytes") or transport.get("recovery") == "irn"
    return "at once" if windowed or transport.get("congestion_control") == "hpcc" else "never"


def fate(losses: Losses, step: Step, chain: Chain) -> str:
    """What had become of a packet that was sent again, in words; if it was not lost, of another of its flow.

    After a loss, a sender may send again what had arrived.
    """
    begin, end = step.begin / PS_PER_US, step.end / PS_PER_US
    lost = losses.of_packet(step.subflow, step.number, begin, end)
    if lost is None:
        earlier = losses.within("data", 0.0, begin)
        missing = [
            at
            for at in earlier
            if chain.missing(int(losses.subflow[at]), int(losses.seq[at]), losses.time[at] * PS_PER_US, step.begin)
        ]
        others = losses.groups([*missing, *losses.within("data", begin, end)][:1])
        if not others:
            return LOST_ACKS if losses.within("ack", begin, end) else LATE
        lost = others[0]
    return FATES[lost.fate].format(link=lost.link, device=lost.device)


class Accounts:
    """The parts of the times of flows, out of a run that `repeated` has made."""

    def __init__(self, again: Again) -> None:
        result = again.result
        if result.packets is None:
            raise ValueError("the packets of hosts must be captured")
        self.result, self.passed = result, again.passed
        captured = result.report["captured"]
        self.full = {port["name"]: port["full_ps"] for port in captured if port["full_ps"]}
        self.ports = Ports(result.packets, {port["name"]: port["rate_bps"] for port in captured})
        self.shortest = Shortest(result)
        self.nic = {name.partition("->")[0]: name for name in self.ports.rates}
        self.entries = numbers(result.flows, "entry")

    def spent(self, flow: int) -> Spent | None:
        """What the time of a flow was spent on; None if its ports kept too few packets."""
        row = self.result.flows.slice(flow, 1).to_pylist()[0]
        host = Nodes.of(self.result.spec).host
        src, dst = (self.nic[host(row[end])] for end in ("src", "dst"))
        start, end = row["start_ps"], row["start_ps"] + row["fct_ps"]
        if any(self.full.get(name, end) < end for name in (src, dst)):
            return None
        chain = self.chain(flow, src, dst)
        return self.account(chain, list(chain.steps(start, end)), flow)

    def chain(self, flow: int, src: str, dst: str) -> Chain:
        """The chain of a flow between the ports of its hosts."""
        return self.ports.chain(flow, src, dst, answers_of(self.transport_of(flow)))

    def transport_of(self, flow: int) -> Transport:
        """The transport of a flow."""
        return transport_of(self.result.spec, int(self.entries[flow]))

    def account(self, chain: Chain, steps: list[Step], flow: int) -> Spent:
        """Sum the steps of a chain by what they were spent on."""
        transport = self.transport_of(flow)
        of_packets = transport["kind"] == "uet"
        least_ps = min((at for _, at, _ in timeouts_of(transport)), default=float("inf")) * PS_PER_SECOND
        ps, losses = dict.fromkeys(PARTS, 0), None
        waits = Waits(self.result, flow, self.shortest.links, self.passed.get(flow, {}))
        spent = Spent({}, crossings=sum(step.part in {"data", "ack"} for step in steps))
        for step in steps:
            whole = step.end - step.begin
            if step.part in {"data", "ack"}:
                part, places = (QUEUES, spent.queues) if step.part == "data" else (ACKS, spent.ack_queues)
                path = waits.path(step)
                travel, found = self.waited(chain, step, waits, path, spent)
                ps[TRAVEL] += travel
                spent.routes[waits.route(path) or ELSEWHERE] += travel / PS_PER_US
                ps[part] += whole - travel
                for link, wait in found.items():
                    places[link] += wait / PS_PER_US
                places[ELSEWHERE] += (whole - travel - sum(found.values())) / PS_PER_US
            elif step.part == "resent":
                timer = chain.timers(step, least_ps, of_packets=of_packets)
                ps[TIMERS] += timer
                ps[RESENT] += whole - timer
                losses = losses or Losses(self.result, flow)
                known = losses.apart and flow in self.result.report.get("traced_flows", ())
                what = fate(losses, step, chain) if known else UNKNOWN
                spent.timers[what] += timer / PS_PER_US
                spent.resent[what] += (whole - timer) / PS_PER_US
            elif step.part == "sender":
                own, others = chain.port.used(flow, step.begin, step.end)
                ps[OWN] += own
                ps[OTHERS] += others
                ps[HELD] += whole - own - others
            else:
                ps[RECEIVER] += whole
        spent.us = {part: time / PS_PER_US for part, time in ps.items()}
        return spent

    def waited(
        self, chain: Chain, step: Step, waits: Waits, path: list[Leg], spent: Spent
    ) -> tuple[int, dict[str, int]]:
        """How long the packet of a crossing was under way without waiting, ps, and how long it waited, by link."""
        whole, travel = step.end - step.begin, waits.travel(path, step.begin)
        at_ports = chain.flow in self.passed
        if travel is None:
            src, dst = (ends(chain.ports[part]).begin for part in (step.part, "ack" if step.part == "data" else "data"))
            shortest = self.shortest.travel(src, dst, step.wire_bytes)
            spent.exact &= shortest.exact
            if shortest.waits_at is not None:
                return min(shortest.least, whole), {shortest.waits_at: max(whole - shortest.least, 0)}
            travel = shortest.least
        travel = min(travel, whole)
        found = waits.at_ports(step, chain.ports[step.part]) if at_ports else waits.at_choices(path, whole - travel)
        # The waits known of its ports may add up to more than the packet waited in all.
        if (known := sum(found.values())) > whole - travel:
            found = {link: wait * (whole - travel) // known for link, wait in found.items()}
        return travel, found
