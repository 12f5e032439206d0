"""The ownership of a folder: only one that holds nothing but files Spinewise wrote there is ever replaced.

The record of a results folder (``run.json``, ``compare.json``, …) lists the files that were written with
it. A folder is Spinewise's own when its record is of a known format and every file below it is listed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NotRequired, TypedDict

import msgspec

from spinewise.errors import SpecError
from spinewise.reading import TABLE_BYTES, printable, read_text
from spinewise.runs import formats

# The key of the list in a record.
FILES = "files"
# At most this many names are shown.
_FEW = 5


class Record(TypedDict):
    """The inspected parts of the record of a folder."""

    format: object
    files: NotRequired[object]


def list_files(folder: Path) -> None:
    """Write the list of their files into the record of new results."""
    for kind in formats.ALL:
        path = folder / kind.record
        if read_record(path) is None:
            continue
        # The values stay text: those of a large fabric are many.
        record = msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
        names = sorted(name for name, _ in entries(folder) if not name.endswith("/"))
        listed = {"format": record.pop("format"), FILES: names} | record
        path.write_bytes(msgspec.json.format(msgspec.json.encode(listed), indent=2) + b"\n")
        return


def read_record(path: Path) -> Record | None:
    """The record in a file, without what is not inspected; None if there is none."""
    try:
        return msgspec.json.decode(read_text(path, "record", most=TABLE_BYTES), type=Record)
    except (SpecError, ValueError, RecursionError):
        return None


def why_foreign(folder: Path) -> str | None:
    """The contents of a folder that Spinewise did not write there, in words; None if there are none."""
    try:
        found = dict(entries(folder))
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    records = [kind for kind in formats.ALL if kind.record in found]
    if not records:
        return f"found {told(list(found))}, and none of {', '.join(kind.record for kind in formats.ALL)}"
    kind = records[0]
    readable = os.access(folder / kind.record, os.R_OK)
    record = read_record(folder / kind.record) if readable else None
    if record is None:
        why = "is not of Spinewise: it names no format" if readable else "may not be read by you"
        return f"found {told(list(found))}; {kind.record} {why}"
    if not kind.knows(record["format"]):
        return f"found {kind.record} of format {record['format']!r}; this version knows {kind.allowed}"
    listed = record.get(FILES)
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        return f"found {told(list(found))}; {kind.record} does not list what was written with it: remove it yourself"
    ours = set(listed) | {f"{parent}/" for name in listed for parent in PurePosixPath(name).parents}
    ours |= figures_of(folder, found)
    foreign = [name for name, mode in found.items() if name not in ours or not is_plain(mode)]
    return of_others(folder, foreign) if foreign else None


def of_others(folder: Path, foreign: list[str]) -> str:
    """The contents of a folder that were not written with its results, in words."""
    inner = [name for name in foreign if name.endswith("/") and kinds_in(folder / name) not in ([], [formats.PLOT])]
    if inner:
        return f"found {told(inner)}, which has results of its own: move it elsewhere, or remove it yourself"
    return f"found {told(foreign)}, which Spinewise did not write there"


def figures_of(folder: Path, found: Mapping[str, int]) -> set[str]:
    """The contents of folders of figures, which `spinewise plot` puts into this one later; no other results."""
    below = {name for name in found if name.count("/") == 1 and name.endswith("/")}
    figures = {name for name in below if kinds_in(folder / name) == [formats.PLOT]}
    owned = {name for name in figures if why_foreign(folder / name) is None}
    return {name for name in found if f"{name.partition('/')[0]}/" in owned}


def kinds_in(folder: Path) -> list[formats.Format]:
    """The kinds of results that have a record in a folder."""
    return [kind for kind in formats.ALL if os.path.lexists(folder / kind.record)]


def is_plain(mode: int) -> bool:
    """Whether something is a folder or an ordinary file, like everything written here."""
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def entries(folder: Path, within: str = "") -> Iterator[tuple[str, int]]:
    """Everything below a folder: its name, with a final slash for a folder, and its mode."""
    with os.scandir(folder) as found:
        inside = sorted(found, key=lambda entry: entry.name)
    for entry in inside:
        name = within + entry.name
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield f"{name}/", mode
            yield from entries(folder / entry.name, f"{name}/")
        else:
            yield name, mode


def told(names: list[str]) -> str:
    """Some names, and the number of the others; the contents of a named folder are not named."""
    folders = {name for name in names if name.endswith("/")}
    names = [name for name in names if not any(f"{parent}/" in folders for parent in PurePosixPath(name).parents)]
    shown = ", ".join(printable(name) for name in names[:_FEW])
    return shown + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
