"""LBSP §3, Figs. 2, 3 and 5: the links packets take, to the port, and how many pairs of hosts a failure moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import LBSP, RENO
from spinewise.papers.lbsp.measure.routes import DOWN, UP, measure
from spinewise.papers.lbsp.tree import LARGE, LINK, QUIET_US, SMALL, WHOLE
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Status,
    Verdict,
)
from spinewise.shapes import Override, Spec, Step
from spinewise.specs.variants import parse

STREAM_BYTES, PACKET_BYTES = 1_000_000, 1500
# The size of a pair's packets.
OWN_BYTES = fabric.HEADER_BYTES + 1
# §3.2: from host 0 to the hosts of T28; §3.1 and Fig. 3: S2 to D2; §3.3.2 and Fig. 5: from host 15 to A31's pod and a
# leaf beside it.
GROUPS, AROUND_A11, AROUND_C15 = "four path groups", "A11-T11 down", "A31-C15 down"
STREAMS: Mapping[str, tuple[int, Collection[int], Override | None]] = {
    GROUPS: (0, range(112, 116), None),
    AROUND_A11: (44, (21,), {"leaf": 11, "aggregation": 11, "up": False}),
    AROUND_C15: (15, range(108, 128), {"aggregation": 31, "core": 15, "up": False}),
}
PAIRS = {"8-ary": SMALL, "16-ary": LARGE}
BITS = "bits: 5 is ports 0, 2; 10 is ports 1, 3"


def spec(variant: str, x: float) -> Spec:
    """A stream to host `x`; or from each host to each other one a packet, with a link down (`x` = 1) or not."""
    if variant in PAIRS:
        tree = PAIRS[variant]
        made = fabric.spec(variant, tree.topology(tree.overrides(x)), RENO)
        made["traffic"] = [{"kind": "all_to_all", "pair_bytes": 1, "concurrent": True, "start_us": QUIET_US}]
        # Acknowledgements as large as data, so that messages can be told from packets of flows by their bytes.
        made["transport"]["ack_bytes"] = OWN_BYTES
        # All of them fit the last queue.
        made["switch"] = {"buffer_packets": 4 * tree.k**3}
        return made
    src, _, wrong = STREAMS[variant]
    made = fabric.spec(variant, SMALL.topology([wrong] if wrong else []), RENO)
    schedule: list[Step] = [{"at_us": QUIET_US, "rate_gbps": 0.1}]
    made["traffic"] = [
        {
            "kind": "udp",
            "src": src,
            "dst": int(x),
            "packet_bytes": PACKET_BYTES,
            "size_bytes": STREAM_BYTES,
            "schedule": schedule,
        }
    ]
    return made


def runs(effort: Effort) -> list[Run]:
    """Each stream alone; the pairs of hosts, at k = 16 not in a quick run."""
    # Messages are sent once, before the traffic: links that packets use are those that carry any.
    lbsp = parse(f"lbsp:repeat_us=0@{LBSP}")
    trees = effort.choose(full=tuple(PAIRS), quick=tuple(PAIRS)[:1])
    points = [(name, float(dst)) for name, (_, targets, _) in STREAMS.items() for dst in targets]
    points += [(name, condition) for name in trees for condition in (WHOLE, LINK)]
    return [Run(LBSP, x, seed, lbsp.apply(spec(name, x)), name) for name, x in points for seed in (1, 2)]


def bits(places: Collection[int]) -> float:
    """A number with these bits."""
    return float(sum(1 << place for place in places))


def exactly(measured: Measured, x: float, metric: str, wanted: Collection[int]) -> Verdict:
    """The switches or ports that the paper prints, in every run."""
    values = measured.values(LBSP, x, metric)
    holds = bool(values) and all(value == bits(wanted) for value in values)
    seen = ", ".join(sorted({str([n for n in range(64) if int(value) >> n & 1]) for value in values}))
    status = (Status.HOLDS if holds else Status.FAILS) if values else Status.UNTESTED
    return claims.line(status, f"to host {x:g}, {metric}: {seen}; paper {sorted(wanted)}", comparisons=0)


def entry_of_a1(measured: Measured) -> Verdict:
    """A1 and A3 send packets for 112 to 127 by ports 0 and 2; those for 108 to 111 by the second bit, as before."""
    part = measured.within(AROUND_C15)
    wanted = {x: (0, 2) if x >= 112 or not int(x) & 2 else (1, 3) for x in part.xs}
    return claims.combined(exactly(part, x, "aggregation_ports", ports) for x, ports in wanted.items())


def four_groups(measured: Measured) -> Verdict:
    """Hosts of all low bits: four disjoint sets of four cores."""
    part = measured.within(GROUPS)
    if not part.measurements:
        return claims.line(Status.UNTESTED, f"no runs of {GROUPS}")
    masks = [{int(value) for value in part.values(LBSP, x, UP[1])} for x in part.xs]
    sizes = [bin(next(iter(mask))).count("1") for mask in masks]
    every = sum(next(iter(mask)) for mask in masks)
    holds = all(len(mask) == 1 for mask in masks) and sizes == [4] * 4 and every == (1 << 16) - 1
    text = f"cores for each of four hosts: {sizes}; together all 16: {every == (1 << 16) - 1}"
    return claims.line(Status.HOLDS if holds else Status.FAILS, text, comparisons=0)


def fig_3(measured: Measured) -> Verdict:
    """S2 to T11, {A8, A10}, {C0, C2, C8, C10}, {A4, A6}, T5."""
    part = measured.within(AROUND_A11)
    steps = zip((*UP, *DOWN), ((8, 10), (0, 2, 8, 10), (4, 6), (5,)), strict=True)
    return claims.combined(
        [
            *(exactly(part, 21.0, step, switches) for step, switches in steps),
            claims.zero(part, LBSP, "lost"),
        ]
    )


def fig_5(measured: Measured) -> Verdict:
    """Host 15 to 115: T3 by ports 1 and 3, A1 and A3 by 0 and 2."""
    part = measured.within(AROUND_C15)
    wanted = {"leaf_ports": (1, 3), UP[0]: (1, 3), "aggregation_ports": (0, 2)}
    return claims.combined([*(exactly(part, 115.0, *one) for one in wanted.items()), claims.zero(part, LBSP, "lost")])


def moved(size: str, measured: Measured) -> float:
    """The percentage of pairs whose packets another group takes at their leaf.

    Two packets a pair, of data and of acknowledgement; moved packets are missing in one group and added in the other.
    """
    tree = PAIRS[size]
    hosts = tree.k**3 // 4
    part = measured.within(size)
    keys = [f"{leaf}, {group}" for leaf in range(hosts // tree.half) for group in (0, 1)]
    changes = [abs(part.values(LBSP, 1.0, key)[0] - part.values(LBSP, 0.0, key)[0]) for key in keys]
    return 25.0 * sum(changes) / (hosts * (hosts - 1))


def pairs_moved(size: str, formula: float, measured: Measured) -> Verdict:
    """§3.4: pairs of which one end is under the leaf; of these, how many another group takes."""
    if not measured.within(size).measurements:
        return claims.line(Status.UNTESTED, f"no runs of {size}")
    touched, rerouted = measured.within(size).values(LBSP, 1.0, "touched")[0], moved(size, measured)
    near = abs(touched - formula) < 0.05
    text = f"{size}: {touched:.2f} % of pairs have one end under the leaf; the group changes for {rerouted:.2f} %"
    status = Status.FAILS if not near else Status.HOLDS if abs(rerouted - formula) < 0.05 else Status.PARTLY
    return claims.line(status, text, comparisons=0)


EXPERIMENT = Experiment(
    id="lbsp-routes",
    figures=("routes",),
    title="LBSP §3, Figs. 2, 3, 5: routes to the port",
    setup="8-ary fat-tree, 1 Gbps, 50 µs a link: a stream from host to host; one packet from each host to each, also"
    " at k = 16",
    runs=runs,
    measure=measure,
    panels=(
        Panel("routes", "leaf_ports", "ports of T3", "destination", BITS, 1.0, AROUND_C15),
        Panel("routes", "aggregation_ports", "ports of A1 and A3", "destination", BITS, 1.0, AROUND_C15),
    ),
    claims=(
        Claim("C1-01", "routes", "A31-C15 down: A1, A3 have 112..127 by ports 0, 2", entry_of_a1),
        Claim("C1-02", "routes", "16 upward paths in 4 groups of 4", four_groups),
        Claim("C1-03", "routes", "S2, T11, {A8, A10}, {C0, C2, C8, C10}, {A4, A6}, T5", fig_3),
        Claim("C1-04", "routes", "15 to 115: T3 ports 1, 3; A1, A3 ports 0, 2", fig_5),
        Claim("C1-16", "routes", "about 6 % of pairs rerouted", partial(pairs_moved, "8-ary", 6.10), "8-ary"),
        claims.beside("C1-16", "routes", "formula of §3.4: 1.55 %", partial(pairs_moved, "16-ary", 1.55), "16-ary"),
    ),
    headline="the 8-ary tree, of which §3.4 gives the number",
    assumptions=(
        Assumption("numbers", "T3 is leaf 3, A31 aggregation switch 31, C15 core 15", "as in Figs. 2 to 5"),
        Assumption("formula of §3.4", "2 h (N - h) / (N (N - 1)), h hosts a leaf, N in all", "missing; fits 6 %"),
    ),
)
