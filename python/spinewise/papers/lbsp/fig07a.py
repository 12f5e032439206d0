"""LBSP Fig. 7a: 100 MB flows in a 16-ary fat-tree over oversubscription at the cores, something down (set-up T1-C)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from spinewise.papers.lbsp import fabric
from spinewise.papers.lbsp.fabric import BASELINES, LBSP, NS2, RENO
from spinewise.papers.lbsp.measure.fig07a import measure
from spinewise.papers.lbsp.tree import LARGE, LINK, SWITCH, WHOLE
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
from spinewise.shapes import Spec

TREE = LARGE
TRANSPORTS = tuple(fabric.TRANSPORTS)
CONDITIONS = {"whole": WHOLE, "link down": LINK, "switch down": SWITCH}
RATIOS = (1.0, 4.0, 8.0)
LIGHT, HEAVY = RATIOS[:2], RATIOS[2]
# "Not significantly", and "drastically".
LITTLE, DRASTIC = 0.1, 2.0


def variant(transport: str, condition: str) -> str:
    """Name of a version."""
    return f"{transport}, {condition}"


def conditions(transport: str) -> tuple[str, ...]:
    """A switch is down under Reno only."""
    return tuple(CONDITIONS) if transport == RENO else tuple(CONDITIONS)[:2]


def spec(ratio: float, condition: str, transport: str, rounds: int, seed: int) -> Spec:
    """The spec without a scheme: links of cores at 1 Gbps over the ratio."""
    topology = TREE.topology(TREE.overrides(CONDITIONS[condition]), core_gbps=1.0 / ratio)
    made = fabric.spec("T1-C", topology, transport)
    made["traffic"] = fabric.long_flows(TREE, rounds, seed)
    return made


def runs(effort: Effort) -> list[Run]:
    """Every scheme over the ratio, over seeds; 12 rounds take 20 s. Not everything under transports but Reno."""
    rounds = effort.choose(full=1, quick=1, whole=12)

    def points(transport: str) -> list[tuple[str, float, int]]:
        main = transport == RENO
        ratios = effort.choose(full=RATIOS if main else RATIOS[::2], quick=RATIOS[::2], whole=RATIOS)
        seeds = range(1, 1 + effort.choose(full=5 if main else 3, quick=2, whole=5))
        return [(name, ratio, seed) for name in conditions(transport) for ratio in ratios for seed in seeds]

    return [
        Run(
            scheme.label,
            ratio,
            seed,
            scheme.apply(spec(ratio, condition, transport, rounds, seed)),
            variant(transport, condition),
        )
        for transport in TRANSPORTS
        for condition, ratio, seed in points(transport)
        for scheme in fabric.schemes()
    ]


def against_whole(transport: str, condition: str, curve: str, ratio: float, measured: Measured) -> Verdict:
    """The 99.9th percentile with something down is close to that without, at one ratio."""
    places = {variant(transport, "whole"): 0.0, variant(transport, condition): 1.0}
    found = fabric.relabelled(measured, places, ratio)
    return fabric.unchanged(found, curve, "p999_s", 0.0, 1.0, within=LITTLE)


def no_effect(transport: str, curve: str, measured: Measured) -> Verdict:
    """Judge whether a failure changes little at 1:1 and 4:1."""
    return claims.graded(
        against_whole(transport, condition, curve, ratio, measured)
        for condition in conditions(transport)[1:]
        for ratio in measured.within(variant(transport, condition)).xs
        if ratio in LIGHT
    )


def rises(transport: str, curve: str, measured: Measured) -> Verdict:
    """Judge whether, with a link down, 8:1 has more than twice the value of 1:1, and nothing is dropped."""
    part = measured.within(variant(transport, "link down"))
    return claims.combined(
        [
            fabric.grows(part, curve, "p999_s", RATIOS[0], HEAVY, factor=DRASTIC),
            claims.zero(part, curve, "drops"),
        ]
    )


def by_the_failure(transport: str, curve: str, measured: Measured) -> Verdict:
    """Judge whether at 8:1 the link causes the rise: more than twice the value without a failure."""
    found = fabric.relabelled(measured, {variant(transport, "whole"): 0.0, variant(transport, "link down"): 1.0}, HEAVY)
    return fabric.grows(found, curve, "p999_s", 0.0, 1.0, factor=DRASTIC)


def unaffected(transport: str, measured: Measured) -> Verdict:
    """LBSP at 8:1 with a link down: as at 1:1."""
    part = measured.within(variant(transport, "link down"))
    return fabric.unchanged(part, LBSP, "p999_s", RATIOS[0], HEAVY, within=LITTLE)


def statements(transport: str) -> tuple[Claim, ...]:
    """The claims under one transport."""
    main = transport == RENO
    scatter = tuple(
        replace(claim, reading=", ".join(filter(None, (curve, claim.reading, transport))),
                headline=claim.headline and main and curve == NS2, form=variant(transport, "link down"))
        for curve in BASELINES
        for checks in [[partial(check, transport, curve) for check in (no_effect, rises, by_the_failure)]]
        for claim in (
            Claim("C1-10", "7a", f"1:1, 4:1: a failure matters little to {curve}", checks[0]),
            Claim("C1-11", "7a", f"8:1, link down: {curve} rises drastically, no drop", checks[1]),
            claims.beside("C1-11", "7a", "the same", checks[2], "against no failure"),
        )
    )  # fmt: skip
    own = Claim("C1-12", "7a", "8:1, link down: LBSP unaffected", partial(unaffected, transport), transport, main)
    return (*scatter, replace(own, form=variant(transport, "link down")))


def panels(name: str) -> tuple[Panel, ...]:
    """The figure, and the fate of packets."""
    x = "oversubscription"
    return (
        Panel("7a", "p999_s", "99.9th percentile of completion", x, "s", 1.0, name),
        shapes.share("7a", "out_of_order", "packets out of order", x, of="packets", variant=name),
        Panel("7a", "drops", "drops", x, "per run", 1.0, name),
    )


EXPERIMENT = Experiment(
    id="lbsp-7a",
    figures=("7a",),
    title="LBSP Fig. 7a: long flows over oversubscription, a link or a switch down",
    setup="16-ary fat-tree, 1024 hosts, 1 Gbps, 50 µs a link, links of cores at 1, 1/4 and 1/8 Gbps, queues of 250"
    " packets; flows of 100 MB, sent again and again",
    runs=runs,
    measure=measure,
    panels=tuple(
        panel
        for transport in TRANSPORTS
        for condition in conditions(transport)
        for panel in panels(variant(transport, condition))
    ),
    claims=tuple(claim for transport in TRANSPORTS for claim in statements(transport)),
    headline=f"Reno with ns-2's defaults (§4); {fabric.AS_IN_NS2}",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("8:1", "links between aggregation switches and cores at 125 Mbps", "4:1 is said to be 250 Mbps"),
        Assumption(
            "flows",
            "those of Fig. 3 and one more of another leaf of S1's pod, 100 MB, to four hosts of a leaf, one in each"
            " path group",
            "'four flows coming from the pod containing the disconnected link and one flow from another'",
        ),
        Assumption(
            "repeated", "S1's flows once, the others twice (`--whole`: 12 and 24 times, 20 s)", "not given for T1-C"
        ),
    ),
)
