"""Standard output and standard error, whatever they are: closed, full, gone, or of another character set."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from spinewise.errors import SpecError


def prepare() -> None:
    """Make sure that there is something behind both.

    Behind a descriptor that is closed comes the null device: else the next file that is opened would get its number,
    and with it what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                # The lowest free number is taken.
                os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        sys.stdout = Output(open(os.devnull, "wb"), errors="backslashreplace")  # noqa: SIM115
        complain("spinewise: note: standard output is closed: nothing is printed")
    # Names of files may be no UTF-8, and terminals may have other characters.
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
    """Standard output that says what is wrong with it.

    That its reader has gone, as after `| head`, is no error of ours, and stays a `BrokenPipeError`.
    """

    def write(self, text: str) -> int:
        """Print."""
        with said():
            return super().write(text)

    def flush(self) -> None:
        """Bring out what was printed."""
        with said():
            super().flush()


@contextmanager
def said() -> Iterator[None]:
    """Say what the system refused."""
    try:
        yield
    except BrokenPipeError:
        silence()
        raise
    except OSError as error:
        silence()
        why = error.strerror or str(error)
        hint = "the output is incomplete"
        raise SpecError("standard output", why, "a place that can be written", hint) from None


def complain(text: str) -> None:
    """Print to standard error; where that cannot be, there is nobody to tell."""
    with suppress(OSError, ValueError):
        print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def silence() -> None:
    """Send the rest of standard output nowhere: Python flushes it once more in the end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
