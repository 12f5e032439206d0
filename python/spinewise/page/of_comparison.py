"""A comparison as a part of a page: which scheme is best, tables, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spinewise.comparison import figures, loads
from spinewise.comparison.answers import how_told, lines
from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.figures import METRICS_OF
from spinewise.comparison.happened import happened_table, legend
from spinewise.comparison.plan import Plan
from spinewise.comparison.report import tables_of
from spinewise.comparison.tables import load_cell, load_head, load_name, notes
from spinewise.comparison.verdict import Verdict, questions, verdict, verdicts
from spinewise.errors import SpecError
from spinewise.figures import spread
from spinewise.figures.kinds import UnfitError
from spinewise.page import charts
from spinewise.page.grids import table
from spinewise.page.model import Answer, Answers, Chart, Charts, Item, Part, Section, Words
from spinewise.page.moving import Making, why_not
from spinewise.runs import api
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.show.simulated import simulated
from spinewise.specs.variants import Variant


def part(comparison: Comparison, name: str, extra: tuple[Section, ...] = ()) -> Part:
    """The part of a comparison; `extra` sections (replays, steps) come after its figures."""
    return Part(
        title=str(comparison.spec.get("name", name)),
        kind="comparison",
        subtitle=subtitle(comparison),
        sections=(
            Section("Which is best", (*answers(comparison),)),
            Section("Completion times", (*tables(comparison), *against_load(comparison))),
            *spread_sections(comparison),
            *job_sections(comparison),
            *extra,
            Section("What happened", (table(happened_table(comparison), legend(happened_table(comparison))),)),
            *told(comparison.spec, *of_first(comparison)),
            Section("How to read this", (Words(tuple(reading(comparison)), listed=True),)),
        ),
    )


def of_first(comparison: Comparison) -> tuple[str, ...]:
    """The run whose spec is told, and the loads at which it was repeated."""
    first, *others = [loads.words(comparison.spec, load) for load in comparison.loads]
    label = comparison.labels[0]
    return (f"{label} at load {first}", f"repeated at load {', '.join(others)}") if others else (label,)


def shown_run(comparison: Comparison) -> str:
    """Load and seed of the runs that `side_by_side` shows, if there are others."""
    load = f"load {loads.words(comparison.spec, comparison.loads[-1])}" if len(comparison.loads) > 1 else ""
    seed = f"seed {comparison.seeds[0]}" if len(comparison.seeds) > 1 else ""
    one = ", ".join(filter(None, (load, seed)))
    return f"The runs of {one}." if one else ""


def told(spec: Spec, of: str, *more: str) -> list[Section]:
    """The section that says what was simulated, from the resolved spec of the runs called `of`; `more` about them.

    Results of older versions may lack a part of the spec, and its files may have gone: then there is no section.
    """
    if not {"topology", "transport", "traffic"} <= spec.keys():
        return []
    try:
        lines = [f"as for {of}, where the others do not set it", *simulated(spec), *more]
    except SpecError:
        return []
    return [Section("What was simulated", (Words(tuple(lines), listed=True),))]


def subtitle(comparison: Comparison) -> str:
    """The comparison in a line."""
    count = len(comparison.seeds)
    names = [load_cell(comparison, load) for load in comparison.loads if load is not None]
    at = f", {load_head(comparison)} {', '.join(names)}" if names else ""
    return f"{', '.join(comparison.labels)}{at}, {count} seed{'s' * (count != 1)}"


def side_by_side(comparison: Comparison, place: str, making: Making) -> list[tuple[str, Result]]:
    """The runs of the best scheme and of the baseline, or of the next one, on one seed at the last load."""
    if not making.rerun and not any(cell.folder for cell in comparison.cells):
        making.notes.append("Links over time are not shown: the comparison keeps no runs, and --no-rerun makes none.")
        return []
    load, seed = comparison.loads[-1], comparison.seeds[0]
    runs = []
    for label in shown_of(comparison, load):
        cell = next(one for one in comparison.at(label, load) if one.seed == seed)
        try:
            runs.append((label, run_of(comparison, cell, place, making)))
        except SpecError as error:
            making.notes.append(f"{label} is not shown over time: {why_not(error)}.")
    return runs


def shown_of(comparison: Comparison, load: float | None) -> list[str]:
    """The two schemes to show: the baseline, and the best in the first question."""
    first, *others = comparison.labels
    if not others:
        return [first]
    found = verdict(comparison, questions(comparison)[0], load)
    other = found.best if found.best not in (None, first) else found.other
    return [first, other or others[0]]


def run_of(comparison: Comparison, cell: Cell, place: str, making: Making) -> Result:
    """A run of a comparison: as kept, or repeated.

    Raises:
        SpecError: it cannot be repeated, or comes out differently.
    """
    if cell.folder is not None and (Path(place) / cell.folder).is_dir():
        return Result.read(Path(place) / cell.folder)
    variant = next(one for one in comparison.variants if one.label == cell.label)
    spec = spec_of(comparison, variant, cell)
    found = api.run(spec, seed=cell.seed, progress=making.watching(f"{cell.label}, seed {cell.seed}"))
    if found.report["outcome_hash"] != cell.outcome_hash:
        why = "the comparison was made by another version, or its first scheme has settings of its own"
        if "source" in found.spec["scheme"]:
            why += f", or no two runs under {cell.label} are alike (chance must come from cx.rng alone)"
        raise SpecError("RESULTS", place, "a comparison whose runs repeat exactly", f"{why}: use --keep-runs")
    return found


def spec_of(comparison: Comparison, variant: Variant, cell: Cell) -> Spec:
    """The original spec of a run: from the spec as given, if it was kept and its files still exist.

    The resolved spec of the first variant has keys of its transport, which that of another variant may not have.

    Raises:
        SpecError: neither spec gives it.
    """
    for given in (comparison.given, comparison.spec):
        if given is None:
            continue
        try:
            return Plan(given, [variant], [cell.load], [cell.seed]).case(variant, cell.load, cell.seed).spec
        except SpecError as error:
            refused = error
    raise refused


def answers(comparison: Comparison) -> list[Item]:
    """The verdicts as cards, load by load."""
    found = verdicts(comparison) if len(comparison.labels) > 1 else []
    if not found:
        return [Words(("One scheme: there is nothing to compare it with.",))]
    return [Answers(tuple(card(comparison, one) for one in found))]


def card(comparison: Comparison, found: Verdict) -> Answer:
    """One verdict: the best scheme in large type, with ties near it, and all that `compare` says about it below."""
    asked = found.question
    what = asked.words if asked.entry is None else f"{asked.entry}, {asked.words}"
    if len(comparison.loads) > 1:
        what += f", load {load_name(comparison, found.load)}"
    said = [line.strip() for line in lines(comparison, found)]
    said[0] = said[0].partition(": ")[2]
    if found.best is None:
        return Answer(what, "none judged" if found.aside else "nothing finished", tuple(said), "bad")
    if found.alike:
        return Answer(what, "all alike", tuple(said))
    more = tuple(line for line in said if line)
    if not found.ties:
        return Answer(what, found.best, more, "head" if found.value.n > 1 else "unsure")
    everyone = len(found.ties) == len(found.judged) - 1
    head = "none told apart" if everyone else either([found.best, *found.near])
    return Answer(what, head, more, "unsure" if everyone else "head")


def either(names: Sequence[str]) -> str:
    """One of some names, in words."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def tables(comparison: Comparison) -> list[Item]:
    """Completion times and rounds, as `compare` prints them."""
    return [table(grid) for entry in comparison.scopes() for grid in tables_of(comparison, entry, "auto")]


def against_load(comparison: Comparison) -> list[Item]:
    """Completion time and slowdown: against load, or a bar a scheme."""
    looks = charts.looked(comparison.labels)
    made: list[Item] = []
    for metrics in METRICS_OF.values():
        found: list[Chart] = []
        for entry, size_class in figures.scopes(comparison, "auto"):
            for metric in metrics:
                if len(comparison.loads) == 1:
                    found.append(charts.of_bars(figures.bar_panel(comparison, metric, entry, size_class), looks))
                else:
                    found.append(charts.of_panel(figures.load_panel(comparison, metric, entry, size_class), looks))
        made.append(Charts(tuple(one for one in found if one.curves), figures.caption(comparison, "auto")))
    return made


def spread_sections(comparison: Comparison) -> list[Section]:
    """The distributions of completion times, and by size, at every load that kept them."""
    items: list[Item] = []
    looks = charts.looked(comparison.labels)
    for load in comparison.loads:
        try:
            rows = figures.spreads(comparison, load, "auto")
        except UnfitError as why:
            return [Section("Distributions", (Words((f"Not shown: this {why}.",)),))]
        at = "" if len(comparison.loads) == 1 else f"Load {load_name(comparison, load)}. "
        items.append(Charts(tuple(charts.spreads(rows, looks)), f"{at}{SPREAD_NOTE}"))
        by_size = tuple(charts.sizes(rows, looks))
        if by_size:
            items.append(Charts(by_size, f"{at}{sizes_note(rows)}"))
    return [Section("Distributions", tuple(items))]


SPREAD_NOTE = (
    "Each further nine (90 %, 99 %, …) has the same height. Curves are means over seeds at each share, and end where"
    " flows are too few to tell."
)


def sizes_note(rows: spread.Rows) -> str:
    """A note on what is drawn by size, and what is left out."""
    left = [title for title, found in rows.items() if spread.sizes_of(found) < spread.FEWEST_SIZES]
    return "Flow sizes in bins, four a decade." + (f" Left out, with one or two sizes: {', '.join(left)}." * bool(left))


def job_sections(comparison: Comparison) -> list[Section]:
    """Time and bandwidth of rounds."""
    entries = comparison.with_jobs
    if not entries:
        return []
    looks = charts.looked(comparison.labels)
    found = [charts.of_bars(figures.job_panel(comparison, e, m), looks) for e in entries for m in figures.JOB_METRICS]
    note = f"At load {load_name(comparison, comparison.loads[-1])}. " if len(comparison.loads) > 1 else ""
    return [
        Section(
            "Collectives and rounds",
            (Charts(tuple(one for one in found if one.curves), f"{note}Bus bandwidth as defined by nccl-tests."),),
        )
    ]


def reading(comparison: Comparison) -> list[str]:
    """The meaning of the numbers, warnings, and what was skipped."""
    told = how_told(comparison)
    return [*notes(comparison), *([told] if told else [])]
