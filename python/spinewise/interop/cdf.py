"""Distributions of flow sizes: ``size value`` a line, or ``size 1 value`` as in ns-2 scripts.

Values are probabilities, or percentages when the last one exceeds 1.5. They are kept as decimals, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, exact, read_lines

PERCENT_FROM = Fraction(3, 2)
FORM = 'a point, "size value" or "size 1 value"'


@dataclass(frozen=True)
class Cdf:
    """A distribution, linear between its points.

    Attributes:
        file: the file it was read from.
        points: (bytes, probability), neither decreasing, the probability from 0 to 1.
        percent: whether the file has percentages.
    """

    file: str
    points: list[tuple[Fraction, Fraction]]
    percent: bool

    @property
    def mean_bytes(self) -> float:
        """The mean size: each segment adds its probability times its middle."""
        pairs = zip(self.points, self.points[1:], strict=False)
        return float(sum((p1 - p0) * (x0 + x1) / 2 for (x0, p0), (x1, p1) in pairs))

    def text(self) -> str:
        """The file that ``cdf_file`` names: bytes and probability."""
        rows = [f"{decimal(size)} {decimal(p)}" for size, p in self.points]
        return "\n".join(["# bytes, probability that a flow is no larger", *rows]) + "\n"


def decimal(value: Fraction) -> str:
    """A number as decimal text, exact if it ends within 18 digits, else with 17 digits."""
    scaled = value * 10**18
    if scaled.denominator != 1:
        return f"{float(value):.17g}"
    whole, rest = divmod(scaled.numerator, 10**18)
    return f"{whole}.{rest:018}".rstrip("0") if rest else str(whole)


def read(path: str | Path, unit_bytes: int = 1) -> Cdf:
    """Read a distribution whose sizes are in units of `unit_bytes`; ``#`` begins a comment.

    A first line of column names is not a point.

    Raises:
        SpecError: with file and line: a word that is not a number, a size or value that decreases, a first value
            other than 0, a last one other than 1 or 100, fewer than two points.
    """
    lines = [line for line in map(without_remark, read_lines(path)) if line.tokens]
    columns = len(lines[0].tokens) if lines else 0
    if lines and columns in (2, 3) and all(token[0].isalpha() for token in lines[0].tokens):
        del lines[0]
    if len(lines) < 2:
        last = lines[-1] if lines else read_lines(path)[-1]
        raise last.error("all", f"{len(lines)} points", "two points or more, from probability 0 to 1")
    if columns not in (2, 3) or not lines[0].is_numbers:
        raise lines[0].error("all", " ".join(lines[0].tokens), FORM, looks_like(path, "cdf"))
    points: list[tuple[Fraction, Fraction]] = []
    for line in lines:
        line.expect([columns], f"{columns} numbers, as many columns as the first line has")
        if columns > 2 and line.tokens[1] != lines[0].tokens[1]:
            same = f"{lines[0].tokens[1]}, as line {lines[0].number} has: it is not read"
            raise line.error("second column", line.tokens[1], same, FORM)
        points.append(read_point(line, points[-1] if points else None))
    percent = points[-1][1] > PERCENT_FROM
    check_ends(lines, points, percent=percent)
    top = points[-1][1]
    return Cdf(str(path), [(size * unit_bytes, value / top) for size, value in points], percent)


def without_remark(line: Line) -> Line:
    """The line up to its first ``#``, split at blanks and commas."""
    body = " ".join(line.tokens).partition("#")[0]
    return Line(line.file, line.number, body.replace(",", " ").split())


def read_point(line: Line, before: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction]:
    """A size and its value, not below those of the point before."""
    numbers: list[Fraction] = []
    for index, what in ((0, "size"), (len(line.tokens) - 1, "value")):
        number = exact(line.tokens[index])
        if number is None or number < 0:
            raise line.error(what, line.tokens[index], "a number, 0 or more")
        floor = before[len(numbers)] if before else Fraction(0)
        if number < floor:
            raise line.error(what, line.tokens[index], f"at least {decimal(floor)}, that of the line before")
        numbers.append(number)
    return numbers[0], numbers[1]


def check_ends(lines: list[Line], points: list[tuple[Fraction, Fraction]], *, percent: bool) -> None:
    """Refuse a distribution that does not begin at 0 and end at all."""
    if points[0][1] != 0:
        hint = "put the smallest size with value 0 before it"
        raise lines[0].error("value", lines[0].tokens[-1], "0 at the first point", hint)
    whole = 100 if percent else 1
    if abs(points[-1][1] / whole - 1) > Fraction(1, 10**9):
        raise lines[-1].error("value", lines[-1].tokens[-1], "1 at the last point, or 100 for percent")
    if points[-1][0] == 0:
        raise lines[-1].error("size", lines[-1].tokens[0], "some size above 0")
