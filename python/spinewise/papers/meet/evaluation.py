"""Figs. 6 to 11 of MEET: one experiment for each workload and topology, and the checks of the statements in §4."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from spinewise.papers.meet import fabric
from spinewise.papers.meet.fabric import HERMES_CODE, RACK, TO_COMPLETION
from spinewise.papers.meet.measure import figures
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Measured, Panel, Run, Status, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

REST = ("CLOVE", "LetFlow", "DRILL")
# From 10 to 90 %, 10 rounds (§4): whole effort.
PAPER_LOADS, PAPER_SEEDS = tuple(step / 10 for step in range(1, 10)), 10
PAPER_US = 200_000.0
# Two schemes perform alike when their means differ by at most this share.
SIMILAR = 0.05
# A level is steady if its last third is above the first by no more than this.
GROWN = 0.10
WORDS = {
    "small_mean_fct_s": "mean FCT of flows below 100 kB",
    "large_mean_fct_s": "mean FCT of flows above 10 MB",
    "mean_fct_s": "mean FCT",
    "p99_fct_s": "99th percentile",
}
FOUR = tuple(zip("abcd", WORDS, strict=True))
TINY = tuple(zip("abcd", figures.TINY.items(), strict=True))

Check = Callable[[Measured], Verdict]


@dataclass(frozen=True)
class Plan:
    """The runs for one figure.

    Attributes:
        number: the number of the figure.
        workload: name of the distribution of flow sizes.
        topology: symmetric or asymmetric.
        beside_loads: loads at which the proxy probes too, full effort.
        duration_us: duration of arrivals, full effort.
        whole_us: duration of arrivals, whole effort.
        seeds: full effort.
        quick: loads, arrivals and seeds of a quick effort.
        beside: load of the other forms, and the curves of each; none without.
        loads: loads at which every host probes, full effort.
        steady: whether flows of the first half of the arrivals are left out.
    """

    number: str
    workload: str
    topology: str
    beside_loads: Sequence[float]
    duration_us: float
    seeds: int
    quick: tuple[Sequence[float], float, int]
    beside: Mapping[str, tuple[float, Sequence[str]]]
    loads: Sequence[float] = PAPER_LOADS
    whole_us: float = PAPER_US
    steady: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """Run to completion, and the forms shown beside it."""
        return (TO_COMPLETION, *self.beside)

    @property
    def variants(self) -> tuple[tuple[str, str], ...]:
        """The form and the probing of each variant of the experiment."""
        return tuple((form, probing) for probing in fabric.MEET for form in self.forms)

    def duration(self, effort: Effort, form: str) -> float:
        """Arrivals in µs."""
        full = self.duration_us if form in {TO_COMPLETION, RACK} else fabric.HERMES_ARRIVALS_US
        return effort.choose(full=full, quick=self.quick[1], whole=self.whole_us)

    def cells(self, effort: Effort, form: str, probing: str) -> list[tuple[float, int]]:
        """Loads with their numbers of seeds."""
        seeds = effort.choose(full=self.seeds, quick=self.quick[2], whole=max(self.seeds, PAPER_SEEDS))
        if form != TO_COMPLETION:
            return [(self.beside[form][0], seeds)]
        full = self.loads if probing == fabric.EVERY_HOST else self.beside_loads
        return [(load, seeds) for load in effort.choose(full=full, quick=self.quick[0], whole=PAPER_LOADS)]


COMPARED = ("MEET", *fabric.OTHERS)
ALL = (*COMPARED, "ECMP")
# The schemes that reorder, and their references.
REORDERING = ("MEET", "DRILL")


def runs(plan: Plan, effort: Effort) -> list[Run]:
    """Every scheme at every load in every form, over seeds; other schemes are the same however MEET probes."""

    def of(form: str, load: float, seed: int) -> Spec:
        name, duration = f"MEET Fig. {plan.number}", plan.duration(effort, form)
        return fabric.spec(plan.topology, plan.workload, load, duration, seed, form=form, name=name)

    return [
        Run(one.label, load, seed, one.apply(of(form, load, seed)), fabric.variant(form, probing))
        for form, probing in plan.variants
        for load, seeds in plan.cells(effort, form, probing)
        for seed in range(1, 1 + seeds)
        for one in parse_list(fabric.schemes(form, probing))
        if one.label in (ALL if form == TO_COMPLETION else plan.beside[form][1])
    ]


def panels(plan: Plan) -> tuple[Panel, ...]:
    """The paper's four panels, in every form."""
    shown = [(letter, metric, WORDS[metric], "ms", 1e3) for letter, metric in FOUR]
    if plan.workload == "enterprise_meet":
        shown = [(letter, f"{name}_mean_fct_s", f"flows below {size} B", "µs", 1e6) for letter, (name, size) in TINY]
    return tuple(
        Panel(plan.number + letter, metric, title, "load", unit, scale, name)
        for name in (fabric.variant(*one) for one in plan.variants)
        for letter, metric, title, unit, scale in shown
    )


# ---- checks: each takes the measurements of one form ----


def at(measured: Measured, curves: Iterable[str], xs: Sequence[float] = ()) -> list[float]:
    """The loads at which all these curves were run, or those of `xs` among them."""
    found = [x for x in measured.xs if all(measured.at(curve, x) for curve in curves)]
    return [x for x in found if not xs or x in xs]


def below(
    curve: str,
    others: Sequence[str],
    metrics: Sequence[str],
    claimed: float,
    measured: Measured,
    *,
    xs: Sequence[float] = (),
    whose: str = claims.PAPERS,
) -> Verdict:
    """`curve` below each of the others by the paper's share, at every load."""
    return claims.graded(
        claims.reduction(measured, curve, other, metric, x, claimed=claimed, whose=whose)
        for metric in metrics
        for other in others
        for x in at(measured, (curve, other), xs)
    )


def up_to(other: str, metric: str, claimed: float) -> Check:
    """MEET below another by the paper's largest share."""
    return partial(largest, other, metric, claimed)


def largest(other: str, metric: str, claimed: float, measured: Measured) -> Verdict:
    """The check of `up_to`, if both were run."""
    xs = at(measured, ("MEET", other))
    if not xs:
        return claims.combined([])
    part = Measured([m for m in measured.measurements if m.run.x in xs], measured.variant)
    return claims.up_to(part, "MEET", metric, claimed=claimed, others=[other])


def ahead(
    curve: str, others: Sequence[str], metrics: Sequence[str], measured: Measured, xs: Sequence[float] = ()
) -> Verdict:
    """Judge whether `curve` is below the others, by any amount; in part if that holds at some loads only."""
    return claims.graded(lower(curve, others, metrics, measured, xs))


def all_ahead(curves: Sequence[str], others: Sequence[str], metrics: Sequence[str], measured: Measured) -> Verdict:
    """Each of these curves below each of the others; in part if some are."""
    return claims.graded(ahead(curve, others, metrics, measured) for curve in curves)


def always_ahead(
    curve: str, others: Sequence[str], metrics: Sequence[str], measured: Measured, xs: Sequence[float] = ()
) -> Verdict:
    """`curve` below the others at every load."""
    return claims.combined(lower(curve, others, metrics, measured, xs))


def lower(
    curve: str, others: Sequence[str], metrics: Sequence[str], measured: Measured, xs: Sequence[float]
) -> Iterable[Verdict]:
    """One comparison for each metric, other scheme and load."""
    return [
        claims.lower(measured, curve, [other], metric, [x])
        for metric in metrics
        for other in others
        for x in at(measured, (curve, other), xs)
    ]


def like(
    curve: str,
    other: str,
    metrics: Sequence[str],
    measured: Measured,
    *,
    xs: Sequence[float] = (),
    within: float = SIMILAR,
) -> Verdict:
    """`curve` within a share of another at every load."""
    return claims.graded(
        claims.alike(measured, curve, other, metric, x, within=within)
        for metric in metrics
        for x in at(measured, (curve, other), xs)
    )


def no_worse(
    curve: str, other: str, metrics: Sequence[str], measured: Measured, *, xs: Sequence[float] = ()
) -> Verdict:
    """`curve` at no load above another by more than the limit for alike."""
    return claims.combined(
        claims.no_worse(measured, curve, other, metric, x, within=SIMILAR)
        for metric in metrics
        for x in at(measured, (curve, other), xs)
    )


def both_ahead(measured: Measured) -> Verdict:
    """MEET and Hermes below CONGA at the lowest load, in large flows and on average."""
    metrics = ["large_mean_fct_s", "mean_fct_s"]
    return claims.graded(ahead(curve, ["CONGA"], metrics, measured, xs=[0.1]) for curve in ("MEET", "Hermes"))


def percentiles(measured: Measured) -> Verdict:
    """The share of flows below each size of §4: not a test, as the distribution was chosen for these shares."""
    found = []
    for size, share in ((75, 0.5), (350, 0.9), (10_000, 0.99)):
        drawn = measured.values(measured.curves[0], measured.xs[0], f"share_below_{size}")[0]
        text = (
            f"cannot fail: {100 * drawn:.2f} % of the flows drawn are below {size} B, and the distribution was chosen"
        )
        found.append(claims.line(Status.UNTESTED, f"{text} because it has {100 * share:g} % there"))
    return claims.graded(found)


def below_300_us(measured: Measured) -> Verdict:
    """Judge whether MEET's flows take less than 300 µs on average, in each class of the figure, throughout the run.

    In part if that holds at some of the loads that the paper draws, and nothing is run at the others.
    """
    missing = [x for x in PAPER_LOADS if x not in measured.xs]
    text = f"run at {listed(measured.xs)} alone; the paper draws {listed(missing)}, too"
    below = [claims.line(Status.UNTESTED, text)] if missing and measured.xs else []
    below += [claims.below_limit(measured, "MEET", metric, 300e-6, x) for metric in TINY_FCT for x in measured.xs]
    return claims.combined([claims.graded(below), steady(measured, ("MEET",))])


def steady(measured: Measured, curves: Iterable[str]) -> Verdict:
    """Whether the last third of the measured flows takes no longer than the first; not distinguishable if it does."""
    found = []
    for curve in curves:
        for x in at(measured, (curve,)):
            thirds = [measured.interval(curve, x, metric).mean for metric in figures.THIRDS]
            grown = thirds[-1] / thirds[0] - 1.0
            status = Status.HOLDS if grown <= GROWN else Status.OPEN
            text = f"{curve} at {x:g}: thirds of the run {', '.join(f'{1e6 * value:.0f}' for value in thirds)} µs"
            found.append(claims.line(status, f"{text} ({100 * grown:+.0f} %)", comparisons=0))
    return claims.combined(found)


def with_thirds(check: Check) -> Check:
    """A check, with the thirds of the run of each scheme noted after it, which do not count as comparisons."""
    return partial(_with_thirds, check)


def _with_thirds(check: Check, measured: Measured) -> Verdict:
    return claims.noted(check(measured), (cell.text for cell in steady(measured, measured.curves).cells))


TINY_FCT = tuple(f"{name}_mean_fct_s" for name in figures.TINY)
TINY_NOTE = (
    "With headers, acknowledgements and a handshake a flow of 342 bytes puts 1.8 times its payload on the wire; the"
    " loads are chosen so that this fits. Flows of the first half of the arrivals are left out: where the proxy probes,"
    " times grow for 10 ms. No hermes-code form: 0.1 s would be ten million flows, and none is slow."
)


# ---- claims ----


@dataclass(frozen=True)
class Statement:
    """A sentence of §4: its check takes the measurements of one form; `forms` are the forms it is judged in."""

    id: str
    panel: str
    text: str
    check: Check
    forms: tuple[str, ...] = (TO_COMPLETION, HERMES_CODE)


ONLY_TO_COMPLETION = (TO_COMPLETION,)


AT_LEAST_AS_GOOD = Statement(
    "C2-42",
    "abcd",
    "MEET not behind Hermes (by 5 % at most)",
    partial(no_worse, "MEET", "Hermes", tuple(WORDS)),
)


def up_to_hermes(panel: str) -> Statement:
    """The abstract's sentence about "all the experiments" (§6): one cell of all figures is enough."""
    return Statement(
        "C2-02", panel, "abstract: mean FCT of MEET up to 10 % below Hermes", up_to("Hermes", "mean_fct_s", 0.10)
    )


SIMILAR_TO_HERMES = Statement(
    "C2-43",
    "abcd",
    "MEET like Hermes (within 5 %), at every size",
    partial(like, "MEET", "Hermes", TINY_FCT),
)


def under_rack(statement: Statement) -> Statement:
    """The statement on DRILL alone, with a sender that reordering does not mislead."""
    return replace(statement, forms=(RACK,))


def counted(check: Check, measured: Measured) -> Verdict:
    """A check, with the number of flows behind it."""
    verdict = check(measured)
    return claims.noted(verdict, counts(measured))


def counts(part: Measured) -> list[str]:
    """Seeds and flows of each load, and the number of overloaded runs of the first curve."""
    found = []
    for x in part.xs:
        curve = next(curve for curve in part.curves if part.at(curve, x))
        of = part.at(curve, x)
        flows, small, large = (part.interval(curve, x, f"{key}flows").mean for key in ("", "small_", "large_"))
        wire = max(part.values(curve, x, "wire_of_available"))
        over = sum(m.overloaded for m in of)
        text = f"at {x:g}: {len(of)} seeds, {flows:.0f} flows each, {small:.0f} small, {large:.0f} large"
        text += f"; worst leaf asked for up to {wire:.2f} of what it has"
        found.append(text + (f"; {over} of {len(of)} overloaded" if over else ""))
    return found


def loads_of(plan: Plan) -> str:
    """The loads of a full effort, in words."""
    whole = set(plan.loads) == set(PAPER_LOADS)
    every = "the paper's nine loads" if whole else f"{len(plan.loads)} of the paper's nine loads, {listed(plan.loads)},"
    if list(plan.beside_loads) == list(plan.loads):
        return f"{every} and {plan.seeds} seeds"
    return f"{every} and {plan.seeds} seeds, and has the proxy probe at {listed(plan.beside_loads)} alone"


def listed(loads: Sequence[float]) -> str:
    """Loads as a list."""
    return ", ".join(f"{load:g}" for load in loads)


def experiment(
    plan: Plan, title: str, setup: str, statements: Sequence[Statement], notes: tuple[str, ...] = ()
) -> Experiment:
    """One figure."""
    return Experiment(
        id=f"meet-{plan.number}",
        figures=tuple(f"{plan.number}{letter}" for letter in "abcd"),
        title=title,
        setup=f"8x8 leaf-spine, 128 hosts, 2:1, 10 Gbps, 10 µs; {setup}",
        runs=partial(runs, plan),
        measure=figures.measure_steady if plan.steady else figures.measure,
        panels=panels(plan),
        claims=tuple(
            Claim(
                one.id,
                plan.number + one.panel,
                one.text,
                claims.within(fabric.variant(form, probing), partial(counted, one.check)),
                reading=fabric.variant(form, probing),
                headline=(form, probing) == (TO_COMPLETION, fabric.EVERY_HOST),
            )
            for form, probing in plan.variants
            for one in statements
            if form in one.forms
        ),
        headline=(
            "every host probes and takes the best probed path: §3.3, which tells how probing works, says 'each host';"
            " runs to completion, schemes as their papers have them (§4: 'as suggested in corresponding papers')"
        ),
        assumptions=fabric.ASSUMPTIONS,
        notes=(
            f"Full effort has {loads_of(plan)};"
            f" `--whole` has the paper's nine loads and 10 seeds of both, {plan.whole_us / 1e3:g} ms of arrivals.",
            "Reductions hold when certain and at least half of what the paper gives (of a range: its lower end), and"
            " hold in part when smaller; an effect of half the size that is excluded does not hold.",
            *notes,
        ),
    )
