"""The files that `reproduce` writes: figures, verdicts, measurements, and a page to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.measures.stats import Interval
from spinewise.measures.summary import without_nan
from spinewise.reproduction.experiment import Claim, Measured, Measurement, Panel, Timeline
from spinewise.reproduction.provenance import Provenance
from spinewise.reproduction.records import MeasurementRecord, TimelineRecord
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.verdicts import WAITING, chance, word
from spinewise.runs import formats
from spinewise.show import plot, style
from spinewise.writing import write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW_FORMS, EXAMPLES = 3, 2
"""If there is little room, more forms than the first number are shown by as many examples as the second."""


def write_files(done: Reproduction, target: Path) -> None:
    """Write reproduce.json, report.md and the figures into an existing folder."""
    write_json(target / formats.REPRODUCE.record, record(done))
    (target / "report.md").write_text(page(done), encoding="utf-8")
    for name in variants(done):
        style.save(figure(done, name), target, figure_name(done, name))


def variants(done: Reproduction) -> list[str]:
    """The versions of the experiment whose runs are complete, in the order of the panels."""
    known = {m.run.variant for m in done.measured.measurements}
    named = dict.fromkeys(panel.variant for panel in done.experiment.panels)
    return [name for name in named if name in known and name not in done.lacking]


def figure_name(done: Reproduction, variant: str) -> str:
    """The file name of a figure, without its suffix."""
    words = [done.experiment.id, *variant.lower().replace("µ", "u").split()]
    return "-".join("".join(c for c in word if c.isascii() and (c.isalnum() or c == "-")) for word in words)


def figure(done: Reproduction, variant: str) -> Figure:
    """All panels of one version of the experiment, side by side."""
    measured = done.measured.within(variant)
    wanted = [panel for panel in done.experiment.panels if panel.variant == variant]
    return plot.figure(
        [drawn(panel, measured) for panel in wanted],
        columns=2 if len(wanted) == 4 else min(len(wanted), 3),
        caption=caption(done, measured),
        title=done.experiment.title + (f": {variant}" if variant else ""),
    )


def drawn(panel: Panel, measured: Measured) -> plot.Panel:
    """A panel filled with measurements."""
    made = timeline_curve if panel.timeline else points_curve
    curves = [made(panel, measured, curve) for curve in measured.curves]
    for label, metric in panel.also:
        further = [made(replace(panel, metric=metric), measured, curve) for curve in measured.curves]
        curves += [replace(one, label=label if len(further) == 1 else f"{one.label}, {label}") for one in further]
    overloaded = {m.run.x for m in measured.measurements if m.overloaded}
    words = {x: word for x, word in panel.words if x in measured.xs}
    curves = [curve for curve in curves if len(curve.x)]
    if panel.side_by_side:
        words = {float(place): curve.label for place, curve in enumerate(curves)}
        curves = [replace(curve, x=[float(place)] * len(curve.x)) for place, curve in enumerate(curves)]
        overloaded = set()
    return plot.Panel(
        title=f"{'Figs.' if ' and ' in panel.figure else 'Fig.'} {panel.figure}: {panel.title}"
        if panel.figure[:1].isdigit()
        else panel.title,
        x_label=panel.x_label,
        y_label=panel.y_label,
        curves=curves,
        shaded=() if panel.timeline else sorted(overloaded),
        log=True if panel.log else "auto",
        lines=panel.timeline,
        log_x=panel.log_x,
        words=words,
    )


def points_curve(panel: Panel, measured: Measured, curve: str) -> plot.Curve:
    """A curve of intervals over x."""
    xs = [x for x in measured.xs if measured.at(curve, x) and panel.at in (None, x)]
    if panel.over:
        xs = [x for x in xs if measured.at(panel.over, x)]
        found = [measured.ratio(curve, panel.over, x, panel.metric) for x in xs]
    else:
        found = [measured.interval(curve, x, panel.metric) for x in xs]
    scaled = [Interval(one.mean * panel.scale, one.half * panel.scale, one.n) for one in found]
    hollow = [any(m.unfinished for m in measured.at(curve, x)) for x in xs]
    return plot.Curve(curve, xs, scaled, hollow)


def timeline_curve(panel: Panel, measured: Measured, curve: str) -> plot.Curve:
    """A curve over time, mean over seeds."""
    line = measured.timeline(curve, panel.metric, panel.at)
    x = [float(time) * panel.x_scale for time in line.time_s]
    y = [Interval(float(value) * panel.scale, float("nan"), 1) for value in line.value]
    return plot.Curve(curve, x, y)


def seeds_of(measured: Measured) -> str:
    """The number of seeds of a point, in words: "5 to 10 seeds" if points differ."""
    points: dict[tuple[str, float], set[int]] = {}
    for one in measured.measurements:
        points.setdefault((one.run.curve, one.run.x), set()).add(one.run.seed)
    least, most = (pick((len(seeds) for seeds in points.values()), default=0) for pick in (min, max))
    return f"{most} seeds" if least == most else f"{least} to {most} seeds"


def caption(done: Reproduction, measured: Measured) -> str:
    """The caption: what a reader must know about the figure."""
    lost = sum(m.unfinished for m in measured.measurements)
    kinds = {panel.timeline for panel in done.experiment.panels}
    timelines = kinds == {True}
    lines = "lines" if timelines else "lines without bars"
    drawn = [measured.seeds_drawn(panel.metric) for panel in done.experiment.panels if panel.timeline]
    of_all = "means over seeds" if max(drawn, default=0) > 1 else "seed 1 alone"
    some = ", but of seed 1 only where a panel says one seed" if 1 in drawn and max(drawn) > 1 else ""
    shown = {False: "bars: 95 % Student-t intervals over seeds", True: f"{lines}: {of_all}{some}"}
    text = (
        f"{done.experiment.setup}. {seeds_of(measured)}, the same traffic for every scheme;"
        f" {'; '.join(shown[kind] for kind in sorted(kinds))} ({done.effort.value} effort)."
    )
    if not timelines and any(m.overloaded for m in measured.measurements):
        text += " Shaded: overloaded."
    if lost:
        text += f" {lost} flows had not finished when their run stopped" + (
            "." if timelines else ", and are left out (hollow markers)."
        )
    return text


def record(done: Reproduction) -> dict[str, object]:
    """The reproduction as plain values for JSON."""
    experiment = done.experiment
    plain = without_nan(
        {
            "format": formats.REPRODUCE.name,
            "version": core.version(),
            "id": experiment.id,
            "title": experiment.title,
            "figures": experiment.figures,
            "setup": experiment.setup,
            "effort": done.effort.value,
            "provenance": provenance_record(done.provenance),
            "lacking": done.lacking,
            "errors": done.errors,
            "claims": [claim_record(done, claim) for claim in experiment.claims],
            "assumptions": [vars(assumption) for assumption in experiment.assumptions],
            "notes": experiment.notes,
            "measurements": [measurement_record(m) for m in done.measured.measurements],
        }
    )
    assert isinstance(plain, dict)
    return plain


def provenance_record(found: Provenance | None) -> dict[str, object] | None:
    """The provenance of the numbers, as a record."""
    if found is None:
        return None
    record = {**vars(found), "effort": found.effort.value}
    return record if found.earlier else {name: value for name, value in record.items() if name != "earlier"}


def claim_record(done: Reproduction, claim: Claim) -> dict[str, object]:
    """A claim with its verdict; null while its runs are incomplete."""
    found = done.verdicts.get(claim.key)
    return {
        "id": claim.id,
        "reading": claim.reading,
        "headline": claim.headline,
        "figure": claim.figure,
        "statement": claim.statement,
        "verdict": word(done, claim),
        "status": found and found.status.value,
        "comparisons": found.comparisons if found else 0,
        "evidence": found.evidence if found else (),
    }


def measurement_record(measurement: Measurement) -> MeasurementRecord:
    """One run's numbers; timelines as lists."""
    run = measurement.run
    values: dict[str, float | TimelineRecord | None] = {
        name: {"time_s": list(map(float, value.time_s)), "value": list(map(float, value.value))}
        if isinstance(value, Timeline)
        else value
        for name, value in measurement.values.items()
    }
    return {
        "variant": run.variant,
        "curve": run.curve,
        "x": run.x,
        "seed": run.seed,
        "outcome_hash": measurement.outcome_hash,
        "unfinished": measurement.unfinished,
        "overloaded": measurement.overloaded,
        "flows": measurement.flows,
        "values": values,
    }


def page(done: Reproduction) -> str:
    """The reproduction as a page of Markdown."""
    experiment = done.experiment
    lines = [f"# {experiment.title}", ""]
    if done.provenance:
        lines += [f"{done.provenance.line}.", ""]
    lines += [f"Set-up: {experiment.setup}.", "", *what_is_missing(done)]
    for name in variants(done):
        lines += [f"![{name or experiment.title}]({figure_name(done, name)}.png)", ""]
    lines += [
        "## Claims",
        "",
        "| claim | figure | the paper states | reading | verdict |",
        "|---|---|---|---|---|",
    ]
    for claim in experiment.claims:
        head = "**" if claim.headline else ""
        cells_of = (claim.id, claim.figure, claim.statement, claim.reading, f"{head}{word(done, claim)}{head}")
        lines.append("| " + " | ".join(cells_of) + " |")
    if experiment.headline:
        lines += ["", f"Bold heads the verdict on a claim: {experiment.headline}."]
    lines += ["", chance(done.verdicts.values()).text]
    lines += ["", "Evidence:", ""]
    for claim in experiment.claims:
        found = done.verdicts.get(claim.key)
        lines += [f"- {claim.key}", *(f"  - {one}" for one in (found.evidence if found else (WAITING,)))]
    lines += ["", "## What the paper leaves open, and what is assumed here", ""]
    lines += ["| what | assumed | why |", "|---|---|---|"]
    lines += [f"| {one.name} | {one.value} | {one.why} |" for one in experiment.assumptions]
    lines += ["", "## Cells", "", *cells(done.measured)]
    if experiment.notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in experiment.notes)]
    return "\n".join(lines) + "\n"


def what_is_missing(done: Reproduction) -> list[str]:
    """The runs that an experiment lacks, and why some have failed."""
    lines = [f"Missing: {lacking(done.lacking)}. The same command with --force makes them.", ""] if done.lacking else []
    for where, text in done.errors.items():
        lines += [f"Failed: {where}: {text}", ""]
    return lines


def lacking(counts: Mapping[str, int]) -> str:
    """The number of missing runs, by form."""
    return "; ".join(f"{count:,} runs" + (f" of {name}" if name else "") for name, count in counts.items())


def lacking_briefly(counts: Mapping[str, int]) -> str:
    """The same on a line or two: for many forms, a few examples."""
    if len(counts) <= FEW_FORMS:
        return lacking(counts)
    some = lacking(dict(list(counts.items())[:EXAMPLES]))
    return f"{sum(counts.values()):,} runs of {len(counts)} forms, such as {some}"


def cells(measured: Measured) -> list[str]:
    """A table of the runs by variant and x: the number of their flows, and necessary notes."""
    lines = ["| variant | x | runs | flows a run | flows unfinished | overloaded runs |", "|---|---|---|---|---|---|"]
    for name in dict.fromkeys(m.run.variant for m in measured.measurements):
        part = measured.within(name)
        for x in part.xs:
            runs = [m for m in part.measurements if m.run.x == x]
            counts = sorted({m.flows for m in runs})
            flows = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
            lost, over = sum(m.unfinished for m in runs), sum(m.overloaded for m in runs)
            lines.append(f"| {name} | {x:g} | {len(runs)} | {flows} | {lost:,} | {over} |")
    return lines
