"""The ``spinewise`` command, and its exit when Ctrl-C comes before it has been loaded."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from spinewise.cli import exits


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; see `spinewise.cli.entry`."""
    with quiet_interrupt():
        from spinewise.cli import entry  # noqa: PLC0415 - what takes time is loaded here
    return entry.main(argv)


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once and silently: nothing needs reporting or cleaning up yet."""
    usual = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted; and a process that ignores Ctrl-C continues to do so.
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End the process without its clean-up."""
    os._exit(exits.INTERRUPTED)
