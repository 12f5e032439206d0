"""Every scheme that was tried, in a table: how it ended, its values, its differences from the best, its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spinewise.advice.answer import Advice, Entrant, Status
from spinewise.advice.wording import against, tell, value
from spinewise.show import terminal

HEADING: Final = "Every scheme that was tried"
ENDED: Final[dict[Status, str]] = {
    "advised": "the answer",
    "tied": "not told apart",
    "behind": "behind",
    "dropped": "dropped",
    "same": "same outcome as {}",
    "parted": "may differ from {}",
    "bound": "oracle",
    "deadlocked": "DEADLOCK",
}
"""How a scheme ended, in words."""
FEW_SEEDS: Final = ("same", "parted")
"""Schemes with few seeds, among them the worst of another scheme, so that their means tell nothing."""
MOST_ROWS = 12
"""The most schemes shown on a terminal where nobody has named any."""


def heads(advice: Advice) -> tuple[list[str], list[str]]:
    """The heads of the columns that all have, and of two for each aim."""
    return ["scheme", "seeds", "how it ended"], [head for aim in advice.aims for head in (aim.text, "against the best")]


def rows(advice: Advice) -> list[tuple[str, ...]]:
    """A row for each scheme, the best first."""
    return [row(advice, one) for one in advice.entrants if one.samples]


def row(advice: Advice, one: Entrant) -> tuple[str, ...]:
    """A scheme with its numbers; those of a scheme with the outcome of another, at first or always, are the other's."""
    cells = [one.label, f"{len(one.samples):,}", ended(one)]
    for place, aim in enumerate(advice.aims):
        if one.status in FEW_SEEDS:
            cells += ["", ""]
            continue
        cells += [tell(aim, value(one, place)), behind(advice, one, place)]
    return tuple(cells)


def ended(one: Entrant) -> str:
    """How a scheme ended; if it was dropped, for which one."""
    if one.dropped_by:
        return f"dropped for {one.dropped_by}"
    return ENDED[one.status].format(one.like)


def behind(advice: Advice, one: Entrant, place: int) -> str:
    """The difference of a scheme from the best, on the seeds that both have."""
    if one.label == advice.tied[0]:
        return "the best"
    return against(one.than_best[place]) if place < len(one.than_best) else ""


def table(advice: Advice) -> terminal.Grid:
    """The table on a terminal: all schemes that were named, or else the best ones and what runs today."""
    found = rows(advice)
    shown = found if advice.named or len(found) <= MOST_ROWS else few(found, advice.today)
    heading = HEADING if len(shown) == len(found) else f"Schemes that were tried: {len(shown)} of {len(found)}"
    made = terminal.new_table(heading, *heads(advice), together=2)
    for cells in shown:
        made.line(*cells)
    return made


def few(found: Sequence[tuple[str, ...]], today: str) -> list[tuple[str, ...]]:
    """The first rows, and that of what runs today."""
    return [cells for place, cells in enumerate(found) if place < MOST_ROWS or cells[0] == today]
