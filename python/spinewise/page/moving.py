"""The interactive sections of a page: links over time, flows to pick, steps of collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.page import again, replay, rounds
from spinewise.page.again import Sampled
from spinewise.page.charts import looked
from spinewise.page.model import Item, Section, Words
from spinewise.page.packed import Block
from spinewise.runs.result import Result

TITLE = "Links over time, and the slowest flows"

Watching = Callable[[str], ProgressHook]
"""A function that shows the progress of a run, under a title."""


@dataclass
class Making:
    """The state of making a page.

    Attributes:
        block: the block for the arrays of all parts.
        rerun: whether runs may be made again.
        watching: shows progress.
        notes: the runs made again, for the end of the page.
    """

    block: Block
    rerun: bool
    watching: Watching
    notes: list[str] = field(default_factory=list)


def sections(runs: Sequence[tuple[str, Result]], making: Making, which: str = "") -> tuple[Section, ...]:
    """Runs on one fabric: links over time side by side, flows, steps of collectives; `which` runs of several."""
    said: list[Item] = [Words((which,))] if which else []
    steps: list[Item] = list(rounds.charts(runs))
    made = [Section(TITLE, (*said, *moving(runs, making)))]
    if steps:
        made.append(Section("Steps of collectives and rounds", (*said, *steps)))
    return tuple(made)


def moving(runs: Sequence[tuple[str, Result]], making: Making) -> list[Item]:
    """The replay, or the reason why there is none."""
    try:
        found = sampled(runs, making)
    except SpecError as error:
        why = why_not(error)
        making.notes.append(f"Links over time are not shown: {why}.")
        return [Words((f"Not shown: {why}.",))]
    if not found:
        hint = "the runs kept no series of all links, and --no-rerun forbids repeating them"
        return [Words((f"Not shown: {hint}.",))]
    notes = [note for one in found for note in one.notes]
    making.notes += notes
    looks = looked([one.label for one in found])
    colours = [str(looks[one.label]["color"]) for one in found]
    return [replay.replay(found, colours, making.block), Words(tuple(notes), listed=True, small=True)]


def sampled(runs: Sequence[tuple[str, Result]], making: Making) -> list[Sampled]:
    """The runs with samples of their links: as they are, or repeated on one clock.

    Raises:
        SpecError: one cannot be repeated, or comes out differently.
    """
    ready = [again.kept(result, label) for label, result in runs]
    known = [one for one in ready if one is not None]
    alike = len(known) == len(runs) and len({one.interval_us for one in known}) == 1
    whole = alike and all(not one.notes and one.result.trace is not None for one in known)
    measured = any("linux" in result.report for _, result in runs)
    if whole or not making.rerun or (measured and known):
        return known if alike else known[:1]
    interval = again.interval_us([result for _, result in runs])
    flows = list(dict.fromkeys(flow for _, result in runs for flow in again.slowest(result)))
    made = []
    for label, result in runs:
        made.append(again.sampled(result, label, flows, interval, making.watching(f"{label}, again")))
    return made


def why_not(error: SpecError) -> str:
    """The reason why a run is not repeated; with key and value if its spec prevents it, such as by a missing file."""
    return (error.hint if error.key == "RESULTS" else None) or f"it cannot be repeated: {error.one_line()}"
