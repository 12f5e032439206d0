"""Tables of generated pages."""

from __future__ import annotations

from collections.abc import Sequence


def cell(text: str) -> str:
    """Text that does not break a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def line(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
