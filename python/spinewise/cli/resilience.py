"""``spinewise resilience``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from spinewise.cli.engines import chosen
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.own.load import load_schemes
from spinewise.resilience import files, own, own_files, show
from spinewise.resilience.study import Plan
from spinewise.runs.folder import new_results
from spinewise.runs.hidden import scratch
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.specs.spec import load


def command(args: argparse.Namespace) -> int:
    """Run every scheme under faults, print the tables, and write them and the figure if requested."""
    return own_spec(args) if args.spec else whole_study(args)


def own_spec(args: argparse.Namespace) -> int:
    """Study the faults of a user's own spec."""
    for option in ("faults", "fabrics"):
        if getattr(args, option):
            allowed = "nothing together with a spec, which has its own [[fault]] tables and [topology]"
            raise SpecError(f"--{option}", getattr(args, option), allowed)
    if args.quick and args.seeds:
        raise SpecError(
            "--quick", f"together with --seeds {args.seeds}", "one of the two: with a spec it means one seed"
        )
    seeds = 1 if args.quick else args.seeds
    plan = own.Plan.of(load(args.spec, args.set), args.schemes, seeds, load_schemes(args.scheme_file))
    with ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        cases = plan.cases()
        engine = stack.enter_context(chosen(args))
        with bars() as bar:
            study = plan.run(cases, None, BatchProgress(bar, len(cases), "resilience"), args.store, engine)
        if folder is not None:
            own_files.write_files(study, folder)
    if args.json:
        print_json(own_files.record(study))
        return 0
    out = terminal.console()
    out.print(own_files.report(study))
    if args.out:
        out.print(f"tables in {args.out}: table.txt, resilience.json", markup=False)
    return 0


def whole_study(args: argparse.Namespace) -> int:
    """Study ten kinds of fault on two fabrics."""
    if args.set:
        raise SpecError("--set", args.set[0], "only together with a spec", "this study has its own fabrics and traffic")
    plan = Plan.of(
        args.schemes, args.faults, args.fabrics, args.seeds, quick=args.quick, own=load_schemes(args.scheme_file)
    )
    with ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        cases = plan.cases(stack.enter_context(scratch()))
        engine = stack.enter_context(chosen(args))
        with bars() as bar:
            study = plan.run(cases, None, BatchProgress(bar, len(cases), "resilience"), args.store, engine)
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
