"""Parameters of a scheme written in Python: declared once, with default, range and meaning."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "whole", "flag", "word"]


@dataclass(frozen=True)
class Param:
    """A parameter in a class; in an object it is its value.

    Attributes:
        kind: number, whole, flag or word.
        default: its value unless the spec sets it.
        least: the lower bound of a number.
        most: the upper bound of a number.
        words: the allowed words.
        doc: what it means, unit included.
    """

    kind: Kind
    default: float | int | bool | str
    least: float = 0.0
    most: float = 0.0
    words: tuple[str, ...] = ()
    doc: str = ""

    def describe(self, name: str) -> dict[str, object]:
        """The parameter in the engine's form."""
        return {
            "name": name,
            "doc": self.doc,
            "kind": self.kind,
            "default": self.default,
            "min": self.least,
            "max": self.most,
            "words": list(self.words),
        }


@dataclass(frozen=True)
class Misfit:
    """An invalid parameter. Code that inspects its class knows its name, and refuses it by that.

    Attributes:
        default: the value given.
        allowed: what would be right.
        line: the line in its file, from 1; None if unknown.
    """

    default: object
    allowed: str
    line: int | None


# The functions declare the type that an object of the class has there: that of its value.


def number(default: float, least: float, most: float, doc: str = "") -> float:
    """A parameter that is a number in a closed range; an invalid declaration is refused."""
    if not in_range(default, least, most):
        return misfit(default, within("a number", least, most))  # type: ignore[return-value]
    return Param("number", float(default), float(least), float(most), doc=doc)  # type: ignore[return-value]


def whole(default: int, least: int, most: int, doc: str = "") -> int:
    """A parameter that is a whole number in a closed range; an invalid declaration is refused."""
    if not in_range(default, least, most) or int(default) != default:
        return misfit(default, within("a whole number", least, most))  # type: ignore[return-value]
    return Param("whole", int(default), float(least), float(most), doc=doc)  # type: ignore[return-value]


def flag(default: bool, doc: str = "") -> bool:
    """A parameter that is true or false."""
    return Param("flag", bool(default), doc=doc)  # type: ignore[return-value]


def word(default: str, words: tuple[str, ...], doc: str = "") -> str:
    """A parameter that is one of a few words; an invalid declaration is refused."""
    if not isinstance(words, tuple | list) or not all(isinstance(one, str) for one in words):
        return misfit(default, f'one of a tuple of texts, such as ("one", "two"), not {words!r}')  # type: ignore[return-value]
    if default not in words:
        return misfit(default, f"one of {', '.join(words)}")  # type: ignore[return-value]
    return Param("word", default, words=tuple(words), doc=doc)  # type: ignore[return-value]


def within(what: str, least: object, most: object) -> str:
    """The wording of an allowed default, by the range beside it."""
    if in_range(least, least, most):
        return f"{what} in the range beside it, from {least} to {most}"
    return f"{what} and a finite range, not {least!r} to {most!r}"


def in_range(default: object, least: object, most: object) -> bool:
    """Whether a value is a number in a finite range."""
    if not (isinstance(default, int | float) and isinstance(least, int | float) and isinstance(most, int | float)):
        return False
    return math.isfinite(least) and math.isfinite(most) and least <= default <= most


def misfit(default: object, allowed: str) -> Misfit:
    """An invalid parameter, with the line of its declaration."""
    here = inspect.currentframe()
    declared = here.f_back.f_back if here is not None and here.f_back is not None else None
    return Misfit(default, allowed, declared.f_lineno if declared is not None else None)
