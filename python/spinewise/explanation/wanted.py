"""Which flows are asked about: those of a traffic entry, of a size class, or all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinewise.errors import SpecError
from spinewise.measures.classes import ALL
from spinewise.measures.entries import entries_of
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result


def wanted(result: Result, entry: str | None, size_class: str | None) -> npt.NDArray[np.bool_]:
    """The flows of a traffic entry and of a size class; None: of all of them.

    Raises:
        SpecError: there is no such entry or class.
    """
    entries = entries_of(result.spec)
    names = [one.name for one in entries]
    place, size = numbers(result.flows, "entry"), numbers(result.flows, "size_bytes")
    found = np.ones(len(place), dtype=bool)
    if entry is not None:
        if entry not in names:
            raise SpecError("--entry", entry, ", ".join(names))
        found &= place == names.index(entry)
    if size_class is not None and size_class != ALL:
        inside, known = np.zeros(len(place), dtype=bool), dict.fromkeys([ALL])
        for number, of in enumerate(entries):
            for one in of.size_classes:
                known[one["name"]] = None
                if one["name"] == size_class:
                    below = one.get("below_bytes") or np.inf
                    inside |= (place == number) & (size >= one.get("from_bytes", 0)) & (size < below)
        if size_class not in known:
            raise SpecError("--class", size_class, ", ".join(known))
        found &= inside
    return found
