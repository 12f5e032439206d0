"""How much of what a spec lists a run leaves out, in words; and that it sends nothing, where it does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spinewise.measures.units import counted
from spinewise.replies import Warned
from spinewise.shapes import Spec, Traffic

AFTER_END = "flows_after_end"
"""The engine's code for flows that would start after the end of the run."""
_PLACE = re.compile(r"traffic\[(\d+)\]")


def told(warnings: Sequence[Warned], spec: Spec, flows: Sequence[int], *, sends: bool) -> list[Warned]:
    """The engine's warnings, with the numbers that it does not say.

    Args:
        warnings: of a run, or of a spec that was set up.
        spec: resolved.
        flows: how many each traffic entry has in the run, as far as that is known.
        sends: whether there is anything to send.
    """
    found = [with_number(one, spec, flows) if one["code"] == AFTER_END else one for one in warnings]
    if sends:
        return found
    text = "NOTHING IS SENT: the run has no flows, and every number of it is empty."
    return [*found, {"code": "nothing_sent", "key": "traffic", "text": text}]


def with_number(warning: Warned, spec: Spec, flows: Sequence[int]) -> Warned:
    """How many flows of a list are left out."""
    place = _PLACE.fullmatch(warning["key"] or "")
    entry = int(place[1]) if place else len(flows)
    if entry >= len(flows):
        return warning
    there = listed(spec["traffic"][entry])
    if there is None or there < flows[entry]:
        return warning
    text = (
        f"{there - flows[entry]:,} of {counted(there, 'flow')} would start at the end of the run"
        f" (run.until_us = {spec['run']['until_us']:g}) or later, and are left out."
    )
    return {**warning, "text": text}


def listed(entry: Traffic) -> int | None:
    """How many flows the list of an entry has; None for what is drawn, comes in rounds, or cannot be read any more."""
    if entry.get("kind") != "flows" or entry.get("rounds", 1) != 1:
        return None
    if entry.get("list"):
        return len(entry["list"])
    try:
        with open(entry["file"], encoding="utf-8-sig") as stream:
            return sum(1 for line in stream if line.strip() and not line.startswith("#")) - 1
    except (KeyError, OSError, UnicodeDecodeError):
        return None
