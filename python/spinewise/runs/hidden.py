"""Hidden files and folders that are being written, and remains of killed writers.

Each is locked while its writer lives. One whose lock is free was left by a writer that was killed, and
is removed by the next writer in the same place, whatever it writes.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

Handler = Callable[[int, FrameType | None], object]

# The suffix of every hidden name; files with other names are never touched.
_PARTIAL = ".spinewise-partial-"
_ASIDE = ".spinewise-aside-"
_NAME = re.compile(rf"\..*{re.escape(_PARTIAL)}[a-z0-9_]{{8}}")

# Letters of the destination's name in the hidden one, which must not become too long.
_NAME_CHARS = 60
_TRIES = 16
_PATIENCE_S = 10.0


@contextmanager
def hidden_folder(destination: Path) -> Iterator[Path]:
    """A locked hidden folder beside `destination`, removed at the end if it still exists."""
    made: list[tuple[Path, int]] = []
    try:
        with signals_wait():
            made.append(locked(lambda: tempfile.mkdtemp(prefix=prefix(destination), dir=destination.parent)))
        yield made[0][0]
    finally:
        with signals_wait():
            for path, lock in made:
                removed(path)
                os.close(lock)


@contextmanager
def hidden_file(destination: Path) -> Iterator[tuple[Path, int]]:
    """A locked hidden file beside `destination` and its handle, removed at the end if it still exists."""

    def make() -> str:
        handle, name = tempfile.mkstemp(prefix=prefix(destination), dir=destination.parent)
        os.close(handle)
        return name

    made: list[tuple[Path, int]] = []
    try:
        with signals_wait():
            made.append(locked(make))
        yield made[0]
    finally:
        with signals_wait():
            for path, handle in made:
                path.unlink(missing_ok=True)
                os.close(handle)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP until after the block, so that whatever it creates is recorded."""
    usual: dict[int, Handler] = {}
    came: list[tuple[int, FrameType | None]] = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(number)
            if callable(handler):
                usual[number] = handler
                signal.signal(number, lambda *told: came.append(told))
    try:
        yield
    finally:
        for which, handler in usual.items():
            signal.signal(which, handler)
        for which, frame in came:
            usual[which](which, frame)


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, among the system's temporary files."""
    place = Path(tempfile.gettempdir()) / "scratch"
    remove_abandoned(place.parent)
    with hidden_folder(place) as path:
        yield path


def prefix(destination: Path) -> str:
    """The prefix of hidden files for `destination`."""
    return f".{destination.name[:_NAME_CHARS]}{_PARTIAL}"


def locked(make: Callable[[], str]) -> tuple[Path, int]:
    """A new hidden file or folder, and the handle that keeps it locked."""
    for _ in range(_TRIES):
        path = Path(make())
        with suppress(FileNotFoundError):
            handle = opened(path)
            # On a file system without locks nothing is ever considered abandoned.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            if is_at(handle, path):
                return path, handle
            os.close(handle)
    raise OSError(f"something removes new files in {path.parent}")


def opened(path: Path) -> int:
    """A handle of a folder or file; a link is not followed."""
    mode = os.O_RDONLY if path.is_dir() else os.O_RDWR
    return os.open(path, mode | os.O_NOFOLLOW | os.O_NONBLOCK)


def is_at(handle: int, path: Path) -> bool:
    """Whether `handle` refers to what is at `path` now."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return os.path.samestat(os.fstat(handle), there)


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock an existing folder or file, and yield whether no other process holds it."""
    handle = -1
    free = False
    with suppress(OSError):
        handle = opened(path)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = is_at(handle, path)
    try:
        yield free
    finally:
        if handle >= 0:
            os.close(handle)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Let one writer at a time inspect and change `folder`; one that hangs is not waited for."""
    handle = -1
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        end = time.monotonic() + _PATIENCE_S
        while not taken(handle) and time.monotonic() < end:
            time.sleep(0.01)
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def taken(handle: int) -> bool:
    """Lock an open file, unless another process has."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_abandoned(folder: Path) -> None:
    """Remove hidden remains of our killed writers in `folder`."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if _NAME.fullmatch(name):
                remove_if_abandoned(folder / name)


def remove_if_abandoned(path: Path) -> None:
    """Remove a hidden file or folder of this user that no writer holds."""
    with suppress(OSError):
        found = path.lstat()
        if found.st_uid != os.geteuid() or not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
            return
        with held(path) as free:
            if free and stat.S_ISDIR(found.st_mode):
                removed(path)
            elif free:
                path.unlink()


def removed(folder: Path) -> None:
    """Remove a folder of ours with all contents, including folders that were made read-only."""
    for inside, _, _ in os.walk(folder):
        with suppress(OSError):
            os.chmod(inside, stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def aside(destination: Path) -> Path:
    """The place of old results while new ones replace them in two steps."""
    return destination.with_name(f".{destination.name}{_ASIDE}{os.getpid():08d}")


def restore_set_aside(destination: Path) -> None:
    """Restore old results that a writer killed between two steps had set aside."""
    for name in glob.glob(f".{glob.escape(destination.name)}{_ASIDE}*", root_dir=destination.parent):
        path = destination.parent / name
        with held(path) as free, suppress(OSError):
            if free and not os.path.lexists(destination):
                os.rename(path, destination)
            elif free:
                shutil.rmtree(path, ignore_errors=True)
