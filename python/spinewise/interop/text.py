"""Lines of numbers, and errors that name the file and the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.magnitudes import PS_PER_NS, PS_PER_SECOND
from spinewise.reading import TABLE_BYTES, printable, read_text

LARGEST_U64 = 2**64 - 1
LARGEST_BYTES = 2**53 - 1
"""The largest size of a flow that a run takes."""
LONGEST_WORD = 1000
MOST_HOSTS = 2**20
AT_MOST_HOSTS = f"at most {MOST_HOSTS:,}, as many hosts as a fabric can have"
TIME_UNITS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
}
"""Units of time in files, in seconds."""


class InteropWarning(UserWarning):
    """A file was read with changes; the message names them."""


@dataclass(frozen=True)
class Line:
    """One line of a file, split at blanks.

    Attributes:
        file: the name of the file.
        number: its number, from 1.
        tokens: its words; never empty.
    """

    file: str
    number: int
    tokens: list[str]

    def error(self, what: str, value: object, allowed: str, hint: str | None = None) -> SpecError:
        """An error about this line; `what` is wrong in it."""
        return SpecError(f"line {self.number}, {what}", value, allowed, hint, file=self.file)

    def whole(self, index: int, what: str, least: int = 0, most: int = LARGEST_U64) -> int:
        """Token `index` as a whole number of at least `least` and at most `most`.

        Raises:
            SpecError: it is not such a number.
        """
        token = self.tokens[index]
        if token.isascii() and token.isdecimal() and least <= int(token) <= most:
            return int(token)
        up_to = "or more" if most == LARGEST_U64 else f"to {most}"
        raise self.error(what, token, f"a whole number, {least} {up_to}")

    def hosts(self, index: int, what: str) -> int:
        """Token `index` as a number of hosts, from 1 on.

        Raises:
            SpecError: it is not such a number, or is more than a fabric can have.
        """
        found = self.whole(index, what, least=1)
        if found > MOST_HOSTS:
            raise self.error(what, found, AT_MOST_HOSTS)
        return found

    def expect(self, counts: Sequence[int], form: str, hint: str | None = None) -> None:
        """Check the number of words.

        Raises:
            SpecError: the number is not in `counts`; `form` shows the form of a line.
        """
        if len(self.tokens) not in counts:
            raise self.error("all", " ".join(self.tokens), form, hint)

    @property
    def is_numbers(self) -> bool:
        """Whether every word is a number: such a line is data, others are comments."""
        return all(exact(token) is not None for token in self.tokens)


def read_lines(path: str | Path) -> list[Line]:
    """The lines of a text file that are not blank.

    Raises:
        SpecError: it cannot be read, is not text, or has no such line.
    """
    file = printable(path)
    try:
        text = read_text(path, "(whole file)", most=TABLE_BYTES)
    except SpecError as error:
        raise error.with_file(file) from None
    split = ((number, line.split()) for number, line in enumerate(text.splitlines(), start=1))
    lines = [Line(file, number, tokens) for number, tokens in split if tokens]
    if not lines:
        raise SpecError("(whole file)", "nothing but blank lines", "a file with content", file=file)
    for line in lines:
        if len(longest := max(line.tokens, key=len)) > LONGEST_WORD:
            raise line.error("all", f"{longest[:20]}…", f"words of at most {LONGEST_WORD:,} characters")
    return lines


def exact(text: str) -> Fraction | None:
    """A decimal number without rounding; None if `text` is not one."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(value) if value.is_finite() and abs(value.adjusted()) < 40 else None


def whole_ps(seconds: Fraction) -> int | None:
    """A time in picoseconds, exactly; None if it is not a whole number of them."""
    ps = seconds * PS_PER_SECOND
    return int(ps) if ps.denominator == 1 else None


def ns_text(ps: int) -> str:
    """Picoseconds as nanoseconds, with as many decimals as needed."""
    whole, rest = divmod(ps, PS_PER_NS)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


def ns_number(ps: int) -> int | float:
    """Picoseconds as nanoseconds for a spec: a whole number if it is one."""
    return ps // PS_PER_NS if ps % PS_PER_NS == 0 else ps / PS_PER_NS
