"""Errors a user can fix: each names the file, the key, the value and what is allowed.

The command line prints them on one screen and exits with code 2. Anything else that escapes is a
defect of Spinewise and shows its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial

MAX_VALUE_CHARS = 200
MAX_HINT_CHARS = 600
NEAR = 0.62
"""The share of letters that a word shares with a spelling near it; "bogus" has three of the five of "busbw"."""
VERY_NEAR = 0.85
"""The same if the word is the first half of another: "--schemes" is nearer to "--scheme" than "--scheme-file" is."""


class SpecError(ValueError):
    """Bad input: a spec, an option, a file or a folder.

    Attributes:
        key: the key path or option that is wrong, such as ``topology.leaves`` or ``--out``.
        value: what was given, as text.
        allowed: what would be right, as a phrase ("an integer from 1 to 4096").
        hint: a way out or the nearest spelling, or None.
        file: the file the value came from, or None.
        line: the line of that file that has the key, from 1, or None.
        unserved: the scheme cannot serve this fabric, and nothing given asked for what does not fit; a
            comparison leaves it out.
    """

    def __init__(
        self,
        key: str,
        value: object,
        allowed: str,
        hint: str | None = None,
        *,
        file: str | None = None,
        line: int | None = None,
        unserved: bool = False,
    ) -> None:
        self.key = key
        self.value = shorten(str(value))
        self.allowed = allowed
        self.hint = hint if hint is None else shorten(hint, MAX_HINT_CHARS)
        self.file = file
        self.line = line
        self.unserved = unserved
        super().__init__(self.one_line())

    def __reduce__(self) -> tuple[partial[SpecError], tuple[str, str, str, str | None]]:
        """Support pickle, for errors of runs made in another process."""
        make = partial(SpecError, file=self.file, line=self.line, unserved=self.unserved)
        return make, (self.key, self.value, self.allowed, self.hint)

    def one_line(self) -> str:
        """The whole message on one line, for logs and API users."""
        where = f"{self.place}: " if self.file else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.key} = {self.value}: allowed is {self.allowed}{hint}"

    @property
    def place(self) -> str | None:
        """The file, with the line if it is known: ``fabric.toml:12``."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file

    def as_dict(self) -> dict[str, str | int | None]:
        """The parts by name, as printed by ``--json``."""
        return {
            "file": self.file,
            "line": self.line,
            "key": self.key,
            "value": self.value,
            "allowed": self.allowed,
            "hint": self.hint,
        }

    def why_left_out(self, what: str) -> str:
        """The reason why something was left out, for a text that names it already: without the words "in `what`"."""
        hint = (self.hint or "").removesuffix(f" (in {what})")
        said = [hint] if hint and hint != f"in {what}" else []
        return "; ".join([*said, f"{self.key}: {self.allowed}"])

    def with_file(self, file: str | None, line: int | None = None) -> SpecError:
        """The same error, naming `file` and its line unless it already names one."""
        named = self.file if self.file else file
        number = line if named == file and not self.line else self.line
        return SpecError(self.key, self.value, self.allowed, self.hint, file=named, line=number, unserved=self.unserved)


class SchemeError(RuntimeError):
    """A scheme written in Python raised an exception, which is the cause of this one; the run has no result.

    Attributes:
        hook: class and method, such as ``MyScheme.pick``.
        now_ps: simulated time, in picoseconds.
        flow: number of the flow it was about, or None.
    """

    def __init__(self, message: str, hook: str, now_ps: int, flow: int | None) -> None:
        self.hook = hook
        self.now_ps = now_ps
        self.flow = flow
        super().__init__(message)

    def __reduce__(self) -> tuple[type[SchemeError], tuple[str, str, int, int | None]]:
        """Support pickle."""
        return SchemeError, (str(self), self.hook, self.now_ps, self.flow)


class Cancelled(Exception):  # noqa: N818 - the run did not fail, it was asked to stop
    """A run was stopped from outside before it ended."""


def shorten(text: str, most: int = MAX_VALUE_CHARS) -> str:
    """`text`, cut in the middle if it would fill the screen."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {text[-half:]}"


SAME = {"dlb": "ars", "roce": "rdma", "rocev2": "rdma"}
"""Names used elsewhere, and the name used here."""


def nearest(word: str, words: Iterable[str]) -> str | None:
    """A hint with another name of `word`, or the nearest spelling, among `words`; None if nothing is near."""
    words = list(words)
    if (meant := SAME.get(word.lower())) in words:
        return f'did you mean "{meant}"?'
    longer = [one for one in words if one.startswith((f"{word}-", f"{word}_"))]
    found = difflib.get_close_matches(word, words, n=1, cutoff=NEAR if len(longer) != 1 else VERY_NEAR) or longer
    return f'did you mean "{found[0]}"?' if found else None
