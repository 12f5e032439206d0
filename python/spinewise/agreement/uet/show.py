"""The comparison with uet-htsim as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise.agreement.uet.comparison import Compared, UetAgreement
from spinewise.measures import units
from spinewise.show.terminal import new_table


def show(found: Sequence[UetAgreement], seeds: int) -> RenderableType:
    """A row a case, and a verdict on each."""
    columns = ["flows", "mean", "p99", "max", "sent again"]
    table = new_table("completion times at the sender: ours, against theirs (z)", ["case"], columns)
    for one in found:
        cells = [cell(one.statistics[name]) for name in ("mean", "p99", "max")]
        table.line(one.case, f"{one.finished}/{one.flows}", *cells, f"{one.again[1]:.0f} / {one.again[0]:.0f}")
    failed = sum(bool(one.problems) for one in found)
    lines = [verdict_line(one) for one in found]
    lines.append(f"{len(found) - failed} of {len(found)} cases agree")
    lines.append(f"us; ours is the mean of {seeds} seeds; z is the distance of the two means in standard errors")
    return Group(table, Text("\n".join(lines)))


def cell(one: Compared) -> str:
    """A statistic: ours, how far it is from theirs, and z."""
    return f"{units.digits(one.ours)} {100 * one.relative:+.1f} % ({one.z:+.1f})"


def verdict_line(one: UetAgreement) -> str:
    """The verdict on a case."""
    return f"{one.case}: {'; '.join(one.problems)}" if one.problems else f"{one.case}: agrees"
