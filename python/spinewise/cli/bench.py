"""``spinewise bench``."""

from __future__ import annotations

import argparse

from spinewise import core, report, units
from spinewise.cli.output import print_json


def command(args: argparse.Namespace) -> int:
    """Time the engine and print one line per case."""
    records = core.bench(args.only, args.rounds, args.share)
    if args.json:
        print_json(records)
        return 0
    table = report.new_table(
        f"Engine speed, best of {args.rounds}",
        ["case"],
        ["hosts", "packet-hops", "hops/s", "ns/hop", "reference ns", "ratio", "events/hop", "peak MB"],
    )
    for record in records:
        own, reference = float(record["ns_per_packet_hop"]), float(record["reference_ns"])
        table.line(
            str(record["name"]),
            f"{record['hosts']:,}",
            units.count(record["packet_hops"]),
            units.count(record["packet_hops_per_s"]),
            units.digits(own, 3),
            units.digits(reference, 3),
            units.digits(own / reference, 3),
            units.digits(record["events_per_packet_hop"], 3),
            units.digits(record["peak_rss_mb"], 3),
        )
    report.console().print(table)
    return 0
