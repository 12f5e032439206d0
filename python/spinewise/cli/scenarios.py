"""``spinewise scenarios``: the specs that come with Spinewise."""

from __future__ import annotations

import argparse
import sys

from spinewise.cli.output import print_json
from spinewise.errors import SpecError, nearest
from spinewise.runs.folder import new_results
from spinewise.scenarios import Scenario, scenarios
from spinewise.show import terminal


def command(args: argparse.Namespace) -> int:
    """List them, print one, or copy all of them."""
    known = {one.name: one for one in scenarios()}
    if args.name is not None:
        if args.name not in known:
            raise SpecError("NAME", args.name, ", ".join(known), nearest(args.name, known))
        one = known[args.name]
        if args.json:
            print_json(told(one) | {"text": one.path.read_text()})
        else:
            sys.stdout.write(one.path.read_text())
        return 0
    if args.copy:
        copy(list(known.values()), args.copy)
    if args.json:
        print_json([told(one) for one in known.values()])
    elif args.copy:
        print(f"{len(known)} scenarios in {args.copy}")
    else:
        show(list(known.values()))
    return 0


def told(one: Scenario) -> dict[str, str]:
    """The record of a scenario for other programs."""
    return {"name": one.name, "about": one.about, "path": str(one.path)}


def copy(found: list[Scenario], folder: str) -> None:
    """Copy all into a new folder.

    Raises:
        SpecError: it exists, or cannot be written.
    """
    try:
        with new_results(folder) as target:
            for one in found:
                (target / one.path.name).write_bytes(one.path.read_bytes())
    except SpecError as error:
        raise SpecError("--copy", error.value, error.allowed, error.hint) from None


def show(found: list[Scenario]) -> None:
    """Print one line for each."""
    table = terminal.new_table("", ["name", "what it is"], [])
    for one in found:
        table.line(one.name, one.about)
    out = terminal.console()
    out.print(table)
    out.print("`spinewise run NAME` runs one; `spinewise scenarios NAME` prints it", markup=False)
