"""Results folders that are written whole or not at all.

Everything is written into a hidden folder beside the destination, synced to disk, and renamed in one
step. Whatever happens before that step (error, full disk, Ctrl-C, kill -9, power loss) leaves the
destination as it was. Hidden remains of a killed writer are removed by the next one (see `hidden`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.runs import hidden, owned

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space or choose another folder",
    errno.EDQUOT: "the disk quota is used up: free some space or choose another folder",
    errno.EFBIG: "the file size limit was reached: raise `ulimit -f` or choose another folder",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
}

MEANWHILE = "another command created it in the meantime, so nothing was saved: name another folder and run again"

# The results that this process has put in place so far.
published: list[Path] = []


@contextmanager
def new_results(destination: str | Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, which becomes `destination` when the block ends without an error.

    The checks come first, so that a long run does not end at an unwritable place. With `force` an
    existing results folder is replaced in one step; one that holds anything else never is, nor is a link.

    Raises:
        SpecError: the destination exists, or cannot be written, or the disk is full.
    """
    with as_spec_error(destination):
        place = real_place(destination)
        check(place, force=force)
        place.parent.mkdir(parents=True, exist_ok=True)
        hidden.remove_abandoned(place.parent)
    with as_spec_error(destination), hidden.hidden_folder(place) as target:
        yield target
        publish(target, place, force=force)


def real_place(destination: str | Path) -> Path:
    """The absolute place of a destination: links on the way are followed, one at its end is not."""
    path = Path(destination)
    if not str(destination) or "\0" in str(destination):
        raise SpecError("--out", f'"{printable(destination)}"', "the name of a folder, of 1 to 255 characters")
    if path.name in ("", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


def check(place: Path, *, force: bool) -> None:
    """Refuse a place that may not be written, before any work is done for it."""
    with hidden.in_turn(place.parent):
        hidden.restore_set_aside(place)
        refuse_existing(place, force=force)


def refuse_existing(destination: Path, *, force: bool, hint: str = "--force replaces the results in it") -> None:
    """Raise unless `destination` is free, or holds results that may be replaced; `hint` explains how."""
    if destination.is_symlink():
        link = f"this is a symbolic link to {os.readlink(destination)}: name that folder itself"
        raise SpecError("--out", printable(destination), "the name of a folder, not of a link", link)
    if not os.path.lexists(destination):
        return
    here = Path.cwd()
    if destination in (here, *here.parents):
        raise SpecError("--out", printable(destination), "a folder other than the current one and those above it")
    if is_empty_folder(destination):
        return
    if not destination.is_dir():
        raise SpecError("--out", printable(destination), "a folder that does not exist yet", "this is a file")
    foreign = owned.why_foreign(destination)
    if foreign is not None:
        allowed = "a new folder, or with --force one that holds nothing but results of Spinewise"
        raise SpecError("--out", printable(destination), allowed, foreign)
    if not force:
        raise SpecError("--out", printable(destination), "a folder that does not exist yet", hint)
    if not os.access(destination, os.W_OK | os.X_OK):
        mode = f"this folder is read-only (mode {stat.S_IMODE(destination.stat().st_mode):o})"
        raise SpecError("--out", printable(destination), "a new folder, or with --force one that you may change", mode)


def check_writable(place: Path, option: str = "--out") -> None:
    """Check that something new can be written beside a place, or in the nearest existing folder above.

    Raises:
        SpecError: it cannot.
    """
    above = next((one for one in place.absolute().parents if os.path.lexists(one)), Path("/"))
    with as_spec_error(place, option), tempfile.TemporaryFile(dir=above):
        pass


def is_empty_folder(path: Path) -> bool:
    """Whether `path` is a folder (not a link to one) with nothing in it."""
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def publish(target: Path, destination: Path, *, force: bool) -> None:
    """Sync the results and move them to their place in one step."""
    owned.list_files(target)
    target.chmod(0o777 & ~current_umask())
    sync_tree(target)
    with hidden.in_turn(destination.parent), hidden.signals_wait():
        refuse_existing(destination, force=force, hint=MEANWHILE)
        try:
            # This never overwrites a folder that is not empty, whoever was faster.
            os.rename(target, destination)
        except OSError:
            refuse_existing(destination, force=force, hint=MEANWHILE)
            if not (force and destination.is_dir()):
                raise
            replace(target, destination)
        published.append(destination)
    sync(destination.parent)


def replace(new: Path, old: Path) -> None:
    """Put `new` in the place of `old`, unless something else has appeared in `old` at the last moment."""
    with hidden.held(old):
        exchange(new, old)
        foreign = owned.why_foreign(new)
        if foreign is not None:
            exchange(new, old)
            raise SpecError("--out", printable(old), "a folder that no other process writes into", foreign)


def exchange(new: Path, old: Path) -> None:
    """Swap two folders in one step, or in two if the system cannot."""
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
    aside = hidden.aside(old)
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to the disk."""
    for root, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync(Path(root) / name)
        sync(Path(root))


def sync(path: Path) -> None:
    """Flush one file or folder to the disk."""
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
def as_spec_error(destination: str | Path, option: str = "--out") -> Iterator[None]:
    """Report what the operating system refused, and what helps; `option` named the destination."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        if error.errno in (errno.EEXIST, errno.ENOTDIR) and (file := file_on_the_way(Path(destination))):
            reason = f"{printable(file)} is a file, not a folder"
        raise SpecError(option, printable(destination), "a writable place", reason) from error


def file_on_the_way(path: Path) -> Path | None:
    """The file in place of `path` or a folder above it; None if there is none."""
    return next((one for one in (path, *path.parents) if os.path.lexists(one) and not one.is_dir()), None)
