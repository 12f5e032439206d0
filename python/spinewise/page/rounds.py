"""Collective operations and other rounds as bars over time, runs side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from spinewise.figures.steps import bars_of, longest
from spinewise.measures.collectives import Round
from spinewise.page.model import Step, Steps
from spinewise.runs.result import Result

MOST_BARS = 240
MOST_CHARTS = 6


def charts(runs: Sequence[tuple[str, Result]]) -> list[Steps]:
    """A chart for each group of each traffic entry that has rounds."""
    found: dict[tuple[str, int], list[tuple[str, list[Round]]]] = {}
    for label, result in runs:
        own: dict[tuple[str, int], list[Round]] = {}
        for one in (one for one in result.rounds.rounds if one.begun):
            own.setdefault((one.name, one.group), []).append(one)
        for key, of_group in own.items():
            found.setdefault(key, []).append((label, of_group))
    groups = [name for name, _ in found]
    made = [
        chart(f"{name}, group {group}" if groups.count(name) > 1 else name, tracks)
        for (name, group), tracks in list(found.items())[:MOST_CHARTS]
    ]
    if more := len(found) - len(made):
        made[-1] = replace(made[-1], note=f"{made[-1].note} Not shown: {more} more such groups.")
    return made


def chart(title: str, tracks: Sequence[tuple[str, list[Round]]]) -> Steps:
    """The steps of one group of each run."""
    left_out = max(len(bars_of(of_group)) for _, of_group in tracks) - MOST_BARS
    note = "A bar lasts from the first flow's start to the last one's end; orange: the longest step of a round."
    if left_out > 0:
        note += f" The first {MOST_BARS} steps; {left_out} more follow."
    return Steps(title, tuple((label, tuple(steps(of_group))) for label, of_group in tracks), note)


def steps(of_group: Sequence[Round]) -> list[Step]:
    """Bars in order."""
    bars = bars_of(of_group)
    marked = longest(bars)
    several = any(one.steps for one in of_group)
    return [
        Step(
            label=f"round {one.round}, step {step.step}" if several else f"round {one.round}",
            begin_us=round(step.start_s * 1e6, 3),
            end_us=round(step.end_s * 1e6, 3) if math.isfinite(step.end_s) else math.nan,
            last=f"flow {step.last_flow}",
            longest=place in marked,
        )
        for place, (one, step) in enumerate(bars[:MOST_BARS])
    ]
