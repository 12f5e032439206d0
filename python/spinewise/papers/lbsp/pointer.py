"""Own addition to Fig. 7a of LBSP: who shares a pointer of its round robin.

§3.2 says that "packets of a flow are forwarded in a round-robin manner" within a group, and no more. Elsewhere LBSP has
one pointer for each switch and group, as scatter has one for each switch; here it also has one for each destination, as
ns-2's scatter has, and one for each flow.
"""

from __future__ import annotations

from functools import partial

from spinewise.papers.lbsp import fabric, fig07a
from spinewise.papers.lbsp.fabric import RENO
from spinewise.papers.lbsp.fig07a import DRASTIC, HEAVY, LITTLE, RATIOS
from spinewise.papers.lbsp.measure.fig07a import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Effort, Experiment, Measured, Panel, Run, Verdict
from spinewise.specs.variants import Variant, parse

SWITCH, DESTINATION, FLOW = "a pointer per switch", "a pointer per destination", "a pointer per flow"
_OF = {SWITCH: "switch", DESTINATION: "destination", FLOW: "flow"}
WHOLE, DOWN = "whole", "link down"


def schemes() -> list[Variant]:
    """LBSP with each kind of pointer."""
    return [parse(f"lbsp:round_robin={word}@{label}") for label, word in _OF.items()]


def runs(effort: Effort) -> list[Run]:
    """With a link down at 1:1 and 8:1, and with nothing down at 8:1, over seeds."""
    rounds = effort.choose(full=1, quick=1, whole=12)
    seeds = range(1, 1 + effort.choose(full=5, quick=2, whole=5))
    points = [(DOWN, RATIOS[0]), (DOWN, HEAVY), (WHOLE, HEAVY)]
    return [
        Run(scheme.label, ratio, seed, scheme.apply(fig07a.spec(ratio, condition, RENO, rounds, seed)), condition)
        for condition, ratio in points
        for seed in seeds
        for scheme in schemes()
    ]


def unaffected(curve: str, measured: Measured) -> Verdict:
    """LBSP at 8:1 with a link down: as at 1:1."""
    return fabric.unchanged(measured.within(DOWN), curve, "p999_s", RATIOS[0], HEAVY, within=LITTLE)


def by_the_failure(curve: str, measured: Measured) -> Verdict:
    """Judge whether, at 8:1, it takes less than twice as long with the link down as with none."""
    found = fabric.relabelled(measured, {WHOLE: 0.0, DOWN: 1.0}, HEAVY)
    return fabric.unchanged(found, curve, "p999_s", 0.0, 1.0, within=DRASTIC - 1.0)


EXPERIMENT = Experiment(
    id="lbsp-pointer",
    figures=("pointer",),
    title="Own addition to Fig. 7a: LBSP by pointer",
    setup="that of Fig. 7a under Reno: a 16-ary fat-tree, flows of 100 MB, a link down or none",
    runs=runs,
    measure=measure,
    panels=tuple(
        Panel("pointer", "p999_s", "99.9th percentile of completion", "oversubscription", "s", 1.0, name)
        for name in (DOWN, WHOLE)
    ),
    claims=tuple(
        claim
        for curve in _OF
        for claim in (
            claims.beside("C1-12", "pointer", "8:1, link down: LBSP unaffected", partial(unaffected, curve), curve),
            claims.beside(
                "C1-12", "pointer", "the same", partial(by_the_failure, curve), f"{curve}, against no failure"
            ),
        )
    ),
    headline="none: that of lbsp-7a is",
    assumptions=(
        *fabric.ASSUMPTIONS,
        Assumption("pointer", "varied", "§3.2: 'packets of a flow are forwarded in a round-robin manner'"),
    ),
)
