"""ELAB Fig. 13 at one load with longer arrivals: the paper does not give their length (T4-D)."""

from __future__ import annotations

from functools import partial

from spinewise.papers.elab import fabric, fig13, large
from spinewise.papers.elab.labels import CLOVE, ELAB, HERMES, MAIN
from spinewise.papers.elab.measure.large import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict

LOAD = 0.6
SCHEMES = fabric.schemes(CLOVE, HERMES, ELAB)
# Arrivals in ms: those of elab-13, three times and nine times as long.
AS_FIG_13 = large.DURATION[Effort.FULL] / 1e3
LENGTHS = {f"arrivals of {times * AS_FIG_13:g} ms": times * AS_FIG_13 for times in (1, 3, 9)}


def runs(effort: Effort) -> list[Run]:
    """ELAB, CLOVE and Hermes over the length of arrivals, over seeds."""
    return [
        Run(scheme.label, ms, seed, fabric.under(scheme, large.spec(LOAD, MAIN, 1e3 * ms, fig13.OVERRIDE)), MAIN)
        for ms in effort.choose(full=list(LENGTHS.values()), quick=list(LENGTHS.values())[:1])
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
        for scheme in SCHEMES
    ]


def at_least(other: str, claimed: float, ms: float, measured: Measured) -> Verdict:
    """The smaller number of the paper's range, in arrivals of this length."""
    return large.below(other, claimed, [ms], measured)


def statements() -> tuple[Claim, ...]:
    """C4-11 in arrivals of each length."""
    numbers = (("C4-11a", CLOVE, 0.07), ("C4-11b", HERMES, 0.17))
    return tuple(
        claims.beside(
            key, "13", f"ELAB at least {100 * share:.0f} % below {other}", partial(at_least, other, share, ms), reading
        )
        for reading, ms in LENGTHS.items()
        for key, other, share in numbers
    )


EXPERIMENT = Experiment(
    id="elab-13-length",
    figures=("13",),
    title="ELAB Fig. 13 at a load of 0.6: arrivals that last longer",
    setup=f"as elab-13 at a load of 0.6, {', '.join(f'{ms:g}' for ms in LENGTHS.values())} ms of arrivals"
    f" (quick: {AS_FIG_13:g})",
    runs=runs,
    measure=measure,
    panels=(
        shapes.mean_fct("13", "arrivals, ms", variant=MAIN, unit="ms"),
        shapes.mean_fct("13", "arrivals, ms", size="short", variant=MAIN, unit="ms"),
        shapes.share("13", "resent", "packets sent again", "arrivals, ms", of="packets", variant=MAIN),
    ),
    claims=statements(),
    headline="none: that of elab-13 is",
    assumptions=(Assumption("all else", "as in elab-13", "so that one thing differs at a time"),),
)
