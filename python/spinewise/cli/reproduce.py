"""``spinewise reproduce``."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from spinewise.cli.engines import chosen
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.reproduction import choice, keeping, overview, reproduce, suite
from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.files import record
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.suite import Part
from spinewise.runs.folder import new_results
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars, say
from spinewise.sweeps.store import Ledger, opened

EXIT_FAILED, EXIT_LEFT = 1, 3
DEFAULT_OUT = "results/reproduce"


def command(args: argparse.Namespace) -> int:
    """List the experiments, or run some and judge their claims."""
    start = time.monotonic()
    folder = reproduce.papers_folder(args.papers)
    if args.what == "list":
        return show_list(folder, args)
    wanted = choice.choose(folder, args.what)
    effort = Effort.QUICK if args.quick else Effort.WHOLE if args.whole else Effort.FULL
    out = args.out or f"{DEFAULT_OUT}/{wanted.experiments[0].id if wanted.alone else wanted.name}"
    if args.keep and effort is Effort.QUICK:
        raise SpecError("--keep", args.keep, "an effort of full length, without --quick")
    with new_results(out, force=args.force) as target, opened(args.store) as ledger, chosen(args) as engine:
        parts = suite.planned(wanted, effort)
        deadline = -math.inf if args.stored else math.inf if args.budget is None else start + args.budget
        with bars() as bar:
            monitor = BatchProgress(bar, sum(len(part.runs) for part in parts), wanted.name)
            with told_of_kept(args.store):
                swept = suite.run(parts, ledger, engine=engine, monitor=monitor, deadline=deadline)
        judged = suite.judged(parts, swept)
        found = overview.write(wanted, kept(judged, parts, ledger, args.keep) if args.keep else judged, target)
        alone = suite.judged_part(parts[0], swept) if wanted.alone and args.json else None
    if args.json:
        print_json(record(alone) if alone else overview.record(found))
    else:
        show(found, out)
    return EXIT_FAILED if any(section.failed for section in found.sections) else EXIT_LEFT if swept.left else 0


@contextmanager
def told_of_kept(store: str) -> Iterator[None]:
    """Say what a sweep that is interrupted has left, and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        place = printable(store)
        say(f"runs that ended are kept in {place}: the same command goes on; --stored reports what is complete")
        raise


def kept(judged: Iterable[Reproduction], parts: Sequence[Part], ledger: Ledger, place: str) -> Iterator[Reproduction]:
    """The same reproductions, with the evidence of each that is complete kept on the way."""
    for part, done in zip(parts, judged, strict=True):
        if not done.lacking:
            keeping.keep(part, done, ledger, Path(place))
        yield done


def show_list(folder: Path, args: argparse.Namespace) -> int:
    """The experiments of papers.toml."""
    entries = reproduce.listed(folder)
    if args.json:
        names = ("id", "figures", "title", "module", "minutes")
        print_json([{name: getattr(entry, name) for name in names} for entry in entries])
        return 0
    table = terminal.new_table("", ["experiment", "figures", "what it shows"], ["core minutes"])
    for entry in entries:
        table.line(entry.id, ", ".join(entry.figures), entry.title, f"{entry.minutes:g}" if entry.minutes else "–")
    terminal.console().print(table)
    return 0


def show(found: overview.Overview, out: str) -> None:
    """The verdicts on the terminal."""
    console = terminal.console()
    console.print(found.provenance.line, markup=False)
    table = terminal.new_table("", ["claim", "Fig.", "the paper states", "its number", "verdict"], [])
    for row in found.rows:
        stated = row.statement
        table.line(stated.id, ", ".join(stated.figures), stated.text, stated.number, row.verdict)
    console.print(table)
    console.print(found.chance.text, markup=False)
    for section in found.incomplete:
        console.print(f"{section.id} is not complete: {section.missing}", markup=False)
        for text in section.failed:
            console.print(f"  failed: {text}", markup=False)
    console.print(f"figures, evidence and measurements in {out}: report.md", markup=False)
