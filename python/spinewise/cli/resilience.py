"""``spinewise resilience``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from spinewise.cli.output import print_json
from spinewise.resilience import files, show
from spinewise.resilience.study import Plan
from spinewise.runs.folder import new_results
from spinewise.runs.hidden import scratch
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars


def command(args: argparse.Namespace) -> int:
    """Run every scheme under every fault, print the table, write tables and the figure when asked to."""
    plan = Plan.of(args.schemes, args.faults, args.fabrics, args.seeds, quick=args.quick)
    with ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        cases = plan.cases(stack.enter_context(scratch()))
        with bars() as bar:
            study = plan.run(cases, args.jobs, BatchProgress(bar, len(cases), "resilience"))
        if folder is not None:
            files.write_files(study, folder)
    if args.json:
        print_json(files.record(study))
        return 0
    out = terminal.console()
    out.print(show.report(study))
    if args.out:
        out.print(f"tables and figure in {args.out}: table.txt, table.md, cells.csv, resilience.png, resilience.json")
    return 0
