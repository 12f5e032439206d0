"""The comparison as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.agreement.comparison import Agreement
from spinewise.agreement.replay import Replay
from spinewise.agreement.scores import Score
from spinewise.measures import units
from spinewise.show.terminal import Grid, new_table

FEW_SALTS = 10
"""The number of salts below which the standard deviation of a run is itself a guess."""


def show(found: Sequence[Agreement], salts: int) -> RenderableType:
    """A table per case, and a verdict on each."""
    parts: list[RenderableType] = [case_table(agreement) for agreement in found]
    failed = sum(bool(agreement.problems) for agreement in found)
    lines = [verdict_line(agreement) for agreement in found]
    lines.append(f"{len(found) - failed} of {len(found)} cases agree")
    lines.append(
        f"{', '.join(units_compared(found))}; ours is the mean of {salts} salts ± the standard deviation of one run;"
        " z = (theirs − ours) / (sd · √(1 + 1/salts))"
    )
    if salts < FEW_SALTS:
        lines.append(f"{salts} salts tell little of that deviation: z, and so pass or FAIL, may be chance (--salts 30)")
    return Group(*parts, Text("\n".join(lines)))


def units_compared(found: Sequence[Agreement]) -> list[str]:
    """The units of the compared quantities, each once."""
    return list(dict.fromkeys(agreement.unit for agreement in found))


def case_table(agreement: Agreement) -> Grid:
    """The statistics of one case."""
    title = f"{agreement.case}: {agreement.finished}/{agreement.flows} flows, KS {units.digits(agreement.ks, 3)}"
    table = new_table(title, ["flows", "statistic"], ["theirs", "ours", "±", "difference", "z"])
    for name, row in agreement.scores.items():
        for at, (stat, score) in enumerate(row.items()):
            values = (units.digits(score.theirs), units.digits(score.ours), units.digits(score.ours_sd, 3))
            table.line(
                name if at == 0 else "", stat, *values, percent(score.relative), z_text(score),
                end_section=at == len(row) - 1,
            )  # fmt: skip
    for stat, score in (agreement.effect or {}).items():
        spread = units.percent(score.ours_sd, 3)
        difference = f"{100 * (score.ours - score.theirs):+.1f} pp"
        table.line("vs ecmp", stat, percent(score.theirs), percent(score.ours), spread, difference, z_text(score))
    return table


def show_replays(found: Sequence[Replay]) -> RenderableType:
    """One table of all cases followed, and a verdict on each."""
    columns = ["flows", "same to 1 ns", "within 10 ns", "median of flows", "mean", "p95", "p99"]
    table = new_table("followed event by event: ours against theirs, flow by flow", ["case"], columns)
    for one in found:
        shares = (f"{100 * share:.2f} %" for share in (one.equal, one.near))
        table.line(one.case, f"{one.flows:,}", *shares, *(percent2(value) for value in one.relative.values()))
    lines = [line for one in found for line in replay_lines(one)]
    lines.append("median of flows: of the absolute relative difference of completion times; the rest: slowdowns")
    return Group(table, Text("\n".join(lines)))


def replay_lines(one: Replay) -> list[str]:
    """The lines about a case."""
    lines = [f"{one.case}: {'FAIL: ' + '; '.join(one.problems) if one.problems else 'pass'}"]
    if one.swapped:
        pairs = ", ".join(f"{at} and {at + 1}" for at in one.swapped)
        lines.append(f"  flows {pairs} of the file start at once; that run took them the other way round")
    if one.orders > 1:
        lines.append(f"  {one.orders} orders of flows that start at once were tried: {one.ended}")
    if one.first is not None:
        flow, ours, theirs = (one.first[name] for name in ("flow", "ours_ns", "theirs_ns"))
        lines.append(f"  first to end otherwise: flow {flow}, after {ours:,} ns here and {theirs:,} ns there")
    return lines


def percent2(fraction: float) -> str:
    """A signed percentage of two digits, zero without a sign."""
    return f"{100 * fraction:+.2f} %" if fraction else "0 %"


def percent(fraction: float) -> str:
    """A signed percentage."""
    return f"{100 * fraction:+.1f} %" if not math.isnan(fraction) else units.NOTHING


def z_text(score: Score) -> str:
    """A signed distance."""
    return f"{score.z:+.2f}" if not math.isnan(score.z) else units.NOTHING


def verdict_line(agreement: Agreement) -> str:
    """Pass, or fail and why."""
    reasons = "; ".join(agreement.problems)
    return f"{agreement.case}: FAIL: {reasons}" if agreement.problems else f"{agreement.case}: pass"
