"""Which reading of the paper decides what comes of SELB: each open assumption varied alone, on T3-B at 0.8."""

from __future__ import annotations

from functools import partial

from spinewise.papers.selb import fabric
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict
from spinewise.reproduction.shapes import Variation
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

CLAIMED = {"lossless": 0.33, "IRN": 0.26}
# Of Fig. 5, the statement on the mean.
OF_MEAN = {"lossless": "C3-03", "IRN": "C3-05"}


VARIATIONS = (
    Variation("as selb-5"),
    # The traffic.
    Variation("load 0.9", {"traffic[0].load": 0.9}),
    Variation("all host pairs, as the ConWeave code", {"traffic[0].pairs": "any"}),
    # Above capacity; with 4:1 this is three times what the uplinks carry.
    Variation("load of the hosts' links", {"traffic[0].load_of": "host_links", "traffic[0].pairs": "any"}),
    # The transport.
    Variation("disorder does not cut the rate", {"transport.ooo_cnp": False}),
    Variation("one CNP per 50 µs", {"transport.cnp_interval_us": 50}),
    Variation("ten times the buffer", {"switch.buffer_bytes": 90 << 20}),
    # The reordering.
    Variation(
        "TAILs are waited for 64 µs longer", schemes={"SELB": ":extra_flush_us=64", "ConWeave": ":extra_flush_us=64"}
    ),
    # SELB.
    Variation("first path hashed", schemes={"SELB": ":first_path=ecmp"}),
    Variation("k-means starts at random, as printed", schemes={"SELB": ":start=random"}),
    Variation("long queues are congested, too", schemes={"SELB": ":also_len_bytes=100000"}),
    Variation("judged by a timer of τ = 10 µs", schemes={"SELB": ":monitor=interval"}),
    Variation("judged by a timer, θ 0.05, τ 2 µs", schemes={"SELB": ":monitor=interval:theta=0.05:tau_us=2"}),
    Variation("one cluster: any path not congested", schemes={"SELB": ":k=1"}),
    # ConWeave.
    Variation("path busy 16 µs, as its code", schemes={"ConWeave": ":theta_path_busy_us=16"}),
    Variation("no good path: wait", schemes={"ConWeave": ":no_good_path=wait"}),
)


def schemes(variation: Variation) -> str:
    """What takes part: ECMP, ConWeave, SELB."""
    # A key given twice counts as given last.
    conweave = f"{fabric.CONWEAVE}:reorder_queues=8{variation.added('ConWeave')}@ConWeave"
    return f"ecmp@ECMP,{conweave},{fabric.SELB}:reorder_queues=8{variation.added('SELB')}@SELB"


def spec(variation: Variation, mode: str, duration_us: float) -> Spec:
    """Fig. 5's spec at 0.8 in this variation."""
    hosts = fabric.EVALUATION_HOSTS
    return variation.of(fabric.spec(hosts, mode, "ali_storage", 0.8, duration_us, name="SELB, variations"))


def runs(effort: Effort) -> list[Run]:
    """Every variation in both modes, over seeds."""
    duration = effort.choose(full=400.0, quick=150.0)
    return [
        Run(scheme.label, 0.0, seed, scheme.apply(spec(variation, mode, duration)), f"{variation.name}, {mode}")
        for variation in VARIATIONS
        for mode in fabric.MODES
        for seed in range(1, 1 + effort.choose(full=3, quick=2))
        for scheme in parse_list(schemes(variation))
    ]


def selb_is_lower(variation: str, mode: str, measured: Measured) -> Verdict:
    """SELB's mean lies below ConWeave's by what the paper has."""
    part = measured.within(f"{variation}, {mode}")
    if not part.measurements:
        return claims.combined([])
    return claims.reduction(part, "SELB", "ConWeave", "mean_fct_s", 0.0, claimed=CLAIMED[mode])


EXPERIMENT = Experiment(
    id="selb-variations",
    figures=(),
    title="SELB, own addition: every open assumption varied alone",
    setup="as selb-5 at load 0.8 with 0.4 ms of arrivals, one thing changed at a time",
    runs=runs,
    measure=measure,
    panels=(),
    claims=tuple(
        Claim(
            OF_MEAN[mode],
            "5",
            f"SELB's mean FCT is {100 * CLAIMED[mode]:.0f} % below ConWeave's",
            partial(selb_is_lower, one.name, mode),
            reading=f"against ConWeave, {one.name}",
            headline=False,
        )
        for one in VARIATIONS
        for mode in fabric.MODES
    ),
    headline="none: those of selb-5 are",
    assumptions=(Assumption("all else", "as in selb-5", "so that one thing differs at a time"),),
    notes=("`python -m spinewise.papers.selb.tables DIR` prints the numbers.",),
)
