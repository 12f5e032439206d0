"""Standard output and standard error in any state: closed, full, gone, or with another character set."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from spinewise.errors import SpecError


def prepare() -> None:
    """Make sure that standard output and standard error exist.

    A closed descriptor is replaced with the null device: otherwise the next file opened would get its number,
    and all output with it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                # This takes the lowest free number.
                os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        sys.stdout = Output(open(os.devnull, "wb"), errors="backslashreplace")  # noqa: SIM115
        complain("spinewise: note: standard output is closed: nothing is printed")
    # Names of files may not be UTF-8, and terminals may use other character sets.
    if type(sys.stderr) is io.TextIOWrapper:
        sys.stderr.reconfigure(errors="backslashreplace")
    if type(sys.stdout) is io.TextIOWrapper:
        sys.stdout = Output(
            sys.stdout.buffer,
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            line_buffering=sys.stdout.line_buffering,
            write_through=sys.stdout.write_through,
        )


class Output(io.TextIOWrapper):
    """Standard output that reports its errors.

    A reader that has gone, as after `| head`, is not an error here, and remains a `BrokenPipeError`.
    """

    def write(self, text: str) -> int:
        """Print."""
        with said():
            return super().write(text)

    def flush(self) -> None:
        """Flush the output."""
        with said():
            super().flush()


@contextmanager
def said() -> Iterator[None]:
    """Report an error of the system."""
    try:
        yield
    except BrokenPipeError:
        silence()
        raise
    except OSError as error:
        silence()
        why = error.strerror or str(error)
        hint = "the output is incomplete"
        raise SpecError("standard output", why, "a writable place", hint) from None


def complain(text: str) -> None:
    """Print to standard error; do nothing if that is impossible."""
    with suppress(OSError, ValueError):
        print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def silence() -> None:
    """Discard the rest of standard output: Python flushes it once more at the end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
