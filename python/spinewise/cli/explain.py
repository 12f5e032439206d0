"""``spinewise explain``."""

from __future__ import annotations

import argparse

from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.explanation import explain, story
from spinewise.own.load import load_scheme
from spinewise.runs.result import Result
from spinewise.show.progress import RunProgress, bars


def command(args: argparse.Namespace) -> int:
    """Tell why a flow moved."""
    begin, end = args.begin_us or 0.0, float("inf") if args.end_us is None else args.end_us
    if end < begin:
        raise SpecError("--to", args.end_us, f"no less than --from, {begin:g}")
    for text in args.scheme_file:
        load_scheme(text)
    result = Result.read(args.run)
    measured = explain.on_linux(result, args.flow)
    with bars() as bar:
        result = explain.traced(result, args.flow, args.run, RunProgress(bar, f"flow {args.flow}"))
    told = explain.story(result, args.flow, lambda move: begin <= move.time_us <= end)
    if args.json:
        print_json(told.as_dict() | ({} if measured is None else {"on_linux": measured}))
    else:
        if measured is not None:
            print(measured, end="\n\n")
        print(story.tell(told, everything=args.all))
    return 0
