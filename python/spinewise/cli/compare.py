"""``spinewise compare``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from spinewise.cli.engines import chosen
from spinewise.cli.output import print_json
from spinewise.comparison import report
from spinewise.comparison.files import record, write_files
from spinewise.comparison.plan import RUNS, Plan, run
from spinewise.errors import SpecError
from spinewise.own.load import load_schemes
from spinewise.runs.folder import new_results
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.specs.spec import load
from spinewise.sweeps.store import opened


def command(args: argparse.Namespace) -> int:
    """Run all cells, print the tables, and write tables and figures if requested."""
    if args.keep_runs and not args.out:
        raise SpecError("--keep-runs", "(given)", "together with --out", "runs are kept in the comparison's folder")
    own = load_schemes(args.scheme_file)
    plan, skipped = Plan.of(load(args.spec, args.set), args.schemes, args.loads, args.seeds, own).served()
    cases = plan.cases()
    with ExitStack() as stack:
        ledger = stack.enter_context(opened(args.store))
        engine = stack.enter_context(chosen(args))
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        with bars() as bar:
            monitor = BatchProgress(bar, len(cases), "compare")
            kept = folder if args.keep_runs else None
            cells = run(cases, ledger, engine, monitor=monitor, folder=kept)
        comparison = plan.comparison(cases, cells, skipped)
        if folder is not None:
            write_files(comparison, folder, args.by)
    if args.json:
        print_json(record(comparison))
        return 0
    out = terminal.console()
    out.print(report.comparison_report(comparison, args.by))
    if args.out:
        runs = f"; every run in {RUNS}/" if args.keep_runs else ""
        out.print(
            f"tables and figures in {args.out}: table.txt, compare.json, cells.parquet, fct.png, slowdown.png, …{runs}",
            markup=False,
        )
    return 0
