"""``spinewise compare``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from functools import partial

from spinewise.cli.output import print_json
from spinewise.comparison import report
from spinewise.comparison.files import record, write_files
from spinewise.comparison.plan import RUNS, Plan, measure, measure_and_keep
from spinewise.errors import SpecError
from spinewise.own.load import load_scheme
from spinewise.runs.folder import new_results
from spinewise.runs.jobs import run_all
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.specs.spec import load


def command(args: argparse.Namespace) -> int:
    """Run all cells, print the tables, write tables and figures when asked to."""
    if args.keep_runs and not args.out:
        raise SpecError("--keep-runs", "(given)", "together with --out", "runs are kept in the comparison's folder")
    own = [load_scheme(text) for text in args.scheme_file]
    plan, skipped = Plan.of(load(args.spec, args.set), args.schemes, args.loads, args.seeds, own).served()
    cases = plan.cases()
    with ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        with bars() as bar:
            monitor = BatchProgress(bar, len(cases), "compare")
            keep = partial(measure_and_keep, folder=folder) if folder is not None and args.keep_runs else measure
            cells = run_all(cases, keep, jobs=args.jobs, monitor=monitor)
        comparison = plan.comparison(cases, cells, skipped)
        if folder is not None:
            write_files(comparison, folder, args.by)
    if args.json:
        print_json(record(comparison))
        return 0
    out = terminal.console()
    out.print(report.comparison_report(comparison, args.by))
    if args.out:
        kept = f"; every run in {RUNS}/" if args.keep_runs else ""
        out.print(
            f"tables and figures in {args.out}: table.txt, compare.json, cells.parquet, fct.png, slowdown.png, …{kept}",
            markup=False,
        )
    return 0
