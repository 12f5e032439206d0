"""The background of the verdicts that the experiments do not show: `python -m spinewise.papers.meet.checks`.

How completion times of tiny flows grow under MEET, by when flows start; data mining on the asymmetric fabric as the
Hermes code stops it, against Hermes by either set of rules; and why CLOVE resends.
"""

from __future__ import annotations

import spinewise as sw
from spinewise.measures import stats
from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.papers.meet import fabric
from spinewise.papers.meet.measure import figures
from spinewise.runs.result import Result
from spinewise.specs.variants import parse

METRICS = ("large_mean_fct_s", "mean_fct_s", "p99_fct_s")


def run(scheme: str, topology: str, workload: str, load: float, arrivals_ms: int, *, seed: int, form: str) -> Result:
    """One run of a set-up of the figures."""
    spec = fabric.spec(topology, workload, load, arrivals_ms * 1000.0, seed, form=form, name="MEET, checks")
    return sw.run(parse(scheme).apply(spec), seed=seed)


def by_millisecond(result: Result, arrivals_ms: int) -> list[float]:
    """Mean completion time in µs of the flows that start in each millisecond."""
    start, fct = (numbers(result.flows, name) / PS_PER_SECOND for name in ("start_ps", "fct_ps"))
    return [1e6 * stats.mean(fct[(start >= step / 1e3) & (start < (step + 1) / 1e3)]) for step in range(arrivals_ms)]


def herd(seed: int) -> None:
    """Print completion times of tiny flows on the symmetric fabric."""
    for scheme in (*fabric.MEET.values(), "conga", "hermes:compat=paper", "ecmp"):
        form, arrivals_ms = fabric.TO_COMPLETION, 10
        result = run(scheme, fabric.SYMMETRIC, "enterprise_meet", 0.4, arrivals_ms, seed=seed, form=form)
        times = ", ".join(f"{value:.0f}" for value in by_millisecond(result, arrivals_ms))
        print(f"enterprise, 0.4, seed {seed}, {scheme}: mean FCT by millisecond of start, µs: {times}")


def stopped(form: str, rules: str) -> None:
    """Print MEET against Hermes by these rules, data mining on the asymmetric fabric at 0.3."""
    values: dict[str, dict[str, list[float]]] = {}
    for scheme in (fabric.MEET[fabric.EVERY_HOST], f"hermes:compat={rules}"):
        for seed in range(1, 11):
            result = run(scheme, fabric.ASYMMETRIC, "data_mining_vl2", 0.3, 200, seed=seed, form=form)
            for name, value in figures.read_off(result).items():
                values.setdefault(scheme, {}).setdefault(name, []).append(value)
    meet, hermes = values.values()
    for name in METRICS:
        change = stats.relative_difference(meet[name], hermes[name])
        print(f"{form}, against Hermes as {rules}: {name} {100 * change.mean:+.1f} ±{100 * change.half:.1f} %")
    left = [stats.mean(one["large_unfinished"]) for one in (meet, hermes)]
    print(
        f"  of {stats.mean(meet['large_flows']):.1f} large flows unfinished: MEET {left[0]:.1f}, Hermes {left[1]:.1f}"
    )


def resending() -> None:
    """Print what CLOVE retransmits on the symmetric fabric at 0.6, and what LetFlow does without marking."""
    hidden, told = fabric.CLOVE, fabric.CLOVE.replace("hide_ecn=true", "hide_ecn=false")
    letflow = "letflow:flowlet_gap_us=500"
    cases = [("CLOVE", hidden, "dctcp", recovery) for recovery in ("newreno", "sack", "rack")]
    cases += [("CLOVE, nothing hidden", told, "dctcp", "newreno")]
    cases += [("LetFlow", letflow, kind, "newreno") for kind in ("dctcp", "newreno")]
    for name, scheme, kind, recovery in cases:
        shares: dict[str, list[float]] = {}
        for seed in range(1, 6):
            spec = fabric.spec(
                fabric.SYMMETRIC,
                "web_search",
                0.6,
                50_000.0,
                seed,
                form=fabric.TO_COMPLETION,
                name="MEET, checks",
            )
            spec["transport"] |= {"kind": kind, "recovery": recovery}
            result = sw.run(parse(scheme).apply(spec), seed=seed)
            sums = {key: float(numbers(result.flows, key).sum()) for key in (*RESENT, "packets", "timeouts")}
            drops = float(sum(link["drops"] for link in result.report["links"]))
            found = {"resent": sums["retransmits"], "of those needless (DSACK)": sums["spurious_retransmits"]}
            for key, count in (found | {"dropped": drops}).items():
                shares.setdefault(key, []).append(100 * count / sums["packets"])
        text = ", ".join(f"{key} {stats.mean(values):.2f} %" for key, values in shares.items())
        print(f"{name}, {kind}, {recovery}: {text}")


RESENT = ("retransmits", "spurious_retransmits")


if __name__ == "__main__":
    resending()
    for number in (1, 2):
        herd(number)
    for kind in ("paper", "ns3"):
        stopped(fabric.HERMES_CODE, kind)
    stopped(fabric.TO_COMPLETION, "ns3")
