"""The file of a page: HTML, styles, scripts and data in one, with no external resources."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

import msgspec

from spinewise.errors import SpecError
from spinewise.page import html
from spinewise.page.model import Page
from spinewise.page.packed import Block
from spinewise.reading import printable
from spinewise.runs.file import write_file
from spinewise.runs.folder import as_spec_error, check_writable

SCRIPTS = ("base", "tables", "charts", "fabric", "cells", "links", "replay", "flows", "steps", "main")
"""The scripts of the page, in order; each adds to the one object `page`."""
LIBRARY = "echarts.min.js"
ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M3 13V8L8 3l5 5v5M3 8h10' fill='none' stroke='%230072B2' stroke-width='1.6'/%3E%3C/svg%3E"  # noqa: E501 - one address


def asset(folder: str, name: str) -> str:
    """A file that comes with this package."""
    return files("spinewise.page").joinpath(folder, name).read_text(encoding="utf-8")


def document(page: Page, block: Block) -> str:
    """The whole page as text; `block` has the arrays that it refers to."""
    data = block.text(msgspec.json.encode(tuple(html.drawn(page))))
    scripts = "\n".join(asset("assets", f"{name}.js") for name in SCRIPTS)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{escape(page.made)}">
<title>{escape(page.title)}</title>
<link rel="icon" href="{ICON}">
<style>
{asset("assets", "page.css")}
</style>
<noscript><style>.plot, .replay, .switch {{ display: none }}</style></noscript>
</head>
<body>
<div class="top"><strong>{escape(page.title)}</strong>
<button type="button" class="switch" aria-pressed="false">Dark</button></div>
{html.body(page)}
<script type="application/octet-stream" id="data">{data}</script>
<script>
{asset("vendor", LIBRARY)}
</script>
<script>
(() => {{
'use strict';
{scripts}
}})();
</script>
</body>
</html>
"""


def write(text: str, place: str, *, force: bool) -> int:
    """Write the file whole or not at all, and return its size in bytes.

    Raises:
        SpecError: there is something of that name, or it cannot be written.
    """
    target = Path(place)
    check(target, force=force)
    content = text.encode("utf-8")
    with as_spec_error(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    write_file(target, content, force=force)
    return len(content)


def check(target: Path, *, force: bool) -> None:
    """Refuse a place that may not be written, before any work is done for it.

    Raises:
        SpecError: it is a folder, or a file and `force` is not given, or it cannot be written.
    """
    if target.is_dir():
        raise SpecError("--out", printable(target), "the name of a file, such as page.html", "this is a folder")
    if target.is_symlink() or target.exists():
        if not force:
            raise SpecError("--out", printable(target), "a file that does not exist yet", "--force replaces it")
        if not is_page(target):
            raise SpecError("--out", printable(target), "a new file, or with --force a page of `report`",
                            "this file is not one")  # fmt: skip
    check_writable(target)


def is_page(target: Path) -> bool:
    """Whether a file is a page that `report` has written."""
    if target.is_symlink() or not target.is_file():
        return False
    with as_spec_error(target), target.open("rb") as stream:
        return b'name="generator" content="Spinewise' in stream.read(4096)
