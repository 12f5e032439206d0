"""Figs. 5 and 6 of SELB: one experiment for each workload, and the checks of the statements in §IV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

from spinewise.measures.stats import paired_difference
from spinewise.papers.selb import fabric
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims, shapes
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Measured, Panel, Run, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

MODES = tuple(fabric.MODES)
LOADS = (0.4, 0.6, 0.8)
HIGH = 0.8
# The "aforementioned methods" of §IV-B.
OLD = ("ECMP", "LetFlow", "CONGA", "DRILL")
WORDS = {"mean_fct_s": "mean FCT", "p99_fct_s": "p99 FCT"}
# The flows of the 99th percentile.
ALL, SHORT_ONES = "all flows", "short flows"
# Two schemes perform similarly when their means differ by at most this share.
SIMILAR = 0.05

Claimed = Mapping[str, Mapping[str, Mapping[str, float]]]


# Arrivals (µs) and seeds. At 0.8 queues grow for as long as flows arrive: these runs are longer.
SHORT, LONG, QUICK = (3000.0, 5), (10_000.0, 10), (400.0, 3)


def extent(load: float, effort: Effort) -> tuple[float, int]:
    """Arrivals, in µs, and the number of seeds at a load."""
    return effort.choose(full=LONG if load == HIGH else SHORT, quick=QUICK, whole=LONG)


def runs(workload: str, number: str, effort: Effort) -> list[Run]:
    """Every scheme in both modes at every load, over seeds."""

    def of(mode: str, load: float) -> Spec:
        duration, _ = extent(load, effort)
        name = f"SELB Fig. {number}"
        return fabric.spec(fabric.EVALUATION_HOSTS, mode, workload, load, duration, name=name)

    return [
        Run(variant.label, load, seed, variant.apply(of(mode, load)), mode)
        for mode in MODES
        for load in effort.choose(full=LOADS, quick=(LOADS[0], LOADS[-1]))
        for seed in range(1, 1 + extent(load, effort)[1])
        for variant in parse_list(fabric.SCHEMES)
    ]


def panels(number: str) -> tuple[Panel, ...]:
    """Mean and 99th percentile, lossless then IRN."""
    kinds = [(mode, kind) for mode in MODES for kind in (shapes.mean_fct, shapes.p99_fct)]
    return tuple(
        kind(f"{number}{letter}", "load", variant=mode, log=mode == "lossless")
        for (mode, kind), letter in zip(kinds, "abcd", strict=True)
    )


def reductions(number: str, ids: Mapping[tuple[str, str], str], claimed: Claimed) -> tuple[Claim, ...]:
    """Claims on how far SELB is below others at 0.8: the numbers of §IV."""
    made = []
    for (mode, metric), key in ids.items():
        numbers = claimed[mode][metric]
        parts = ", ".join(f"{other} {100 * share:.0f}" for other, share in numbers.items())
        figure = number + "abcd"[2 * MODES.index(mode) + list(WORDS).index(metric)]
        statement = f"{mode}, 0.8: SELB's {WORDS[metric]} lower by, in %: {parts}"
        of_all = ALL if metric == "p99_fct_s" else ""
        made.append(Claim(key, figure, statement, partial(selb_is_lower, mode, metric, numbers), reading=of_all))
        if metric == "p99_fct_s":
            short = partial(selb_is_lower, mode, "short_p99_fct_s", numbers)
            made.append(Claim(key, figure, f"the same of short flows alone: {parts}", short, reading=SHORT_ONES))
    return tuple(made)


def selb_is_lower(mode: str, metric: str, numbers: Mapping[str, float], measured: Measured) -> Verdict:
    """Each of the paper's reductions, with ours."""
    part = measured.within(mode)
    return claims.graded(
        claims.reduction(part, "SELB", other, metric, HIGH, claimed=share) for other, share in numbers.items()
    )


def best_case(key: str, number: str) -> Claim:
    """The abstract's sentence."""
    statement = "up to 33 % (mean) and 21 % (p99) below the state of the art, over all cells"
    return Claim(key, number + "a", statement, largest_gain)


def largest_gain(measured: Measured) -> Verdict:
    """The cell with SELB's largest gain on ConWeave."""
    verdicts = []
    for metric, share in (("mean_fct_s", 0.33), ("p99_fct_s", 0.21)):
        cells = [(part, "ConWeave", x) for part in map(measured.within, MODES) for x in part.xs]
        verdicts.append(claims.largest(cells, "SELB", metric, claimed=share))
    return claims.graded(verdicts)


def per_mode(key: str, figure: str, statement: str, check: Callable[[str, Measured], Verdict]) -> tuple[Claim, ...]:
    """A statement about both modes."""
    return tuple(Claim(key, figure, statement, partial(check, mode), reading=mode) for mode in MODES)


def drill_is_poor(key: str, number: str) -> tuple[Claim, ...]:
    """§IV-B on DRILL."""
    return per_mode(key, number + "a,c", "DRILL has the longest mean FCT at every load", drill_is_last)


def drill_is_last(mode: str, measured: Measured) -> Verdict:
    """DRILL is slower than all others."""
    part = measured.within(mode)
    return claims.higher(part, "DRILL", [curve for curve in part.curves if curve != "DRILL"], "mean_fct_s")


def conweave_fades(key: str, number: str) -> tuple[Claim, ...]:
    """§IV-B on ConWeave."""
    figure = number + "a,c"
    ahead = f"ConWeave's mean FCT is below that of {', '.join(OLD)} at 0.4 and 0.6"
    return (
        *per_mode(f"{key}a", figure, ahead, leads),
        *per_mode(f"{key}b", figure, "its lead over ECMP is smaller at 0.8 than below", fades),
    )


def leads(mode: str, measured: Measured) -> Verdict:
    """ConWeave is faster than all but SELB at low and medium load."""
    part = measured.within(mode)
    return claims.lower(part, "ConWeave", OLD, "mean_fct_s", [x for x in part.xs if x < HIGH])


def fades(mode: str, measured: Measured) -> Verdict:
    """ConWeave's lead over ECMP, as a share of ECMP's mean, is smaller at 0.8 than at any other load."""
    part = measured.within(mode)
    return claims.combined(one_fade(part, x) for x in part.xs if x < HIGH)


def one_fade(part: Measured, x: float) -> Verdict:
    """The lead at x against that at 0.8, paired by seed."""
    at_x, at_high = (lead_by_seed(part, point) for point in (x, HIGH))
    seeds = [seed for seed in at_x if seed in at_high]
    change = paired_difference([at_x[seed] for seed in seeds], [at_high[seed] for seed in seeds])
    leads = [100 * mean(list(found.values())) for found in (at_x, at_high)]
    text = f"ConWeave ahead of ECMP by {leads[0]:.1f} % at {x:g}, by {leads[1]:.1f} % at 0.8"
    return claims.told(change, f"{text} (difference ±{100 * change.half:.1f})")


def lead_by_seed(part: Measured, x: float) -> dict[int, float]:
    """The share by which ConWeave's mean is below ECMP's, for the seeds that both have."""
    own, base = (part.by_seed(curve, x, "mean_fct_s") for curve in ("ConWeave", "ECMP"))
    return {seed: 1.0 - own[seed] / base[seed] for seed in own if seed in base}


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values) if values else float("nan")


def drill_unexpectedly_good(key: str, number: str) -> tuple[Claim, ...]:
    """§IV-C on DRILL."""
    return (
        Claim(
            f"{key}a", number + "c", "DRILL's mean FCT below ECMP's, LetFlow's, CONGA's at 0.4", good_when_low, "mean"
        ),
        Claim(f"{key}a", number + "d", "so is its p99 FCT of short flows", good_for_short_flows, "p99 of short flows"),
        Claim(f"{key}b", number + "c", "above them at 0.8", partial(bad_at, "IRN", (HIGH,)), "IRN"),
        Claim(f"{key}b", number + "a", "above them at every load", partial(bad_at, "lossless", ()), "lossless"),
    )


def good_when_low(measured: Measured) -> Verdict:
    """DRILL under IRN at the lowest load."""
    return claims.lower(measured.within("IRN"), "DRILL", ["ECMP", "LetFlow", "CONGA"], "mean_fct_s", [0.4])


def good_for_short_flows(measured: Measured) -> Verdict:
    """The same at the 99th percentile of short flows."""
    return claims.lower(measured.within("IRN"), "DRILL", ["ECMP", "LetFlow", "CONGA"], "short_p99_fct_s", [0.4])


def bad_at(mode: str, xs: Sequence[float], measured: Measured) -> Verdict:
    """DRILL is slower than schemes that do not reorder."""
    return claims.higher(measured.within(mode), "DRILL", ["ECMP", "LetFlow", "CONGA"], "mean_fct_s", xs)


def old_ones_alike(key: str, number: str) -> tuple[Claim, ...]:
    """§IV-C: "CONGA, LetFlow, and ECMP all perform similarly"."""
    return per_mode(key, number + "a,c", "mean FCT of CONGA, LetFlow and ECMP within 5 % of each other", similar)


def similar(mode: str, measured: Measured) -> Verdict:
    """Judge whether any two of CONGA, LetFlow and ECMP are equally fast."""
    part = measured.within(mode)
    return claims.combined(
        claims.alike(part, curve, other, "mean_fct_s", x, within=SIMILAR)
        for x in part.xs
        for other, curve in combinations(("ECMP", "LetFlow", "CONGA"), 2)
    )


def in_this_order(key: str, number: str) -> tuple[Claim, ...]:
    """§IV-C: "ConWeave performs better than other TCP-based solutions, but still not as well as SELB"."""
    figure = number + "a,b,c,d"
    text = "mean and p99 FCT below that of {}, at every load".format
    return (
        *per_mode(f"{key}a", figure, f"ConWeave's {text(', '.join(OLD))}", partial(better, "ConWeave", OLD)),
        *per_mode(f"{key}b", figure, f"SELB's {text('ConWeave')}", partial(better, "SELB", ("ConWeave",))),
    )


def better(curve: str, others: Sequence[str], mode: str, measured: Measured) -> Verdict:
    """Mean and 99th percentile of all flows below each of the others'."""
    part = measured.within(mode)
    return claims.graded(
        claims.lower(part, curve, [other], metric, [x]) for metric in WORDS for other in others for x in part.xs
    )


def experiment(number: str, workload: str, title: str, statements: tuple[Claim, ...]) -> Experiment:
    """Fig. 5 or 6."""
    return Experiment(
        id=f"selb-{number}",
        figures=tuple(f"{number}{letter}" for letter in "abcd"),
        title=title,
        setup="8x8 leaf-spine, 256 hosts, 4:1, 100 Gbps, 1 µs; 3 ms of arrivals, at 0.8 10 ms (quick:"
        " 0.4 ms), the first third not counted; 8 reorder queues",
        runs=partial(runs, workload, number),
        measure=measure,
        panels=panels(number),
        claims=statements,
        headline="both networks, where the paper draws both; of the 99th percentile both that of all flows and that of"
        " short flows: §IV-B introduces it as 'the 99th percentile FCT of short flows', gives its numbers without these"
        " words, and no panel says of which",
        assumptions=fabric.ASSUMPTIONS,
        notes=(
            "Reductions hold when certain and at least half of what the paper gives, and hold in part when smaller;"
            " an effect of half the size that is excluded does not hold.",
        ),
    )
