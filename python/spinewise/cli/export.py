"""``spinewise export``: results of a run in the formats of other simulators."""

from __future__ import annotations

import argparse

from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.interop import fct, topology
from spinewise.interop.output import write_file
from spinewise.runs.result import Result


def command(args: argparse.Namespace) -> int:
    """Write the completion times of a results folder as ConWeave's scripts read them."""
    result = Result.read(args.run)
    nodes = topology.read(args.topology) if args.topology else None
    rows = fct.rows_of(result)
    if nodes is not None and any(max(row.src, row.dst) >= nodes.hosts for row in rows):
        raise SpecError("--topology", args.topology, "the topology of the run; it has too few hosts")
    rows = [row._replace(start_ns=row.start_ns + args.later_ns) for row in rows]
    write_file(args.fct, fct.text(rows, nodes).encode(), force=args.force, option="--fct")
    if args.json:
        print_json({"run": args.run, "fct": args.fct, "flows": len(rows)})
    else:
        print(f"{args.fct}: {len(rows)} finished flows")
    return 0
