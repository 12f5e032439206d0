"""``spinewise export``: results of a run in the formats of other tools."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.exports import capture
from spinewise.interop import fct, topology
from spinewise.interop.output import checked_place, write_file
from spinewise.runs.result import Result
from spinewise.show.progress import RunProgress, bars


@dataclass(frozen=True)
class Written:
    """What went into a file: how many, and of what."""

    many: int
    what: str


def command(args: argparse.Namespace) -> int:
    """Write what is asked for, each file whole or not at all."""
    wanted = {option: name for option in WRITERS if (name := getattr(args, option))}
    if not wanted:
        raise SpecError("export", "(nothing)", " or ".join(f"--{option} FILE" for option in WRITERS))
    if args.capture and not args.pcapng:
        raise SpecError("--capture", ",".join(args.capture), "together with --pcapng")
    for option, name in wanted.items():
        checked_place(name, force=args.force, option=f"--{option}")
    result = Result.read(args.run)
    told: dict[str, str | int] = {"run": args.run}
    for option, name in wanted.items():
        written = WRITERS[option](args, result)
        told |= {option: name, written.what.split()[-1]: written.many}
        if not args.json:
            print(f"{name}: {written.many} {written.what}")
    if args.json:
        print_json(told)
    return 0


def write_fct(args: argparse.Namespace, result: Result) -> Written:
    """Completion times as ConWeave's scripts read them."""
    nodes = topology.read(args.topology) if args.topology else None
    rows = fct.rows_of(result)
    if nodes is not None and any(max(row.src, row.dst) >= nodes.hosts for row in rows):
        raise SpecError("--topology", args.topology, "the topology of the run; it has too few hosts")
    rows = [row._replace(start_ns=row.start_ns + args.later_ns) for row in rows]
    write_file(args.fct, fct.text(rows, nodes).encode(), force=args.force, option="--fct")
    return Written(len(rows), "finished flows")


def write_pcapng(args: argparse.Namespace, result: Result) -> Written:
    """Captured packets."""
    with bars() as bar:
        result = capture.captured(result, args.capture, args.run, RunProgress(bar, "capture"))
    write_file(args.pcapng, capture.blocks(result, args.snap_bytes), force=args.force, option="--pcapng")
    return Written(sum(port["kept"] for port in result.report["captured"]), "packets")


WRITERS: dict[str, Callable[[argparse.Namespace, Result], Written]] = {"fct": write_fct, "pcapng": write_pcapng}
