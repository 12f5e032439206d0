"""The table of facts besides completion times: one row per load and scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.tables import load_cell, load_head
from spinewise.measures import units
from spinewise.measures.facts import Facts, LinkUse
from spinewise.show.terminal import Grid, new_table


@dataclass(frozen=True)
class Column:
    """A column: its header, what it shows, and whether there is anything to show."""

    head: str
    text: Callable[[Facts], str]
    number: Callable[[Facts], float]
    even_if_zero: bool = True


def happened_table(comparison: Comparison) -> Grid:
    """The table of what happened under each scheme, as means over seeds; an unknown value has no column, or a dash."""
    rows = [(load, label) for load in comparison.loads for label in comparison.labels]
    found = {row: comparison.facts(row[1], row[0]) for row in rows}
    columns = [one for one in COLUMNS if worth(one, list(found.values()))]
    apart = comparison.entries if comparison.mixed else []
    heads = [one.head for one in columns]
    place = heads.index("timeouts") + 1 if "timeouts" in heads else 0
    heads[place:place] = [f"timeouts of {entry}" for entry in apart if place]
    several = " (means over seeds)" if len(comparison.seeds) > 1 else ""
    table = new_table(f"What happened{several}", [load_head(comparison), "scheme"], heads)
    for load, label in rows:
        texts = [one.text(found[load, label]) for one in columns]
        texts[place:place] = [timeouts_of(comparison.at(label, load), entry) for entry in apart if place]
        table.line(
            load_cell(comparison, load) if label == comparison.labels[0] else "",
            label,
            *texts,
            end_section=label == comparison.labels[-1],
        )
    return table


def worth(column: Column, found: Sequence[Facts]) -> bool:
    """Whether a column has anything to show."""
    known = [column.number(one) for one in found]
    return any(math.isfinite(value) and (value != 0.0 or column.even_if_zero) for value in known)


def timeouts_of(cells: Sequence[Cell], entry: str) -> str:
    """Timeouts of one traffic entry, mean over seeds."""
    return units.count(sum(cell.summary.entry(entry).packets.timeouts for cell in cells) / len(cells))


def number(name: str, tell: Callable[[float], str]) -> Callable[[Facts], str]:
    """A fact by name, in words."""
    return lambda facts: tell(facts.get(name)) if math.isfinite(facts.get(name)) else units.NOTHING


def fact(name: str) -> Callable[[Facts], float]:
    """A fact by name."""
    return lambda facts: facts.get(name)


def link_name(link: LinkUse | None) -> str:
    """The name of a link, or a dash."""
    return units.NOTHING if link is None else link.name


def plain(head: str, name: str, tell: Callable[[float], str], *, even_if_zero: bool = True) -> Column:
    """A column of one fact."""
    return Column(head, number(name, tell), fact(name), even_if_zero)


COLUMNS = (
    plain("drops", "drops", units.count),
    plain("trims", "trims", units.count),
    plain("marks", "marks", units.count),
    plain("timeouts", "timeouts", units.count),
    plain("sent again", "retransmits", units.count),
    plain("for nothing", "spurious", units.count, even_if_zero=False),
    plain("out of order", "out_of_order_share", units.percent),
    plain("reroutes", "reroutes", units.count),
    plain("no data", "overhead_share", units.percent),
    plain("paused", "paused_s", lambda seconds: units.duration(seconds, 3) if seconds else "0", even_if_zero=False),
    Column("hottest link", lambda facts: link_name(facts.hottest), fact("hottest.mean_use")),
    plain("mean use", "hottest.mean_use", units.percent),
    plain("max use", "hottest.max_use", units.percent),
    plain("queue p50", "hottest.queue_p50", units.size),
    plain("p99", "hottest.queue_p99", units.size),
    plain("imbalance", "imbalance", lambda value: units.digits(value, 3)),
)

LEGEND = {
    "trims": "packets that lost their payload at full queues",
    "for nothing": "sent again though it had arrived",
    "reroutes": "packets that left their first leaf by another uplink than the flow's previous packet",
    "no data": "share of all bytes that carry no data: acknowledgements, probes, messages, headers of schemes",
    "hottest link": "the link between switches in use longest; mean use is over the run, max in one interval",
    "imbalance": "(most - least) / mean use of the equal-cost links of a switch, both summed over samples and switches",
}


def legend(table: Grid) -> str:
    """The meanings of a table's headers; empty if all are self-explanatory."""
    told = "; ".join(f"{head}: {text}" for head, text in LEGEND.items() if head in table.right)
    return f"{told}." if told else ""
