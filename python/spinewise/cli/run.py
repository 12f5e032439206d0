"""``spinewise run``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from spinewise import core
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.measures.fabric import size_of
from spinewise.own.contract import instead
from spinewise.own.load import load_scheme
from spinewise.runs import api
from spinewise.runs.folder import new_results
from spinewise.show import run_tables, terminal
from spinewise.show import worked_out as shown
from spinewise.show.progress import RunProgress, bars
from spinewise.specs.spec import load, resolve, set_path, worked_out


def command(args: argparse.Namespace) -> int:
    """Simulate one spec, print its summary, and keep its results if requested."""
    given = load(args.spec, args.set)
    if args.scheme_file:
        given = instead(given, load_scheme(args.scheme_file), args.set)
    if args.capture:
        set_path(given, "metrics.capture.at", args.capture)
    spec = resolve(given, seed=args.seed)
    found = worked_out(given)
    if args.capture and not args.out:
        given_names = ",".join(args.capture)
        raise SpecError("--capture", given_names, "together with --out", "packets are kept in the folder of the run")
    if args.trace and not args.out:
        raise SpecError("--trace", args.trace, "together with --out", "the trace is kept in the folder of the run")
    with ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        with bars() as bar:
            watch = RunProgress(bar, str(spec.get("name", "run")))
            result = api.run(spec, progress=watch, trace=args.trace, threads=args.threads)
        result.report["worked_out"] = found
        if folder is not None:
            result.write_files(folder)
    if args.json:
        print_json(result.run_record())
        return 0
    out = terminal.console()
    out.print(run_tables.run_report(result, args.by))
    out.print(f"fabric: {size_of(core.topology(spec))}", highlight=False)
    for line in shown.line(found):
        out.print(line, highlight=False)
    out.print(f"results in {args.out}" if args.out else "results not kept (--out DIR keeps them)")
    return 0
