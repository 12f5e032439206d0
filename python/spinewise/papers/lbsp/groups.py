"""LBSP §3.4: more path groups, or more paths in each; groups by a hash; while links of one leaf fail one by one.

Every host sends 1 MB to another; the paper states the expected outcome, and shows no figure.
"""

from __future__ import annotations

from functools import partial

from spinewise.measures import stats
from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import RACK, RENO
from spinewise.papers.lbsp.measure.groups import measure
from spinewise.papers.lbsp.tree import LARGE, QUIET_US, SMALL
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Verdict,
)
from spinewise.shapes import Override, Spec
from spinewise.specs.variants import Variant, parse

TREES = {"8-ary": SMALL, "16-ary": LARGE}
FLOW_BYTES = 1_000_000
FOUR, SIXTEEN, MOST = "4 groups", "16 groups", "64 groups"
HASHED = {FOUR: "4 groups, hashed", SIXTEEN: "16 groups, hashed"}
BITS = {FOUR: 1, SIXTEEN: 2, MOST: 3}
# At k = 8 sixteen groups have a path each, at k = 16 sixty-four.
SIZES = {"8-ary": (FOUR, SIXTEEN), "16-ary": (FOUR, SIXTEEN, MOST)}
# Links down of the leaf, from its last port on: with four groups two of them take both groups of the leaf.
DEAD = (0.0, 1.0, 2.0, 3.0)
CASES = {f"{size}, {transport}": (size, transport) for size in TREES for transport in (RENO, RACK)}
ALIKE = 0.05


def schemes(size: str) -> list[Variant]:
    """LBSP with each number of groups, by destination and by hash; also scatter."""
    found = []
    for label in SIZES[size]:
        text = f"lbsp:leaf_bits={BITS[label]}:aggregation_bits={BITS[label]}"
        found.append(parse(f"{text}@{label}"))
        if label in HASHED:
            found.append(parse(f"{text}:assignment=hash@{HASHED[label]}"))
    return [*found, *fabric.schemes(fabric.SCATTER)]


def spec(size: str, dead: float, transport: str) -> Spec:
    """The spec without a scheme: one random permutation."""
    tree = TREES[size]
    wrong: list[Override] = [
        {"leaf": tree.leaf, "aggregation": tree.aggregation - n, "up": False} for n in range(int(dead))
    ]
    made = fabric.spec(f"groups {size}", tree.topology(wrong), transport)
    made["traffic"] = [{"kind": "permutation", "size_bytes": FLOW_BYTES, "start_us": QUIET_US}]
    return made


def runs(effort: Effort) -> list[Run]:
    """Every partition with each number of links down, over seeds; less of the large tree."""
    found = []
    for name, (size, transport) in CASES.items():
        large = size == "16-ary"
        if large and effort is Effort.QUICK:
            continue
        dead = effort.choose(full=DEAD[:2] if large else DEAD, quick=DEAD[:2], whole=DEAD)
        seeds = effort.choose(full=3 if large else 5, quick=2, whole=5)
        found += [
            Run(scheme.label, down, seed, scheme.apply(spec(size, down, transport)), name)
            for down in dead
            for seed in range(1, 1 + seeds)
            for scheme in schemes(size)
        ]
    return found


def more_paths(size: str, measured: Measured) -> Verdict:
    """Judge whether, with nothing down, fewer groups have a shorter mean."""
    return claims.combined(claims.lower(measured, FOUR, [other], "mean_s", [DEAD[0]]) for other in SIZES[size][1:])


def more_groups(size: str, measured: Measured) -> Verdict:
    """Flows of the leaf lose less with sixteen groups than with four as links fail."""

    def lost(curve: str, dead: float) -> list[float]:
        return [b - a for a, b in zip(*(measured.values(curve, x, "own_mean_s") for x in (DEAD[0], dead)), strict=True)]

    found = []
    for dead in measured.xs[1:]:
        for other in SIZES[size][1:]:
            fewer, more = lost(FOUR, dead), lost(other, dead)
            text = f"{dead:g} down, flows of the leaf: {1e3 * stats.mean(fewer):.1f} ms more with {FOUR},"
            text += f" {1e3 * stats.mean(more):.1f} with {other}"
            found.append(claims.told(stats.paired_difference(fewer, more), text))
    return claims.graded(found)


def hash_is_like(measured: Measured) -> Verdict:
    """Groups by a hash of the header are as fast as those by destination, for a permutation."""
    return claims.alike(measured, HASHED[FOUR], FOUR, "mean_s", DEAD[0], within=ALIKE)


def panels(name: str) -> tuple[Panel, ...]:
    """Completion and order, over links down."""
    x = "links of one leaf down"
    return (
        Panel("groups", "mean_s", "mean completion", x, "ms", 1e3, name),
        Panel("groups", "own_mean_s", "the same, flows of the leaf", x, "ms", 1e3, name),
        shapes.share("groups", "out_of_order", "packets out of order", x, of="packets", variant=name),
    )


EXPERIMENT = Experiment(
    id="lbsp-groups",
    figures=("groups",),
    title="LBSP §3.4: more groups or more paths in each, and hashed groups",
    setup="8- and 16-ary fat-trees, 1 Gbps, 50 µs a link, queues of 250 packets; a permutation of 1 MB flows",
    runs=runs,
    measure=measure,
    panels=tuple(panel for name in CASES for panel in panels(name)),
    claims=tuple(
        Claim(key, "groups", text, claims.within(name, check), reading=name, headline=transport == RENO)
        for name, (size, transport) in CASES.items()
        for key, text, check in (
            ("C1-18", "more paths in a group: shorter completion", partial(more_paths, size)),
            ("C1-19", "more groups: more robust to failures", partial(more_groups, size)),
            ("C1-20", "hashed groups as good as by destination (5 %)", hash_is_like),
        )
    ),
    headline="Reno (§4), both trees",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("traffic", "a permutation between racks, all at once", "none is given; it loads every link"),
        Assumption("failures", "links up of one leaf, port by port from the last", "'more alternative path groups'"),
    ),
)
