"""What is said of a budget before it is spent: what it can reach, or that it is too short."""

from __future__ import annotations

import math

from spinewise.advice.aims import Aim
from spinewise.advice.forecast import PILOT, Forecast
from spinewise.errors import SpecError
from spinewise.measures import units
from spinewise.shapes import Spec, Traffic

MEASURED_ROOM = 2.0
"""A budget that is named as enough is this many times what the pilot takes by the runs that were made."""
ESTIMATED_ROOM = 4.0
"""The same where no run was made yet: the processors may have other work."""
LISTED = {"flows": "fewer flows in the list", "dag": "fewer operations in the trace"}
"""What makes a run shorter, of traffic from a file."""


def planned(aim: Aim, plan: Forecast, doubtful: Forecast, in_time: Forecast, left: float) -> str:
    """What the pilot says of an aim, in a line.

    Args:
        aim: the aim.
        plan: what it takes if the pilot's seeds are typical.
        doubtful: what it takes to the same band if they are not.
        in_time: what can be reached then.
        left: seconds for it.
    """
    band, clock = units.percent(plan.band), units.clock(left)
    least, most = cost(plan), cost(doubtful)
    if not plan.settles:
        cannot = f"the {clock} left cannot" if left >= 1.0 else "no time is left to"
        return (
            f"{aim.text}: {cannot} settle it. Differences of {band} would take {least} if the pilot's"
            f" {PILOT} seeds are typical, up to {most} if they are not. Schemes that cannot be told apart will be named"
        )
    takes = f"That takes {least} if the pilot's {PILOT} seeds are typical, up to {most} if they are not"
    if not doubtful.runs:
        takes = f"The pilot's {PILOT} seeds are enough for that"
    if in_time.settles and in_time.band > plan.band:
        takes += f"; {units.percent(in_time.band)} should be reached even then"
    elif not in_time.settles:
        takes += "; schemes that cannot be told apart will be named"
    return f"{aim.text}: differences of {band} or more can be told in the {clock} left. {takes}"


def cost(found: Forecast) -> str:
    """Runs and time of a forecast."""
    if not found.runs:
        return "no more runs"
    return f"{units.counted(found.runs, 'more run')} ({units.clock(math.ceil(found.seconds))})"


def pilot_s(run_s: float, schemes: int, jobs: int) -> float:
    """Wall seconds that the pilot takes, where a run of each of these schemes takes `run_s`."""
    return run_s * PILOT * schemes / jobs


def short_budget(budget_s: float, needed_s: float, room: float, schemes: int, hint: str) -> SpecError:
    """The error about a budget that does not hold the pilot; what it names as enough is taken when typed.

    Args:
        budget_s: what was given.
        needed_s: seconds that the pilot takes as far as is known.
        room: how many times that is named as enough.
        schemes: how many are seen.
        hint: what else helps.
    """
    return SpecError(
        "--budget",
        units.clock(budget_s),
        f"{units.clock(rounded_up(room * needed_s))} or more here: before the race, {schemes * PILOT} runs to see"
        f" each of {schemes} schemes on {PILOT} seeds take about {units.clock(needed_s)}",
        hint,
    )


def shorter(resolved: Spec) -> str:
    """What makes the pilot shorter: a key that the traffic of this spec has, fewer hosts, fewer schemes."""
    # A run does not wait for UDP.
    ways = dict.fromkeys(shortened(one) for one in resolved["traffic"] if one["kind"] != "udp")
    less = f"{', '.join(ways)} or fewer hosts" if ways else "fewer hosts"
    return f"{less} make runs shorter; --schemes names fewer schemes"


def shortened(entry: Traffic) -> str:
    """What makes less of an entry: a shorter list or time, fewer flows or rounds, or of a single round less data."""
    if entry["kind"] in LISTED:
        return LISTED[entry["kind"]]
    repeats = {
        "fewer rounds": entry.get("rounds"),
        "fewer requests": entry.get("requests"),
        "a smaller repeat": entry.get("repeat"),
    }
    if all(times is None for times in repeats.values()):
        return "a shorter duration_us" if "duration_us" in entry else "fewer flows"
    less = "a smaller pair_bytes" if entry.get("pair_bytes") else "a smaller size_bytes"
    return next((way for way, times in repeats.items() if (times or 0) > 1), less)


def rounded_up(seconds: float) -> float:
    """A time as people type it: whole seconds, from two minutes on tens of seconds, from an hour on minutes."""
    step = 1 if seconds < 120 else 10 if seconds < 3600 else 60
    return float(step * math.ceil(seconds / step))
