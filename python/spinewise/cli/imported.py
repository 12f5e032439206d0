"""What a reader of ``spinewise import`` hands over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Imported:
    """What a file came to.

    Attributes:
        about: what it holds, in a few words.
        record: the same for programs.
        content: the file in our format, by the end of the name it is to have.
        notes: what was changed.
        toml: the lines of a spec that use the file, by its name; None if there are none.
    """

    about: str
    record: dict[str, Any]
    content: Callable[[str], bytes]
    notes: list[str]
    toml: Callable[[str], str] | None = None
