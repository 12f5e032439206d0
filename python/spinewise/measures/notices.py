"""Warnings: what is allowed in a spec, or came out of a run, and may still not be what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spinewise.replies import Warned


@dataclass(frozen=True)
class Notice:
    """One warning.

    Attributes:
        code: a short name of what it is about, the same for all warnings of a kind.
        key: the key of the spec to look at, or None.
        text: a plain sentence or two.
        entry: name of the traffic entry of whose flows it is; None where it is of no flows.
        size_class: their size class, likewise.
    """

    code: str
    key: str | None
    text: str
    entry: str | None = None
    size_class: str | None = None

    @property
    def about(self) -> tuple[str, str | None, str | None, str | None]:
        """What it is about, without its numbers: equal in runs that warn of the same thing."""
        return self.code, self.key, self.entry, self.size_class

    def line(self) -> str:
        """The warning on one line."""
        return f"warning: {self.key}: {self.text}" if self.key else f"warning: {self.text}"


def notices(found: Iterable[Warned]) -> list[Notice]:
    """From the warnings of the engine's report."""
    return [Notice(str(one["code"]), one["key"] and str(one["key"]), str(one["text"])) for one in found]
