"""The arguments of every command; several are in `advising`, `comparing`, `exporting`, `imports` and `listing`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import spinewise
from spinewise.cli.advising import add_advise
from spinewise.cli.agents import add_agent
from spinewise.cli.arguments import SIZES, Parser, flow_numbers, moment, names, percentile, place, positive, whole
from spinewise.cli.comparing import add_compare, add_reproduce, add_resilience, add_sweep, add_validate_against
from spinewise.cli.exporting import add_export
from spinewise.cli.imports import add_import
from spinewise.cli.labs import add_lab
from spinewise.cli.listing import add_completions, add_registry, add_scenarios, add_schema
from spinewise.cli.pieces import (
    Commands,
    add_by,
    add_code,
    add_output,
    add_own_scheme,
    add_set,
    add_spec,
    add_until_ci,
    new_command,
)

SIZE_HELP = {
    "leaves": "leaf switches of a leaf-spine [4]",
    "spines": "spine switches of a leaf-spine [4]",
    "k": "ports per switch of a fat-tree [4]",
    "hosts_per_leaf": "hosts under each leaf [16; in a fat-tree k / 2]",
    "host_gbps": "rate of the hosts' links, Gbps [25]",
    "link_gbps": "rate of the links between switches, Gbps [100; in a fat-tree the hosts' rate]",
    "load": "load, as a share of the leaves' uplinks, or of the hosts' links if those carry less [0.5]",
    "size": "bytes per host in an all_reduce or all_to_all [depends on the number of hosts; many form groups]",
    "incast": "incast: hosts that repeatedly send to one at once, in addition to the workload [0: none]",
}


def build_parser() -> Root:
    """The parser of the ``spinewise`` command."""
    parser = Root(
        prog="spinewise",
        description="A packet-level simulator of datacenter load balancing.",
        epilog="A packet-hop is one packet crossing one link; FCT is flow completion time; slowdown is FCT over"
        " its ideal. All terms are in docs/glossary.md.",
        allow_abbrev=False,
    )
    about = "show program's version number and exit"
    parser.add_argument("--version", action=Version, nargs=0, dest=argparse.SUPPRESS, help=about)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    add_new(commands)
    add_run(commands)
    add_explain(commands)
    add_compare(commands)
    add_advise(commands)
    add_sweep(commands)
    add_plot(commands)
    add_report(commands)
    add_resilience(commands)
    add_lab(commands)
    add_agent(commands)
    add_query(commands)
    add_validate(commands)
    for kind in ("schemes", "topologies", "workloads", "transports", "presets"):
        add_registry(commands, kind)
    add_scenarios(commands)
    add_schema(commands)
    add_completions(commands)
    add_reproduce(commands)
    add_import(commands)
    add_export(commands)
    add_validate_against(commands)
    add_bench(commands)
    return parser


class Version(argparse.Action):
    """``--version``: loads the engine only when given, since help does not need it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version, and exit."""
        print(f"spinewise {spinewise.__version__}")
        parser.exit()


class Root(Parser):
    """The parser of all commands."""

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments of a command line.

        Raises:
            SpecError: naming the option, its value and what is allowed.
        """
        args, unknown = self.parse_known_args(list(words))
        if unknown:
            of: Parser = getattr(args, "parser", self)
            raise of.unknown(unknown)
        return args


def add_new(commands: Commands) -> None:
    """``new``."""
    parser = new_command(
        commands,
        "new",
        "new",
        "Write a commented spec to start from. Without options, it asks questions in the terminal.",
    )
    parser.add_argument(
        "path", nargs="?", default="fabric.toml", metavar="PATH", help="a .toml file, or a folder for it [fabric.toml]"
    )
    parser.add_argument("--topology", choices=("leaf-spine", "fat-tree"), help="kind of fabric [leaf-spine]")
    for name, what in SIZE_HELP.items():
        unit = "BYTES" if name == "size" else "N"
        parser.add_argument(f"--{name.replace('_', '-')}", type=SIZES[name], metavar=unit, help=what)
    parser.add_argument(
        "--slow-link",
        action="append",
        dest="slow_links",
        metavar="NODE:NODE:GBPS",
        help="a link slower than the others, such as leaf0:spine1:10; may be repeated",
    )
    parser.add_argument(
        "--transport", choices=("tcp", "rdma", "uet"), help="transport of the hosts: TCP, RDMA or Ultra Ethernet [tcp]"
    )
    parser.add_argument(
        "--workload", metavar="NAME", help="a flow size distribution, or all_reduce or all_to_all [web_search]"
    )
    parser.add_argument("--aim", metavar="TEXT", help='what to optimise for ["p99 slowdown of web"]')
    parser.add_argument("--schemes", metavar="A,B,…", help="schemes to compare; the first is the baseline")
    parser.add_argument("--force", action="store_true", help="replace an existing spec")


def add_run(commands: Commands) -> None:
    """``run``."""
    parser = new_command(commands, "run", "run", "Simulate one spec and summarise its flows.")
    add_spec(parser)
    parser.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="N", help="seed to use instead of the spec's")
    parser.add_argument(
        "--threads",
        type=whole(1, 1024),
        default=1,
        metavar="N",
        help="threads for the run; results do not depend on them, and large fabrics gain most [1]",
    )
    parser.add_argument(
        "--trace",
        type=flow_numbers,
        metavar="N,M,…",
        help="record how these flows chose their paths in trace.parquet; see `spinewise explain`",
    )
    parser.add_argument(
        "--capture",
        type=names,
        metavar="A,B,…",
        help="capture packets at these nodes and links, such as host3,leaf0-spine1, in packets.parquet"
        " [metrics.capture.at]; see `spinewise export --pcapng`",
    )
    add_by(parser)
    add_own_scheme(parser)
    add_output(parser, "run.json and Parquet files of flows, series and collectives")


def add_explain(commands: Commands) -> None:
    """``explain``."""
    parser = new_command(
        commands,
        "explain",
        "explain",
        "Explain why a flow moved: its path choices, what the scheme saw, and what was true. With two runs of the same"
        " traffic: why their p99 differs.",
    )
    parser.add_argument(
        "run", metavar="RUN", help="the folder of a run; the run is repeated if it did not trace the flow"
    )
    parser.add_argument(
        "other",
        metavar="OTHER",
        nargs="?",
        help="the folder of another run of the same traffic: its p99 is compared, and both runs are repeated; RUN"
        " itself, with --flow: what the flow waited for",
    )
    parser.add_argument(
        "--flow",
        type=whole(0, 2**32 - 1),
        metavar="N",
        help="number of the flow [without it, the slowest flows are listed]",
    )
    parser.add_argument(
        "--hurt", action="store_true", help="list the flows that faults hurt most, against the same run without faults"
    )
    parser.add_argument("--all", action="store_true", help="show every move, however many there are")
    parser.add_argument(
        "--percentile", type=percentile, metavar="P", help="with two runs: the percentile, above 0 and below 100 [99]"
    )
    parser.add_argument("--entry", metavar="NAME", help="flows of this traffic entry [all]")
    parser.add_argument("--class", dest="size_class", metavar="NAME", help="flows of this size class [all]")
    parser.add_argument(
        "--slowdown", action="store_true", help="with two runs: the percentile of slowdowns, not of completion times"
    )
    add_code(parser)
    parser.add_argument(
        "--from", dest="begin_us", type=moment, metavar="US", help="show moves from this simulated time on, µs"
    )
    parser.add_argument(
        "--to", dest="end_us", type=moment, metavar="US", help="show moves up to this simulated time, µs"
    )


def add_plot(commands: Commands) -> None:
    """``plot``."""
    parser = new_command(commands, "plot", "plot", "Draw the figures of a results folder.")
    parser.add_argument("results", metavar="RESULTS", help="the folder of a run or of a comparison")
    parser.add_argument("kind", metavar="KIND", nargs="*", help="which figures, such as cdf or links [all that fit]")
    parser.add_argument("--format", default="png,svg", metavar="A,B", help="any of png, svg, pdf [png,svg]")
    parser.add_argument("--out", type=place, metavar="DIR", help="write them into this new folder [RESULTS/figures]")
    parser.add_argument("--force", action="store_true", help="replace existing figures")


def add_report(commands: Commands) -> None:
    """``report``."""
    parser = new_command(
        commands,
        "report",
        "report",
        "Show results in one HTML file: the answer, tables, charts, links over time. It needs no network.",
    )
    parser.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        help="results folders, or STUDY.toml; several make one page, with runs compared to the first",
    )
    parser.add_argument("--out", type=place, required=True, metavar="FILE.html", help="write the page into this file")
    parser.add_argument(
        "--no-rerun",
        action="store_true",
        help="show only what was kept: do not repeat runs that sampled no links or traced no flows",
    )
    add_code(parser)
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    parser.add_argument(
        "--store", default="results/store", metavar="DIR", help="the store with the runs of a study [results/store]"
    )
    add_set(parser, "a key of the spec of a study, as in its `sweep`")
    add_until_ci(parser, "show the seeds of a study that `sweep` added with this [stop.until_ci]")


def add_query(commands: Commands) -> None:
    """``query``."""
    parser = new_command(
        commands,
        "query",
        "query",
        "Query a store with SQL: runs, cells, links, collectives, flows, studies, specs, claims.",
    )
    parser.add_argument(
        "sql",
        metavar="SQL",
        help='such as "select variant, load, seed, entry, fct_p99_s from cells"; docs/store.md lists every column',
    )
    parser.add_argument("--store", default="results/store", metavar="DIR", help="the store [results/store]")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print all rows as CSV")
    forms.add_argument("--parquet", type=place, metavar="FILE", help="write all rows into this new file")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def add_validate(commands: Commands) -> None:
    """``validate``."""
    parser = new_command(commands, "validate", "validate", "Check a spec without running it.")
    add_spec(parser)
    add_own_scheme(parser)


def add_bench(commands: Commands) -> None:
    """``bench``."""
    parser = new_command(commands, "bench", "bench", "Measure packet-hops per second against a fixed reference loop.")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases whose name contains this; decisions: only the schemes"
    )
    parser.add_argument("--rounds", type=whole(1, 1000), default=5, metavar="N", help="best of N rounds [5]")
    parser.add_argument(
        "--share",
        type=positive(100.0),
        default=1.0,
        metavar="X",
        help="length of a round as a share of the full one, which takes 3 s or more [1]",
    )
    parser.add_argument(
        "--recorded", metavar="FILE", help="time the run of a recorded case instead, as validate-against runs it"
    )
