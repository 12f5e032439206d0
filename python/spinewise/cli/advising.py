"""Arguments of ``spinewise advise``."""

from __future__ import annotations

from spinewise.advice import BUDGET_S
from spinewise.cli.arguments import share, span, whole
from spinewise.cli.pieces import Commands, add_engine, add_output, add_scheme_file, add_spec, add_store, new_command


def add_advise(commands: Commands) -> None:
    """``advise``."""
    parser = new_command(
        commands,
        "advise",
        "advise",
        "Say which load balancer a fabric should run: race every scheme that fits, try to break the answer, and report"
        " why, how certain it is, and when it would not hold.",
    )
    add_spec(parser)
    parser.add_argument(
        "--aim",
        action="append",
        default=[],
        metavar="AIM",
        help='what to optimise, such as "p99 slowdown of web", "mean FCT of short flows of web" or "bus bandwidth of'
        ' reduce"; may be repeated: the first decides, several give a Pareto front [depends on the workload]',
    )
    parser.add_argument(
        "--may",
        action="append",
        metavar="A,B",
        help="what may be changed: configuration, hosts, leaves, switches [all, with the best at each]",
    )
    parser.add_argument(
        "--schemes", metavar="A,B,…", help="schemes or variants to choose from, as in compare [all that fit]"
    )
    add_scheme_file(parser, "--schemes")
    parser.add_argument("--budget", type=span, default=BUDGET_S, metavar="TIME", help="how long it may take [5min]")
    parser.add_argument(
        "--band",
        type=share,
        metavar="PERCENT",
        help="treat differences below this as equal, such as 2%% [what a pilot shows the budget can resolve]",
    )
    parser.add_argument("--seed", type=whole(0, 2**63), metavar="N", help="the first seed [the spec's]")
    add_engine(parser)
    add_store(parser)
    add_output(parser, "advice.json and advice.md")
