"""Tables of completion times, and how to read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spinewise.comparison import loads
from spinewise.comparison.cells import Comparison
from spinewise.comparison.verdict import Question, apart_from_first, flows_question
from spinewise.measures import units
from spinewise.measures.classes import TAIL_FROM
from spinewise.measures.entries import By
from spinewise.measures.notices import Notice
from spinewise.measures.stats import Interval
from spinewise.measures.summary import ALL
from spinewise.show.offered import of_what
from spinewise.show.terminal import Grid, new_table
from spinewise.specs.variants import differing

SHOWN = {"fct_s.mean": "mean FCT", "fct_s.p99": "99th percentile of FCT"}
"""The metrics of the tables, and their words in titles."""
SHORT = {"fct_s.mean": "mean", "fct_s.p99": "p99"}
NOT_PAIRED = "NOT PAIRED: some schemes saw different traffic; differences mean little."
BRACKETS = (
    "A difference is in (brackets), in tables and in answers, unless one of the two schemes is surely less, by the test"
    " of 'not told apart'."
)
OVERLOADED = "! overloaded: the results depend on how long the run lasts."


def scope_tables(comparison: Comparison, entry: str | None) -> list[Grid]:
    """The tables of one traffic entry or of all traffic: a single one if its flows are all of one size class."""
    classes = comparison.classes_of(entry)
    if len(classes) == 1:
        columns = [(SHORT[metric], classes[0], metric) for metric in SHOWN]
        return [comparison_table(comparison, title(comparison, entry, "FCT"), columns, entry)]
    return [
        comparison_table(
            comparison, title(comparison, entry, text), [(name, name, metric) for name in classes], entry
        )
        for metric, text in SHOWN.items()
    ]  # fmt: skip


def title(comparison: Comparison, entry: str | None, text: str) -> str:
    """The title of a table: its flows, and what it shows."""
    if entry is None:
        mixed = f"All traffic together ({', '.join(comparison.entries)}): " if comparison.mixed else ""
        return f"{mixed}{text}" if mixed else text[0].upper() + text[1:]
    return f"{entry}: {text}"


@dataclass(frozen=True)
class Column:
    """A quantity in a table of schemes, with its difference from the first scheme.

    Attributes:
        head: its name.
        unit: the unit in which it is printed, and its size.
        asked: the quantity; of some, more is better.
    """

    head: str
    unit: tuple[str, float]
    asked: Question


def by_scheme(
    comparison: Comparison,
    heading: str,
    columns: Sequence[Column],
    unfinished: Callable[[str, float | None], int],
) -> Grid:
    """A row per load and scheme, two columns for each quantity."""
    first = comparison.labels[0]
    heads = [f"{column.head} [{column.unit[0]}]" for column in columns]
    numbers = [*(text for head in heads for text in (head, f"vs {first}")), "unfinished"]
    table = new_table(heading, [load_head(comparison), "scheme"], numbers, together=2)
    for load in comparison.loads:
        sure = [apart_from_first(comparison, column.asked, load) for column in columns]
        for label in comparison.labels:
            cells = []
            for column, apart in zip(columns, sure, strict=True):
                own = comparison.over(label, load, column.asked.value)
                against = comparison.against(label, load, column.asked.value)
                cells.append(plus_minus(own, column.unit[1]) + of_seeds(comparison, own))
                fewer = of_seeds(comparison, against) if against.n < own.n else ""
                cells.append(
                    "" if label == first else bracketed(against, len(comparison.seeds), sure=label in apart) + fewer
                )
            table.line(
                load_cell(comparison, load) if label == first else "",
                f"{label} (DEADLOCK)" if any(one.summary.deadlock for one in comparison.at(label, load)) else label,
                *cells,
                str(unfinished(label, load)),
                end_section=label == comparison.labels[-1],
            )
    return table


def comparison_table(
    comparison: Comparison, heading: str, columns: list[tuple[str, str, str]], entry: str | None
) -> Grid:
    """A row per load and scheme, two columns for each (header, size class, metric)."""
    made = [
        Column(head, class_unit(comparison, name, metric, entry), flows_question(entry, name, metric, head))
        for head, name, metric in columns
    ]
    return by_scheme(comparison, heading, made, lambda label, load: comparison.unfinished(label, load, ALL, entry))


def class_unit(comparison: Comparison, size_class: str, metric: str, entry: str | None = None) -> tuple[str, float]:
    """The unit in which to print one column."""
    return units.time_unit(
        comparison.interval(label, load, size_class, metric, entry).mean
        for label in comparison.labels
        for load in comparison.loads
    )


def plus_minus(interval: Interval, size: float) -> str:
    """Mean ± half width, in units of `size`, both to the same decimal."""
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = units.digits(interval.mean / size)
    if not math.isfinite(interval.half):
        return text
    decimals = len(text.partition(".")[2])
    return f"{text} ±{interval.half / size:,.{decimals}f}"


def of_seeds(comparison: Comparison, interval: Interval) -> str:
    """The number of seeds behind a number, if others had no value; empty if it uses all, or has no value."""
    seeds = len(comparison.seeds)
    return "" if interval.n in (0, seeds) else f", {interval.n} of {units.counted(seeds, 'seed')}"


def difference(interval: Interval, seeds: int) -> str:
    """A paired difference in percent, in brackets if its interval includes zero; `seeds` as in `bracketed`."""
    return bracketed(interval, seeds, sure=interval.excludes_zero)


def bracketed(interval: Interval, seeds: int, *, sure: bool) -> str:
    """A paired difference in percent, in brackets if it is uncertain.

    With one of `seeds` in all, nothing can be certain, and nothing has brackets; one pair of several seeds has.
    """
    if not math.isfinite(interval.mean):
        return units.NOTHING
    text = units.signed_percent(interval.mean)
    return text if sure or seeds < 2 else f"({text})"


def load_name(comparison: Comparison, load: float | None) -> str:
    """A load in words, with a mark if it is an overload; of several entries, with their total."""
    return marked(comparison, load, loads.words(comparison.spec, load))


def load_head(comparison: Comparison) -> str:
    """The head of the column of loads."""
    return loads.head(comparison.spec) if several_take(comparison) else "load"


def several_take(comparison: Comparison) -> bool:
    """Whether each load is that of several traffic entries."""
    return comparison.loads != [None] and len(loads.with_load(comparison.spec)) > 1


def load_cell(comparison: Comparison, load: float | None) -> str:
    """A load as printed in tables, below `load_head`."""
    return marked(comparison, load, loads.cell(comparison.spec, load))


def marked(comparison: Comparison, load: float | None, name: str) -> str:
    """The name of a load, with a mark if it is an overload."""
    return overload(name) if comparison.overloaded(load) else name


def overload(name: str) -> str:
    """The mark for a load that the `OVERLOADED` note is about."""
    return f"{name} !".strip()


def drawn_loads(comparison: Comparison) -> list[str]:
    """The loads actually drawn for the requested loads, if entries have one."""
    drawn: dict[float | None, list[float]] = {}
    for cell in comparison.cells:
        if "payload_of_nominal" in cell.summary.loads:
            drawn.setdefault(cell.load, []).append(cell.summary.loads["payload_of_nominal"])
    found = [f"{load_name(comparison, load)} → {sum(some) / len(some):.3g}" for load, some in drawn.items()]
    traffic = comparison.spec.get("traffic", [])
    asked = list(loads.with_load(comparison.spec))
    if not found or not asked:
        return []
    who, all_of = ("", "") if len(traffic) == 1 else (f" for {' and '.join(asked)}", " of all traffic with a rate")
    return [
        f"load requested{of_what(traffic)}{who}, and drawn{all_of} as payload over the nominal rate of uplinks:"
        f" {', '.join(found)}."
    ]


def notes(comparison: Comparison, by: By = "auto") -> list[str]:
    """Notes on how to read the tables."""
    lines = [*reading(comparison), flow_line(comparison), *thin_tails(comparison), *drawn_loads(comparison)]
    if comparison.mixed:
        lines.append(
            "each traffic entry is reported separately; --by class pools them."
            if None not in comparison.scopes(by)
            else f"'all traffic' pools {', '.join(comparison.entries)}: its tail may be that of one of them."
        )
    lines += [f"SKIPPED {one.label}, which cannot serve this fabric: {one.reason}." for one in comparison.skipped]
    if not comparison.paired:
        lines.append(NOT_PAIRED)
    if any(comparison.overloaded(load) for load in comparison.loads):
        lines.append(OVERLOADED)
    locked = Counter((cell.label, cell.load) for cell in comparison.cells if cell.summary.deadlock)
    for label, load in sorted(locked, key=str):
        on = f"on {locked[label, load]} of {units.counted(len(comparison.seeds), 'seed')}"
        at = f"at load {load_name(comparison, load)}"
        lines.append(f"DEADLOCK: pauses waited for each other under {label} {at}, {on}: it is not judged.")
    lost = sum(comparison.unfinished(s, x) for s in comparison.labels for x in comparison.loads)
    if lost:
        lines.append(f"{lost} flows did not finish; they are in no mean or percentile above.")
    return [*lines, *differing(comparison.variants, comparison.given or {}), *warnings(comparison)]


def warnings(comparison: Comparison) -> list[str]:
    """Warnings, each once in the words of the first run that has it, with the number of such runs."""
    return warned([(cell.label, cell.summary.warnings) for cell in comparison.cells])


def warned(runs: Sequence[tuple[str, Sequence[Notice]]]) -> list[str]:
    """The same for any runs, each given by its name and its warnings.

    Two warnings of a run about one thing count as two: each has a line.
    """
    met: dict[object, list[tuple[str, Notice]]] = {}
    for label, own in runs:
        said: Counter[object] = Counter()
        for notice in own:
            said[notice.about] += 1
            met.setdefault((notice.about, said[notice.about]), []).append((label, notice))
    lines = []
    for found in met.values():
        beside = []
        if len(found) < len(runs):
            who = ", ".join(dict.fromkeys(label for label, _ in found if label))
            beside.append(f"{len(found)} of {len(runs)} runs{f': {who}' if who else ''}")
        if len({notice.text for _, notice in found}) > 1:
            beside.append("numbers of the first of them" if beside else "numbers of the first run")
        lines.append(found[0][1].line() + (f" ({'; '.join(beside)})" if beside else ""))
    return lines


def reading(comparison: Comparison) -> list[str]:
    """The meaning of ± and brackets; with one seed, a note that there is no interval."""
    same = ", the same traffic for every scheme" if comparison.paired else ""
    same += " and on every seed, so that only hashes and chance differ" if comparison.repeated else ""
    against = f"{against_words(comparison.labels[0], seeds=len(comparison.seeds), paired=comparison.paired)}."
    if len(comparison.seeds) == 1:
        return [f"one seed{same}: no interval, so the effect of chance is unknown (--seeds N).", against]
    line = f"{len(comparison.seeds)} seeds{same}; ± is half a 95 % Student-t interval over seeds."
    if wide(comparison):
        line += " Where it exceeds its mean, seeds differ by factors: no time is below zero."
    return [line, f"{against} {BRACKETS}" if len(comparison.labels) > 1 else against]


def against_words(first: str, *, seeds: int, paired: bool) -> str:
    """The meaning of the columns of differences from the first scheme."""
    if seeds == 1:
        return f"'vs {first}' is the difference on this seed"
    return f"'vs {first}' is {'the mean paired difference' if paired else 'the mean difference, seed by seed'}"


def versus(first: str, *, seeds: int, paired: bool) -> str:
    """The same, and when `difference` sets brackets."""
    brackets = "" if seeds == 1 else "; in (brackets) when its 95 % interval includes zero"
    return f"{against_words(first, seeds=seeds, paired=paired)}{brackets}."


def wide(comparison: Comparison) -> bool:
    """Whether any interval of the tables reaches below zero."""
    found = (
        comparison.interval(label, load, size_class, metric, entry)
        for load in comparison.loads
        for label in comparison.labels
        for entry in comparison.scopes()
        for size_class in comparison.classes_of(entry)
        for metric in SHOWN
    )
    return any(one.low < 0.0 for one in found)


def thin_tails(comparison: Comparison) -> list[str]:
    """A note that percentiles depend on a few flows, if they do."""
    few: list[str] = []
    for entry in comparison.scopes("entry") if comparison.mixed else [None]:
        for name in comparison.classes_of(entry):
            flows = min(comparison.flows(load, name, entry) for load in comparison.loads) / len(comparison.seeds)
            if 0 < flows < TAIL_FROM:
                few.append(f"{' '.join(filter(None, (entry, name)))} ({flows:,.3g})")
    return [f"p99 of fewer than {TAIL_FROM} flows a run is about their slowest: {', '.join(few)}."] if few else []


def flow_line(comparison: Comparison) -> str:
    """The number of flows behind the numbers."""
    load = comparison.loads[-1]

    def of(entry: str | None) -> str:
        whole = f"{comparison.flows(load, ALL, entry):,}"
        parts = [name for name in comparison.classes_of(entry) if name != ALL]
        inner = ", ".join(f"{comparison.flows(load, name, entry):,} {name}" for name in parts)
        return f"{whole} ({inner})" if inner else whole

    scopes = comparison.scopes("entry") if comparison.mixed else [None]
    counts = " · ".join(f"{entry} {of(entry)}" if entry else of(None) for entry in scopes)
    at = "" if len(comparison.loads) == 1 else " at the last load"
    seeds = ", all seeds" if len(comparison.seeds) > 1 else ""
    return f"flows per scheme{at}{seeds}: {counts}."
