"""Numbers for people: times, bytes, counts with a fitting unit and three or four digits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from spinewise.magnitudes import PS_PER_SECOND as PS_PER_SECOND  # noqa: PLC0414 - offered from here too

_TIME_UNITS = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
_COUNT_UNITS = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)]
NOTHING = "–"
SPANS = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
"""Units of wall time, in seconds, the longest first."""
SECONDS_ALONE = 120
"""The number of seconds from which wall time is also shown in minutes."""


def time_unit(seconds: Iterable[float]) -> tuple[str, float]:
    """Name and size in seconds of the unit in which the median of some times is at least 1."""
    finite = sorted(abs(value) for value in seconds if math.isfinite(value) and value != 0.0)
    middle = finite[len(finite) // 2] if finite else 1.0
    fitting = [unit for unit in _TIME_UNITS if unit[1] <= middle]
    return fitting[-1] if fitting else _TIME_UNITS[0]


def digits(value: float, significant: int = 4) -> str:
    """`value` with about `significant` digits and no exponent; a dash if it is not a number."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0.0:
        return "0"
    decimals = significant - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(decimals, 0), 6)}f}"


def duration(seconds: float, significant: int = 4) -> str:
    """A time with its unit."""
    if not math.isfinite(seconds):
        return NOTHING
    name, size = time_unit([seconds])
    return f"{digits(seconds / size, significant)} {name}"


def count(value: float, significant: int = 3) -> str:
    """A large number with a decimal prefix: 12.3 M."""
    if not math.isfinite(value):
        return NOTHING
    name, size = [unit for unit in _COUNT_UNITS if unit[1] <= max(abs(value), 1.0)][-1]
    text = f"{value:.0f}" if not name and value == int(value) else digits(value / size, significant)
    return f"{text} {name}".strip()


def size(value: float, significant: int = 3) -> str:
    """A number of bytes: 12.3 MB, 524 B."""
    text = count(value, significant)
    return text if text == NOTHING else f"{text}B" if " " in text else f"{text} B"


def signed_percent(fraction: float, gap: str = "") -> str:
    """A difference in percent with its sign, which zero does not have; `gap` comes before the unit."""
    text = f"{100.0 * fraction:+.1f}"
    return f"{text[1:] if text[1:] == '0.0' else text}{gap}%"


def percent(fraction: float, significant: int = 3) -> str:
    """A fraction as a percentage."""
    return f"{digits(100.0 * fraction, significant)} %" if math.isfinite(fraction) else NOTHING


def counted(count: int, noun: str) -> str:
    """A number of things."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{ending}"


def clock(seconds: float) -> str:
    """Wall time in the form for options such as --budget: 0.25s, 90s, 2min5s, 1h2min3s."""
    if not math.isfinite(seconds):
        return NOTHING
    if 0.0 < seconds < 1.0:
        return f"{seconds:.2g}s"
    left = round(seconds)
    if left < SECONDS_ALONE:
        return f"{left}s"
    found = []
    for unit, size in SPANS.items():
        many, left = divmod(left, size)
        if many:
            found.append(f"{many}{unit}")
    return "".join(found)


def parts(value: object) -> list[str]:
    """The parts of a list or a table; empty for anything else."""
    if isinstance(value, dict):
        return [f"{key} = {plain(item)}" for key, item in value.items()]
    return [plain(item) for item in value] if isinstance(value, list) else []


def plain(value: object) -> str:
    """A registry value in plain notation."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return "; ".join(parts(value)) or "nothing"
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
