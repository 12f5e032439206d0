"""Write one file, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.reading import kind, printable
from spinewise.runs import hidden
from spinewise.runs.folder import as_spec_error, check_writable, current_umask, sync


def checked_place(destination: str | Path, *, force: bool, option: str = "--out") -> Path:
    """Resolve the place of a file of this name, following links.

    Raises:
        SpecError: the file exists and `force` is not given, or it is not an ordinary file, or cannot be written.
    """
    if not str(destination) or "\0" in str(destination):
        raise SpecError(option, f'"{printable(destination)}"', "the name of a file, of 1 to 255 characters")
    with as_spec_error(destination, option):
        place = Path(os.path.realpath(destination))
        if place.is_symlink():
            raise SpecError(option, printable(destination), "the name of a file", "this link leads to itself")
        if place.is_dir():
            raise SpecError(option, printable(destination), "the name of a file; this is a folder")
        if place.exists() and not place.is_file():
            raise SpecError(option, printable(destination), f"the name of a file; this is {kind(place.stat().st_mode)}")
        if os.path.lexists(destination) and not force:
            raise SpecError(option, printable(destination), "a file that does not exist yet", "--force replaces it")
    check_writable(place, option)
    return place


def write_file(
    destination: str | Path, content: bytes | Iterable[bytes], *, force: bool = False, option: str = "--out"
) -> None:
    """Write `content`, which may come in pieces, to `destination` in one step.

    An existing file is replaced only with `force`.
    A symbolic link to a file is followed: the file is replaced, the link stays. `option` is where the name was given.

    Raises:
        SpecError: the file exists, is not an ordinary file, or cannot be written.
    """
    place = checked_place(destination, force=force, option=option)
    with as_spec_error(destination, option):
        hidden.remove_abandoned(place.parent)
        with hidden.hidden_file(place) as (partial, handle):
            with os.fdopen(os.dup(handle), "wb") as stream:
                stream.writelines([content] if isinstance(content, bytes) else content)
            os.fchmod(handle, 0o666 & ~current_umask())
            os.fsync(handle)
            os.replace(partial, place)
        sync(place.parent)
