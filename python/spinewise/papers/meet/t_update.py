"""MEET §3.5: cost and benefit of T_update, from 50 µs to 5 ms, with T_probe equal to it as in the paper.

Web search at load 0.6 on both fabrics of §4; ECMP on the same traffic is the reference.
"""

from __future__ import annotations

from functools import partial

from spinewise.measures import stats
from spinewise.measures.stats import paired_difference
from spinewise.papers.meet import fabric
from spinewise.papers.meet.measure.t_update import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Status,
    Verdict,
)
from spinewise.specs.variants import parse

TOPOLOGIES = (fabric.SYMMETRIC, fabric.ASYMMETRIC)
LOAD = 0.6
VALUES_US = (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
# "T_update be set to tens of the cross-rack RTT"; §4 has 500 µs.
SUGGESTED_US = 500.0
QUICK_US = (100.0, SUGGESTED_US, 5000.0)
REFERENCE = "reference"
# §3.5: "the additional in-rack bandwidth overhead for that host will be around 40Mbps", at 100 µs.
EXAMPLE_US, EXAMPLE_MBPS = 100.0, 40.0
# The limits for "around", "insignificant" and "acceptable".
AROUND, INSIGNIFICANT, ACCEPTABLE = 0.1, 0.1, 0.05
# The number of paths to other racks.
PATHS = (fabric.LEAVES - 1) * fabric.SPINES


def runs(effort: Effort) -> list[Run]:
    """MEET at every T_update, and ECMP once, over seeds."""
    duration = effort.choose(full=50_000.0, quick=10_000.0)
    values = effort.choose(full=VALUES_US, quick=QUICK_US)
    made = []
    for topology in TOPOLOGIES:
        for seed in range(1, 1 + effort.choose(full=5, quick=3)):
            form, name = fabric.TO_COMPLETION, "MEET, T_update"
            base = fabric.spec(topology, "web_search", LOAD, duration, seed, form=form, name=name)
            made.append(Run("ECMP", 0.0, seed, parse("ecmp@ECMP").apply(base), f"{REFERENCE}, {topology}"))
            for value in values:
                meet = parse(f"meet:t_update_us={value:g}:t_probe_us={value:g}@MEET")
                made.append(Run(meet.label, value, seed, meet.apply(base), topology))
    return made


def around_40_mbps(measured: Measured) -> Verdict:
    """The paper's example, on the wire."""
    if EXAMPLE_US not in measured.xs:
        return claims.line(Status.UNTESTED, f"no runs at {EXAMPLE_US:g} µs")
    rate = measured.interval("MEET", EXAMPLE_US, "report_mbps")
    close = abs(rate.mean - EXAMPLE_MBPS) <= AROUND * EXAMPLE_MBPS
    text = f"reports cost a host {rate.mean:.2f} ±{rate.half:.2f} Mbps with headers, of {PATHS} paths"
    return claims.bounded(Status.HOLDS if close else Status.FAILS, text)


def latency_is_insignificant(measured: Measured) -> Verdict:
    """T_latency is a small part of T_update, at every T_update."""
    return claims.combined(claims.below_limit(measured, "MEET", "latency_share", INSIGNIFICANT, x) for x in measured.xs)


def none_much_better(measured: Measured) -> Verdict:
    """No other T_update has a mean FCT that is lower by more than the acceptable difference."""
    base = measured.values("MEET", SUGGESTED_US, "mean_fct_s")
    scale = stats.mean(base)
    verdicts = []
    for x in measured.xs:
        if x == SUGGESTED_US:
            continue
        change = paired_difference(measured.values("MEET", x, "mean_fct_s"), base)
        least = -ACCEPTABLE * scale
        status = Status.FAILS if change.high < least else Status.HOLDS if change.low > least else claims.unsure(change)
        text = f"{x:g} µs: mean FCT {claims.percent(change, scale)} against {SUGGESTED_US:g} µs"
        p = claims.beyond(least - change.mean, change)
        verdicts.append(claims.bounded(status, text + measured.mark(x), p=p))
    return claims.combined(verdicts)


def statements(topology: str) -> tuple[Claim, ...]:
    """The statements of §3.2 and §3.5, checked on one fabric."""
    of = partial(claims.within, topology)
    rising = partial(claims.trend, curve="MEET", metric="mean_fct_s", rising=1.0)
    return (
        Claim(
            "C2-39",
            "t_update",
            "§3.5: a small T_update is conducive to routing: mean FCT rises with it",
            of(rising),
            reading=topology,
        ),
        Claim(
            "C2-40",
            "t_update",
            f"§3.5: {SUGGESTED_US:g} µs bring acceptable freshness: no other T_update is better by more than 5 %",
            of(none_much_better),
            reading=topology,
        ),
        Claim(
            "C2-41",
            "t_update",
            "§3.2: T_latency is small against T_update: below a tenth of it",
            of(latency_is_insignificant),
            reading=topology,
        ),
    )


def panels(topology: str) -> tuple[Panel, ...]:
    """One row of the figure."""
    x = "T_update, µs"
    return (
        Panel("t_update", "mean_fct_s", "mean completion time", x, "ms", 1e3, topology, log_x=True),
        Panel("t_update", "p99_fct_s", "99th percentile", x, "ms", 1e3, topology, log_x=True),
        Panel("t_update", "report_mbps", "reports of a host", x, "Mbps", 1.0, topology, log=True, log_x=True),
        Panel("t_update", "t_delay_s", "age of a view (T_delay)", x, "µs", 1e6, topology, log=True, log_x=True),
    )


EXPERIMENT = Experiment(
    id="meet-t-update",
    figures=("t_update",),
    title="MEET §3.5: T_update from 50 µs to 5 ms, overhead against completion times",
    setup="as meet-6 and meet-9 at load 0.6, 50 ms of arrivals (quick: 10 ms, three values)",
    runs=runs,
    measure=measure,
    panels=tuple(panel for topology in TOPOLOGIES for panel in panels(topology)),
    claims=(
        Claim(
            "C2-34",
            "t_update",
            "§3.5: reports every 100 µs cost a host around 40 Mbps (within 10 %)",
            claims.within(TOPOLOGIES[0], around_40_mbps),
        ),
        *(claim for topology in TOPOLOGIES for claim in statements(topology)),
    ),
    headline="both fabrics: §3.5 speaks of neither alone",
    assumptions=(
        Assumption("T_probe", "equal to T_update", "§3.5 says so"),
        Assumption("flowlets", "500 µs whatever T_update is", "so that one thing differs at a time"),
        Assumption("proxies", "probe for their racks", "§1; §3.3 has every host probe"),
        Assumption("all else", "as in meet-6 and meet-9", "so that one thing differs at a time"),
    ),
    notes=(
        "ECMP on the same traffic is in the measurements as the variant `reference`.",
        "The paper's example has 64 paths of 8 bytes, which is 40.96 Mbps; eight racks have 56 paths to other racks,"
        " and packets have headers.",
    ),
)
