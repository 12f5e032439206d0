"""``spinewise bench``."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from spinewise import core
from spinewise.agreement import speed
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.measures import units
from spinewise.replies import Timed
from spinewise.show import terminal


def command(args: argparse.Namespace) -> int:
    """Time the engine and print one line per case."""
    if args.recorded is not None:
        records = [speed.measure(args.recorded, args.rounds, args.share)]
    else:
        with signals_end_it():
            records = core.bench(args.only, args.rounds, args.share)
        if not records:
            names = "part of the name of a case, as `spinewise bench` lists them, decisions, packet_size or reference"
            raise SpecError("--only", args.only, names)
    if args.json:
        print_json(records)
        return 0
    decisions = [record for record in records if "pick_ns" in record]
    cases = [record for record in records if "pick_ns" not in record]
    if cases or not decisions:
        print_cases(cases, args.rounds)
    if decisions:
        print_decisions(decisions, args.rounds)
    return 0


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Let SIGINT and SIGTERM end the process at once.

    The engine looks for no signal while it is timed, and a bench leaves nothing behind.
    """
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_cases(records: Sequence[Timed], rounds: int) -> None:
    """The speed of whole runs."""
    table = terminal.new_table(
        f"Engine speed, best of {rounds}",
        ["case"],
        ["hosts", "threads", "packet-hops", "hops/s", "ns/hop", "reference ns", "ratio", "events/hop", "peak MB"],
    )
    for record in records:
        own, reference = float(record["ns_per_packet_hop"]), float(record["reference_ns"])
        table.line(
            str(record["name"]),
            f"{record['hosts']:,}",
            str(record.get("threads", 1)),
            units.count(record["packet_hops"]),
            units.count(record["packet_hops_per_s"]),
            units.digits(own, 3),
            units.digits(reference, 3),
            units.digits(own / reference, 3),
            units.digits(record["events_per_packet_hop"], 3),
            units.digits(record["peak_rss_mb"], 3),
        )
    terminal.console().print(table)


def print_decisions(records: Sequence[Timed], rounds: int) -> None:
    """Print the time of schemes' decisions and updates, by the number of paths."""
    table = terminal.new_table(
        f"Decisions and updates, ns each, best of {rounds}",
        ["scheme"],
        ["paths", "pick", "packet queued", "ACK", "tick", "reference"],
    )
    for record in records:
        parts = (record[part] for part in ("pick_ns", "egress_ns", "feedback_ns", "tick_ns", "reference_ns"))
        cells = [units.NOTHING if value is None else units.digits(float(value), 3) for value in parts]
        table.line(str(record["scheme"]), str(record["paths"]), *cells)
    terminal.console().print(table)
