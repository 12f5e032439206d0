"""The output of commands."""

from __future__ import annotations

import json

from spinewise.measures.summary import without_nan


def print_json(value: object) -> None:
    """Print `value` as JSON on standard output; a number that is not finite becomes null."""
    print(json.dumps(without_nan(value), indent=2, allow_nan=False))
