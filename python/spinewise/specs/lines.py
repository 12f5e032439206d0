"""The line of a key in a TOML file, for errors about it: `file:line`.

Python's `tomllib` keeps no positions, so the file is read once more by the `toml` crate, and only after something was
refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from spinewise import core
from spinewise.errors import SpecError
from spinewise.reading import SPEC_BYTES, printable, read_text

_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)")
_LAST_STEP = re.compile(r"(\.[^.\[\]]*|\[\d+\])$")


def located(error: SpecError, path: str | Path | None, *within: str) -> SpecError:
    """The same error, naming the TOML file at `path` and the line of its key.

    A key that the file does not have gets the line of the table it is missing from. An error that already names another
    file, and one about an option, are unchanged.

    Args:
        error: an error about a key of the file.
        path: the path of the file; None for a spec without a file.
        within: tables of the file that may also hold the key, such as ``study.spec``.
    """
    if path is None or error.key.startswith("--") or error.file not in (None, printable(path)):
        return error
    return error.with_file(printable(path), error.line or line_of(lines(path), error.key, *within))


def not_toml(error: tomllib.TOMLDecodeError, file: str) -> SpecError:
    """The error about a file that is not TOML, with the line where reading stopped."""
    found = _SYNTAX.search(str(error))
    return SpecError("(whole file)", str(error), "valid TOML", file=file, line=int(found[1]) if found else None)


def has_key(path: str | Path, key: str) -> bool:
    """Whether the TOML file at `path` sets `key` itself."""
    return key in lines(path)


def lines(path: str | Path) -> dict[str, int]:
    """The line of every key of a TOML file, by its path (`topology.override[1].leaf`); empty if it cannot be read."""
    try:
        text = read_text(path, "SPEC.toml", most=SPEC_BYTES)
    except SpecError:
        return {}
    return dict(core.toml_lines(text))


def line_of(known: Mapping[str, int], key: str, *within: str) -> int | None:
    """The line of `key`, else of the nearest table around it; None for an entry that a list of the file lacks."""
    for prefix in within:
        if (line := known.get(f"{prefix}.{key}")) is not None:
            return line
    step: re.Match[str] | None = None
    while key not in known:
        step = _LAST_STEP.search(key)
        if step is None:
            return None
        key = key[: step.start()]
        if step[0].startswith("[") and f"{key}[0]" in known:
            # Another option has added it.
            return None
    return known[key]
