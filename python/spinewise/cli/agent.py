"""``spinewise agent``: starts the agent's program, which does the rest."""

from __future__ import annotations

import argparse
import os

from spinewise.lab import steer


def command(args: argparse.Namespace) -> int:
    """Become the agent's program."""
    found = steer.program()
    os.execv(found, [found, args.deed, f"--{args.option}", getattr(args, args.option)])
