"""Figures of a comparison: against load, or a bar a scheme without requested loads; distributions; jobs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from spinewise.comparison import tables
from spinewise.comparison.cells import METRICS, Comparison
from spinewise.comparison.loads import total, words
from spinewise.figures import bars, spread
from spinewise.figures.kinds import Kind, UnfitError, by_name
from spinewise.measures import units
from spinewise.measures.curves import Curves
from spinewise.measures.entries import By
from spinewise.measures.stats import Interval
from spinewise.measures.summary import ALL
from spinewise.show import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {path: name for name, path in METRICS.items()}
METRICS_OF = {"fct": ("fct_s.mean", "fct_s.p99"), "slowdown": ("slowdown.mean", "slowdown.p99")}
MOST_COLUMNS = 4

Scope = str | None
"""A traffic entry, or None for all traffic."""


def figures(comparison: Comparison, by: By = "auto") -> dict[str, Figure]:
    """Every figure for which this comparison has data, by the name of its file."""
    made = {}
    for name, kind in kinds(by).items():
        with suppress(UnfitError):
            made[name] = kind.draw(comparison)
    return made


def kinds(by: By = "auto") -> dict[str, Kind[Comparison]]:
    """The figures of a comparison; `by` groups the flows."""
    return by_name(
        [
            Kind("fct", "completion time of every scheme, mean and 99th percentile",
                 lambda found: levels(found, METRICS_OF["fct"], by)),
            Kind("slowdown", "slowdown of every scheme, mean and 99th percentile",
                 lambda found: levels(found, METRICS_OF["slowdown"], by)),
            Kind("jobs", "time and bus bandwidth of the rounds of collectives and requests", jobs),
            Kind("cdf", "cumulative distributions of completion time and slowdown", lambda found: cdf(found, by)),
            Kind("size", "slowdown against flow size: median and 99th percentile", lambda found: size(found, by)),
        ]
    )  # fmt: skip


JOB_METRICS = {"mean_s": "mean time of a round", "busbw_gbyte_per_s": "bus bandwidth"}


def jobs(comparison: Comparison) -> Figure:
    """Draw the times of each entry's rounds, and their use of the links, at the last load."""
    entries = comparison.with_jobs
    if not entries:
        raise UnfitError("needs traffic in rounds: all_reduce, all_to_all, rpc, incast or permutation")
    panels = [job_panel(comparison, entry, metric) for entry in entries for metric in JOB_METRICS]
    return bars.bars(panels, columns=2, caption=caption_of_jobs(comparison))


def job_panel(comparison: Comparison, entry: str, metric: str) -> bars.Panel:
    """One number of the rounds of an entry, with a bar for each scheme."""
    load = comparison.loads[-1]
    found = {scheme: comparison.job(scheme, load, entry, metric) for scheme in comparison.labels}
    unit, size = units.time_unit([one.mean for one in found.values()]) if metric == "mean_s" else ("GB/s", 1.0)
    values = {scheme: scaled(one, size) for scheme, one in found.items()}
    hollow = [scheme for scheme in comparison.labels if comparison.job(scheme, load, entry, "unfinished").mean]
    return bars.Panel(f"{entry}: {JOB_METRICS[metric]}", f"{JOB_METRICS[metric]} [{unit}]", values, hollow)


def cdf(comparison: Comparison, by: By) -> Figure:
    """Distributions at the last load."""
    note = caption_of_spreads(comparison, by, " at each share of flows")
    return spread.cdf(spreads(comparison, comparison.loads[-1], by), note)


def size(comparison: Comparison, by: By) -> Figure:
    """Slowdown against flow size at the last load."""
    note = f"{caption_of_spreads(comparison, by)} Sizes in bins, four a decade."
    made = spread.by_size(spreads(comparison, comparison.loads[-1], by), note)
    if made is None:
        raise UnfitError("needs flows of three sizes or more, ten of each")
    return made


def at_last(comparison: Comparison) -> str:
    """The load that a figure shows, if it is one."""
    load = comparison.loads[-1]
    return "" if load is None else f" At load {words(comparison.spec, load)}."


def scopes(comparison: Comparison, by: By) -> list[tuple[Scope, str]]:
    """Entry and size class of each panel."""
    return [(entry, name) for entry in comparison.scopes(by) for name in comparison.classes_of(entry)]


def panel_title(entry: Scope, size_class: str, metric: str) -> str:
    """The title of a panel."""
    words = [entry] if entry is not None else []
    words += [size_class] if size_class != ALL or entry is None else []
    return f"{', '.join(words)}: {TITLES[metric]}"


def levels(comparison: Comparison, metrics: Sequence[str], by: By) -> Figure:
    """A panel for each metric of each class: against load, or as bars."""
    wanted = [
        (metric, entry, name)
        for entry in comparison.scopes(by)
        for metric in metrics
        for name in comparison.classes_of(entry)
    ]
    # The classes of an entry are side by side; an entry with one class has its metrics side by side.
    widest = max(len(comparison.classes_of(entry)) for entry in comparison.scopes(by))
    columns = min(max(widest, len(metrics)), MOST_COLUMNS)
    if len(comparison.loads) == 1:
        panels = [bar_panel(comparison, *one) for one in wanted]
        return bars.bars(panels, columns=columns, caption=caption(comparison, by))
    curves = [load_panel(comparison, *one) for one in wanted]
    return plot.figure(curves, columns=columns, caption=caption(comparison, by))


def unit_of(comparison: Comparison, metric: str, entry: Scope, size_class: str) -> tuple[str, float]:
    """The label of an axis of this metric, and its unit in seconds; 1 for ratios."""
    if not metric.startswith("fct"):
        return TITLES[metric], 1.0
    unit, size = tables.class_unit(comparison, size_class, metric, entry)
    return f"{TITLES[metric]} [{unit}]", size


def bar_panel(comparison: Comparison, metric: str, entry: Scope, size_class: str) -> bars.Panel:
    """One metric of one class at the only load, with a bar for each scheme."""
    (load,) = comparison.loads
    label, size = unit_of(comparison, metric, entry, size_class)
    values = {
        scheme: scaled(comparison.interval(scheme, load, size_class, metric, entry), size)
        for scheme in comparison.labels
    }
    hollow = [scheme for scheme in comparison.labels if comparison.unfinished(scheme, load, size_class, entry)]
    return bars.Panel(panel_title(entry, size_class, metric), label, values, hollow)


def load_panel(comparison: Comparison, metric: str, entry: Scope, size_class: str) -> plot.Panel:
    """One metric of one class against load."""
    label, size = unit_of(comparison, metric, entry, size_class)
    loads = [load or 0.0 for load in comparison.loads]
    curves = [
        plot.Curve(
            label=scheme,
            x=loads,
            y=[scaled(comparison.interval(scheme, load, size_class, metric, entry), size) for load in comparison.loads],
            hollow=[comparison.unfinished(scheme, load, size_class, entry) > 0 for load in comparison.loads],
        )
        for scheme in comparison.labels
    ]
    return plot.Panel(
        title=panel_title(entry, size_class, metric),
        x_label="offered load of each entry" if tables.several_take(comparison) else "offered load",
        y_label=label,
        curves=curves,
        shaded=[load for load in comparison.loads if load is not None and comparison.overloaded(load)],
        above_zero=True,
    )


def scaled(found: Interval, size: float) -> Interval:
    """An interval in units of `size`."""
    return Interval(found.mean / size, found.half / size, found.n)


def spreads(comparison: Comparison, load: float | None, by: By) -> spread.Rows:
    """The curves of every scheme at one load, a row for each entry.

    Raises:
        UnfitError: none were kept, or nothing has finished.
    """
    rows: dict[str, dict[str, Sequence[Curves]]] = {}
    for entry in comparison.scopes(by):
        name = ALL if entry is None else entry
        kept = {
            scheme: [cell.curves[name] for cell in comparison.at(scheme, load) if name in cell.curves]
            for scheme in comparison.labels
        }
        kept = {scheme: found for scheme, found in kept.items() if found and any(one.flows for one in found)}
        if kept:
            rows["" if entry is None else entry] = dict(kept)
    if not rows:
        raise UnfitError("needs finished flows, and a comparison that kept their distribution (curves.parquet)")
    return rows


INTERVALS = ("bars are 95 % Student-t intervals over {seeds}", "one seed: no intervals")
"""The text about intervals, for several seeds and for one."""


def caption(comparison: Comparison, by: By) -> str:
    """The caption of a figure of bars, or of points against load, with their intervals."""
    several = len(comparison.loads) > 1
    text = head(comparison, *INTERVALS)
    at = " at the last load" if several else ""
    text += f" {flows_of(comparison, by, at)}{unfinished(comparison, comparison.loads, ' (hollow)')}"
    return text + totals(comparison) + overload(comparison, comparison.loads, " loads (shaded)" if several else "")


def totals(comparison: Comparison) -> str:
    """The load of all entries together at each load, if several entries have it."""
    alls = {load: total(comparison.spec, load) for load in comparison.loads}
    known = [f"{load:g} ({whole:g})" for load, whole in alls.items() if load is not None and whole is not None]
    return f" Load of each entry (of all): {', '.join(known)}." if known else ""


def caption_of_spreads(comparison: Comparison, by: By, where: str = "") -> str:
    """The same caption for a figure of means without intervals, at the last load; `where` they are taken."""
    last = comparison.loads[-1:]
    text = f"{head(comparison, f'means over {{seeds}}{where}', 'one seed')}{at_last(comparison)}"
    return f"{text} {flows_of(comparison, by)}{unfinished(comparison, last)}{overload(comparison, last)}"


def caption_of_jobs(comparison: Comparison) -> str:
    """The same caption for bars of rounds, at the last load."""
    last = comparison.loads[-1:]
    text = head(comparison, *INTERVALS)
    cells = [cell for scheme in comparison.labels for cell in comparison.at(scheme, last[0])]
    lost = sum(cell.jobs[entry].unfinished for cell in cells for entry in comparison.with_jobs)
    left_out = f" Left out: {units.counted(lost, 'round')} that did not finish (hollow)." if lost else ""
    return f"{text}{at_last(comparison)}{left_out}{overload(comparison, last)} Bus bandwidth as defined by nccl-tests."


def head(comparison: Comparison, of_several: str, of_one: str) -> str:
    """The spec, the treatment of its seeds, and whether all schemes saw the same traffic."""
    seeds = of_several.format(seeds=f"{len(comparison.seeds)} seeds") if len(comparison.seeds) > 1 else of_one
    traffic = "the same traffic for every scheme." if comparison.paired else "schemes saw DIFFERENT traffic."
    return f"{comparison.spec.get('name', 'run')}: {seeds}, {traffic}"


def flows_of(comparison: Comparison, by: By, at: str = "") -> str:
    """The number of flows behind the numbers."""
    counts = [
        (panel_title(entry, name, "fct_s.mean").partition(":")[0], comparison.flows(comparison.loads[-1], name, entry))
        for entry, name in scopes(comparison, by)
    ]
    return f"Flows per scheme{at}: {', '.join(f'{what} {units.count(n)}' for what, n in counts)}."


def unfinished(comparison: Comparison, loads: Sequence[float | None], mark: str = "") -> str:
    """The number of flows left out at some loads, and how a figure marks that."""
    lost = sum(comparison.unfinished(scheme, load) for scheme in comparison.labels for load in loads)
    return f" Left out: {units.counted(lost, 'flow')} that did not finish{mark}." if lost else ""


def overload(comparison: Comparison, loads: Sequence[float | None], mark: str = "") -> str:
    """A note that some loads are overloads, and how a figure marks them."""
    over = any(map(comparison.overloaded, loads))
    return f" OVERLOADED{mark}: the results depend on how long the run lasts." if over else ""
