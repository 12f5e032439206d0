"""``spinewise explain``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from spinewise.cli import explain_two
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.explanation import explain, story, worst
from spinewise.explanation.breaks import breaks, listed
from spinewise.measures.classes import ALL
from spinewise.own.load import load_schemes
from spinewise.runs import api
from spinewise.runs.result import Result, refuse_linux
from spinewise.show.progress import RunProgress, bars
from spinewise.show.run_tables import deadlock_line
from spinewise.specs.faults import without_faults


def command(args: argparse.Namespace) -> int:
    """Explain why a flow moved; without a flow, suggest flows; with two runs, explain how they differ."""
    begin, end = args.begin_us or 0.0, float("inf") if args.end_us is None else args.end_us
    if end < begin:
        raise SpecError("--to", args.end_us, f"at least --from, {begin:g}")
    load_schemes(args.scheme_file)
    if args.other is not None:
        return explain_two.command(args)
    explain_two.refuse(args, explain_two.OF_TWO, "two runs: `spinewise explain RUN OTHER`")
    if args.flow is None:
        explain_two.refuse(args, explain_two.OF_FLOW, "one flow: `spinewise explain RUN --flow N`")
    if args.hurt or args.flow is not None:
        explain_two.refuse(args, explain_two.OF_LISTS, "a list of slow flows, or two runs")
    result = Result.read(args.run)
    if args.hurt:
        return hurt(args, result)
    if args.flow is None:
        return which(args, result)
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


def asked(args: argparse.Namespace, result: Result) -> worst.Questions:
    """The follow-up commands, with the code of the user's scheme."""
    further = [word for text in args.scheme_file for word in ("--scheme-file", text)]
    one_path = any(warning["code"] == "one_path" for warning in result.report["warnings"])
    return worst.Questions(args.run, further, one_path)


def whose(args: argparse.Namespace) -> str:
    """Whose flows were asked for, in words that follow "flows"."""
    size = "" if args.size_class in (None, ALL) else f" of size class {args.size_class}"
    return size + ("" if args.entry is None else f" of {args.entry}")


def which(args: argparse.Namespace, result: Result) -> int:
    """The flows worth asking about."""
    slow, waited = worst.slowest(result, args.entry, args.size_class)
    if args.json:
        print_json({"slowest": [asdict(one) for one in slow], "timed_out": [asdict(one) for one in waited]})
    else:
        faulty = bool(result.spec.get("fault")) and "linux" not in result.report
        print(worst.told(slow, waited, asked(args, result), faulty=faulty, of=whose(args)))
        if deadlock := result.report.get("deadlock"):
            print(f"\n{deadlock_line(deadlock)}.")
    return 0


def hurt(args: argparse.Namespace, result: Result) -> int:
    """The flows that the faults of a run hurt most."""
    if args.flow is not None:
        raise SpecError("--hurt", f"with --flow {args.flow}", "one of them: --hurt lists flows, --flow explains one")
    broken = breaks(result)
    if not broken:
        raise SpecError(
            "--hurt", args.run, "a run with faults", "without them, `spinewise explain RUN` lists the slowest flows"
        )
    refuse_linux(result, "--hurt", args.run)
    with bars() as bar:
        whole = api.run(without_faults(result.spec), progress=RunProgress(bar, "without the faults"))
        try:
            found = worst.victims(
                result,
                whole,
                lambda flows: api.run(result.spec, trace=flows, progress=RunProgress(bar, "with the faults")),
            )
        except SpecError as error:
            if error.key != "trace":
                raise
            hint = "list the flows without --hurt, and trace one at a time with --flow N"
            raise SpecError("--hurt", error.value, error.allowed, hint) from None
    if args.json:
        print_json(asdict(found))
    else:
        print(worst.told_victims(found, asked(args, result), listed(broken)))
    return 0
