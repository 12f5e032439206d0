"""Results folders that are there whole or not at all.

Everything is written into a hidden folder beside the destination, synced to disk, and renamed in one
step. Whatever happens before that step (error, full disk, Ctrl-C, kill -9, power loss) leaves the
destination as it was. The hidden folder is locked while its writer lives; one left by a killed writer
is removed by the next writer that comes by.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spinewise.errors import SpecError

# Each kind of results folder holds one of these; only such a folder is ever replaced.
MARKERS = ("run.json", "compare.json", "reproduce.json", "resilience.json", "plot.json")

_LOCK = ".lock"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space or choose another folder",
    errno.EDQUOT: "the disk quota is used up: free some space or choose another folder",
    errno.EFBIG: "the file size limit was reached: raise `ulimit -f` or choose another folder",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
}


@contextmanager
def new_results(destination: str | Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, which becomes `destination` when the block ends without an error.

    The checks come first, so that a long run does not end at an unwritable place. With `force` an
    existing results folder is replaced in one step; a folder that holds anything else never is.

    Raises:
        SpecError: the destination exists, or cannot be written, or the disk is full.
    """
    destination = Path(os.path.abspath(destination))
    refuse_existing(destination, force=force)
    with as_spec_error(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(destination)
        hidden = Path(tempfile.mkdtemp(prefix=prefix(destination), dir=destination.parent))
    lock = -1
    try:
        with as_spec_error(destination):
            lock = os.open(hidden / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield hidden
            publish(hidden, destination, force=force)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


def refuse_existing(destination: Path, *, force: bool) -> None:
    """Raise unless `destination` is free, or holds results that may be replaced."""
    if not os.path.lexists(destination) or is_empty_folder(destination):
        return
    if not force:
        raise SpecError("--out", destination, "a folder that does not exist yet", "--force replaces old results")
    if not any((destination / marker).is_file() for marker in MARKERS):
        raise SpecError(
            "--out",
            destination,
            "a new folder or one with results of Spinewise",
            "--force does not replace anything else",
        )


def is_empty_folder(path: Path) -> bool:
    """Whether `path` is a folder (not a link to one) with nothing in it."""
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def publish(hidden: Path, destination: Path, *, force: bool) -> None:
    """Sync what was written and move it to its place in one step."""
    (hidden / _LOCK).unlink()
    hidden.chmod(0o777 & ~current_umask())
    sync_tree(hidden)
    refuse_existing(destination, force=force)
    try:
        # A folder with something in it is never overwritten by this, whoever was faster.
        os.rename(hidden, destination)
    except OSError:
        refuse_existing(destination, force=force)
        if not (force and destination.is_dir()):
            raise
        exchange(hidden, destination)
    sync(destination.parent)


def exchange(new: Path, old: Path) -> None:
    """Swap two folders in one step; where the system cannot, in two."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        done = renameat2(
            _AT_FDCWD,
            os.fsencode(new),
            _AT_FDCWD,
            os.fsencode(old),
            ctypes.c_uint(_RENAME_EXCHANGE),
        )
        if done == 0:
            return
    aside = new.with_name(new.name + ".old")
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def prefix(destination: Path) -> str:
    """How the hidden folders of `destination` begin."""
    return f".{destination.name}.partial-"


def remove_abandoned(destination: Path) -> None:
    """Remove hidden folders of `destination` whose writer is gone (its lock is free)."""
    for candidate in destination.parent.glob(prefix(destination) + "*"):
        with suppress(OSError):
            lock = os.open(candidate / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(candidate, ignore_errors=True)
            finally:
                os.close(lock)


def sync_tree(folder: Path) -> None:
    """Bring every file and folder below `folder` to the disk."""
    for root, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync(Path(root) / name)
        sync(Path(root))


def sync(path: Path) -> None:
    """Bring one file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def current_umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def as_spec_error(destination: Path, option: str = "--out") -> Iterator[None]:
    """Say what the operating system refused, and what helps; `option` named the destination."""
    try:
        yield
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise SpecError(option, destination, "a place that can be written", reason) from error
