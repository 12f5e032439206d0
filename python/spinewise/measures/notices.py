"""Warnings: settings that are allowed, or results of a run, that may still be unintended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spinewise.replies import Warned


@dataclass(frozen=True)
class Notice:
    """One warning.

    Attributes:
        code: a short name of its subject, the same for all warnings of a kind.
        key: the key of the spec to look at, or None.
        text: a plain sentence or two.
        entry: name of the traffic entry whose flows it is about; None if it is not about flows.
        size_class: their size class, likewise.
    """

    code: str
    key: str | None
    text: str
    entry: str | None = None
    size_class: str | None = None

    @property
    def about(self) -> tuple[str, str | None, str | None, str | None]:
        """The identity of a notice, without its numbers: equal in runs that warn of the same thing."""
        return self.code, self.key, self.entry, self.size_class

    def line(self) -> str:
        """The warning on one line."""
        return f"warning: {self.key}: {self.text}" if self.key else f"warning: {self.text}"


def notices(found: Iterable[Warned]) -> list[Notice]:
    """Build notices from the warnings of the engine's report."""
    return [Notice(str(one["code"]), one["key"] and str(one["key"]), str(one["text"])) for one in found]
