"""Arguments of the commands that make many runs."""

from __future__ import annotations

from spinewise.cli.arguments import numbers, place, whole
from spinewise.cli.pieces import (
    Commands,
    add_budget,
    add_by,
    add_engine,
    add_jobs,
    add_output,
    add_scheme_file,
    add_set,
    add_spec,
    add_store,
    add_until_ci,
    lazily,
    new_command,
)
from spinewise.scenarios import spec_path


def add_compare(commands: Commands) -> None:
    """``compare``."""
    parser = new_command(commands, "compare", "compare", "Run several schemes on the same traffic and compare them.")
    add_spec(parser)
    parser.add_argument(
        "--schemes",
        metavar="A,B,…",
        help='schemes or variants; the first is the baseline: "ecmp,pdlb:path_tag=outer@PDLB outer"'
        " [compare.schemes of the spec]",
    )
    add_scheme_file(parser, "--schemes")
    parser.add_argument(
        "--loads",
        type=numbers,
        metavar="X,Y,…",
        help="loads of each traffic entry that has one, so that several entries add up; a variant with its own load"
        " keeps it [compare.loads]",
    )
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
        "--keep-runs", action="store_true", help="also keep the results of every run, in DIR/runs (needs --out)"
    )
    add_output(parser, "tables and figures")


def add_sweep(commands: Commands) -> None:
    """``sweep``."""
    parser = new_command(
        commands,
        "sweep",
        "sweep",
        "Run a study of your own: a grid of schemes, parameters, loads and faults, repeated over seeds. Every run is"
        " kept as it ends; the same command continues where the study stopped.",
    )
    parser.add_argument("study", metavar="STUDY.toml", help="the study, see docs/sweeps.md")
    add_set(parser, "a key of its spec")
    add_scheme_file(parser, "grid.schemes")
    add_engine(parser)
    add_store(parser, "results/store")
    add_budget(parser)
    add_until_ci(parser, "add seeds until the first metric is known to within this, such as 2%% [stop.until_ci]")
    parser.add_argument("--retry-failed", action="store_true", help="retry runs that failed before")
    parser.add_argument(
        "--dry-run", action="store_true", help="only say how many runs there are and how long they take"
    )


def add_resilience(commands: Commands) -> None:
    """``resilience``."""
    parser = new_command(
        commands,
        "resilience",
        "resilience",
        "Break links and switches under every scheme; measure what that costs and when goodput recovers.",
    )
    parser.add_argument(
        "spec",
        type=spec_path,
        metavar="SPEC.toml",
        nargs="?",
        help="your own spec with [[fault]] tables [two fabrics, ten faults]",
    )
    add_set(parser, "a key of your own spec")
    parser.add_argument(
        "--schemes",
        metavar="A,B,…",
        help="schemes or variants, as in compare [all, and MPTCP; for a spec, its compare.schemes or its scheme]",
    )
    add_scheme_file(parser, "--schemes")
    parser.add_argument("--faults", metavar="A,B,…", help="kinds of fault, such as link,switch,loss [all]")
    parser.add_argument("--fabrics", metavar="A,B", help="leaf-spine, fat-tree [both]")
    parser.add_argument(
        "--seeds", type=whole(1, 10_000), metavar="N", help="repeats, each with its own traffic [3, with --quick 1]"
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs, one seed; with a spec one seed")
    add_engine(parser)
    add_store(parser)
    add_output(parser, "tables, and without a spec the figure,")


def add_reproduce(commands: Commands) -> None:
    """``reproduce``."""
    parser = new_command(
        commands,
        "reproduce",
        "reproduce",
        "Reproduce figures of papers and check what the papers claim.",
    )
    parser.add_argument(
        "what", metavar="WHAT", help='"all", a paper ("meet"), a figure ("pdlb-7"), a claim ("C2-21"), or "list"'
    )
    efforts = parser.add_mutually_exclusive_group()
    efforts.add_argument("--quick", action="store_true", help="fewer seeds and points")
    efforts.add_argument(
        "--whole", action="store_true", help="every point of the paper's figure, however long it takes"
    )
    parser.add_argument(
        "--papers", metavar="DIR", help="your own folder with a papers.toml [the papers that come with Spinewise]"
    )
    add_engine(parser)
    add_store(parser, "results/store")
    add_budget(parser)
    without = parser.add_mutually_exclusive_group()
    without.add_argument("--stored", action="store_true", help="run nothing: report what the store has")
    without.add_argument(
        "--dry-run", action="store_true", help="only say how many runs there are and how long they take"
    )
    parser.add_argument(
        "--keep",
        type=place,
        metavar="DIR",
        help="record complete experiments in DIR; records of others stay",
    )
    add_output(parser, "figures, verdicts and measurements")


def add_validate_against(commands: Commands) -> None:
    """``validate-against``."""
    about = (
        "Repeat recorded runs of the ns-3 code of ConWeave or Hermes, or of uet-htsim, and compare; exit code 1 when a"
        " case disagrees."
    )
    parser = commands.add_parser("validate-against", help=about, description=about, allow_abbrev=False)
    parser.set_defaults(command=lazily("validate_against"), parser=parser)
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="a folder of <traffic><load>-<lossless|irn>-<scheme>.csv.gz or dctcp-<scheme>-<sym|asym>.csv.gz, one of"
        " these"
        " files, or a folder with cases.jsonl of uet-htsim",
    )
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write the comparison as JSON [standard output]"
    )
    parser.add_argument("--salts", type=whole(2, 10_000), default=30, metavar="N", help="hash salts to run over [30]")
    parser.add_argument("--cases", metavar="PATTERN,…", help='only these cases, such as "*-lossless-*"')
    parser.add_argument(
        "--sidecars", metavar="DIR", help="folder of the CASE.toml files that say how a case was run [beside the cases]"
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
        help="instead, follow the RDMA cases event by event and compare flow by flow, to the ns",
    )
    add_jobs(parser)
