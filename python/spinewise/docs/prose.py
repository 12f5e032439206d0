"""Hand-written texts beside the experiments, whose measured numbers come from the evidence.

``{{ experiment | form | curve | x | metric | unit }}`` inserts a mean with its interval, and with "A / B" as the
curve for the difference of A from B in percent; "1 / 2" as the x takes A at 1 and B at 2. If there is no evidence,
it says so. Elsewhere a text has numbers only in names of figures, sections, equations and claims, and in `code`: no
measured number is typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.measures.stats import paired_difference
from spinewise.reading import printable
from spinewise.reproduction import claims
from spinewise.reproduction.evidence import Kept
from spinewise.reproduction.experiment import Measured

_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "%": 100.0, "Gbps": 1.0, "": 1.0}
_KEYS = ("experiment", "form", "curve", "x", "metric", "unit")
NOT_YET = "(not yet run)"
# Parts that may have digits without being measured: code, and names of things.
_NAMES = re.compile(
    r"`[^`]*`"
    r"|\bC\d+-\d+[a-z]?"
    r"|\b(?:Figs?\.|Eqs?\.|Tables?|Sections?|Algorithms?|RFC|ns-|§+) ?[\d.]+[a-z]?(?:(?:, | and | to )[\d.]+[a-z]?)*"
    r"|\b[a-z]+-[0-9]+[a-z]?\b"
    r"|§[\d.]+(?:-[A-Z])?"
    r"|99(?:\.9)?th percentiles?|95 %"
    r"|\[[^\]]*\]\([^)]*\)"
)


def filled(file: Path, kept: Mapping[str, Kept]) -> str:
    """The text of a file with its numbers.

    Raises:
        SpecError: a placeholder names nothing that is measured, or a number is typed by hand.
    """
    text = file.read_text(encoding="utf-8")
    typed = typed_numbers(text)
    if typed:
        allowed = "numbers from the evidence, as {{ experiment | form | curve | x | metric | unit }}, or in `code`"
        raise SpecError("text", typed[0], allowed, file=printable(file))
    try:
        return _PLACE.sub(lambda place: number(place[1], kept), text)
    except SpecError as error:
        raise error.with_file(printable(file)) from None


def typed_numbers(text: str) -> list[str]:
    """The words with digits that are neither names nor code nor placeholders."""
    return re.findall(r"\S*\d\S*", _NAMES.sub("", _PLACE.sub("", text)))


def number(place: str, kept: Mapping[str, Kept]) -> str:
    """The text for a placeholder."""
    words = [word.strip() for word in place.split("|")]
    if len(words) != len(_KEYS) or words[-1] not in _UNITS:
        raise SpecError("place", place.strip(), f"{' | '.join(_KEYS)}, the unit one of {', '.join(_UNITS)}")
    experiment, form, curve, x, metric, unit = words
    if experiment not in kept:
        return NOT_YET
    measured = kept[experiment].measured.within(form)
    one, _, other = (word.strip() for word in curve.partition("/"))
    for name in (one, *([other] if other else [])):
        known("curve", name, measured.curves, place)
    at, _, its = (word.strip() for word in x.partition("/"))
    for value in (at, *([its] if its else [])):
        known("x", value, [f"{one:g}" for one in measured.xs], place)
    known("metric", metric, sorted({name for m in measured.measurements for name in m.values}), place)
    if other:
        away = float(its or at)
        change = paired_difference(*measured.pairs((one, float(at), metric), (other, away, metric)))
        return claims.percent(change, measured.interval(other, away, metric).mean)
    return mean(measured, one, float(at), metric, unit)


def mean(measured: Measured, curve: str, x: float, metric: str, unit: str) -> str:
    """A mean with its interval and unit."""
    found = measured.interval(curve, x, metric)
    scale = _UNITS[unit]
    return f"{claims.number(scale * found.mean)} ±{claims.number(scale * found.half)} {unit}".strip()


def known(key: str, name: str, names: list[str], place: str) -> None:
    """Refuse a name that is not in a list."""
    if name not in names:
        hint = nearest(name, names)
        raise SpecError(f"{key} of {place.strip()}", name, f"one of {', '.join(names) or 'none'}", hint)
