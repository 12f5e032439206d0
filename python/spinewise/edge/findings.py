"""What the study says, in words, and for each statement the measured numbers that it rests on.

`tests/python/test_edge.py` fails if a support does not hold: then the sentence has to change. Numbers stand in
supports, which compute them, and never in the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spinewise.edge.numbers import Numbers
from spinewise.edge.setting import DEAD, HEALTHY, LOSSY, SLOW
from spinewise.edge.supports import Support, alike, at_most, barely_slower, grown, leads, less, more, raised, within

VALUE = "value"
TRIMS = "trimmed_up+trimmed_down"
LARGE = 1024
SPRAYED = ("round_robin", "adaptive", "bitmap", "uet_mixed", "reps", "oblivious")


@dataclass(frozen=True)
class Finding:
    """A statement.

    Attributes:
        head: in a sentence.
        text: the rest of it.
        supports: what it rests on.
    """

    head: str
    text: str
    supports: list[Support]


def found(numbers: Numbers) -> Iterator[Finding]:
    """All statements of which the evidence has every cell."""
    for statement in STATEMENTS:
        try:
            yield statement(numbers)
        except KeyError:
            continue


def healthy_fabric(numbers: Numbers) -> Finding:
    """Who is best where nothing is wrong."""
    permutation, reduce = numbers.at("permutation", HEALTHY), numbers.at("all-reduce", HEALTHY)
    shuffle = numbers.at("all-to-all", HEALTHY)
    return Finding(
        "Where packets may come in any order and nothing is broken, spread them; how matters much less.",
        "Turns, queues and entropy values for each packet all leave hashed flows far behind, for hashed flows meet on "
        "uplinks and are trimmed there. Switches that look at their queues are a little better than entropy values, "
        "which still meet by chance. So do turns as uet-htsim's switches take them in three tiers: the lists of "
        "uplinks differ by destination, and one counter goes through them all.",
        [
            within(shuffle, 1.05, *SPRAYED),
            less(permutation, VALUE, "adaptive", "bitmap", "reps", "oblivious", "ecmp"),
            less(reduce, VALUE, "adaptive", "bitmap", "reps", "oblivious", "ecmp"),
            less(permutation, VALUE, "oblivious", "ecmp", share=0.5),
            less(permutation, "imbalance", "adaptive", "bitmap", "ecmp"),
            more(reduce, VALUE, "round_robin", "adaptive", "bitmap"),
            less(permutation, TRIMS, "bitmap", "oblivious", "ecmp"),
        ],
    )


def one_path(numbers: Numbers) -> Finding:
    """What moves flows or flowlets only."""
    permutation, reduce = numbers.at("permutation", HEALTHY), numbers.at("all-reduce", HEALTHY)
    return Finding(
        "Flowlets find no gap here.",
        "A flow of Ultra Ethernet is paced by its window and does not pause, so MEET as published and ARS in its "
        "flowlet mode move next to nothing, and stay far behind what spreads packets.",
        [
            at_most(permutation, "moved", 0.001, "meet", "ars"),
            more(permutation, "imbalance", "meet", "round_robin", "bitmap"),
            less(permutation, VALUE, "bitmap", "meet", "ars", share=0.5),
            more(reduce, TRIMS, "meet", "ecmp"),
        ],
    )


def slow_link(numbers: Numbers) -> Finding:
    """A degraded link: feedback for each value."""
    permutation, victims = numbers.at("permutation", SLOW), numbers.at("incast, victims", SLOW)
    reduce, shuffle = numbers.at("all-reduce", SLOW), numbers.at("all-to-all", SLOW)
    return Finding(
        "In a permutation with a slow link, penalties for values beat both switches and reuse.",
        "`bitmap` and `uet_mixed` skip values that met marks or trims, and so leave the slow link, down to near the "
        "part that it can carry. Taking turns and drawing go on loading it. Switches that look at their queues see a "
        "slow uplink of their own, but not the slow way down behind another switch. REPS reuses what came through "
        "unmarked and tries drawn values for the rest, which lead over the slow link again. It takes long connections: "
        "in collective operations, and for the victims of an incast, switches that look at their queues are ahead of "
        "the bitmap.",
        [
            less(reduce, VALUE, "adaptive", "bitmap"),
            less(shuffle, VALUE, "adaptive", "bitmap"),
            less(victims, VALUE, "adaptive", "bitmap"),
            leads(permutation, "uet_mixed"),
            less(permutation, VALUE, "bitmap", "reps", "adaptive", "round_robin", "oblivious"),
            less(permutation, "faulty", "bitmap", "reps", "adaptive", "oblivious", "round_robin"),
            less(permutation, TRIMS, "uet_mixed", "reps", "adaptive", "oblivious", "round_robin"),
            less(permutation, "trimmed_up", "adaptive", "reps", "oblivious", "round_robin"),
            less(victims, VALUE, "bitmap", "reps", "oblivious", "round_robin"),
        ],
    )


def dead_link(numbers: Numbers) -> Finding:
    """A dying link: freezing."""
    permutation, reduce = numbers.at("permutation", DEAD), numbers.at("all-reduce", DEAD)
    return Finding(
        "When a link dies, hosts are on other paths long before routes are.",
        "Until routes are computed anew, switches above the dead link have no way down and drop. Schemes at switches "
        "keep sending there; so do drawn values. REPS freezes at the first timeout, and reuses values that came "
        "through: next to nothing is dropped after that.",
        [
            less(permutation, VALUE, "uet_mixed", "adaptive", "round_robin", "oblivious", "ecmp", share=0.5),
            less(permutation, VALUE, "reps", "adaptive", "round_robin", "oblivious", "reps_fifo", "ecmp"),
            less(permutation, "dropped", "reps", "bitmap", "uet_mixed", "reps_fifo", "adaptive", share=0.1),
            less(reduce, VALUE, "reps", "bitmap", "uet_mixed", "adaptive", "ecmp"),
        ],
    )


def freezing(numbers: Numbers) -> Finding:
    """What freezing costs under loss by chance."""
    permutation = numbers.at("permutation", LOSSY)
    return Finding(
        "The price of freezing is paid where packets are lost by chance.",
        "A lost packet is a timeout, and so REPS freezes for nothing: it goes round a few values, which meet. Others "
        "lose as many packets and only send them again. In a collective operation this does not show: a step with a "
        "loss waits for a timeout under every scheme.",
        [
            more(permutation, VALUE, "reps", "bitmap", "uet_mixed", "reps_fifo", "round_robin"),
            more(permutation, TRIMS, "reps", "bitmap", "uet_mixed", "reps_fifo"),
            more(permutation, "imbalance", "reps", "bitmap", "uet_mixed", "reps_fifo"),
            within(numbers.at("all-to-all", LOSSY), 1.15, *SPRAYED, "ecmp"),
        ],
    )


def lbsp(numbers: Numbers) -> Finding:
    """LBSP's messages."""
    slow, dead = numbers.at("all-to-all", SLOW), numbers.at("all-to-all", DEAD)
    healthy = numbers.at("permutation", HEALTHY)
    return Finding(
        "LBSP beats all of today's schemes in the broken all-to-all: switches that tell each other.",
        "The switch that sees a link fail or slow down tells those before it, which leave the link out for the hosts "
        "behind it (LBSP §3.4). Nobody else tells anybody before routes are computed anew, and connections are too "
        "short to learn it. Its price is paid where nothing is wrong and flows are long: a destination's packets may "
        "use half of the uplinks only.",
        [
            leads(slow, "lbsp"),
            leads(dead, "lbsp"),
            less(slow, VALUE, "lbsp", "adaptive", "reps", "bitmap", "uet_mixed"),
            less(dead, VALUE, "lbsp", "reps", "bitmap", "uet_mixed", "adaptive", share=0.8),
            less(slow, "faulty", "lbsp", "adaptive", "reps", "bitmap", share=0.5),
            less(dead, "dropped", "lbsp", "adaptive", "reps", "bitmap", share=0.1),
            more(healthy, VALUE, "lbsp", "round_robin", "bitmap"),
            more(healthy, TRIMS, "lbsp", "round_robin", "bitmap"),
        ],
    )


def mrc(numbers: Numbers) -> Finding:
    """Skipping once."""
    healthy, slow, dead, lossy = (numbers.at("permutation", one) for one in (HEALTHY, SLOW, DEAD, LOSSY))
    return Finding(
        "MRC stands between the bitmap and REPS.",
        "It skips a value once for a mark or a trim, so a slow link comes round again sooner than under the bitmap, "
        "where a trim counts for several; it still leaves it sooner than REPS. A value whose packet was lost is out "
        "of rotation until a probe returns, which neither freezes a flow under loss by chance nor frees it of the "
        "other values that lead over a dead link.",
        [
            within(healthy, 1.05, "mrc"),
            less(slow, VALUE, "mrc", "reps", "adaptive", "oblivious"),
            more(slow, VALUE, "mrc", "bitmap", "uet_mixed"),
            more(slow, "faulty", "mrc", "bitmap", "uet_mixed"),
            less(slow, "faulty", "mrc", "reps", "oblivious"),
            less(lossy, VALUE, "mrc", "reps"),
            less(dead, VALUE, "mrc", "adaptive", "round_robin", "oblivious", "reps_fifo", share=0.8),
            more(dead, "dropped", "mrc", "reps"),
        ],
    )


def messages(numbers: Numbers) -> Finding:
    """Learning and the length of a connection."""
    long, short = numbers.at("permutation", SLOW), numbers.at("all-to-all", SLOW)
    steps, kept = (numbers.at(name, SLOW) for name in ("all-reduce", "all-reduce, kept"))
    return Finding(
        "What hosts learn is worth what is left of the connection.",
        "A step of a collective operation is some dozens of packets. Where it is a connection of its own it learns its "
        "values anew: there the bitmap, REPS and MRC load the slow link as drawing does and are no better. Where the "
        "connection goes on from step to step, those that remember what each value met leave drawing behind: "
        "`uet_mixed`, ELAB's values and the bitmap. REPS remembers eight values, fewer than a window has packets, and "
        "the last to come back are those of the slow link; it stays nearer to drawing.",
        [
            less(long, VALUE, "bitmap", "oblivious", share=0.75),
            less(long, VALUE, "reps", "oblivious"),
            alike(short, VALUE, 1.05, "oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc"),
            alike(short, "faulty", 1.1, "oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc"),
            alike(steps, VALUE, 1.15, "oblivious", "bitmap", "uet_mixed", "mrc", "elab, values"),
            less(kept, VALUE, "uet_mixed", "oblivious", "round_robin"),
            less(kept, VALUE, "elab, values", "oblivious", "round_robin"),
            less(kept, VALUE, "bitmap", "oblivious", "round_robin"),
            less(kept, "faulty", "uet_mixed", "oblivious", "reps"),
            less(kept, VALUE, "uet_mixed", "reps"),
        ],
    )


def connections(numbers: Numbers) -> Finding:
    """What else a connection keeps."""
    before, kept = (numbers.at(name, HEALTHY) for name in ("all-reduce", "all-reduce, kept"))
    slow_before, slow_kept = (numbers.at(name, SLOW) for name in ("all-reduce", "all-reduce, kept"))
    return Finding(
        "A connection that is kept keeps what is bad as well.",
        "Flows that meet by their hashes meet in every step: under ECMP the operation takes longer, though nothing is "
        "broken. MP-RDMA's reuse ends a step on few values and begins the next with them. A window that a slow link "
        "has shrunk stays so, and values that are drawn from a fixed set load that link alike in every step; fresh "
        "connections begin each step with a whole window and another draw. So drawing, taking turns, REPS and MRC are "
        "slower there over kept connections. On a whole fabric what spreads well does not mind them.",
        [
            *raised(before, kept, "ecmp", "mprdma_reuse"),
            *barely_slower(before, kept, 1.02, "adaptive", "bitmap", "oblivious", "reps", "uet_mixed", "mrc"),
            *raised(slow_before, slow_kept, "oblivious", "round_robin", "reps", "mrc"),
        ],
    )


def incast(numbers: Numbers) -> Finding:
    """Victims of an incast."""
    cell = numbers.at("incast, victims", HEALTHY)
    return Finding(
        "An incast is none of the load balancer's business, its victims are.",
        "The receiver's port decides when the incast is done, under every scheme. Flows beside it wait where hashed "
        "flows meet inside the fabric, and hardly where packets are spread: there next to nothing is trimmed on the "
        "way up.",
        [
            alike(cell, "other_s", 1.12, *cell.rows),
            less(cell, VALUE, "bitmap", "ecmp", "lbsp", "selb", share=0.75),
            less(cell, "trimmed_up", "bitmap", "ecmp", "lbsp", "selb", share=0.1),
        ],
    )


def tcp(numbers: Numbers) -> Finding:
    """Web search over TCP that knows reordering from loss."""
    healthy, slow, dead = (numbers.at("web search", one) for one in (HEALTHY, SLOW, DEAD))
    return Finding(
        "TCP with RACK-TLP can be sprayed, too.",
        "Its hosts send next to nothing again though packets overtake each other, and flows are done sooner than on "
        "hashed paths. PLB waits for many marked round trips, and flows are over by then. Where a link is slow or "
        "dead, reuse of values that came through keeps off it.",
        [
            less(healthy, VALUE, "round_robin", "ecmp", "plb", "meet", "selb"),
            less(healthy, VALUE, "oblivious", "ecmp", "plb", "meet", "selb"),
            more(healthy, "out_of_order", "oblivious", "ecmp"),
            at_most(healthy, "again/sent", 0.01, "round_robin", "adaptive", "oblivious", "bitmap", "reps"),
            less(healthy, "imbalance", "oblivious", "ecmp", "plb", "meet", "selb"),
            at_most(healthy, "moved", 0.01, "plb"),
            less(slow, VALUE, "reps", "adaptive", "round_robin", "oblivious"),
            less(dead, VALUE, "reps", "adaptive", "oblivious", "ecmp"),
            less(slow, "faulty", "reps", "adaptive", "round_robin", "oblivious"),
        ],
    )


def roce(numbers: Numbers) -> Finding:
    """Storage over RoCE on a whole fabric: order is everything."""
    lossless, irn = numbers.at("storage", HEALTHY), numbers.at("storage, IRN", HEALTHY)
    return Finding(
        "Over RoCE on a whole fabric keep the order: SELB of the papers, ARS of today.",
        "A queue pair that goes back by what it missed takes a packet that overtakes another for a loss, and sprayed "
        "it sends much of what it sends again. SELB moves flows off uplinks whose queues grow, and its last leaf "
        "restores the order; ARS places new flows and flowlets by load. MEET finds too few gaps to differ from ECMP. "
        "With selective repeat, too, spraying stays behind hashed flows.",
        [
            leads(lossless, "selb", "ars"),
            leads(irn, "selb", "ars"),
            less(lossless, VALUE, "selb", "ecmp", "meet", "reps", "adaptive", "oblivious"),
            less(irn, VALUE, "selb", "ecmp", "reps", "adaptive", "oblivious"),
            more(lossless, "again/sent", "adaptive", "ecmp", "selb", "ars"),
            more(lossless, VALUE, "adaptive", "ecmp"),
            less(lossless, "imbalance", "selb", "ecmp", "meet", "ars"),
            at_most(lossless, "again/sent", 0.01, "selb", "ecmp"),
            at_most(lossless, "moved", 0.01, "meet"),
            more(irn, "again/sent", "adaptive", "ecmp", "selb", "ars"),
        ],
    )


def roce_dead(numbers: Numbers) -> Finding:
    """Storage over RoCE with a dead link: SELB's lead is gone."""
    lossless, irn = numbers.at("storage", DEAD), numbers.at("storage, IRN", DEAD)
    return Finding(
        "Over RoCE with a dead link SELB's lead is gone.",
        "SELB reads the queues of its own uplinks, and a way down that is dead behind another switch has none there. "
        "MEET and resilient hashing are surely ahead of it without losses, and five others with selective repeat, "
        "among them `mprdma_reuse`, which sprays.",
        [
            more(lossless, VALUE, "selb", "meet", "resilient"),
            more(irn, VALUE, "selb", "mprdma_reuse", "ars", "plb", "lbsp", "pdlb"),
            leads(irn, "mprdma_reuse", "ars", "reps"),
        ],
    )


def meet(numbers: Numbers) -> Finding:
    """MEET's rack knows more than a flow."""
    slow, healthy = numbers.at("permutation", SLOW), numbers.at("permutation", HEALTHY)
    return Finding(
        "What a rack knows together is worth something: MEET, packet by packet.",
        "With each packet on one of the paths that the rack's pooled delays and probes call best, MEET leaves the "
        "slow link further behind than REPS, whose flows each learn for themselves, and loses next to nothing to it. "
        "It stays behind `uet_mixed`: all hosts of a rack take the same best paths, and meet there.",
        [
            less(slow, VALUE, "meet, packets", "reps", "adaptive", "oblivious"),
            *barely_slower(healthy, slow, 1.05, "meet, packets"),
            less(slow, "faulty", "meet, packets", "uet_mixed", "bitmap", "reps"),
            more(slow, VALUE, "meet, packets", "uet_mixed"),
            more(healthy, TRIMS, "meet, packets", "bitmap", "reps"),
            more(healthy, "imbalance", "meet, packets", "bitmap", "reps"),
        ],
    )


def pdlb(numbers: Numbers) -> Finding:
    """PDLB without its cells."""
    healthy, slow = numbers.at("permutation", HEALTHY), numbers.at("permutation", SLOW)
    return Finding(
        "PDLB's cells cost what they save where order is free.",
        "Cells of many packets collide as flows do. Cut to one packet, PDLB is a good sprayer, but what is left of it "
        "draws among all paths that are not dead, and a slow one is not dead.",
        [
            less(healthy, VALUE, "pdlb, packets", "pdlb", share=0.5),
            less(healthy, TRIMS, "pdlb, packets", "pdlb", share=0.1),
            within(healthy, 1.05, "pdlb, packets"),
            more(slow, VALUE, "pdlb, packets", "bitmap", "uet_mixed", "meet, packets"),
            more(slow, "faulty", "pdlb, packets", "bitmap", "uet_mixed", "meet, packets"),
        ],
    )


def elab(numbers: Numbers) -> Finding:
    """ELAB's shares."""
    healthy, slow, dead = (numbers.at("permutation", one) for one in (HEALTHY, SLOW, DEAD))
    return Finding(
        "ELAB's shares follow a slow link and not a dead one.",
        "ELAB gives each path a share by what it can still carry, so the slow link gets less than under REPS; known "
        "values in place of its search help it on a whole fabric. But a path counts as dead only after 30 ms without "
        "an arrival, when all is over. While it learns what paths carry, it loads them unevenly, and much is trimmed "
        "on the way up.",
        [
            less(slow, VALUE, "elab, values", "reps", "adaptive", "oblivious"),
            less(slow, "faulty", "elab, values", "reps", "adaptive"),
            less(healthy, VALUE, "elab, values", "elab"),
            more(dead, VALUE, "elab, values", "reps", "uet_mixed", "meet, packets"),
            more(healthy, "trimmed_up", "elab, values", "bitmap", "reps"),
            more(healthy, "imbalance", "elab, values", "bitmap", "reps"),
        ],
    )


def large(numbers: Numbers) -> Finding:
    """1,024 hosts."""
    small, healthy, slow, dead = (
        numbers.at("permutation", HEALTHY),
        *(numbers.at("permutation", one, LARGE) for one in (HEALTHY, SLOW, DEAD)),
    )
    return Finding(
        "On the larger fabric today's schemes lose next to nothing, and those that measure every path fall back.",
        "A pair of hosts has more paths to choose from there. MEET and ELAB measure each of them, load them less "
        "evenly than on the smaller fabric, and much is trimmed.",
        [
            *barely_slower(small, healthy, 1.05, "round_robin", "adaptive", "bitmap", "uet_mixed", "mrc", "lbsp"),
            *grown(small, healthy, 1.3, "meet, packets", "elab, values"),
            *grown(small, healthy, 1.3, "meet, packets", "elab, values", name="imbalance"),
            more(healthy, TRIMS, "meet, packets", "bitmap", "uet_mixed", "mrc"),
            more(healthy, TRIMS, "elab, values", "bitmap", "uet_mixed", "mrc"),
            less(slow, VALUE, "bitmap", "adaptive", "oblivious", "round_robin", "ecmp"),
            less(slow, VALUE, "uet_mixed", "reps", "mrc", "adaptive", "oblivious", "round_robin", "ecmp"),
            less(dead, VALUE, "uet_mixed", "round_robin", "adaptive", "oblivious", "lbsp", "ecmp"),
            less(dead, "dropped", "reps", "bitmap", "uet_mixed", "mrc"),
            less(numbers.at("all-reduce", DEAD, LARGE), VALUE, "reps", "bitmap", "oblivious", "adaptive", "ecmp"),
        ],
    )


STATEMENTS: tuple[Callable[[Numbers], Finding], ...] = (
    healthy_fabric,
    slow_link,
    dead_link,
    freezing,
    mrc,
    messages,
    connections,
    incast,
    tcp,
    roce,
    roce_dead,
    lbsp,
    meet,
    pdlb,
    elab,
    one_path,
    large,
)
