"""The ``spinewise`` command, and its exit when Ctrl-C comes before it has been loaded.

Each command has a file of its name. `import_` finds its readers in `import_dags` and `import_fabrics`; the rest of
`explain` is in `explain_two`; `lab` has a function for each of its commands; `registry` lists what exists. Besides:

| module | what it does |
|---|---|
| `entry` | the command itself: runs one, and turns errors into messages and exit codes (`exits`) |
| `parser` | the arguments of every command, with `pieces` that several share |
| `advising`, `agents`, `comparing`, `exporting`, `imports`, `labs`, `listing` | those of commands with many |
| `arguments` | refusals of arguments |
| `engines` | which engine makes the runs |
| `imported` | what a reader of ``import`` returns |
| `output`, `streams` | what commands print, on streams in any state |
"""

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
