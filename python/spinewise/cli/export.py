"""``spinewise export``: results of a run in the formats of other tools."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.exports import capture, graphml, htsim
from spinewise.interop import fct, ids
from spinewise.own.load import load_schemes
from spinewise.runs.file import checked_place, write_file
from spinewise.runs.result import Result
from spinewise.show.progress import RunProgress, bars

Written = dict[str, int]
"""The number of items of each kind written to a file."""


def command(args: argparse.Namespace) -> int:
    """Write what is requested, each file whole or not at all."""
    wanted = {option: name for option in WRITERS if (name := getattr(args, option))}
    if not wanted:
        options = ", ".join(f"--{option}" for option in WRITERS)
        raise SpecError(options, "(nothing)", "at least one of these, each with a FILE")
    refuse_unused(args)
    for option, name in wanted.items():
        checked_place(name, force=args.force, option=f"--{option}")
    load_schemes(args.scheme_file)
    result = Result.read(args.run)
    told: dict[str, str | int] = {"run": args.run}
    for option, name in wanted.items():
        written = WRITERS[option](args, result)
        told |= {option: name, **written}
        if not args.json:
            print(f"{name}: " + ", ".join(f"{many} {what}" for what, many in written.items()))
    if args.json:
        print_json(told)
    return 0


def refuse_unused(args: argparse.Namespace) -> None:
    """Refuse options of files that are not requested, or of another format."""
    if args.capture and not args.pcapng:
        raise SpecError("--capture", ",".join(args.capture), "together with --pcapng")
    if args.format == "htsim":
        if not args.fct:
            raise SpecError("--format", args.format, "together with --fct")
        for option, value in (("--topology", args.topology), ("--later-ns", args.later_ns)):
            if value:
                raise SpecError(option, value, "nothing with --format htsim", "it is for --format ns3")


def write_fct(args: argparse.Namespace, result: Result) -> Written:
    """Write completion times as scripts of ConWeave or htsim read them."""
    if args.format == "htsim":
        lines = htsim.lines(result)
        write_file(args.fct, "".join(f"{line}\n" for line in lines).encode(), force=args.force, option="--fct")
        return {"flows": len(lines) - 1}
    known = ids.read(args.topology) if args.topology else None
    rows = fct.rows_of(result)
    if known is not None and any(max(row.src, row.dst) >= len(known.hosts) for row in rows):
        raise SpecError("--topology", args.topology, "the topology of the run; this one has too few hosts")
    rows = [row._replace(start_ns=row.start_ns + args.later_ns) for row in rows]
    write_file(args.fct, fct.text(rows, known).encode(), force=args.force, option="--fct")
    return {"flows": len(rows)}


def write_pcapng(args: argparse.Namespace, result: Result) -> Written:
    """Write captured packets."""
    with bars() as bar:
        result = capture.captured(result, args.capture, args.run, RunProgress(bar, "capture"))
    write_file(args.pcapng, capture.blocks(result, args.snap_bytes), force=args.force, option="--pcapng")
    ports = result.report["captured"]
    if len(ports) > 1 and not args.json:
        print(
            f"{len(ports)} ports in one file: for Wireshark's TCP analysis, write a single one with --capture"
            f" {ports[0]['name']}"
        )
    return {"packets": sum(port["kept"] for port in ports)}


def write_perfetto(args: argparse.Namespace, result: Result) -> Written:
    """Write a trace of the run."""
    try:
        from spinewise.exports import perfetto  # noqa: PLC0415 - needs a package that is optional
    except ModuleNotFoundError as missing:
        hint = "pip install 'spinewise[perfetto]'"
        raise SpecError("perfetto", f"not installed ({missing})", "the package that writes traces", hint) from None

    counted = perfetto.Counted()
    write_file(args.perfetto, perfetto.pieces(result, counted), force=args.force, option="--perfetto")
    return {"slices": counted.flows + counted.rounds + counted.faults, "points": counted.points}


def write_graphml(args: argparse.Namespace, result: Result) -> Written:
    """Write the fabric."""
    document, nodes, edges = graphml.text(result)
    write_file(args.graphml, document, force=args.force, option="--graphml")
    return {"nodes": nodes, "edges": edges}


WRITERS: dict[str, Callable[[argparse.Namespace, Result], Written]] = {
    "fct": write_fct,
    "pcapng": write_pcapng,
    "perfetto": write_perfetto,
    "graphml": write_graphml,
}
