"""Standard output and standard error, whatever they are: closed, full, gone, or of another character set."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

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
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        complain("spinewise: note: standard output is closed: nothing is printed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of files may be no UTF-8, and terminals may have other characters.
            stream.reconfigure(errors="backslashreplace")


def complain(text: str) -> None:
    """Print to standard error; where that cannot be, there is nobody to tell."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def failure() -> SpecError | None:
    """Bring to standard output what was printed; the error when that cannot be, and the rest then goes nowhere.

    That its reader has gone, as after `| head`, is no error.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        why = error.strerror or str(error)
        return SpecError("standard output", why, "a place that can be written", "what was printed is not whole")
    return None


def silence() -> None:
    """Send the rest of standard output nowhere: Python flushes it once more in the end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
