"""Writing one file, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.runs.folder import as_spec_error, current_umask


def write_file(destination: str | Path, content: bytes, *, force: bool = False, option: str = "--out") -> None:
    """Write `content` to `destination` in one step; an existing file is replaced only with `force`.

    `option` is where the name was given.

    Raises:
        SpecError: the file exists, or cannot be written.
    """
    destination = Path(destination)
    if destination.is_dir():
        raise SpecError(option, destination, "the name of a file; this is a folder")
    if os.path.lexists(destination) and not force:
        raise SpecError(option, destination, "a file that does not exist yet", "--force replaces it")
    with as_spec_error(destination, option):
        handle, partial = tempfile.mkstemp(prefix=f".{destination.name}.partial-", dir=destination.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.chmod(partial, 0o666 & ~current_umask())
            os.replace(partial, destination)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(partial)
