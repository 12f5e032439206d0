"""The comparison with uet-htsim as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.agreement.uet.comparison import Compared, UetAgreement
from spinewise.agreement.uet.pinned import PinnedAgreement
from spinewise.agreement.uet.recorded import Refused
from spinewise.measures import units
from spinewise.show.terminal import new_table


def show(
    found: Sequence[UetAgreement], replayed: Sequence[PinnedAgreement], refused: Sequence[Refused], seeds: int
) -> RenderableType:
    """A row a case, a row a run on recorded paths, and a verdict on each."""
    parts: list[RenderableType] = []
    if found:
        columns = ["flows", "mean", "p99", "max", "sent again", "answers"]
        table = new_table("completion times at the sender: ours, against theirs (z)", ["case"], columns)
        for one in found:
            cells = [cell(one.statistics[name]) for name in ("mean", "p99", "max")]
            counts = [f"{count.ours:.0f} / {count.theirs:.0f}" for count in (one.again, one.answers)]
            table.line(one.case, f"{one.finished}/{one.flows}", *cells, *counts)
        parts.append(table)
    if replayed:
        columns = ["seed", "flows", "equal", "largest difference", "mean"]
        table = new_table("on recorded paths, flow by flow", ["case"], columns)
        for run in replayed:
            largest = f"{run.largest_ps / 1e6:+.3f} us" if run.largest_ps else "0"
            table.line(run.case, str(run.seed), str(run.flows), str(run.equal), largest, f"{100 * run.mean:+.2f} %")
        parts.append(table)
    judged: list[UetAgreement | PinnedAgreement | Refused] = [*found, *replayed, *refused]
    failed = sum(bool(one.problems) for one in judged)
    lines = [*map(verdict_line, found), *map(pinned_verdict, replayed), *map(verdict_line, refused)]
    lines.append(f"{len(lines) - failed} of {len(lines)} cases agree")
    if found:
        lines.append(f"us; ours is the mean of {seeds} seeds; z is the distance of the two means in standard errors")
    return Group(*parts, Text("\n".join(lines)))


def cell(one: Compared) -> str:
    """A statistic: ours, its difference from theirs, and z."""
    return f"{units.digits(one.ours)} {100 * one.relative:+.1f} % ({one.z:+.1f})"


def verdict_line(one: UetAgreement | Refused) -> str:
    """The verdict on a case."""
    return f"{one.case}: {'; '.join(one.problems)}" if one.problems else f"{one.case}: agrees"


def pinned_verdict(one: PinnedAgreement) -> str:
    """The verdict on a run on recorded paths."""
    return f"{one.case}, seed {one.seed}: {'; '.join(one.problems) or 'agrees'}"
