"""The Markdown pages of the checkout: their blocks of code, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- in tests: (.*?) -->\n\Z")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"(?<!\\)\]\(<?([^()<>\s]+)>?\)")
_CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        language: as the fence says it.
        text: its lines.
        line: of the page, where it begins.
        changed: what tests replace, as ``old => new``: a page may show a command that takes minutes.
    """

    language: str
    text: str
    line: int
    changed: str = ""


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(
            found[2].strip(),
            found[3],
            text.count("\n", 0, found.start()) + 1,
            "" if (said := _COMMENT.search(text, 0, found.start())) is None else said[1],
        )
        for found in _FENCE.finditer(text)
    ]


def anchors(page: Path) -> set[str]:
    """What a link to a heading of this page may say, as forges make it."""
    found: set[str] = set()
    text = page.read_text()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower().strip()).replace(" ", "-")
        number = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None for one in found)
        found.add(f"{slug}-{number}" if number else slug)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(page: Path) -> list[str]:
    """Where a page links to."""
    return _LINK.findall(_CODE.sub("", _FENCE.sub("", page.read_text())))
