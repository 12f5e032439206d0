"""``spinewise reproduce``."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from spinewise.cli import exits
from spinewise.cli.arguments import refuse_within
from spinewise.cli.engines import chosen, refuse_unfit
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.measures import units
from spinewise.measures.units import NOTHING
from spinewise.reading import printable
from spinewise.reproduction import ahead, choice, keeping, overview, reproduce, suite
from spinewise.reproduction.ahead import Ahead
from spinewise.reproduction.choice import Choice
from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.files import lacking_briefly, record
from spinewise.reproduction.reproduce import Listed, Reproduction
from spinewise.reproduction.suite import Part
from spinewise.runs.folder import check_writable, new_results
from spinewise.runs.jobs import default_jobs
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars, say
from spinewise.sweeps.store import Ledger, as_found, opened
from spinewise.sweeps.sweep import Swept

DEFAULT_OUT = "results/reproduce"


def command(args: argparse.Namespace) -> int:
    """List the experiments, or run some and judge their claims."""
    start = time.monotonic()
    folder = reproduce.papers_folder(args.papers)
    if args.what == "list":
        refuse_with_list(args)
        return show_list(folder, args)
    wanted = choice.choose(folder, args.what)
    effort = Effort.QUICK if args.quick else Effort.WHOLE if args.whole else Effort.FULL
    out = args.out or f"{DEFAULT_OUT}/{wanted.experiments[0].id if wanted.alone else wanted.name}"
    refuse_within(out, args.store)
    if args.keep and effort is Effort.QUICK:
        raise SpecError("--keep", args.keep, "full effort, without --quick")
    if args.keep:
        check_writable(Path(args.keep) / wanted.experiments[0].id, "--keep")
    if args.dry_run or args.stored:
        refuse_unfit(args)
        parts = suite.planned(wanted, effort)
        with as_found(args.store) as ledger:
            if args.dry_run:
                return show_ahead(*ahead.ahead(wanted.name, parts, ledger), effort, args)
            if not suite.some_complete(parts, ledger):
                return show_missing(wanted, parts, ledger, args)
            with new_results(out, force=args.force) as target:
                swept = suite.stored(parts, ledger)
                done = write(
                    wanted, parts, swept, (suite.judged_part(part, swept) for part in parts), target=target, args=args
                )
        return told(done, out, args)
    with new_results(out, force=args.force) as target, opened(args.store) as ledger, chosen(args) as engine:
        parts = suite.planned(wanted, effort)
        deadline = math.inf if args.budget is None else start + args.budget
        with bars() as bar:
            monitor = BatchProgress(bar, sum(len(part.runs) for part in parts), wanted.name)
            with told_of_kept(args.store):
                swept = suite.run(parts, ledger, engine=engine, monitor=monitor, deadline=deadline)
        done = write(wanted, parts, swept, suite.judged(parts, swept), target=target, args=args)
    return told(done, out, args)


@dataclass(frozen=True)
class Written:
    """What was written of the chosen experiments.

    Attributes:
        found: all of them.
        alone: the only one, if its record is to be printed.
        left: whether runs are missing that did not fail.
    """

    found: overview.Overview
    alone: Reproduction | None
    left: bool


def write(
    wanted: Choice,
    parts: Sequence[Part],
    swept: Swept,
    judged: Iterable[Reproduction],
    *,
    target: Path,
    args: argparse.Namespace,
) -> Written:
    """Write the experiments into a folder as they are judged, and keep their evidence if requested."""
    found = overview.write(wanted, kept(judged, parts, swept.ledger, args.keep) if args.keep else judged, target)
    alone = suite.judged_part(parts[0], swept) if wanted.alone and args.json else None
    return Written(found, alone, bool(swept.left))


def told(done: Written, out: str, args: argparse.Namespace) -> int:
    """Show what was written, and return the exit code."""
    if args.json:
        print_json(record(done.alone) if done.alone else overview.record(done.found))
    else:
        show(done.found, out)
    return exits.FAILED if any(section.failed for section in done.found.sections) else exits.LEFT if done.left else 0


@contextmanager
def told_of_kept(store: str) -> Iterator[None]:
    """Report what an interrupted sweep has left, and how to continue."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        place = printable(store)
        say(f"finished runs are kept in {place}: the same command continues; --stored reports what is complete")
        raise


def kept(judged: Iterable[Reproduction], parts: Sequence[Part], ledger: Ledger, place: str) -> Iterator[Reproduction]:
    """Yield the same reproductions, and keep the evidence of each that is complete."""
    for part, done in zip(parts, judged, strict=True):
        if not done.lacking:
            keeping.keep(part, done, ledger, Path(place))
        yield done


def refuse_with_list(args: argparse.Namespace) -> None:
    """Refuse options that do nothing where the experiments are only listed."""
    for option in ("out", "force", "keep", "dry_run", "stored", "budget", "quick", "whole"):
        if given := getattr(args, option):
            name = f"--{option.replace('_', '-')}"
            raise SpecError(
                name, "(given)" if given is True else given, "nothing together with list, which runs nothing"
            )


def show_list(folder: Path, args: argparse.Namespace) -> int:
    """The experiments of papers.toml."""
    entries = [(entry, claims_of(entry)) for entry in reproduce.listed(folder)]
    if args.json:
        names = ("id", "figures", "title", "module", "minutes")
        print_json(
            [
                {**{name: getattr(entry, name) for name in names}, "effort": Effort.FULL.value, "claims": claims}
                for entry, claims in entries
            ]
        )
        return 0
    heads = ["experiment", "figures", "claims", "what it shows"]
    table = terminal.new_table("", heads, ["core minutes"])
    for entry, claims in entries:
        minutes = f"{entry.minutes:g}" if entry.minutes else NOTHING
        table.line(
            entry.id,
            ", ".join(entry.figures),
            "cannot be loaded" if claims is None else ", ".join(choice.spans(claims)),
            entry.title,
            minutes,
        )
    console = terminal.console()
    console.print(table)
    console.print(
        "core minutes are for full effort; --quick takes less, --whole more: "
        "`spinewise reproduce WHAT --quick --dry-run` says how many runs and how long",
        markup=False,
    )
    return 0


def claims_of(entry: Listed) -> list[str] | None:
    """The claims that an experiment judges; None if its module cannot be loaded, so that others can still be listed."""
    try:
        return choice.claim_names(reproduce.load_experiment(entry))
    except SpecError:
        return None


def show_ahead(each: Sequence[Ahead], together: Ahead, effort: Effort, args: argparse.Namespace) -> int:
    """Show the runs to make, and about how long they take."""
    if args.json:
        print_json({**asdict(together), "effort": effort.value, "experiments": list(map(asdict, each))})
        return 0
    table = terminal.new_table("", ["experiment"], ["runs", "stored", "core minutes"])
    for one in each:
        table.line(one.name, f"{one.runs:,}", f"{one.stored:,}", units.digits(one.seconds / 60.0, 2))
    jobs, new = args.jobs or default_jobs(), together.runs - together.stored
    takes = f"about {units.clock(together.seconds / jobs)} for {new:,}, {jobs} at a time" if new else "nothing to run"
    console = terminal.console()
    console.print(table)
    if together.runs < sum(one.runs for one in each):
        console.print("runs that several experiments share are made once", markup=False)
    runs = f"{together.runs:,} runs, {together.stored:,} of them stored"
    console.print(f"{together.name}, effort {effort.value}: {runs}; {takes}", markup=False)
    return 0


def show_missing(wanted: Choice, parts: Sequence[Part], ledger: Ledger, args: argparse.Namespace) -> int:
    """Show which runs a store lacks, if it has too few to judge any claim."""
    done = [suite.judged_part(part, Swept(ledger)) for part in parts]
    found = overview.together(wanted, [overview.section(wanted, one) for one in done])
    if args.json:
        print_json(record(done[0]) if wanted.alone else overview.record(found))
        return exits.LEFT
    whole = found.provenance
    stored, runs = ahead.counted(parts, ledger)
    there = f"{printable(args.store)} has {stored:,} of {runs:,} runs"
    console = terminal.console()
    told = f"{found.name}, effort {whole.effort.value}: {there}, too few for any claim; nothing is written"
    console.print(told, markup=False)
    for section in found.incomplete:
        console.print(f"  {section.id}: {lacking_briefly(section.lacking)}", markup=False)
    if whole.runs + whole.lacking > runs:
        console.print("  a run that several points share counts for each of them here", markup=False)
    console.print("without --stored the same command makes them; --dry-run says how long that takes", markup=False)
    return exits.LEFT


def show(found: overview.Overview, out: str) -> None:
    """Show the verdicts on the terminal."""
    console = terminal.console()
    console.print(found.provenance.line, markup=False)
    table = terminal.new_table("", ["claim", "Fig.", "the paper states", "its number", "verdict"], [])
    for row in found.rows:
        stated = row.statement
        table.line(stated.id, ", ".join(stated.figures), stated.text, stated.number, row.verdict)
    console.print(table)
    console.print(found.chance.text, markup=False)
    for section in found.incomplete:
        console.print(f"{section.id} is not complete: {lacking_briefly(section.lacking)}", markup=False)
        for text in section.failed:
            console.print(f"  failed: {text}", markup=False)
    console.print(f"figures, evidence and measurements in {out}: report.md", markup=False)
