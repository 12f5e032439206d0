"""The output of commands."""

from __future__ import annotations

from spinewise.measures.summary import without_nan
from spinewise.writing import json_text


def print_json(value: object) -> None:
    """Print `value` as JSON on standard output; a number that is not finite becomes null."""
    print(json_text(without_nan(value)))
