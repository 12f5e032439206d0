"""The findings of the study, in words, and for each statement the measured numbers that support it.

`tests/python/test_edge.py` fails if a support does not hold: then the sentence has to change. Numbers are in
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
        head: the statement in a sentence.
        text: the rest of it.
        supports: the comparisons that support it.
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
    """The best schemes on a healthy fabric."""
    permutation, reduce = numbers.at("permutation", HEALTHY), numbers.at("all-reduce", HEALTHY)
    shuffle = numbers.at("all-to-all", HEALTHY)
    return Finding(
        "Where packets may arrive in any order and nothing is broken, spray them; how matters much less.",
        "Round robin, adaptive switches and entropy values per packet all leave hashed flows far behind, because "
        "hashed flows collide on uplinks and are trimmed there. Switches that look at their queues are slightly better "
        "than entropy values, whose packets still collide by chance. So do packets under the round-robin switches of "
        "uet-htsim in three tiers: its lists of uplinks differ by destination, and one counter runs through them all.",
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
    """Schemes that move only flows or flowlets."""
    permutation, reduce = numbers.at("permutation", HEALTHY), numbers.at("all-reduce", HEALTHY)
    return Finding(
        "Flowlets find no gaps here.",
        "A flow of Ultra Ethernet is paced by its window and does not pause. So MEET as published and ARS in its "
        "flowlet mode move hardly any packets, and stay far behind per-packet spraying.",
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
        "`bitmap` and `uet_mixed` skip values that met marks or trims, and so reduce the load of the slow link to "
        "nearly what it can carry. Round robin and random values keep loading it. Switches that look at their queues "
        "see their own slow uplink, but not the slow downlink behind another switch. REPS reuses values that came "
        "through unmarked and draws random ones for the rest, which lead over the slow link again. Penalties need long "
        "connections: in collective operations, and for the victims of an incast, switches that look at their queues "
        "are ahead of the bitmap.",
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
        "When a link dies, hosts use other paths long before routes change.",
        "Until routes are recomputed, switches above the dead link have no way down and drop packets. Schemes at "
        "switches keep sending there, and so do random values. REPS freezes at the first timeout and reuses values "
        "that came through: hardly anything is dropped after that.",
        [
            less(permutation, VALUE, "uet_mixed", "adaptive", "round_robin", "oblivious", "ecmp", share=0.5),
            less(permutation, VALUE, "reps", "adaptive", "round_robin", "oblivious", "reps_fifo", "ecmp"),
            less(permutation, "dropped", "reps", "bitmap", "uet_mixed", "reps_fifo", "adaptive", share=0.1),
            less(reduce, VALUE, "reps", "bitmap", "uet_mixed", "adaptive", "ecmp"),
        ],
    )


def freezing(numbers: Numbers) -> Finding:
    """The cost of freezing under random loss."""
    permutation = numbers.at("permutation", LOSSY)
    return Finding(
        "Freezing has a price where packets are lost at random.",
        "A lost packet causes a timeout, and so REPS freezes needlessly: it cycles through a few values, which "
        "collide. Other schemes lose as many packets and only retransmit them. In a collective operation this does not "
        "show: a step with a loss waits for a timeout under every scheme.",
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
        "LBSP beats all of today's schemes in the broken all-to-all, because its switches inform each other.",
        "The switch that sees a link fail or slow down informs the switches before it, which avoid the link for the "
        "hosts behind it (LBSP §3.4). Under other schemes no switch informs another before routes are recomputed, and "
        "connections are too short to learn of the fault. The price of LBSP shows where nothing is broken and flows "
        "are long: packets to a destination may use only half of the uplinks.",
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
        "MRC lies between the bitmap and REPS.",
        "It skips a value once for a mark or a trim, so a slow link is used again sooner than under the bitmap, where "
        "a trim counts several times; MRC still leaves it sooner than REPS. A value whose packet was lost is out of "
        "rotation until a probe returns. That does not freeze a flow under random loss, but neither does it keep the "
        "flow off the other values that lead over a dead link.",
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
        "The value of what hosts learn depends on how long the connection lasts.",
        "A step of a collective operation is a few dozen packets. If each step has its own connection, values are "
        "learnt anew: the bitmap, REPS and MRC then load the slow link as random values do and are no better. If the "
        "connection persists from step to step, schemes that remember what each value met leave random values behind: "
        "`uet_mixed`, ELAB's values and the bitmap. REPS remembers eight values, fewer than a window has packets, "
        "and the last to come back are those of the slow link; it stays closer to random values.",
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
    """Other effects of persistent connections."""
    before, kept = (numbers.at(name, HEALTHY) for name in ("all-reduce", "all-reduce, kept"))
    slow_before, slow_kept = (numbers.at(name, SLOW) for name in ("all-reduce", "all-reduce, kept"))
    return Finding(
        "A persistent connection also keeps what is bad.",
        "Flows whose hashes collide collide in every step: under ECMP the operation takes longer, though nothing is "
        "broken. MP-RDMA's reuse ends a step on few values and begins the next with them. A window that a slow link "
        "has reduced stays small, and values drawn from a fixed set load that link equally in every step; new "
        "connections begin each step with a full window and another draw. So random values, round robin, REPS and MRC "
        "are slower there over persistent connections. On a healthy fabric schemes that spray well are not affected.",
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
        "Load balancing does not decide an incast, but it protects the victims.",
        "The receiver's port decides when the incast is done, under every scheme. Flows beside it are delayed where "
        "hashed flows collide inside the fabric, and hardly where packets are sprayed: there hardly anything is "
        "trimmed on the way up.",
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
        "Its hosts retransmit hardly anything although packets overtake each other, and flows finish sooner than on "
        "hashed paths. PLB waits for many marked round trips, and flows are over by then. Where a link is slow or "
        "dead, reuse of values that came through avoids it.",
        [
            less(healthy, VALUE, "round_robin", "ecmp", "plb", "meet", "selb"),
            less(healthy, VALUE, "oblivious", "ecmp", "plb", "meet", "selb"),
            more(healthy, "out_of_order", "oblivious", "ecmp"),
            at_most(healthy, "again/sent", 0.01, "round_robin", "adaptive", "oblivious", "bitmap", "reps"),
            less(healthy, "imbalance", "oblivious", "ecmp", "plb", "meet", "selb"),
            at_most(healthy, "moved", 0.01, "plb"),
            less(slow, VALUE, "uet_mixed", "adaptive", "round_robin", "oblivious"),
            less(slow, VALUE, "reps", "oblivious", "bitmap"),
            less(dead, VALUE, "reps", "adaptive", "oblivious", "ecmp"),
            less(slow, "faulty", "reps", "adaptive", "round_robin", "oblivious"),
        ],
    )


def roce(numbers: Numbers) -> Finding:
    """Storage over RoCE on a whole fabric: order is everything."""
    lossless, irn = numbers.at("storage", HEALTHY), numbers.at("storage, IRN", HEALTHY)
    return Finding(
        "Over RoCE on a healthy fabric keep the order: SELB of the papers, ARS of today.",
        "Under go-back-N a packet that overtakes another looks like a loss, so sprayed queue pairs retransmit much of "
        "what they send. SELB moves flows off uplinks whose queues grow, and its last leaf restores the order; ARS "
        "places new flows and flowlets by load. MEET finds too few gaps to differ from ECMP. With selective repeat, "
        "too, spraying stays behind hashed flows.",
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
        "SELB reads the queues of its own uplinks, and these do not show a dead downlink behind another switch. With "
        "go-back-N, MEET and resilient hashing are significantly ahead of it, and with selective repeat five others "
        "are, among them `mprdma_reuse`, which sprays.",
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
        "What a rack learns together helps: MEET, packet by packet.",
        "With each packet on one of the paths that the rack's pooled delays and probes rate best, MEET avoids the slow "
        "link more than REPS, whose flows each learn separately, and the slow link costs it hardly any time. It stays "
        "behind `uet_mixed`, because all hosts of a rack take the same best paths, and collide there.",
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
        "PDLB's cells only cost time where reordering is free.",
        "Cells of many packets collide as flows do. With cells of one packet, PDLB is a good sprayer, but the rest of "
        "it draws among all paths that are not dead, and a slow path is not dead.",
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
        "ELAB's shares follow a slow link but not a dead one.",
        "ELAB gives each path a share by what it can still carry, so the slow link gets less than under REPS; known "
        "values in place of its search help it on a healthy fabric. But a path counts as dead only after 30 ms without "
        "an arrival, when the run is over. While ELAB learns what paths carry, it loads them unevenly, and much is "
        "trimmed on the way up.",
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
        "On the larger fabric today's schemes lose hardly anything, and those that measure every path fall behind.",
        "A pair of hosts has more paths there. MEET and ELAB measure each of them, load them less evenly than on the "
        "smaller fabric, and much is trimmed.",
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
