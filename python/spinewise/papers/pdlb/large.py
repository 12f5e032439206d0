"""Figs. 11 and 12 of PDLB: one experiment for each workload, and the checks of the paper's statements.

Set-up T0-E: 8 leaves, 8 spines, 256 hosts, 10 Gbps (4:1), buffers of 250 KB; round-trip time 100 µs, 300 µs over one
spine drawn by the seed; Poisson arrivals between random hosts; DCTCP.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from spinewise.papers.pdlb import transports
from spinewise.papers.pdlb.measure.large import measure
from spinewise.papers.pdlb.transports import THREE, TRANSPORTS
from spinewise.reproduction import claims, readings, shapes
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
from spinewise.shapes import Spec, Transport
from spinewise.specs.variants import parse_list

# QDAPS' paper is not available: our own reading of it is run together with that of its authors' programs.
QDAPS, RELEASED = "QDAPS", "QDAPS as released"
OTHER_QDAPS = {QDAPS: RELEASED, RELEASED: QDAPS}
SCHEMES = (
    "rps@RPS,ecmp@ECMP,letflow:flowlet_gap_us=500@LetFlow,presto@Presto,"
    f"qdaps@{QDAPS},qdaps:rules=released@{RELEASED},pdlb@PDLB"
)
SPINES = LEAVES = 8
GOOD_RTT_NS, BAD_RTT_NS = 100_000, 300_000
LINK_DELAY_NS = GOOD_RTT_NS // 8
LOADS = (0.2, 0.4, 0.6, 0.8)
ALL_LOADS = tuple(tenth / 10 for tenth in range(1, 9))
SEEDS = 5
# Two schemes are close when their means differ by at most this share.
CLOSE = 0.10
SHORT_MEAN, SHORT_P99, LONG_MEAN = f"short_{readings.MEAN}", f"short_{readings.P99}", f"long_{readings.MEAN}"

# Microseconds of arrivals at each effort. Sized by pilots; see docs/reproduction/pdlb.md.
DURATIONS: dict[str, dict[Effort, float]] = {
    "web_search": {Effort.QUICK: 4_000.0, Effort.FULL: 60_000.0, Effort.WHOLE: 200_000.0},
    "data_mining": {Effort.QUICK: 10_000.0, Effort.FULL: 150_000.0, Effort.WHOLE: 500_000.0},
}


def spec(cdf: str, load: float, seed: int, duration_us: float, transport: Transport) -> Spec:
    """The spec without a scheme: arrivals for a time, then until every flow is done."""
    slow = random.Random(seed).randrange(SPINES)
    return {
        "name": f"PDLB large scale, {cdf} at {load:g}",
        "preset": "datacenter",
        "topology": {
            "leaves": LEAVES,
            "spines": SPINES,
            "hosts_per_leaf": 32,
            "host_rate_gbps": 10,
            "fabric_rate_gbps": 10,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": [{"spine": slow, "delay_ns": shapes.override_of_path(BAD_RTT_NS, LINK_DELAY_NS)}],
        },
        "switch": {"buffer_bytes": 250_000, "ecn_threshold_bytes": transports.ECN_BYTES},
        "transport": {"kind": "dctcp", **transport},
        "traffic": [{"kind": "poisson", "cdf": cdf, "load": load, "duration_us": duration_us}],
        "run": {"until_us": 120_000_000},
    }


def runs(cdf: str, effort: Effort) -> list[Run]:
    """Every scheme at every load under the transports, over seeds."""
    duration = DURATIONS[cdf][effort]
    return [
        Run(variant.label, load, seed, variant.apply(spec(cdf, load, seed, duration, keys)), name)
        for name, keys in TRANSPORTS.items()
        for load in effort.choose(full=LOADS, quick=(LOADS[0], LOADS[-1]), whole=ALL_LOADS)
        for seed in range(1, 1 + effort.choose(full=SEEDS, quick=2))
        for variant in parse_list(SCHEMES)
    ]


def with_qdaps(curve: str, check: Callable[[Measured], Verdict]) -> Callable[[Measured], Verdict]:
    """A check with this reading of QDAPS in place of QDAPS, and without the other."""
    return partial(_with_qdaps, curve, check)


def _with_qdaps(curve: str, check: Callable[[Measured], Verdict], measured: Measured) -> Verdict:
    kept = [one for one in measured.measurements if one.run.curve != OTHER_QDAPS[curve]]
    named = [replace(one, run=replace(one.run, curve=QDAPS)) if one.run.curve == curve else one for one in kept]
    return check(Measured(named, measured.variant))


def best_gain(metric: str, claimed: float, measured: Measured) -> Verdict:
    """The paper's "up to", against any other scheme at any load."""
    return claims.up_to(measured, "PDLB", metric, claimed=claimed)


def without_qdaps(check: Callable[[Measured], Verdict]) -> Callable[[Measured], Verdict]:
    """A check against only those schemes that the paper describes or cites well enough to build."""
    return partial(_without_qdaps, check)


def _without_qdaps(check: Callable[[Measured], Verdict], measured: Measured) -> Verdict:
    return check(Measured([one for one in measured.measurements if one.run.curve != QDAPS], measured.variant))


def least_gain(metric: str, claimed: float, measured: Measured) -> Verdict:
    """The smaller number of the paper's range: at least this far below every other scheme at every load."""
    return claims.graded(
        claims.reduction(measured, "PDLB", other, metric, x, claimed=claimed)
        for x in measured.xs
        for other in measured.others("PDLB")
    )


def worst_are(metric: str, measured: Measured) -> Verdict:
    """RPS has the highest values, ECMP the next."""
    rest = measured.others("RPS", "ECMP")
    return claims.combined(
        verdict
        for x in measured.xs
        for verdict in (
            claims.higher(measured, "RPS", [*rest, "ECMP"], metric, [x]),
            claims.higher(measured, "ECMP", rest, metric, [x]),
        )
    )


def presto_behind_letflow(measured: Measured) -> Verdict:
    """Presto's long flows take longer than LetFlow's."""
    return claims.graded(claims.higher(measured, "Presto", ["LetFlow"], LONG_MEAN, [x]) for x in measured.xs)


def qdaps_is_second(measured: Measured) -> Verdict:
    """QDAPS' long flows take less time than those of all others but PDLB."""
    rest = measured.others("QDAPS", "PDLB")
    return claims.lower(measured, "QDAPS", rest, LONG_MEAN)


def longer_than_pdlb(others: Sequence[str], measured: Measured) -> Verdict:
    """Mean over all flows of each of these above PDLB's."""
    return claims.graded(
        claims.higher(measured, other, ["PDLB"], readings.MEAN, [x]) for other in others for x in measured.xs
    )


def qdaps_is_close(measured: Measured) -> Verdict:
    """QDAPS' mean over all flows is close to PDLB's."""
    return claims.graded(claims.alike(measured, "QDAPS", "PDLB", readings.MEAN, x, within=CLOSE) for x in measured.xs)


def statements(number: str, tail: tuple[str, float, float]) -> Iterator[Claim]:
    """The statements about both workloads; `tail` is the claim on tails, with the smallest and the largest gain."""
    key, least, most = tail
    p99, percent = "p99 of short flows", "{:.0f} % below".format
    yield Claim("C0-21", f"{number}a", "mean FCT of short flows up to 43 % lower", partial(best_gain, SHORT_MEAN, 0.43))
    yield Claim(
        "C0-22", f"{number}a", "short flows: RPS has the worst mean, ECMP the next", partial(worst_are, SHORT_MEAN)
    )
    text = f"{p99}: at least {percent(100 * least)} every other scheme"
    yield Claim(f"{key}a", f"{number}b", text, partial(least_gain, SHORT_P99, least))
    yield Claim(f"{key}b", f"{number}b", f"{p99}: up to {percent(100 * most)}", partial(best_gain, SHORT_P99, most))
    text = "long flows: mean FCT at least 8 % below every other scheme"
    yield Claim("C0-26a", f"{number}c", text, partial(least_gain, LONG_MEAN, 0.08))
    yield Claim("C0-26b", f"{number}c", "long flows: mean FCT up to 53 % lower", partial(best_gain, LONG_MEAN, 0.53))
    text = "long flows: RPS has the worst mean, ECMP the next"
    yield Claim("C0-27a", f"{number}c", text, partial(worst_are, LONG_MEAN))
    yield Claim("C0-27b", f"{number}c", "long flows: Presto behind LetFlow", presto_behind_letflow)
    yield Claim("C0-27c", f"{number}c", "long flows: QDAPS second best", qdaps_is_second)
    text = "all flows: mean FCT at least 8 % below every other scheme"
    yield Claim("C0-31a", f"{number}d", text, partial(least_gain, readings.MEAN, 0.08))
    yield Claim("C0-31b", f"{number}d", "all flows: mean FCT up to 53 % lower", partial(best_gain, readings.MEAN, 0.53))
    for letter, others in (("a", ("RPS", "Presto")), ("b", ("ECMP", "LetFlow"))):
        text = f"all flows: mean FCT of {' and '.join(others)} longer than PDLB's"
        yield Claim(f"C0-32{letter}", f"{number}d", text, partial(longer_than_pdlb, others))
    yield Claim("C0-28", f"{number}d", f"all flows: QDAPS close to PDLB (within {100 * CLOSE:g} %)", qdaps_is_close)


# Claims whose verdict changes without QDAPS, or that name it.
ON_QDAPS = ("C0-22", "C0-24b", "C0-27c", "C0-28")
# Claims that another scheme could also confirm or refute: each is judged without QDAPS, too.
OTHERS_TOO = ("C0-21", "C0-22", "C0-23b", "C0-24b", "C0-26b", "C0-27a", "C0-31a", "C0-31b")


def in_both_readings(statements: Sequence[Claim]) -> tuple[Claim, ...]:
    """These claims with our QDAPS; also without it, and those that depend on it with its authors' rules."""
    own = tuple(replace(one, check=with_qdaps(QDAPS, one.check)) for one in statements)
    without = tuple(
        replace(one, check=without_qdaps(one.check), reading="without QDAPS", headline=False)
        for one in own
        if one.id in OTHERS_TOO
    )
    released = tuple(
        replace(one, check=with_qdaps(RELEASED, one.check), reading=RELEASED, headline=False)
        for one in statements
        if one.id in ON_QDAPS
    )
    return own + without + released


def panels(number: str, name: str) -> tuple[Panel, ...]:
    """The paper's four panels, and those that explain them."""
    x = "load"
    return (
        shapes.mean_fct(f"{number}a", x, size="short", variant=name),
        shapes.p99_fct(f"{number}b", x, size="short", variant=name),
        shapes.mean_fct(f"{number}c", x, size="long", variant=name, unit="ms"),
        shapes.mean_fct(f"{number}d", x, variant=name, unit="ms"),
        shapes.share("beside", "long_resent", "packets of long flows sent again", x, of="packets", variant=name),
        shapes.share("beside", "out_of_order", "out-of-order arrivals", x, of="packets", variant=name),
    )


ASSUMPTIONS = (
    Assumption("delay", "RTT 100 µs on good paths, shared equally by the links", "'propagation delay' may be one way"),
    Assumption("bad path", "one spine, drawn by the seed, 300 µs for all pairs", "one path, randomly selected"),
    Assumption("load", "payload to other racks over the nominal uplinks of a leaf", "not defined in the paper"),
    Assumption("pairs", "random hosts of different racks", "flows inside a rack meet no scheme"),
    Assumption("K", "65 x 1460 bytes", "the authors' script at 1 Gbps; nothing is said of 10 Gbps"),
    Assumption("LetFlow's gap", "500 µs", "given"),
    Assumption(
        "QDAPS",
        "our own reading, long flows rerouted past 100 KB and 100 µs; beside it the rules of its authors' programs,"
        " which reroute every flow past 41 packets",
        "its paper is not at hand, and PDLB's names no constant and no program",
    ),
    Assumption("short flows", "below 100,000 bytes", "given for Figs. 8 and 9"),
    Assumption("workloads", "DCTCP's web search (mean 1.71 MB); data mining of mean 7.49 MB", "the means quoted"),
    Assumption("run", "arrivals for a while, then until every flow is done; all flows count", "not given"),
    Assumption("transport", "DCTCP, initial window 10, least timeout 10 ms", "DCTCP is given"),
)


def experiment(
    number: str,
    workload: str,
    title: str,
    tail: tuple[str, float, float],
    *,
    more: Callable[[Effort], list[Run]] | None = None,
    further: Sequence[Claim] = (),
) -> Experiment:
    """Fig. 11 or 12; `more` are further runs, for the claims `further`."""
    milliseconds = {effort.value: duration / 1e3 for effort, duration in DURATIONS[workload].items()}

    def all_runs(effort: Effort) -> list[Run]:
        return runs(workload, effort) + (more(effort) if more else [])

    return Experiment(
        id=f"pdlb-{number}",
        figures=tuple(f"{number}{letter}" for letter in "abcd"),
        title=title,
        setup=(
            "8x8 leaf-spine, 256 hosts, 4:1, 10 Gbps, RTT 100 µs, 300 µs over one spine; DCTCP;"
            f" {milliseconds['full']:g} ms of arrivals (quick: {milliseconds['quick']:g})"
        ),
        runs=all_runs,
        measure=measure,
        panels=tuple(panel for name in TRANSPORTS for panel in panels(number, name)),
        claims=(
            *claims.in_each(TRANSPORTS, in_both_readings(tuple(statements(number, tail))), headline=[THREE]),
            *further,
        ),
        headline="three duplicate ACKs (RFC 5681), as TCP had in the ns-2 that the paper ran",
        assumptions=ASSUMPTIONS,
        notes=(
            "A gain holds when certain and at least half of what the paper gives, in part when certain but less; when"
            " half of it is excluded it does not hold; else it is not distinguishable at this size.",
            "`--whole` runs all eight loads with longer arrivals.",
        ),
    )
