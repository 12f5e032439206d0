"""``spinewise plot``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from spinewise import core
from spinewise.cli.output import print_json
from spinewise.comparison.figures import kinds as comparison_kinds
from spinewise.comparison.kept import read_comparison
from spinewise.errors import SpecError, nearest
from spinewise.figures.kinds import Kind, UnfitError
from spinewise.figures.of_run import KINDS as RUN_KINDS
from spinewise.reading import printable
from spinewise.runs import formats, kept, owned
from spinewise.runs.folder import new_results
from spinewise.runs.result import Result
from spinewise.show import style, terminal
from spinewise.specs.spec import unrun
from spinewise.writing import write_json

FOLDER = "figures"
ALLOWED = "the folder of a run or of a comparison"

Results = TypeVar("Results")


def command(args: argparse.Namespace) -> int:
    """Draw the figures of a results folder."""
    source = Path(args.results)
    if (source / formats.COMPARE.record).is_file():
        return draw(args, read_comparison(source), comparison_kinds())
    if source.suffix == ".toml" and source.is_file():
        study = f"`spinewise report {printable(source)} --out FILE.html` draws the stored results of a study"
        raise SpecError("RESULTS", printable(source), ALLOWED, unrun(source) or study)
    kept.refuse_others(source, "RESULTS", ALLOWED)
    return draw(args, Result.read(source), RUN_KINDS)


def draw(args: argparse.Namespace, results: Results, kinds: dict[str, Kind[Results]]) -> int:
    """Draw some of `kinds`, or all that fit."""
    source = Path(args.results)
    wanted = list(dict.fromkeys(known(name, kinds) for name in args.kind)) or list(kinds)
    endings = formats_of(args.format)
    out = Path(args.out) if args.out is not None else source / FOLDER
    refuse_results(out)
    written: list[str] = []
    left_out: dict[str, str] = {}
    with new_results(out, force=args.force) as target:
        for name in wanted:
            try:
                made = kinds[name].draw(results)
            except UnfitError as reason:
                if args.kind:
                    raise SpecError("kind", name, f"a figure that fits {source}", f"{name} {reason}") from None
                left_out[name] = str(reason)
                continue
            written += [path.name for path in style.save(made, target, name, endings)]
        record = {
            "format": formats.PLOT.name,
            "version": core.version(),
            "of": printable(source),
            "figures": written,
            "left_out": left_out,
        }
        write_json(target / formats.PLOT.record, record)
    if args.json:
        print_json(record | {"folder": str(out)})
        return 0
    console = terminal.console()
    console.print(f"in {out}: {', '.join(written) or 'nothing'}", markup=False)
    for name, why in left_out.items():
        console.print(f"left out {name}: {why}", markup=False)
    return 0


def refuse_results(out: Path) -> None:
    """Refuse a folder that has other results than figures: not even --force replaces those by figures."""
    for kind in owned.kinds_in(out):
        if kind is not formats.PLOT:
            allowed = f"a new folder, such as {printable(out / FOLDER)}, or with --force one of figures"
            raise SpecError("--out", printable(out), allowed, f"it has results of `{kind.by}`")


def known(name: str, kinds: dict[str, Kind[Results]]) -> str:
    """Check the name of a kind of figure."""
    if name in kinds:
        return name
    allowed = "; ".join(f"{kind.name} ({kind.about})" for kind in kinds.values())
    raise SpecError("kind", name, allowed, nearest(name, list(kinds)))


def formats_of(text: str) -> list[str]:
    """File formats, separated by commas."""
    wanted = [part.strip() for part in text.split(",")]
    for one in wanted:
        if one not in style.FORMATS:
            raise SpecError("--format", one, ", ".join(style.FORMATS), nearest(one, list(style.FORMATS)))
    return list(dict.fromkeys(wanted))
