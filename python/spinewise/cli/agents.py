"""Arguments of ``spinewise agent``."""

from __future__ import annotations

from spinewise.cli.arguments import Parser
from spinewise.cli.pieces import Commands, lazily, new_command

ABOUT = "Run a scheme on this Linux host, or query the agent that does; `spinewise-agent` has the same commands."
DEEDS = {
    "run": ("Run a scheme on this host until SIGTERM; needs root.", "config"),
    "check": ("Read a config and say what would run; changes nothing.", "config"),
    "status": ("Print the state of a running agent as JSON.", "socket"),
    "metrics": ("Print the counters of a running agent as text for Prometheus.", "socket"),
}
HELP = {
    "config": ("FILE.json", "the agent's configuration: see docs/real-hosts.md"),
    "socket": ("PATH", "the agent's socket: `socket` in its config"),
}


def add_agent(commands: Commands) -> None:
    """``agent`` and what it does."""
    parser = commands.add_parser("agent", help=ABOUT, description=ABOUT, allow_abbrev=False)
    deeds = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, (about, option) in DEEDS.items():
        deed = new_command(deeds, name, "agent", about)
        deed.set_defaults(command=lazily("agent"), deed=name, option=option)
        metavar, text = HELP[option]
        deed.add_argument(f"--{option}", required=True, metavar=metavar, help=text)
