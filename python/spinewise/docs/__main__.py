"""Everything in a checkout that is generated: ``python -m spinewise.docs [--check]``.

Nothing is written by hand twice: columns, keys and parameters come from the engine, citations from the sources, and
what came of the papers' claims from the kept evidence.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spinewise.docs import checkout, edge, pages, reproduced, schemas
from spinewise.docs.drawings import Drawing, Picture


def main() -> int:
    """Write the texts, or with --check report which are out of date."""
    parser = argparse.ArgumentParser(prog="python -m spinewise.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when out of date")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    args = parser.parse_args()
    unknown = checkout.unresolved(args.root)
    for one in unknown:
        print(f"{one.file}:{one.line}: {one.work} {one.place}: not in {checkout.PAPERS}", file=sys.stderr)
    book = reproduced.book(args.root)
    kept = edge.read(args.root)
    texts = pages.texts() | schemas.texts() | checkout.texts(args.root) | reproduced.texts(book) | edge.texts(kept)
    drawings: dict[Path, Drawing | Picture] = {**reproduced.drawings(book), **edge.drawings(kept)}
    stale = [path for path, text in texts.items() if not is_current(args.root / path, text)]
    stale += [path for path, drawing in drawings.items() if not drawing.is_current(args.root / path)]
    left = reproduced.left_over(args.root, {*texts, *drawings})
    if (stale or left) and args.check:
        print(f"out of date: {', '.join(map(str, [*stale, *left]))}; run `make docs`", file=sys.stderr)
        return 1
    for path in stale:
        (args.root / path).parent.mkdir(parents=True, exist_ok=True)
        if path in texts:
            (args.root / path).write_text(texts[path])
        else:
            drawings[path].draw(args.root / path)
    for path in left:
        (args.root / path).unlink()
    print(f"docs: {len(texts)} texts, {len(drawings)} figures, {len(stale)} written, {len(left)} removed")
    return 1 if unknown else 0


def is_current(path: Path, text: str) -> bool:
    """Whether the file at `path` holds `text`."""
    return path.is_file() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
