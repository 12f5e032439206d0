"""docs/cli.md: every command and its arguments, from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from spinewise.cli.parser import build_parser
from spinewise.show.markdown import cell

OPENING = (
    "Every command takes `--help`, and those that print results take `--json`. Exit codes: 0 done; 1 a defect of"
    " Spinewise, or a check that failed; 2 bad input; 3 a budget ended before all runs; 130 Ctrl-C; 143 terminated."
)


def page() -> str:
    """The page."""
    parser = build_parser()
    lines = ["# Commands", "", OPENING]
    for name, command in commands(parser):
        lines += ["", f"## spinewise {name}", "", *section(command)]
    return "\n".join(lines) + "\n"


def commands(parser: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser, in the order of --help; subcommands follow their command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{before}{name}", command
                yield from commands(command, f"{before}{name} ")


def section(command: argparse.ArgumentParser) -> list[str]:
    """The purpose of a command, and its arguments."""
    lines = [cell(command.description or "")]
    rows = [f"| {shown(action)} | {cell(help_of(action))} |" for action in command._actions if is_told(action)]
    return [*lines, "", "| argument | meaning |", "|---|---|", *rows] if rows else lines


def is_told(action: argparse.Action) -> bool:
    """Whether an argument is in the table: --help is in all of them, and subcommands have sections of their own."""
    return action.dest != "help" and not isinstance(action, argparse._SubParsersAction)


def shown(action: argparse.Action) -> str:
    """An argument as it is written."""
    words = "" if action.nargs == 0 else str(action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}")
    text = f"{', '.join(action.option_strings)} {words}".strip()
    return f"`{cell(text)}`"


def help_of(action: argparse.Action) -> str:
    """The help of an argument, with the allowed values."""
    text = (action.help or "").replace("%%", "%")
    words = [str(choice) for choice in action.choices or ()]
    return text + (f" ({', '.join(words)})" if words and action.metavar else "")
