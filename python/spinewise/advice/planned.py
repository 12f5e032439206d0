"""Messages about a budget before it is spent: what it can achieve, or that it is too short."""

from __future__ import annotations

import math

from spinewise.advice.aims import Aim
from spinewise.advice.forecast import MOST_SEEDS, PILOT, Forecast
from spinewise.errors import SpecError
from spinewise.measures import units
from spinewise.shapes import Spec, Traffic

MEASURED_ROOM = 2.0
"""The ratio of a budget named as sufficient to the pilot's time, if that was measured."""
ESTIMATED_ROOM = 4.0
"""The same ratio if no run was made yet: the processors may have other work."""
LISTED = {"flows": "fewer flows in the list", "dag": "fewer operations in the trace"}
"""Ways to make a run with traffic from a file shorter."""


def planned(aim: Aim, plan: Forecast, doubtful: Forecast, in_time: Forecast, left: float) -> str:
    """The forecast for an aim, in a line.

    Args:
        aim: the aim.
        plan: the effort if the pilot's seeds are typical.
        doubtful: the effort for the same band if they are not.
        in_time: what can be achieved in time in that case.
        left: seconds available.
    """
    band, clock = units.percent(plan.band), units.clock(left)
    least, most = cost(plan), cost(doubtful)
    if not plan.settles:
        cannot = f"the {clock} left cannot" if left >= 1.0 else "no time is left to"
        if plan.seconds <= left:
            cannot = f"{MOST_SEEDS:,} seeds, the most that a race takes, cannot"
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
    """The runs and the time of a forecast."""
    if not found.runs:
        return "no more runs"
    return f"{units.counted(found.runs, 'more run')} ({units.clock(math.ceil(found.seconds))})"


def pilot_s(run_s: float, schemes: int, jobs: int) -> float:
    """The wall seconds of the pilot, if a run of each of these schemes takes `run_s`."""
    return run_s * PILOT * schemes / jobs


def short_budget(budget_s: float, needed_s: float, room: float, schemes: int, hint: str) -> SpecError:
    """The error about a budget that does not hold the pilot; the sufficient value it names can be typed as is.

    Args:
        budget_s: the given budget.
        needed_s: the seconds that the pilot takes, as far as known.
        room: the ratio of the sufficient value to that.
        schemes: the number of schemes seen.
        hint: what else would help.
    """
    return SpecError(
        "--budget",
        units.clock(budget_s),
        f"{units.clock(rounded_up(room * needed_s))} or more here: before the race, {schemes * PILOT} runs to see"
        f" each of {schemes} schemes on {PILOT} seeds take about {units.clock(needed_s)}",
        hint,
    )


def shorter(resolved: Spec) -> str:
    """Ways to make the pilot shorter: a key that the traffic of this spec has, fewer hosts, fewer schemes."""
    # A run does not wait for UDP.
    ways = dict.fromkeys(shortened(one) for one in resolved["traffic"] if one["kind"] != "udp")
    less = f"{', '.join(ways)} or fewer hosts" if ways else "fewer hosts"
    return f"{less} make runs shorter; --schemes names fewer schemes"


def shortened(entry: Traffic) -> str:
    """A way to reduce an entry: a shorter list or time, fewer flows or rounds, or less data in a single round."""
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
    """Round a time up to what people type: whole seconds, tens of seconds from two minutes, minutes from an hour."""
    step = 1 if seconds < 120 else 10 if seconds < 3600 else 60
    return float(step * math.ceil(seconds / step))
