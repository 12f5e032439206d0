"""``spinewise plot``."""

from __future__ import annotations

import argparse
from pathlib import Path

from spinewise import core
from spinewise.cli.output import print_json
from spinewise.errors import SpecError, nearest
from spinewise.figures.kinds import KINDS, UnfitError
from spinewise.runs.folder import new_results
from spinewise.runs.formats import PLOT
from spinewise.runs.result import Result, write_json
from spinewise.show import style, terminal

FOLDER = "figures"


def command(args: argparse.Namespace) -> int:
    """Draw the figures of a results folder."""
    source = Path(args.results)
    result = Result.read(source)
    kinds = [known(name) for name in args.kind] or list(KINDS)
    formats = formats_of(args.format)
    out = Path(args.out) if args.out is not None else source / FOLDER
    written: list[str] = []
    left_out: dict[str, str] = {}
    with new_results(out, force=args.force) as target:
        for name in kinds:
            try:
                made = KINDS[name].draw(result)
            except UnfitError as reason:
                if args.kind:
                    raise SpecError("kind", name, f"a figure that fits {source}", f"{name} {reason}") from None
                left_out[name] = str(reason)
                continue
            written += [path.name for path in style.save(made, target, name, formats)]
        record = {"format": PLOT.name, "version": core.version(), "of": str(source), "figures": written}
        write_json(target / PLOT.record, record | {"left_out": left_out})
    if args.json:
        print_json(record | {"folder": str(out), "left_out": left_out})
        return 0
    console = terminal.console()
    console.print(f"in {out}: {', '.join(written) or 'nothing'}", markup=False)
    for name, why in left_out.items():
        console.print(f"left out {name}: {why}", markup=False)
    return 0


def known(name: str) -> str:
    """A kind of figure that there is."""
    if name in KINDS:
        return name
    allowed = "; ".join(f"{kind.name} ({kind.about})" for kind in KINDS.values())
    raise SpecError("kind", name, allowed, nearest(name, list(KINDS)))


def formats_of(text: str) -> list[str]:
    """File formats, separated by commas."""
    wanted = [part.strip() for part in text.split(",")]
    for one in wanted:
        if one not in style.FORMATS:
            raise SpecError("--format", one, ", ".join(style.FORMATS), nearest(one, list(style.FORMATS)))
    return list(dict.fromkeys(wanted))
