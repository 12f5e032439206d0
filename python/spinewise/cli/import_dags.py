"""``spinewise import`` of traces to traffic of kind ``dag``."""

from __future__ import annotations

import argparse
from fractions import Fraction

from spinewise.cli.imported import Imported, entry, of_flows
from spinewise.interop import chakra, goal, htsim_cm, simai_workload
from spinewise.interop.dag import Dag
from spinewise.measures import units


def of_dag(found: Dag) -> Imported:
    """The table of operations, and the lines of a spec that use it."""
    counts = {kind: found.count(kind) for kind in ("send", "recv", "calc")}
    about = (
        f"{units.counted(found.ranks, 'rank')}, {units.counted(counts['send'], 'send')} of"
        f" {units.size(found.size_bytes)}, {units.counted(counts['recv'], 'receive')},"
        f" {units.counted(counts['calc'], 'computation')}"
    )
    record = {"ranks": found.ranks, "bytes": found.size_bytes, "batches": found.batches} | counts
    return Imported(about, record, lambda _: found.csv().encode(), found.notes, lambda out: entry("dag", out))


def import_goal(args: argparse.Namespace) -> Imported:
    """``import goal``."""
    return of_dag(goal.read(args.file))


def import_chakra(args: argparse.Namespace) -> Imported:
    """``import chakra``."""
    tflops = None if args.tflops is None else Fraction(args.tflops)
    return of_dag(chakra.read(args.file, chakra.Reading(args.collective, tflops, args.groups)))


def import_matrix(args: argparse.Namespace) -> Imported:
    """``import htsim-cm``."""
    reading = htsim_cm.Reading(args.start_unit, args.endless_bytes, args.notice_bytes, args.longest_s)
    found = htsim_cm.read(args.file, reading)
    return of_dag(found) if isinstance(found, Dag) else of_flows(found)


def import_workload(args: argparse.Namespace) -> Imported:
    """``import simai-workload``."""
    return of_dag(simai_workload.program(simai_workload.read(args.file), args.collective, args.passes))
