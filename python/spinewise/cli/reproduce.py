"""``spinewise reproduce``."""

from __future__ import annotations

import argparse
from pathlib import Path

from spinewise.cli.output import print_json
from spinewise.reproduction import reproduce
from spinewise.reproduction.catalogue import load
from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.files import record, write_files
from spinewise.reproduction.verdicts import chance, word
from spinewise.runs.folder import new_results
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars

DEFAULT_OUT = "results/reproduce"


def command(args: argparse.Namespace) -> int:
    """List the experiments, or run one and judge its claims."""
    folder = reproduce.papers_folder(args.papers)
    if args.figure == "list":
        return show_list(folder, args)
    experiment = reproduce.load_experiment(reproduce.find(folder, args.figure))
    effort = Effort.QUICK if args.quick else Effort.WHOLE if args.whole else Effort.FULL
    out = args.out or f"{DEFAULT_OUT}/{experiment.id}"
    with new_results(out, force=args.force) as target:
        with bars() as bar:
            total = len(experiment.runs(effort))
            monitor = BatchProgress(bar, total, experiment.id)
            done = reproduce.reproduce(
                experiment, effort, jobs=args.jobs, monitor=monitor, store=args.store, catalogue=load(folder)
            )
        write_files(done, target)
    if args.json:
        print_json(record(done))
        return 0
    show(done, out)
    return 0


def show_list(folder: Path, args: argparse.Namespace) -> int:
    """The experiments of papers.toml."""
    entries = reproduce.listed(folder)
    if args.json:
        print_json([{"id": e.id, "figures": e.figures, "title": e.title, "module": e.module} for e in entries])
        return 0
    table = terminal.new_table("", ["experiment", "figures", "what it shows"], [])
    for entry in entries:
        table.line(entry.id, ", ".join(entry.figures), entry.title)
    terminal.console().print(table)
    return 0


def show(done: reproduce.Reproduction, out: str) -> None:
    """The verdicts on the terminal."""
    table = terminal.new_table(done.experiment.title, ["claim", "Fig.", "the paper states", "verdict"], [])
    for claim in done.experiment.claims:
        table.line(claim.key, claim.figure, claim.statement, word(done, claim))
    console = terminal.console()
    console.print(table)
    console.print(chance(done.verdicts.values()).text, markup=False)
    console.print(f"figures, evidence and measurements in {out}: report.md", markup=False)
