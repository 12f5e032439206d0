"""ELAB Fig. 12: web search over load on a symmetric fabric (set-up T4-C)."""

from __future__ import annotations

from functools import partial

from spinewise.papers.elab import large
from spinewise.papers.elab.labels import CLOVE, ELAB, FLOWLETS, HERMES
from spinewise.reproduction import claims, readings
from spinewise.reproduction.experiment import Claim, Measured, Verdict

LOADS = (0.3, 0.5, 0.7, 0.9)
# "A little better than ECMP".
LITTLE = 0.03
# "All behave similarly".
SIMILAR = 0.05


def better_than_ecmp(curve: str, measured: Measured) -> Verdict:
    """Judge whether a curve is below ECMP, by the smallest visible effect."""
    return claims.graded(
        claims.reduction(measured, curve, "ECMP", readings.MEAN, x, claimed=LITTLE, whose=claims.OURS)
        for x in measured.xs
    )


def ahead(other: str, measured: Measured) -> Verdict:
    """ELAB ahead of CLOVE or Hermes, by at least 1 % at every load."""
    return large.below(other, 0.01, measured.xs, measured)


def alike(curve: str, other: str, measured: Measured) -> Verdict:
    """Within a few percent of each other at every load."""
    return claims.graded(claims.alike(measured, curve, other, readings.MEAN, x, within=SIMILAR) for x in measured.xs)


EXPERIMENT = large.experiment(
    "12",
    "ELAB Fig. 12: web search, symmetric",
    (
        *(
            Claim("C4-09a", "12", f"{one} slightly better than ECMP (3 %)", partial(better_than_ecmp, one), one)
            for one in (ELAB, CLOVE, HERMES)
        ),
        *(
            Claim("C4-09b", "12", f"ELAB 1 to 3 % below {one}", partial(ahead, one), one, headline=one != FLOWLETS)
            for one in (CLOVE, FLOWLETS, HERMES)
        ),
        *(
            Claim("C4-09c", "12", f"{one} like {other} (within 5 %)", partial(alike, one, other), f"{one} and {other}")
            for one, other in ((ELAB, CLOVE), (ELAB, HERMES), (CLOVE, HERMES))
        ),
    ),
    override=(),
    loads=LOADS,
    others=(0.5, 0.9),
)
