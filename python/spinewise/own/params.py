"""Parameters of a scheme written in Python: declared once, with default, range and meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "whole", "flag", "word"]


@dataclass(frozen=True)
class Param:
    """A parameter, as it stands in the class; in an object it is its value.

    Attributes:
        kind: number, whole, flag or word.
        default: its value unless the spec says otherwise.
        least: of a number.
        most: of a number.
        words: what a word may be.
        doc: what it means, unit included.
    """

    kind: Kind
    default: float | int | bool | str
    least: float = 0.0
    most: float = 0.0
    words: tuple[str, ...] = ()
    doc: str = ""

    def describe(self, name: str) -> dict[str, object]:
        """As the engine reads it."""
        return {
            "name": name,
            "doc": self.doc,
            "kind": self.kind,
            "default": self.default,
            "min": self.least,
            "max": self.most,
            "words": list(self.words),
        }


# The functions say that they return what an object of the class has there: its value.


def number(default: float, least: float, most: float, doc: str = "") -> float:
    """A parameter that is a number in a closed range."""
    check_range(default, least, most)
    return Param("number", float(default), float(least), float(most), doc=doc)  # type: ignore[return-value]


def whole(default: int, least: int, most: int, doc: str = "") -> int:
    """A parameter that is a whole number in a closed range."""
    check_range(default, least, most)
    if int(default) != default:
        raise ValueError(f"default {default}: allowed is a whole number")
    return Param("whole", int(default), float(least), float(most), doc=doc)  # type: ignore[return-value]


def flag(default: bool, doc: str = "") -> bool:
    """A parameter that is true or false."""
    return Param("flag", bool(default), doc=doc)  # type: ignore[return-value]


def word(default: str, words: tuple[str, ...], doc: str = "") -> str:
    """A parameter that is one of a few words."""
    if default not in words:
        raise ValueError(f'default "{default}": allowed is one of {", ".join(words)}')
    return Param("word", default, words=tuple(words), doc=doc)  # type: ignore[return-value]


def check_range(default: float, least: float, most: float) -> None:
    """Refuse a range without its default."""
    if not (math.isfinite(least) and math.isfinite(most) and least <= default <= most):
        raise ValueError(f"default {default}: allowed is a finite range that has it, not {least} to {most}")
