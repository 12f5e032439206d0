"""``spinewise import`` of traces: what becomes traffic of kind ``dag``."""

from __future__ import annotations

import argparse
import json

from spinewise.cli.imported import Imported
from spinewise.interop import goal
from spinewise.interop.dag import Dag
from spinewise.measures import units


def imported(found: Dag, further: str = "") -> Imported:
    """The table of operations, and the lines of a spec that use it; `further` are more lines."""
    counts = {kind: found.count(kind) for kind in ("send", "recv", "calc")}
    about = (
        f"{found.ranks} ranks, {counts['send']} sends of {units.count(found.size_bytes)}B, "
        f"{counts['recv']} receives, {counts['calc']} computations"
    )
    record = {"ranks": found.ranks, "bytes": found.size_bytes, "batches": found.batches} | counts
    return Imported(about, record, lambda _: found.csv().encode(), found.notes, lambda out: toml(out, further))


def toml(out: str, further: str = "") -> str:
    """The entry of a spec that uses a table of operations."""
    return f'[[traffic]]\nkind = "dag"\nfile = {json.dumps(out)}\n{further}'


def import_goal(args: argparse.Namespace) -> Imported:
    """``import goal``."""
    return imported(goal.read(args.file))
