"""What a load of a comparison is: that of each traffic entry that has one, and their total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spinewise.measures.entries import names
from spinewise.shapes import Spec, Traffic

TOTALS = ("load_of", "pairs", "hosts", "start_us", "duration_us")
"""The keys in which entries must agree, so that their loads add up: what they are shares of, and when."""


def with_load(spec: Spec) -> dict[str, Traffic]:
    """The traffic entries of a resolved spec that have a load, by name."""
    traffic = spec.get("traffic") or []
    return {name: one for name, one in zip(names(traffic), traffic, strict=True) if one.get("load")}


def total(spec: Spec, load: float | None) -> float | None:
    """The load of all entries together, if each of several has this one; None if it is not their sum."""
    entries = list(with_load(spec).values())
    if load is None or len(entries) < 2 or any(unlike(one, entries[0]) for one in entries):
        return None
    return len(entries) * load


def unlike(one: Traffic, other: Traffic) -> bool:
    """Whether the loads of two entries do not add up."""
    return any(one.get(key) != other.get(key) for key in TOTALS)


def words(spec: Spec, load: float | None) -> str:
    """A load in words, with the total if several entries have it."""
    if load is None:
        return "as given"
    if len(with_load(spec)) < 2:
        return f"{load:g}"
    whole = total(spec, load)
    return f"{load:g} of each entry" + ("" if whole is None else f" ({whole:g} in all)")


def head(spec: Spec) -> str:
    """The head of a column of loads."""
    if len(with_load(spec)) < 2:
        return "load"
    return "load each" if total(spec, 1.0) is None else "load each (all)"


def cell(spec: Spec, load: float | None) -> str:
    """A load in a column below `head`."""
    whole = total(spec, load)
    return "as given" if load is None else f"{load:g}" + ("" if whole is None else f" ({whole:g})")


def too_much(spec: Spec, loads: Iterable[float | None]) -> list[str]:
    """A warning before the runs, if a load of each entry is more than the fabric carries of all."""
    over = [(load, whole) for load in loads if load and (whole := total(spec, load)) and round(whole, 9) >= 1.0]
    if not over:
        return []
    who = " and ".join(with_load(spec))
    alls = listed([f"{load:g} is {whole:g} in all" for load, whole in over])
    return [
        f"warning: --loads: each of {who} gets the load, so {alls}. At 1 or more the results depend on how long the run"
        " lasts."
    ]


def listed(items: Sequence[str]) -> str:
    """Items in a sentence."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else items[0]
