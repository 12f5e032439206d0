"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from spinewise.cli.arguments import Override, Parser, place, share, span, whole
from spinewise.scenarios import spec_path

Command = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The return type of `add_subparsers`; argparse has no public name for it."""


def lazily(module: str, function: str = "command") -> Command:
    """The function of a command module, imported when called, so that `--help` stays quick."""

    def call(args: argparse.Namespace) -> int:
        command: Command = getattr(import_module(f"spinewise.cli.{module}"), function)
        return command(args)

    return call


def new_command(commands: Commands, name: str, module: str, about: str) -> argparse.ArgumentParser:
    """A subparser with the options that all commands share."""
    made = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    # A negative value with a unit, as in `--budget -5s`, is a wrong value and not an unknown option.
    made._negative_number_matcher = re.compile(r"-\.?\d")
    made.add_argument("--json", action="store_true", help="print the result as JSON")
    made.set_defaults(command=lazily(module), parser=made)
    return made


def add_spec(parser: argparse.ArgumentParser) -> None:
    """Add the spec file and overrides."""
    parser.add_argument(
        "spec",
        type=spec_path,
        metavar="SPEC.toml",
        help="what to simulate: a file, the name of a scenario, or - for standard input",
    )
    add_set(parser, 'a key of the spec, such as "traffic[0].load=0.5"')


def add_set(parser: argparse.ArgumentParser, what: str) -> None:
    """Add overrides of `what`."""
    parser.add_argument(
        "--set", action=Override, default=[], metavar="KEY=VALUE", help=f"override {what}; may be repeated"
    )


def add_until_ci(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the bound that the seeds of a study depend on; `what` says what it does."""
    parser.add_argument("--until-ci", type=share, metavar="PERCENT", help=what)


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options for the results folder."""
    parser.add_argument("--out", type=place, metavar="DIR", help=f"write {what} into this new folder")
    parser.add_argument("--force", action="store_true", help="replace existing results")
    parser.set_defaults(force_of_out=True)


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects the flows in tables."""
    parser.add_argument(
        "--by",
        choices=("entry", "class", "both"),
        default="auto",
        help="report by [[traffic]] entry, by size class over all traffic, or both [entry if there are several]",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of parallel runs."""
    parser.add_argument("--jobs", type=whole(1, 1024), metavar="N", help="runs at once [one per core]")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options for the engine that makes the runs, and the number of parallel runs."""
    add_jobs(parser)
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster [local]"
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help='with --engine ray: a running cluster, "auto" for the one on this machine [RAY_ADDRESS, else a new one'
        " here]",
    )


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add the option for the time budget."""
    parser.add_argument(
        "--budget",
        type=span,
        metavar="TIME",
        help="do not start runs that would end later than this, such as 60min, 2h or 90s",
    )


def add_scheme_file(parser: argparse.ArgumentParser, where: str) -> None:
    """Add the option for schemes written in Python, to be run."""
    add_scheme_files(parser, f"a scheme written in Python; {where} may name it, else it is added last; may be repeated")


def add_own_scheme(parser: argparse.ArgumentParser) -> None:
    """Add the option for one scheme written in Python."""
    parser.add_argument("--scheme-file", metavar="FILE.py:CLASS", help="run this scheme, written in Python")


def add_code(parser: argparse.ArgumentParser) -> None:
    """Add the option for schemes written in Python that results ran."""
    code = "the code of a Python scheme in these results, in case it must run again; may be repeated"
    add_scheme_files(parser, code)


def add_scheme_files(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the option for any number of schemes written in Python."""
    parser.add_argument("--scheme-file", action="append", default=[], metavar="FILE.py:CLASS", help=about)


def add_store(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the option for the store of runs."""
    parser.add_argument(
        "--store",
        default=default,
        metavar="DIR",
        help=f"keep every run in this store as it ends, and skip runs it already has [{default or 'no store'}]",
    )
