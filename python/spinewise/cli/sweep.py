"""``spinewise sweep``."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict

from spinewise.cli import exits
from spinewise.cli.engines import chosen, refuse_unfit
from spinewise.cli.output import print_json
from spinewise.measures import units
from spinewise.own.load import load_schemes
from spinewise.runs.jobs import default_jobs
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars, say
from spinewise.studies import file
from spinewise.studies.conduct import Conductor, Estimate, estimate
from spinewise.studies.report import announced, record, report
from spinewise.studies.study import Study
from spinewise.sweeps.store import as_found, opened


def command(args: argparse.Namespace) -> int:
    """Make the runs of a study that the store lacks, and report the results of all."""
    start = time.monotonic()
    own = load_schemes(args.scheme_file)
    study = Study.of(file.read(args.study, args.set, args.until_ci, own))
    jobs = args.jobs or default_jobs()
    if args.dry_run:
        refuse_unfit(args)
        with as_found(args.store) as ledger:
            expected = estimate(study, ledger, retry_failed=args.retry_failed)
        announce(study, expected, jobs)
        if args.json:
            print_json({"name": study.name, **asdict(expected)})
        return 0
    with opened(args.store) as ledger, chosen(args) as engine:
        expected = estimate(study, ledger, retry_failed=args.retry_failed)
        announce(study, expected, jobs)
        with bars() as bar:
            done = Conductor(
                study,
                ledger,
                engine,
                BatchProgress(bar, expected.runs, study.name),
                args.retry_failed,
                None if args.budget is None else start + args.budget,
            ).conduct()
        if args.json:
            print_json(record(done))
        else:
            terminal.console().print(report(done, args.store))
    return exits.FAILED if done.failed else exits.LEFT if done.left else 0


def announce(study: Study, found: Estimate, jobs: int) -> None:
    """Announce on standard error the size and the time of a study."""
    clock = None if found.seconds is None else units.clock(found.seconds / jobs)
    say(f"{study.name}: {announced(found, jobs, clock)}")
