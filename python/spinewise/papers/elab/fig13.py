"""ELAB Fig. 13: web search over load while two links of a sending leaf are at a quarter of their rate (set-up T4-D)."""

from __future__ import annotations

from functools import partial

from spinewise.papers.elab import large
from spinewise.papers.elab.labels import CLOVE, ELAB, FLOWLETS, HERMES
from spinewise.reproduction import claims, readings
from spinewise.reproduction.experiment import Claim, Measured, Verdict
from spinewise.shapes import Override

LOADS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# "Light": not above this; the advantage is claimed above it.
LIGHT = 0.5
SIMILAR = 0.05
OVERRIDE: tuple[Override, ...] = tuple({"leaf": 1, "spine": spine, "rate_gbps": 10} for spine in (0, 1))


def light(measured: Measured) -> list[float]:
    """The light loads."""
    return [x for x in measured.xs if x <= LIGHT]


def similar(other: str, measured: Measured) -> Verdict:
    """ELAB within a few percent of CLOVE or Hermes under light load."""
    return claims.graded(claims.alike(measured, ELAB, other, readings.MEAN, x, within=SIMILAR) for x in light(measured))


def better_than_ecmp(curve: str, measured: Measured) -> Verdict:
    """Judge whether a curve is below ECMP under light load."""
    return claims.graded(claims.lower(measured, curve, ["ECMP"], readings.MEAN, [x]) for x in light(measured))


def at_least(other: str, claimed: float, measured: Measured) -> Verdict:
    """Judge the smaller number of the paper's range, above light load."""
    heavy = [x for x in measured.xs if x > LIGHT]
    return large.below(other, claimed, heavy, measured)


def up_to(other: str, claimed: float, measured: Measured) -> Verdict:
    """The abstract's number, in the cell that fits it best."""
    return claims.up_to(measured, ELAB, readings.MEAN, claimed=claimed, others=[other])


EXPERIMENT = large.experiment(
    "13",
    "ELAB Fig. 13: web search, two uplinks of a leaf at a quarter",
    (
        *(
            Claim("C4-10a", "13", f"light load: ELAB like {one} (within 5 %)", partial(similar, one), one)
            for one in (CLOVE, HERMES)
        ),
        *(
            Claim("C4-10b", "13", f"light load: {one} better than ECMP", partial(better_than_ecmp, one), one)
            for one in (ELAB, CLOVE, HERMES)
        ),
        Claim("C4-11a", "13", "above 0.5: ELAB at least 7 % below CLOVE", partial(at_least, CLOVE, 0.07)),
        claims.beside("C4-11a", "13", "the same", partial(at_least, FLOWLETS, 0.07), FLOWLETS),
        Claim("C4-11b", "13", "above 0.5: ELAB at least 17 % below Hermes", partial(at_least, HERMES, 0.17)),
        *(
            Claim("C4-12", "13", f"ELAB up to 20 % below {one}", partial(up_to, one, 0.20), one, one != FLOWLETS)
            for one in (CLOVE, FLOWLETS, HERMES)
        ),
        *(
            Claim("C4-15", "13", f"above 0.5: ELAB at least 10 % below {one}", partial(at_least, one, 0.10), one,
                  one != FLOWLETS)
            for one in (CLOVE, FLOWLETS, HERMES)
        ),
    ),
    override=OVERRIDE,
    loads=LOADS,
    others=(0.3, 0.6),
)  # fmt: skip
