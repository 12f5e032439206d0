"""Arguments of ``spinewise import``: those of every reader, and those of some."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

from spinewise.cli.arguments import Parser, UnfitError, place, positive, whole
from spinewise.cli.pieces import Commands, new_command
from spinewise.interop import named, records
from spinewise.interop.htsim_cm import LONGEST_S, NOTICE_BYTES, UNITS
from spinewise.interop.text import TIME_UNITS

ABOUT = "Convert a file made for another simulator to one that Spinewise reads."


def columns(fields: Sequence[str]) -> Callable[[str], dict[str, str]]:
    """Make a converter of ``src=a,dst=b`` to a table with these words."""

    def read(text: str) -> dict[str, str]:
        pairs = [pair.partition("=")[::2] for pair in text.split(",")]
        if any(what not in fields or not name for what, name in pairs) or len(dict(pairs)) < len(pairs):
            raise UnfitError(text, f"WHAT=NAME, separated by commas, WHAT being {', '.join(fields)}, each once")
        return dict(pairs)

    return read


class Reader(NamedTuple):
    """A kind of file that ``import WHAT`` accepts.

    Attributes:
        what: its word.
        about: what it reads, and what that becomes.
        further: adds the options of its own.
    """

    what: str
    about: str
    further: Callable[[argparse.ArgumentParser], None]


def no_more(_: argparse.ArgumentParser) -> None:
    """Add no further options."""


def take_kind(parser: argparse.ArgumentParser) -> None:
    """Add the option for the form of a topology."""
    parser.add_argument(
        "--kind",
        choices=("auto", "links"),
        default="auto",
        help="auto: write a leaf-spine or fat-tree as such; links: always write its links [auto]",
    )


def take_links(parser: argparse.ArgumentParser) -> None:
    """Of topologies that may be lists of links between named nodes."""
    take_kind(parser)
    parser.add_argument(
        "--columns",
        type=columns(named.FIELDS),
        metavar="a=NAME,b=NAME,rate_gbps=NAME,delay_ns=NAME",
        help="for CSV: names of other columns",
    )
    parser.add_argument(
        "--hosts",
        metavar="PATTERN",
        help='for CSV: which nodes are hosts, by a pattern of their names such as "gpu*" [those with one link]',
    )


def take_topology(parser: argparse.ArgumentParser) -> None:
    """Add the option for the topology file that names hosts."""
    parser.add_argument(
        "--topology",
        metavar="FILE",
        help="the topology of HPCC or ConWeave whose node ids are used, or a spec with the table [import]",
    )


def take_flows(parser: argparse.ArgumentParser) -> None:
    """Add the options for flow lists."""
    parser.add_argument(
        "--topology",
        metavar="FILE",
        help="the topology file whose node ids are used, or its spec; or a CSV list of links, or a spec, that names"
        " the hosts",
    )
    parser.add_argument(
        "--earlier-ns", type=whole(0, 2**63), default=0, metavar="N", help="shift every start N ns earlier [0]"
    )
    parser.add_argument("--from-first", action="store_true", help="shift all starts so that the first flow starts at 0")
    parser.add_argument(
        "--columns",
        type=columns(records.FIELDS),
        metavar="src=NAME,dst=NAME,size=NAME,start=NAME",
        help="for CSV and Parquet: names of columns other than src, dst, size_bytes and start_ns",
    )
    parser.add_argument(
        "--start-unit",
        choices=tuple(TIME_UNITS),
        help="for CSV and Parquet: unit of starts [by the column's name]",
    )
    take_unit_bytes(parser)
    parser.add_argument(
        "--hosts",
        metavar="FILE",
        help="for CSV and Parquet: maps names to hosts, as CSV with the columns name and host [numbered in the"
        " names' order]",
    )
    parser.add_argument(
        "--rack-of",
        type=prefix,
        metavar="/BITS",
        help="for CSV and Parquet: addresses that share their first BITS bits are hosts of one rack, such as /24",
    )
    parser.add_argument(
        "--hosts-per-leaf", type=whole(1, 4096), metavar="N", help="with --rack-of: hosts per rack in the spec"
    )


def prefix(text: str) -> int:
    """Parse ``/24`` as a number of bits."""
    bits = text.removeprefix("/")
    if bits.isascii() and bits.isdecimal() and 1 <= int(bits) <= 128:
        return int(bits)
    raise UnfitError(text, "a slash and a number of bits, such as /24, at most /128")


def take_unit_bytes(parser: argparse.ArgumentParser) -> None:
    """Add the option for the unit of sizes."""
    parser.add_argument("--unit-bytes", type=whole(1, 2**30), default=1, metavar="N", help="bytes per unit of size [1]")


def take_matrix(parser: argparse.ArgumentParser) -> None:
    """Add the options for connection matrices."""
    parser.add_argument(
        "--start-unit",
        choices=tuple(UNITS),
        help="unit of starts, which the file does not give; needed if one is not 0",
    )
    parser.add_argument(
        "--endless-bytes", type=whole(1, 2**53), metavar="N", help="size for endless connections, of size 0"
    )
    parser.add_argument(
        "--notice-bytes",
        type=whole(1, 2**30),
        default=NOTICE_BYTES,
        metavar="N",
        help=f"size of the message that carries a trigger to another host [{NOTICE_BYTES}]",
    )
    parser.add_argument(
        "--longest-s",
        type=whole(1, 10**6),
        default=LONGEST_S,
        metavar="N",
        help=f"refuse starts later than this, in seconds [{LONGEST_S}]",
    )


def take_collective(parser: argparse.ArgumentParser) -> None:
    """Add the option for the algorithm of collective operations."""
    parser.add_argument(
        "--collective", choices=("ring", "direct"), default="ring", help="how collective operations are done [ring]"
    )


def take_workload(parser: argparse.ArgumentParser) -> None:
    """Add the options for SimAI workloads."""
    take_collective(parser)
    parser.add_argument("--passes", type=whole(1, 1_000), default=1, metavar="N", help="training steps [1]")


def take_chakra(parser: argparse.ArgumentParser) -> None:
    """Add the options for Chakra traces."""
    take_collective(parser)
    parser.add_argument(
        "--tflops",
        type=positive(1e9),
        metavar="X",
        help="10^12 operations per second of a rank, for nodes without a duration",
    )
    parser.add_argument("--groups", metavar="FILE", help="JSON with the ranks of each group by name, as in ASTRA-sim")


READERS = (
    Reader(
        "topology",
        "A topology of HPCC or ConWeave, or a CSV list of links, as the [topology] table of a spec.",
        take_links,
    ),
    Reader("htsim-topo", "A topology of htsim, as the [topology] table of a spec.", no_more),
    Reader("simai-topology", "A topology of SimAI, as the [topology] table of a spec.", take_kind),
    Reader(
        "flows",
        'A flow list of HPCC or ConWeave, or flow records in CSV or Parquet, as the file of traffic of kind "flows".',
        take_flows,
    ),
    Reader("cdf", 'A distribution of flow sizes, as the cdf_file of traffic of kind "poisson".', take_unit_bytes),
    Reader("fct", "Flow completion times of HPCC or ConWeave, as CSV or Parquet.", take_topology),
    Reader(
        "htsim-cm",
        'A connection matrix of htsim, as the file of traffic of kind "flows", or "dag" if it has triggers.',
        take_matrix,
    ),
    Reader(
        "simai-workload",
        'A SimAI workload, as written by AICB, as the file of traffic of kind "dag".',
        take_workload,
    ),
    Reader(
        "chakra",
        'Chakra traces NAME.0.et, NAME.1.et, …, given as NAME, as the file of traffic of kind "dag".',
        take_chakra,
    ),
    Reader("goal", 'A GOAL schedule of LogGOPSim or ATLAHS, as the file of traffic of kind "dag".', no_more),
)


def add_import(commands: Commands) -> None:
    """``import`` and its kinds of files."""
    made = commands.add_parser("import", help=ABOUT, description=ABOUT, allow_abbrev=False)
    kinds = made.add_subparsers(required=True, metavar="WHAT", parser_class=Parser)
    for reader in READERS:
        parser = new_command(kinds, reader.what, "import_", reader.about)
        parser.set_defaults(what=reader.what)
        parser.add_argument("file", metavar="FILE", help="what to read")
        parser.add_argument("--out", type=place, metavar="FILE", help="where to write [standard output]")
        parser.add_argument("--force", action="store_true", help="replace an existing file")
        reader.further(parser)
