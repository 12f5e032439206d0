"""Everything in a checkout that is generated: ``python -m spinewise.docs [--check]``.

Nothing is written by hand twice: columns, keys and parameters come from the engine, citations from the sources.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spinewise.docs import checkout, pages


def main() -> int:
    """Write the texts, or with --check say which are out of date."""
    parser = argparse.ArgumentParser(prog="python -m spinewise.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when out of date")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    args = parser.parse_args()
    unknown = checkout.unresolved(args.root)
    for one in unknown:
        print(f"{one.file}:{one.line}: {one.work} {one.place}: not in {checkout.PAPERS}", file=sys.stderr)
    texts = pages.texts() | checkout.texts(args.root)
    stale = [path for path, text in texts.items() if not is_current(args.root / path, text)]
    for path in [] if args.check else stale:
        (args.root / path).parent.mkdir(parents=True, exist_ok=True)
        (args.root / path).write_text(texts[path])
    if stale and args.check:
        print(f"out of date: {', '.join(map(str, stale))}; run `make docs`", file=sys.stderr)
    else:
        print(f"docs: {len(texts)} texts, {len(stale)} written")
    return 1 if unknown or (stale and args.check) else 0


def is_current(path: Path, text: str) -> bool:
    """Does the file at `path` hold `text`?"""
    return path.is_file() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
