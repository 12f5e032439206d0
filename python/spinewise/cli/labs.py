"""Arguments of ``spinewise lab``."""

from __future__ import annotations

import argparse

from spinewise.cli.arguments import Parser, whole
from spinewise.cli.pieces import Commands, add_output, add_spec, lazily, new_command

ABOUT = "Try a spec on Linux: network namespaces, kernel routes and real TCP in place of the simulator; needs root."
DEEDS = {
    "plan": "Show what a lab of this spec would contain; needs no privileges and changes nothing.",
    "up": "Build the lab of a spec.",
    "run": "Send the spec's flows over the lab, building a temporary one if none is up.",
    "study": "Compare schemes on Linux and in the simulator: several seeds, all schemes in turn.",
    "sensed": "Show what a run's scheme saw at each host, and the fabric as it is; for runs on Linux or simulated.",
    "sight": "Compare what ELAB, MEET and PDLB believe of each path over time with the truth, on Linux and simulated.",
    "cost": "Measure what agents cost two hosts: throughput and CPU per Gbit, with and without segmentation offload.",
    "down": "Take a lab down, complete or left over.",
    "status": "List the labs on this machine.",
}


def add_lab(commands: Commands) -> None:
    """``lab`` and what it does."""
    parser = commands.add_parser("lab", help=ABOUT, description=ABOUT, allow_abbrev=False)
    deeds = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, about in DEEDS.items():
        deed = new_command(deeds, name, "lab", about)
        deed.set_defaults(command=lazily("lab", name))
        if name == "sensed":
            deed.add_argument("run", metavar="RUN", help="the folder of a run")
        elif name == "down":
            deed.add_argument("spec", nargs="?", metavar="SPEC.toml", help="the spec that the lab is named after")
        elif name not in {"status", "cost"}:
            add_spec(deed)
            add_scale(deed)
        if name not in {"status", "sensed", "cost"}:
            deed.add_argument("--name", metavar="NAME", help="name of the lab [the spec's]")
        if name == "run":
            deed.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="N", help="seed to use instead of the spec's")
            add_output(deed, "run.json and a Parquet file of flows, as `spinewise run` does,")
        if name == "cost":
            deed.add_argument(
                "--rounds", type=whole(1, 100), default=5, metavar="N", help="how often to repeat all cases [5]"
            )
            deed.add_argument(
                "--seconds", type=whole(1, 60), default=4, metavar="N", help="how long each case lasts [4]"
            )
            add_output(deed, "cost.json and cost.txt")
        if name == "sight":
            deed.add_argument("--schemes", metavar="A,B,…", help="schemes, as `spinewise compare` takes them")
            deed.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="N", help="seed to use instead of the spec's")
            add_output(deed, "a figure and the values of each scheme, and how far they agree with the truth,")
        if name == "study":
            deed.add_argument("--schemes", metavar="A,B,…", help="schemes, as `spinewise compare` takes them")
            deed.add_argument("--seeds", type=whole(1, 1000), metavar="N", help="how many seeds [5]")
            add_output(deed, "every run, the files `spinewise compare` writes, and lab.json")


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add the options for how much slower than its spec a lab runs."""
    parser.add_argument(
        "--factor",
        type=whole(1, 100_000),
        metavar="N",
        help="divide rates and multiply times by N [the smallest of 1, 2, 5, 10, … that fits the machine]",
    )
    parser.add_argument(
        "--agents",
        action="store_true",
        help="let agents at the hosts choose paths under every scheme [only where the kernel's routes cannot]",
    )
    parser.add_argument(
        "--health",
        action="store_true",
        help="let agents choose and watch paths: a path that is silent for longer than full queues take to drain gets"
        " no traffic",
    )
