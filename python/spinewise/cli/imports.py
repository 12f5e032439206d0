"""Arguments of ``spinewise import``: what every reader takes, and what some take besides."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from spinewise.cli.arguments import Parser, place, whole
from spinewise.cli.pieces import new_command

ABOUT = "Read a file made for another simulator, and write it as Spinewise reads it."


class Reader(NamedTuple):
    """What ``import WHAT`` takes.

    Attributes:
        what: its word.
        about: what it reads, and what that becomes.
        further: adds its own options.
    """

    what: str
    about: str
    further: Callable[[argparse.ArgumentParser], None]


def no_more(_: argparse.ArgumentParser) -> None:
    """No further options."""


def take_topology(parser: argparse.ArgumentParser) -> None:
    """The topology file that names hosts."""
    parser.add_argument("--topology", metavar="FILE", help="the topology file whose node ids are used")


def take_flows(parser: argparse.ArgumentParser) -> None:
    """Of flow lists."""
    take_topology(parser)
    parser.add_argument(
        "--earlier-ns", type=whole(0, 2**63), default=0, metavar="N", help="start every flow so much earlier [0]"
    )


def take_unit_bytes(parser: argparse.ArgumentParser) -> None:
    """The unit of sizes."""
    parser.add_argument(
        "--unit-bytes", type=whole(1, 65_536), default=1, metavar="N", help="bytes per unit of size [1]"
    )


READERS = (
    Reader("topology", "A topology of HPCC or ConWeave, as the [topology] table of a spec.", no_more),
    Reader("flows", 'A flow list, five or six numbers a line, as the CSV file of traffic of kind "flows".', take_flows),
    Reader("cdf", 'A distribution of flow sizes, as the cdf_file of traffic of kind "poisson".', take_unit_bytes),
    Reader("fct", "Flow completion times of HPCC or ConWeave, as CSV or Parquet.", take_topology),
    Reader("goal", 'A GOAL schedule of LogGOPSim or ATLAHS, as the file of traffic of kind "dag".', no_more),
)


def add_import(commands: Any) -> None:
    """``import`` and its kinds of files."""
    kinds = commands.add_parser("import", help=ABOUT, description=ABOUT, allow_abbrev=False)
    kinds = kinds.add_subparsers(required=True, metavar="WHAT", parser_class=Parser)
    for reader in READERS:
        parser = new_command(kinds, reader.what, "import_", reader.about)
        parser.set_defaults(what=reader.what)
        parser.add_argument("file", metavar="FILE", help="what to read")
        parser.add_argument("--out", type=place, metavar="FILE", help="where to write [standard output]")
        parser.add_argument("--force", action="store_true", help="replace the file that is there")
        reader.further(parser)
