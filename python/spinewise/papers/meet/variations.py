"""Which reading of the paper decides what comes of MEET: open assumptions varied alone, where claims do not hold.

Two cells: web search at load 0.1 on the asymmetric fabric (C2-25), and the enterprise workload on the symmetric one
(C2-20).
"""

from __future__ import annotations

from functools import partial

from spinewise.papers.meet import evaluation, fabric
from spinewise.papers.meet.measure import figures
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict
from spinewise.reproduction.shapes import Variation
from spinewise.specs.spec import Spec
from spinewise.specs.variants import parse_list

WEB, TINY = "web search, asymmetric, 0.1", "enterprise, symmetric, 0.4"
# Arguments of a spec by cell: topology, workload, load, µs of arrivals at full effort and at quick effort.
CELLS: dict[str, tuple[str, str, float, float, float]] = {
    WEB: (fabric.ASYMMETRIC, "web_search", 0.1, 100_000.0, 20_000.0),
    TINY: (fabric.SYMMETRIC, "enterprise_meet", 0.4, 10_000.0, 1_000.0),
}
SEEDS = {WEB: 5, TINY: 3}


def meet(name: str, parameters: str) -> Variation:
    """MEET with other parameters."""
    return Variation(name, {}, {"MEET": parameters})


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
)


def schemes(variation: Variation) -> str:
    """What takes part; a key given twice counts as given last."""
    own, hermes = variation.added("MEET"), variation.added("Hermes")
    switches = "conga:flowlet_gap_us=500@CONGA,ecmp@ECMP"
    main = fabric.MEET[fabric.EVERY_HOST].removesuffix("@MEET")
    return f"{main}{own}@MEET,hermes:compat=paper{hermes}@Hermes,{switches}"


def needed(variation: Variation) -> tuple[str, ...]:
    """What differs from the first variation, whose runs serve where traffic and transport are the same."""
    changed = tuple(variation.schemes)
    return changed or ("MEET", "Hermes", "CONGA", "ECMP")


def runs(effort: Effort) -> list[Run]:
    """Every variation in both cells, over seeds."""
    return [
        Run(scheme.label, 0.0, seed, scheme.apply(variation.of(spec(cell, seed, effort))), f"{variation.name}; {cell}")
        for cell in CELLS
        for variation in VARIATIONS
        for seed in range(1, 1 + effort.choose(full=SEEDS[cell], quick=2))
        for scheme in parse_list(schemes(variation))
        if scheme.label in needed(variation)
    ]


def spec(cell: str, seed: int, effort: Effort) -> Spec:
    """The spec of a cell."""
    topology, cdf, load, full, quick = CELLS[cell]
    duration = effort.choose(full=full, quick=quick)
    form = fabric.TO_COMPLETION
    return fabric.spec(topology, cdf, load, duration, seed, form=form, name="MEET, variations")


def completed(variation: Variation, cell: str, measured: Measured) -> Measured:
    """The runs of a variation, with those of the first one for schemes that it leaves alone."""
    own = measured.within(f"{variation.name}; {cell}")
    base = measured.within(f"{VARIATIONS[0].name}; {cell}")
    rest = [m for m in base.measurements if m.run.curve not in own.curves]
    return Measured([*own.measurements, *rest], own.variant)


def like_hermes(variation: Variation, measured: Measured) -> Verdict:
    """C2-25: at 10 % MEET is like Hermes in large flows and on average."""
    part = completed(variation, WEB, measured)
    return evaluation.like("MEET", "Hermes", ["large_mean_fct_s", "mean_fct_s"], part)


def close_to_conga(variation: Variation, measured: Measured) -> Verdict:
    """C2-20: CONGA is 6 % better than MEET and Hermes with tiny flows, of those that start in the second half."""
    part = completed(variation, TINY, measured)
    others = ("MEET", "Hermes")
    return claims.graded(claims.reduction(part, "CONGA", other, figures.LATE, 0.0, claimed=0.06) for other in others)


EXPERIMENT = Experiment(
    id="meet-variations",
    figures=(),
    title="MEET, own addition: open assumptions varied alone",
    setup="as meet-9 at load 0.1 with 0.1 s of arrivals, and as meet-8 with 10 ms, one thing changed at a time",
    runs=runs,
    measure=figures.measure,
    panels=(),
    claims=(
        *(
            Claim("C2-25a", "9b", "at 10 % MEET like Hermes (within 5 %)", partial(like_hermes, one), one.name, False)
            for one in VARIATIONS
        ),
        *(
            Claim("C2-20", "8", "CONGA 6 % better than MEET, Hermes", partial(close_to_conga, one), one.name, False)
            for one in VARIATIONS
        ),
    ),
    headline="none: those of meet-8 and meet-9 are",
    assumptions=(Assumption("all else", "as in meet-8 and meet-9", "so that one thing differs at a time"),),
    notes=("Schemes that a variation leaves alone are those of the first one: same traffic, same runs.",),
)
