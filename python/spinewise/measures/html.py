"""Small tables for notebooks. Their contents are shown verbatim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are words and whose others are numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if place < left else "right" for place in range(len(cells)))
        styled = zip(cells, sides, strict=True)
        return "".join(f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for cell, side in styled)

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    title = f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{line(heads, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def lines(texts: Iterable[str]) -> str:
    """Lines of text."""
    return "".join(f"<div>{escape(text)}</div>" for text in texts)
