"""JSON for people and programs alike: indented, keys in their given order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec


def json_text(value: object, *, default: Callable[[object], object] | None = None) -> str:
    """`value` as indented JSON; `default` turns what JSON cannot represent into what it can.

    The text is that of `json.dumps` with an indent of two, which takes several times as long: the standard library
    indents in Python, and the record of a large fabric has millions of values.

    Raises:
        ValueError: a number in it is not finite.
        TypeError: JSON cannot represent something in it, and there is no `default`.
    """
    text = json.dumps(value, allow_nan=False, default=default)
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        # The name of a file that is not UTF-8.
        return json.dumps(value, allow_nan=False, default=default, indent=2)


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, with a final newline."""
    path.write_text(json_text(value) + "\n")
