"""``spinewise validate-against``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from spinewise import progress, report
from spinewise.agreement import comparison
from spinewise.agreement.show import show, verdict_line
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.interop.output import write_file
from spinewise.progress import BatchProgress, bars
from spinewise.summary import without_nan

EXIT_DISAGREES = 1


def command(args: argparse.Namespace) -> int:
    """Compare recorded cases with our runs; exit code 1 when one disagrees."""
    folder, destination = places(args.folder, args.json)
    patterns = [part.strip() for part in (args.cases or "").split(",") if part.strip()]
    rerouting = "off" if args.without_rerouting else "on"
    planned = comparison.plan(folder, args.salts, patterns, rerouting=rerouting)
    for note in planned.notes:
        progress.say(note)
    with bars() as bar:
        monitor = BatchProgress(bar, len(planned.running) * len(planned.salts), "validate-against")
        found = comparison.compare(planned, comparison.engine_runner(args.jobs, monitor))
    records = [agreement.as_dict() for agreement in found]
    if destination == "-":
        print_json(records)
        for agreement in found:
            progress.say(verdict_line(agreement))
    else:
        report.console().print(show(found, len(planned.salts)))
    if destination not in (None, "-"):
        content = json.dumps(without_nan(records), indent=2, allow_nan=False) + "\n"
        write_file(destination, content.encode(), force=True, option="--json")
    return EXIT_DISAGREES if any(agreement.problems for agreement in found) else 0


def places(folder: str | None, destination: str | None) -> tuple[str, str | None]:
    """The folder of the cases and where JSON goes; ``--json DIR`` means JSON of DIR on standard output."""
    if folder is None and destination not in (None, "-") and Path(destination).is_dir():
        return destination, "-"
    if folder is None:
        raise SpecError("DIR", "nothing", "a folder with recorded cases")
    return folder, destination
