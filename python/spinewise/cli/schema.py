"""``spinewise schema``: the JSON Schema of spec and study files, for editors."""

from __future__ import annotations

import argparse
import sys

from spinewise import schemas


def command(args: argparse.Namespace) -> int:
    """Print a schema, or its installed path."""
    found = schemas.path(args.kind)
    if args.path:
        print(found)
    else:
        sys.stdout.write(found.read_text())
    return 0
