"""Arguments of every command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import metadata

from spinewise.cli.advising import add_advise
from spinewise.cli.arguments import SIZES, Parser, flow_numbers, moment, names, numbers, place, positive, share, whole
from spinewise.cli.exporting import add_export
from spinewise.cli.imports import add_import
from spinewise.cli.pieces import (
    Commands,
    add_budget,
    add_by,
    add_engine,
    add_jobs,
    add_output,
    add_own_scheme,
    add_scheme_file,
    add_spec,
    add_store,
    lazily,
    new_command,
)
from spinewise.scenarios import spec_path

SIZE_HELP = {
    "leaves": "leaf switches of a leaf-spine [4]",
    "spines": "spine switches of a leaf-spine [4]",
    "k": "ports of the switches of a fat-tree [4]",
    "hosts_per_leaf": "hosts under each leaf [16]",
    "host_gbps": "rate of the hosts' links, Gbps [25]",
    "link_gbps": "rate of the links between switches, Gbps [100]",
    "load": "load, as a share of the leaves' uplinks, or of the hosts' links if these carry less [0.5]",
    "incast": "incast: hosts that send to one at once, again and again, beside the workload [0: none]",
}


def build_parser() -> Root:
    """The parser of the ``spinewise`` command."""
    parser = Root(
        prog="spinewise",
        description="A packet-level simulator of datacenter load balancing.",
        epilog="A packet-hop is one packet crossing one link; FCT is flow completion time; slowdown is FCT over that"
        " of the flow alone. All words are in docs/glossary.md.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=package_version())
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


def package_version() -> str:
    """The installed version."""
    try:
        return f"spinewise {metadata.version('spinewise')}"
    except metadata.PackageNotFoundError:
        return "spinewise (not installed)"


def add_new(commands: Commands) -> None:
    """``new``."""
    parser = new_command(
        commands,
        "new",
        "new",
        "Write a commented spec to start from, by options; without any, questions are asked in the terminal.",
    )
    parser.add_argument(
        "path", nargs="?", default="fabric.toml", metavar="PATH", help="a .toml file, or a folder for it [fabric.toml]"
    )
    parser.add_argument("--topology", choices=("leaf-spine", "fat-tree"), help="kind of fabric [leaf-spine]")
    for name, what in SIZE_HELP.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=SIZES[name], metavar="N", help=what)
    parser.add_argument(
        "--slow-link",
        action="append",
        dest="slow_links",
        metavar="NODE:NODE:GBPS",
        help="a link below its rate, such as leaf0:spine1:10; may be repeated",
    )
    parser.add_argument("--transport", choices=("tcp", "rdma"), help="what hosts run [tcp]")
    parser.add_argument(
        "--workload", metavar="NAME", help="a distribution of flow sizes, all_reduce or all_to_all [web_search]"
    )
    parser.add_argument("--aim", metavar="TEXT", help='what to optimise for ["p99 slowdown of web"]')
    parser.add_argument("--schemes", metavar="A,B,…", help="schemes that are compared, the first is the baseline")
    parser.add_argument("--force", action="store_true", help="replace the spec that is there")


def add_run(commands: Commands) -> None:
    """``run``."""
    parser = new_command(commands, "run", "run", "Simulate one spec and summarise its flows.")
    add_spec(parser)
    parser.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="N", help="in place of the spec's seed")
    parser.add_argument(
        "--trace",
        type=flow_numbers,
        metavar="N,M,…",
        help="trace how these flows chose their paths, as trace.parquet; see `spinewise explain`",
    )
    parser.add_argument(
        "--capture",
        type=names,
        metavar="A,B,…",
        help="capture packets at these nodes and links, such as host3,leaf0-spine1, as packets.parquet"
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
        "Tell why a flow moved: its choices of paths, what the scheme saw, and what was true.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run; run again if the flow was not traced")
    parser.add_argument("--flow", type=whole(0, 2**32 - 1), required=True, metavar="N", help="number of the flow")
    parser.add_argument("--all", action="store_true", help="every move, however many")
    parser.add_argument(
        "--from", dest="begin_us", type=moment, metavar="US", help="moves from this simulated time on, µs"
    )
    parser.add_argument("--to", dest="end_us", type=moment, metavar="US", help="moves up to this simulated time, µs")


def add_compare(commands: Commands) -> None:
    """``compare``."""
    parser = new_command(commands, "compare", "compare", "Run several schemes on the same traffic and compare them.")
    add_spec(parser)
    parser.add_argument(
        "--schemes",
        metavar="A,B,…",
        help='schemes or variants, the first is the baseline: "ecmp,pdlb:path_tag=outer@PDLB outer"'
        " [compare.schemes of the spec]",
    )
    add_scheme_file(parser, "--schemes")
    parser.add_argument("--loads", type=numbers, metavar="X,Y,…", help="loads [compare.loads]")
    parser.add_argument(
        "--seeds",
        type=whole(1, 10_000),
        metavar="N",
        help="repeats, each with its own traffic [compare.seeds, else 3]",
    )
    add_by(parser)
    add_engine(parser)
    add_store(parser)
    parser.add_argument(
        "--keep-runs", action="store_true", help="keep the results of every run too, in DIR/runs (needs --out)"
    )
    add_output(parser, "tables and figures")


def add_sweep(commands: Commands) -> None:
    """``sweep``."""
    parser = new_command(
        commands,
        "sweep",
        "sweep",
        "Run a study of your own: a grid of schemes, parameters, loads and faults, repeated over seeds. Every run is"
        " kept as it ends; called again, the study goes on where it stopped.",
    )
    parser.add_argument("study", metavar="STUDY.toml", help="the study, see docs/sweeps.md")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one key of its spec; may be repeated"
    )
    add_scheme_file(parser, "grid.schemes")
    add_engine(parser)
    add_store(parser, "results/store")
    add_budget(parser)
    parser.add_argument(
        "--until-ci",
        type=share,
        metavar="PERCENT",
        help="add seeds until the first metric is known to this, such as 2%% [stop.until_ci]",
    )
    parser.add_argument("--retry-failed", action="store_true", help="retry runs that failed before")
    parser.add_argument(
        "--dry-run", action="store_true", help="only say how many runs there are, and how long they take"
    )


def add_plot(commands: Commands) -> None:
    """``plot``."""
    parser = new_command(commands, "plot", "plot", "Draw the figures of a results folder.")
    parser.add_argument("results", metavar="RESULTS", help="the folder of a run or of a comparison")
    parser.add_argument("kind", metavar="KIND", nargs="*", help="which figures, such as cdf or links [all that fit]")
    parser.add_argument("--format", default="png,svg", metavar="A,B", help="any of png, svg, pdf [png,svg]")
    parser.add_argument("--out", type=place, metavar="DIR", help="write them into this new folder [RESULTS/figures]")
    parser.add_argument("--force", action="store_true", help="replace figures that are there")


def add_report(commands: Commands) -> None:
    """``report``."""
    parser = new_command(
        commands,
        "report",
        "report",
        "Write one HTML file that shows results: the answer, tables, charts, links over time. It needs no network.",
    )
    parser.add_argument(
        "results", metavar="RESULTS", nargs="+", help="folders of results, or STUDY.toml; several make one page"
    )
    parser.add_argument("--out", type=place, required=True, metavar="FILE.html", help="write the page into this file")
    parser.add_argument(
        "--no-rerun",
        action="store_true",
        help="show only what was kept: runs that sampled no links or traced no flows are not made again",
    )
    parser.add_argument("--force", action="store_true", help="replace a page that is there")
    parser.add_argument(
        "--store", default="results/store", metavar="DIR", help="the store with the runs of a study [results/store]"
    )


def add_resilience(commands: Commands) -> None:
    """``resilience``."""
    parser = new_command(
        commands,
        "resilience",
        "resilience",
        "Break links and switches under every scheme, and measure what it costs and when goodput is back.",
    )
    parser.add_argument(
        "spec",
        type=spec_path,
        metavar="SPEC.toml",
        nargs="?",
        help="your own spec with [[fault]] tables [two fabrics, ten faults]",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one key of the spec; may be repeated"
    )
    parser.add_argument(
        "--schemes",
        metavar="A,B,…",
        help="schemes or variants, as in compare [all, and MPTCP; for a spec, its compare.schemes or its own]",
    )
    parser.add_argument("--faults", metavar="A,B,…", help="kinds of fault, such as link,switch,loss [all]")
    parser.add_argument("--fabrics", metavar="A,B", help="leaf-spine, fat-tree [both]")
    parser.add_argument(
        "--seeds", type=whole(1, 10_000), metavar="N", help="repeats, each with its own traffic [3, with --quick 1]"
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs, one seed")
    add_engine(parser)
    add_store(parser)
    add_output(parser, "tables and the figure")


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
        help='such as "select scheme, load, avg(fct_p99_s) from cells group by all"; docs/store.md has every column',
    )
    parser.add_argument("--store", default="results/store", metavar="DIR", help="the store [results/store]")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print all rows as CSV")
    forms.add_argument("--parquet", type=place, metavar="FILE", help="write all rows into this new file")
    parser.add_argument("--force", action="store_true", help="replace the file that is there")


def add_validate(commands: Commands) -> None:
    """``validate``."""
    parser = new_command(commands, "validate", "validate", "Check a spec without running it.")
    add_spec(parser)
    add_own_scheme(parser)


def add_registry(commands: Commands, kind: str) -> None:
    """``schemes``, ``topologies``, ``workloads``, ``transports``, ``presets``."""
    parser = new_command(commands, kind, "registry", f"List the {kind}, or show one with its parameters and sources.")
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this one in full")
    parser.set_defaults(kind=kind)


def add_scenarios(commands: Commands) -> None:
    """``scenarios``."""
    about = "List the specs that come with Spinewise, print one, or copy all of them."
    parser = new_command(commands, "scenarios", "scenarios", about)
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this one")
    parser.add_argument("--copy", type=place, metavar="DIR", help="copy all of them into this new folder")


def add_schema(commands: Commands) -> None:
    """``schema``."""
    parser = new_command(
        commands, "schema", "schema", "Print the JSON Schema of spec or study files, for editors that complete TOML."
    )
    parser.add_argument("kind", nargs="?", choices=("spec", "study"), default="spec", help="kind of file [spec]")
    parser.add_argument("--path", action="store_true", help="print where the schema is installed instead")


def add_completions(commands: Commands) -> None:
    """``completions``."""
    parser = new_command(
        commands,
        "completions",
        "completions",
        'Print what a shell needs to complete this command: eval "$(spinewise completions bash)".',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")


def add_reproduce(commands: Commands) -> None:
    """``reproduce``."""
    parser = new_command(
        commands,
        "reproduce",
        "reproduce",
        "Run the figures of papers and check what the papers claim.",
    )
    parser.add_argument(
        "what", metavar="WHAT", help='"all", a paper ("meet"), a figure ("pdlb-7"), a claim ("C2-21"), or "list"'
    )
    efforts = parser.add_mutually_exclusive_group()
    efforts.add_argument("--quick", action="store_true", help="fewer seeds and points")
    efforts.add_argument("--whole", action="store_true", help="every point of the paper's figure, however long")
    parser.add_argument("--papers", metavar="DIR", help="your own folder with a papers.toml [the papers of Spinewise]")
    add_engine(parser)
    add_store(parser, "results/store")
    add_budget(parser)
    parser.add_argument("--stored", action="store_true", help="run nothing: report what the store has")
    parser.add_argument(
        "--keep", type=place, metavar="DIR", help="keep the evidence of what is complete in DIR, beside that of others"
    )
    add_output(parser, "figures, verdicts and measurements")


def add_validate_against(commands: Commands) -> None:
    """``validate-against``."""
    about = (
        "Run again what the ns-3 codes of ConWeave and Hermes have run, and compare; exit code 1 when a case disagrees."
    )
    parser = commands.add_parser("validate-against", help=about, description=about, allow_abbrev=False)
    parser.set_defaults(command=lazily("validate_against"), parser=parser)
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="holds <traffic><load>-<lossless|irn>-<scheme>.csv.gz or dctcp-<scheme>-<sym|asym>.csv.gz, or is one",
    )
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write the comparison as JSON [standard output]"
    )
    parser.add_argument("--salts", type=whole(2, 10_000), default=30, metavar="N", help="hash salts to run over [30]")
    parser.add_argument("--cases", metavar="PATTERN,…", help='only these cases, such as "*-lossless-*"')
    parser.add_argument(
        "--sidecars", metavar="DIR", help="where the files CASE.toml lie that say how a case was run [beside the cases]"
    )
    parser.add_argument(
        "--topology", metavar="FILE", help="the fabric of the cases: a topology file, or TOML with [topology]"
    )
    parser.add_argument(
        "--without-rerouting",
        action="store_true",
        help="counter-test: keep every flow on its first path, so that the comparison must fail",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="instead: follow the RDMA cases event by event and compare flow by flow, to the ns",
    )
    add_jobs(parser)


def add_bench(commands: Commands) -> None:
    """``bench``."""
    parser = new_command(commands, "bench", "bench", "Measure packet-hops per second against a fixed reference loop.")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases with this in their name; decisions: the schemes alone"
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
        "--recorded", metavar="FILE", help="instead: the run of a recorded case, as validate-against makes it"
    )
