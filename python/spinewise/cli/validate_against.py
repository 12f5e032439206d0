"""``spinewise validate-against``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType

from spinewise.agreement import comparison, replay
from spinewise.agreement.show import replay_lines, show, show_replays, verdict_line
from spinewise.agreement.uet import comparison as uet
from spinewise.agreement.uet import pinned, recorded
from spinewise.agreement.uet.comparison import UetAgreement
from spinewise.agreement.uet.pinned import PinnedAgreement
from spinewise.agreement.uet.recorded import Refused
from spinewise.agreement.uet.show import pinned_verdict
from spinewise.agreement.uet.show import show as show_uet
from spinewise.agreement.uet.show import verdict_line as uet_verdict
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.measures.summary import without_nan
from spinewise.runs.file import write_file
from spinewise.show import progress, terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.writing import json_text

EXIT_DISAGREES = 1


def command(args: argparse.Namespace) -> int:
    """Compare recorded cases with our runs; exit code 1 when one disagrees."""
    folder, destination = places(args.folder, args.json)
    patterns = [part.strip() for part in (args.cases or "").split(",") if part.strip()]
    if (Path(folder) / recorded.CASES).is_file():
        return against_uet(folder, patterns, destination, args)
    if args.follow:
        for option, value in (("--sidecars", args.sidecars), ("--topology", args.topology)):
            if value is not None:
                raise SpecError(option, value, "nothing with --follow, which runs only the usual cases")
        return follow(folder, patterns, destination, rerouting=not args.without_rerouting)
    rerouting = "off" if args.without_rerouting else "on"
    planned = comparison.plan(
        folder, args.salts, patterns, rerouting=rerouting, sidecars=args.sidecars, topology=args.topology
    )
    for note in planned.notes:
        progress.say(note)
    with bars() as bar:
        monitor = BatchProgress(bar, len(planned.running) * len(planned.salts), "validate-against")
        found = comparison.compare(planned, comparison.engine_runner(args.jobs, monitor))
    lines = [verdict_line(agreement) for agreement in found]
    tell([agreement.as_dict() for agreement in found], show(found, len(planned.salts)), lines, destination)
    return EXIT_DISAGREES if any(agreement.problems for agreement in found) else 0


def against_uet(folder: str, patterns: list[str], destination: str | None, args: argparse.Namespace) -> int:
    """Compare recorded cases of uet-htsim; exit code 1 when one disagrees."""
    for option, value in (
        ("--sidecars", args.sidecars),
        ("--topology", args.topology),
        ("--follow", args.follow or None),
        ("--without-rerouting", args.without_rerouting or None),
    ):
        if value is not None:
            raise SpecError(option, value, f"nothing with {recorded.CASES}, the cases of uet-htsim")
    cases, refused = recorded.find(folder, patterns)
    for one in refused:
        progress.say(f"left out: {uet_verdict(one)}")
    hashed = [case for case in cases if not case.pins]
    with bars() as bar:
        monitor = BatchProgress(bar, len(hashed) * args.salts, "validate-against")
        found, unbuilt = uet.compare(hashed, args.salts, args.jobs, monitor)
    replayed, unread = pinned.replays([case for case in cases if case.pins])
    refused += unbuilt + unread
    lines = [*map(uet_verdict, found), *map(pinned_verdict, replayed), *map(uet_verdict, refused)]
    judged: list[UetAgreement | PinnedAgreement | Refused] = [*found, *replayed, *refused]
    table = show_uet(found, replayed, refused, args.salts)
    tell([one.as_dict() for one in judged], table, lines, destination)
    return EXIT_DISAGREES if any(one.problems for one in judged) else 0


def follow(folder: str, patterns: list[str], destination: str | None, *, rerouting: bool) -> int:
    """Follow recorded cases event by event; exit code 1 when one disagrees."""
    if not rerouting:
        raise SpecError(
            "--without-rerouting", "with --follow", "one of the two: --follow repeats what the recorded run did"
        )
    cases = replay.plan(folder, patterns)
    found = []
    for one in replay.replays(cases):
        progress.say(f"followed {one.case}")
        found.append(one)
    lines = [line for one in found for line in replay_lines(one)]
    tell([one.as_dict() for one in found], show_replays(found), lines, destination)
    return EXIT_DISAGREES if any(one.problems for one in found) else 0


def tell(
    records: Sequence[Mapping[str, object]], table: RenderableType, lines: list[str], destination: str | None
) -> None:
    """Show a table, or print JSON and report the verdicts on standard error."""
    if destination == "-":
        print_json(records)
        for line in lines:
            progress.say(line)
    else:
        terminal.console().print(table)
    if destination not in (None, "-"):
        content = json_text(without_nan(records)) + "\n"
        write_file(destination, content.encode(), force=True, option="--json")


def places(folder: str | None, destination: str | None) -> tuple[str, str | None]:
    """The folder of the cases and the destination of JSON; ``--json DIR`` means JSON of DIR on standard output."""
    if folder is None and destination not in (None, "-") and Path(destination).is_dir():
        return destination, "-"
    if folder is None:
        raise SpecError("DIR", "nothing", "a folder with recorded cases")
    return folder, destination
