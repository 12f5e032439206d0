"""``spinewise schemes``, ``topologies``, ``workloads``, ``transports``, ``presets``: the available choices."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from spinewise import core
from spinewise.cli.output import print_json
from spinewise.errors import SpecError, nearest
from spinewise.measures.units import parts, plain
from spinewise.replies import Kind, Thing
from spinewise.show import terminal

# Shown in the list already, or in a table of their own.
_SHOWN = ("name", "about", "params")
# From this number of parts, one to a line.
FEW = 4


def command(args: argparse.Namespace) -> int:
    """List one kind of things, or show one of them in full."""
    kind: Kind = args.kind
    if args.name is None:
        listed = core.listed(kind)
        if args.json:
            print_json(listed)
        else:
            print_list(args.kind, listed)
        return 0
    entry = find(args.kind, core.registry()[kind], args.name)
    if args.json:
        print_json(entry)
    else:
        print_entry(entry)
    return 0


def find(kind: str, entries: Sequence[Thing], name: str) -> Thing:
    """The entry of this name.

    Raises:
        SpecError: there is no such entry.
    """
    known = core.named(entries, name)
    for entry in entries:
        if entry["name"] == known:
            return entry
    names = [found for found in (str(entry["name"]) for entry in entries) if not core.is_test(found)]
    raise SpecError(kind, name, ", ".join(names), nearest(name, names))


def print_list(kind: str, entries: Sequence[Thing]) -> None:
    """Print one line for each."""
    table = terminal.new_table("", ["name", "what it is", "source"], [])
    for entry in entries:
        table.line(str(entry["name"]), entry["about"], entry["source"])
    out = terminal.console()
    out.print(table)
    out.print(f"spinewise {kind} NAME shows parameters, defaults and sources", markup=False)


def print_entry(entry: Thing) -> None:
    """Print everything about one entry."""
    out = terminal.console()
    out.print(f"{entry['name']}: {entry['about']}", markup=False)
    for key, value in entry.items():
        if key in _SHOWN:
            continue
        items = parts(value)
        # One to a line if that is easier to read.
        text = f" {plain(value)}" if len(items) < FEW else "".join(f"\n    {item}" for item in items)
        out.print(f"  {key.replace('_', ' ')}:{text}", markup=False)
    if params := core.params_of(entry):
        table = terminal.new_table("", ["parameter", "default", "allowed", "meaning"], [])
        for param in params:
            table.line(param["name"], plain(param["default"]), param["allowed"], param["doc"])
        out.print(table)
