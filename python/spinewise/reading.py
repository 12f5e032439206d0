"""Read files named by users: ordinary files only, with a limit of size."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from spinewise.errors import SpecError

MB = 1_000_000
SPEC_BYTES = 64 * MB
TABLE_BYTES = 1_000 * MB
CHUNK = 16 * MB
MAY_READ = "a file that you may read"
STANDARD_INPUT = "-"
"""The name of standard input where a file is expected."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def read_bytes(path: str | Path, key: str, *, most: int, allowed: str = "a file that can be read") -> bytes:
    """The content of an ordinary file of at most `most` bytes; `key` is the option or key that named it.

    Raises:
        SpecError: it does not exist, cannot be read, is a folder, device or pipe, or is longer.
    """
    try:
        # Opening a pipe without a writer would block indefinitely.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError as error:
        raise refused(path, key, MAY_READ, reason(error)) from None
    except (OSError, ValueError) as error:
        raise refused(path, key, allowed, reason(error)) from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise refused(path, key, f"{allowed}: an ordinary file", f"this is {kind(found.st_mode)}")
    with open(handle, "rb") as stream:
        limit = f"{allowed}, of 0 to {most:,} bytes"
        if found.st_size > most:
            raise refused(path, key, limit, f"it has {found.st_size:,}")
        try:
            content = up_to(stream, most + 1)
        except OSError as error:
            raise refused(path, key, allowed, reason(error)) from None
    if len(content) > most:
        # Files of /proc have no size.
        raise refused(path, key, limit, "it is longer")
    return content


def up_to(stream: BinaryIO, most: int) -> bytes:
    """Read at most `most` bytes of a stream; memory grows only with what is read."""
    found = bytearray()
    while len(found) < most and (more := stream.read(min(CHUNK, most - len(found)))):
        found += more
    return bytes(found)


def is_ordinary(path: str | Path) -> bool:
    """Whether there is an ordinary file of this name."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def ordinary(path: str | Path, key: str, allowed: str) -> None:
    """Refuse anything but an ordinary file, before something else reads it.

    Raises:
        SpecError: it does not exist, or is a folder, device or pipe, or may not be read.
    """
    try:
        mode = os.stat(path).st_mode
    except PermissionError as error:
        raise refused(path, key, MAY_READ, reason(error)) from None
    except (OSError, ValueError) as error:
        raise refused(path, key, allowed, reason(error)) from None
    if not stat.S_ISREG(mode):
        raise refused(path, key, f"{allowed}: an ordinary file", f"this is {kind(mode)}")
    if not os.access(path, os.R_OK):
        raise refused(path, key, MAY_READ, os.strerror(errno.EACCES))


def read_text(path: str | Path, key: str, *, most: int, allowed: str = "a text file that can be read") -> str:
    """The text of an ordinary file in UTF-8; a byte order mark at its beginning is left out.

    Raises:
        SpecError: as `read_bytes`; or it is not UTF-8.
    """
    return decoded(read_bytes(path, key, most=most, allowed=allowed), printable(path))


BEGINNINGS = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x89PNG": "a PNG image",
    b"\x1f\x8b": "a gzip file",
    b"PK": "a ZIP archive",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
}
"""First bytes of files that are often mistaken for text, and their kinds."""


def decoded(content: bytes, file: str) -> str:
    """Decode the content of a UTF-8 file.

    Raises:
        SpecError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = next((name for start, name in BEGINNINGS.items() if content.startswith(start)), "")
        at = f"byte {error.start + 1:,} is 0x{content[error.start]:02x}, which is not UTF-8"
        hint = "save it as UTF-8" if found.startswith("UTF") else None
        raise SpecError("(whole file)", found or at, "UTF-8 text", hint, file=file) from None


def read_standard_input(key: str, *, most: int, allowed: str) -> str:
    """Read standard input to its end, as text.

    Raises:
        SpecError: it is closed, longer than `most` bytes, or not UTF-8.
    """
    if sys.stdin is None:
        raise SpecError(key, STANDARD_INPUT, allowed, "standard input is closed")
    content = sys.stdin.buffer.read(most + 1)
    if len(content) > most:
        raise SpecError(key, STANDARD_INPUT, f"{allowed}, of 0 to {most:,} bytes", "it is longer")
    return decoded(content, STANDARD_INPUT)


def refused(path: str | Path, key: str, allowed: str, hint: str) -> SpecError:
    """The error about a file named under `key`; if the error names a file of its own, that one is to blame."""
    return SpecError(key, printable(path), allowed, hint)


def reason(error: Exception) -> str:
    """The reason why a file could not be opened, in words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def kind(mode: int) -> str:
    """The kind of thing found in place of a regular file."""
    return _KINDS.get(stat.S_IFMT(mode), "no ordinary file")


def printable(path: str | os.PathLike[str]) -> str:
    """A printable name: control characters are escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in os.fsdecode(path))
