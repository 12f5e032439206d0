"""Arguments of ``spinewise export``."""

from __future__ import annotations

from spinewise.cli.arguments import names, place, whole
from spinewise.cli.pieces import Commands, add_code, new_command

ABOUT = "Export results for other tools and for scripts of other simulators."


def add_export(commands: Commands) -> None:
    """``export``."""
    parser = new_command(commands, "export", "export", ABOUT)
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    for option, what in (
        ("pcapng", "captured packets, for Wireshark and tshark; see --capture"),
        ("perfetto", "flows, rounds, series and faults as a trace, for ui.perfetto.dev"),
        ("graphml", "the fabric and what its links carried, for networkx, Gephi and yEd"),
        ("fct", "completion times, for scripts of other simulators; see --format"),
    ):
        parser.add_argument(f"--{option}", type=place, metavar="FILE", help=what)
    parser.add_argument(
        "--capture",
        type=names,
        metavar="A,B,…",
        help="--pcapng: packets at these nodes and links, such as host3,leaf0-spine1; the run is repeated if it did not"
        " capture there [where it did]",
    )
    add_code(parser)
    parser.add_argument(
        "--snap-bytes",
        type=whole(0, 262_144),
        default=128,
        metavar="N",
        help="--pcapng: keep at most N bytes of each frame; 0: all [128]",
    )
    parser.add_argument(
        "--format",
        choices=("ns3", "htsim"),
        default="ns3",
        help="--fct: as ConWeave's ns-3 code or htsim writes them [ns3]",
    )
    parser.add_argument(
        "--topology",
        metavar="FILE",
        help="--fct: give hosts the ids of this topology of HPCC or ConWeave, or of a spec with the table [import]",
    )
    parser.add_argument(
        "--later-ns",
        type=whole(0, 2**63),
        default=0,
        metavar="N",
        help="--fct: shift every start N ns later; ConWeave's script leaves out what starts before 2.005 s [0]",
    )
    parser.add_argument("--force", action="store_true", help="replace existing files")
