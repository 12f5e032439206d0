"""``spinewise report``."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from spinewise.cli.output import print_json
from spinewise.measures import units
from spinewise.own.load import load_schemes
from spinewise.page import source, write
from spinewise.page.moving import Making
from spinewise.page.packed import Block
from spinewise.show import terminal
from spinewise.show.progress import RunProgress, bars


def command(args: argparse.Namespace) -> int:
    """Write a page that shows results."""
    write.check(Path(args.out), force=args.force)
    own = load_schemes(args.scheme_file)
    block = Block()
    with bars() as bar:
        making = Making(block, not args.no_rerun, partial(RunProgress, bar))
        asked = source.OfStudy(args.store, own, args.set, args.until_ci)
        sources = [source.read(place, asked) for place in args.results]
        together = source.side_by_side(sources)
        page = source.page(sources, together, making)
    size = write.write(write.document(page, block), args.out, force=args.force)
    if args.json:
        told = {"page": args.out, "bytes": size, "parts": [one.kind for one in page.parts], "notes": page.notes}
        print_json(told | ({"side_by_side": together.plain()} if together else {}))
        return 0
    console = terminal.console()
    if together:
        if together.differing:
            console.print(together.spec_table())
        console.print(together.outcome_table())
        for line in together.lines():
            console.print(f"- {line}")
    console.print(f"page in {args.out}: {units.size(size)}, opens in any browser, needs no network")
    for note in page.notes:
        console.print(f"  {note}")
    return 0
