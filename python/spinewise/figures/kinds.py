"""The kinds of figures by name: the results each fits, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from matplotlib.figure import Figure

Results = TypeVar("Results")


class UnfitError(Exception):
    """These results have no data for a figure; the text says what they would need."""


@dataclass(frozen=True)
class Kind(Generic[Results]):
    """A figure by name.

    Attributes:
        name: what `spinewise plot RESULTS NAME` draws, and the name of its file.
        about: its description.
        draw: a function that draws it; raises `UnfitError`.
    """

    name: str
    about: str
    draw: Callable[[Results], Figure]


def by_name(kinds: list[Kind[Results]]) -> dict[str, Kind[Results]]:
    """The kinds, each under its name."""
    return {kind.name: kind for kind in kinds}
