"""Find which reading of the paper decides the outcome of MEET: open assumptions varied alone, where claims fail.

Five cells: web search at load 0.1 on the asymmetric fabric and at 0.6 on the symmetric one, data mining at 0.5 on the
symmetric and at 0.3 on the asymmetric one, and the enterprise workload on the symmetric one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from spinewise.papers.meet import evaluation, fabric
from spinewise.papers.meet.measure import figures
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict
from spinewise.reproduction.shapes import Variation
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

SMALL, LARGE, MEAN, P99 = evaluation.WORDS


@dataclass(frozen=True)
class Cell:
    """A point of a figure.

    Attributes:
        topology, cdf, load: those of the spec.
        full_us, quick_us: arrivals at full and at quick effort.
        seeds: their number at full effort.
    """

    topology: str
    cdf: str
    load: float
    full_us: float
    quick_us: float
    seeds: int


WEB, SEARCH = "web search, asymmetric, 0.1", "web search, symmetric, 0.6"
MINING, SLOW = "data mining, symmetric, 0.5", "data mining, asymmetric, 0.3"
TINY = "enterprise, symmetric, 0.4"
CELLS = {
    WEB: Cell(fabric.ASYMMETRIC, "web_search", 0.1, 100_000.0, 20_000.0, 5),
    SEARCH: Cell(fabric.SYMMETRIC, "web_search", 0.6, 60_000.0, 10_000.0, 3),
    MINING: Cell(fabric.SYMMETRIC, "data_mining_vl2", 0.5, 50_000.0, 20_000.0, 3),
    SLOW: Cell(fabric.ASYMMETRIC, "data_mining_vl2", 0.3, 50_000.0, 20_000.0, 3),
    TINY: Cell(fabric.SYMMETRIC, "enterprise_meet", 0.4, 10_000.0, 1_000.0, 3),
}


def meet(name: str, parameters: str) -> Variation:
    """MEET with other parameters."""
    return Variation(name, {}, {"MEET": parameters})


# Arrivals of a run of the cell, times this.
TIMES = 3.0
LONGER = Variation("arrivals three times as long")
# Twice the traffic: leaves are oversubscribed 2:1.
HOST_LINKS = Variation("load of the hosts' links", {"traffic[0].load_of": "host_links"})

VARIATIONS = (
    Variation("as in the figures"),
    meet("K = 45 µs", ":k_us=45"),
    meet("true round trips", ":sample=rtt:k_us=0"),
    meet("T_update and T_probe 100 µs", ":t_update_us=100:t_probe_us=100"),
    meet("flowlets of 100 µs", ":flowlet_gap_us=100"),
    meet("every host probes, data count too", ":route=combined"),
    meet("the proxy probes", ":probe=proxy:route=combined"),
    meet("the proxy probes, best probe alone", ":probe=proxy"),
    meet("no probes", ":probe=off:route=combined"),
    meet("flowlets leave a path that is among the best", ":tie=random"),
    Variation("Hermes as its public code", {}, {"Hermes": ":compat=ns3"}),
    Variation("no handshake", {"transport.handshake": False}),
    LONGER,
    HOST_LINKS,
)


def schemes(variation: Variation) -> str:
    """The schemes of a variation; of a key given twice, the last value counts."""
    own, hermes = variation.added("MEET"), variation.added("Hermes")
    switches = "conga:flowlet_gap_us=500@CONGA,ecmp@ECMP"
    main = fabric.MEET[fabric.EVERY_HOST].removesuffix("@MEET")
    return f"{main}{own}@MEET,hermes:compat=paper{hermes}@Hermes,{switches}"


# Cells in which only a part is run: twice the traffic overloads the others, tiny flows have settled.
ONLY = {LONGER.name: (WEB, SEARCH, MINING, SLOW), HOST_LINKS.name: (WEB, SLOW)}


def varied(cell: str, effort: Effort) -> list[Variation]:
    """The variations of a cell; longer runs are left out of a quick effort."""
    found = [one for one in VARIATIONS if cell in ONLY.get(one.name, (cell,))]
    return [one for one in found if one is not LONGER or effort is not Effort.QUICK]


def needed(variation: Variation) -> tuple[str, ...]:
    """The schemes that differ from the first variation, whose runs are reused if traffic and transport are the same."""
    changed = tuple(variation.schemes)
    return changed or ("MEET", "Hermes", "CONGA", "ECMP")


def runs(effort: Effort) -> list[Run]:
    """Every variation in both cells, over seeds."""
    return [
        Run(scheme.label, 0.0, seed, scheme.apply(spec(variation, cell, seed, effort)), f"{variation.name}; {cell}")
        for cell in CELLS
        for variation in varied(cell, effort)
        for seed in range(1, 1 + effort.choose(full=CELLS[cell].seeds, quick=2))
        for scheme in parse_list(schemes(variation))
        if scheme.label in needed(variation)
    ]


def spec(variation: Variation, cell: str, seed: int, effort: Effort) -> Spec:
    """The spec of a cell in this variation, without a scheme."""
    at, form = CELLS[cell], fabric.TO_COMPLETION
    duration = effort.choose(full=at.full_us, quick=at.quick_us) * (TIMES if variation is LONGER else 1.0)
    base = fabric.spec(at.topology, at.cdf, at.load, duration, seed, form=form, name="MEET, variations")
    return variation.of(base)


def completed(variation: Variation, cell: str, measured: Measured) -> Measured:
    """The runs of a variation, with those of the first one for schemes that it does not change."""
    own = measured.within(f"{variation.name}; {cell}")
    base = measured.within(f"{VARIATIONS[0].name}; {cell}")
    rest = [m for m in base.measurements if m.run.curve not in own.curves]
    return Measured([*own.measurements, *rest], own.variant)


def in_cell(variation: Variation, cell: str, check: Callable[[Measured], Verdict], measured: Measured) -> Verdict:
    """A check of one cell in one variation; not testable without runs of it."""
    if not measured.within(f"{variation.name}; {cell}").measurements:
        return claims.combined([])
    return check(completed(variation, cell, measured))


def close_to_conga(part: Measured) -> Verdict:
    """C2-20: CONGA is 6 % better than MEET and Hermes with tiny flows, for those that start in the second half."""
    others = ("MEET", "Hermes")
    return claims.graded(claims.reduction(part, "CONGA", other, figures.LATE, 0.0, claimed=0.06) for other in others)


def below_300_us(part: Measured) -> Verdict:
    """C2-21: MEET's flows of that half take less than 300 µs."""
    return claims.below_limit(part, "MEET", figures.LATE, 300e-6, 0.0)


# The statements judged in each cell: those that fail in the figures, with the same checks.
CHECKS: tuple[tuple[str, str, str, str, Callable[[Measured], Verdict]], ...] = (
    (WEB, "C2-22", "9a", "small: MEET close to Hermes (within 5 %)",
     partial(evaluation.like, "MEET", "Hermes", [SMALL])),
    (WEB, "C2-25a", "9b", "at 10 % MEET like Hermes (within 5 %)",
     partial(evaluation.like, "MEET", "Hermes", [LARGE, MEAN])),
    (WEB, "C2-27", "9d", "p99: MEET better than CONGA", partial(evaluation.always_ahead, "MEET", ["CONGA"], [P99])),
    (SEARCH, "C2-04", "6a", "small: MEET 10 % better than Hermes",
     partial(evaluation.below, "MEET", ["Hermes"], [SMALL], 0.10)),
    (SEARCH, "C2-06", "6b", "large: MEET as good as CONGA (within 5 %)",
     partial(evaluation.like, "MEET", "CONGA", [LARGE])),
    (MINING, "C2-16", "7a", "small: MEET 1 to 8 % better than CONGA",
     partial(evaluation.below, "MEET", ["CONGA"], [SMALL], 0.01)),
    (MINING, "C2-17", "7a", "small: MEET up to 9 % below Hermes", evaluation.up_to("Hermes", SMALL, 0.09)),
    (MINING, "C2-19", "7b", "large, average, p99: MEET 1 to 8 % better than Hermes",
     partial(evaluation.below, "MEET", ["Hermes"], [LARGE, MEAN, P99], 0.01)),
    (SLOW, "C2-29", "10a", "small: MEET up to 28 % better than Hermes", evaluation.up_to("Hermes", SMALL, 0.28)),
    (SLOW, "C2-30", "10a", "small: MEET 50 % better than CONGA",
     partial(evaluation.below, "MEET", ["CONGA"], [SMALL], 0.50)),
    (SLOW, "C2-32", "10b", "large, average, p99: MEET 20 % better than Hermes",
     partial(evaluation.below, "MEET", ["Hermes"], [LARGE, MEAN, P99], 0.20)),
    (TINY, "C2-20", "8", "CONGA 6 % better than MEET, Hermes", close_to_conga),
    (TINY, "C2-21", "8", "MEET's average FCT below 300 µs", below_300_us),
)  # fmt: skip


EXPERIMENT = Experiment(
    id="meet-variations",
    figures=(),
    title="MEET, own addition: open assumptions varied alone",
    setup="a cell each of meet-6 to meet-10 with 10 to 100 ms of arrivals, one thing changed at a time",
    runs=runs,
    measure=figures.measure,
    panels=(),
    claims=tuple(
        Claim(key, figure, text, partial(in_cell, one, cell, check), one.name, False)
        for cell, key, figure, text, check in CHECKS
        for one in varied(cell, Effort.FULL)
    ),
    headline="none: those of meet-6 to meet-10 are",
    assumptions=(Assumption("all else", "as in meet-6 to meet-10", "so that one thing differs at a time"),),
    notes=("Schemes that a variation leaves alone are those of the first one: same traffic, same runs.",),
)
