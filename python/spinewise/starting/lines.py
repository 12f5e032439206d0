"""TOML with a comment above each key: its meaning and its range, from the engine's registry."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from spinewise.replies import Param
from spinewise.schemas.spec import entries

WIDTH = 100
Value = str | int | float | bool | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]


def comment(text: str) -> list[str]:
    """A comment, wrapped."""
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), WIDTH - 2)]


def table(header: str, of: Iterable[str], keys: Mapping[str, Value], remarks: Mapping[str, str] | None = None) -> str:
    """A table with its keys.

    Args:
        header: ``[topology]`` or ``[[traffic]]``.
        of: names of the tables of the registry that have the keys.
        keys: the keys and their values.
        remarks: comments on keys in place of their meanings.
    """
    known = {param["name"]: param for name in of for param in entries("spec")[name]["params"]}
    lines = [header]
    for key, value in keys.items():
        text = (remarks or {}).get(key) or (meaning(known[key]) if key in known else "")
        lines += [*comment(text), f"{key} = {written(value)}"]
    return "\n".join(lines)


def meaning(param: Param) -> str:
    """The meaning of a key, in a line or two: its first sentence, and its words if it has some."""
    first = param["doc"].partition(". ")[0].rstrip(".")
    return f"{first}: {param['allowed']}." if "enum" in param["schema"] else f"{first}."


def written(value: Value) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(int(value))
    items = [written(item) for item in value]
    if any(item.startswith("[") for item in items):
        rows = (textwrap.fill(item, WIDTH, initial_indent="  ", subsequent_indent="   ") for item in items)
        return "\n".join(["[", *(f"{row}," for row in rows), "]"])
    return f"[{', '.join(items)}]"
