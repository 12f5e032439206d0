"""Arguments of the commands that list what exists."""

from __future__ import annotations

from spinewise.cli.arguments import place
from spinewise.cli.pieces import Commands, new_command


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
        'Print a shell completion script: eval "$(spinewise completions bash)".',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
