"""``spinewise explain A B``."""

from __future__ import annotations

import argparse

from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.explanation import told_apart
from spinewise.explanation.differ import differ
from spinewise.explanation.pairs import Asked
from spinewise.runs.result import Result
from spinewise.show.progress import RunProgress, bars

OF_FLOW = {"all": "--all", "begin_us": "--from", "end_us": "--to"}
"""Options that choose among the moves of one flow of one run, by attribute."""
OF_ONE = {"hurt": "--hurt"} | OF_FLOW
"""Options that are about one run, by attribute."""
OF_TWO = {"percentile": "--percentile", "slowdown": "--slowdown"}
"""Options that are about two runs, by attribute."""
OF_LISTS = {"entry": "--entry", "size_class": "--class"}
"""Options that choose among the flows of one run or of two, by attribute."""


def refuse(args: argparse.Namespace, options: dict[str, str], allowed: str) -> None:
    """Refuse options that mean nothing here.

    Raises:
        SpecError: one of them is given.
    """
    for name, option in options.items():
        value = getattr(args, name)
        if value is not None and value is not False:
            raise SpecError(option, "given", allowed)


def command(args: argparse.Namespace) -> int:
    """Explain why a percentile differs between two runs of the same traffic."""
    refuse(args, OF_ONE, "one run: `spinewise explain RUN`")
    if args.flow is not None:
        refuse(args, OF_TWO | OF_LISTS, "one flow, or a percentile")
    asked = Asked(
        percentile=99.0 if args.percentile is None else args.percentile,
        entry=args.entry,
        size_class=args.size_class,
        measure="slowdown" if args.slowdown else "fct",
        flow=args.flow,
    )
    folders = (args.run, args.other)
    one, two = (Result.read(folder) for folder in folders)
    with bars() as bar:
        found = differ(one, two, asked, folders, lambda label: RunProgress(bar, label))
    if args.json:
        print_json(found.as_dict())
    else:
        print(told_apart.tell(found))
    return 0
