"""The list of papers' statements: ``claims.toml`` beside ``papers.toml``, read and checked."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.reading import SPEC_BYTES, printable, read_text
from spinewise.specs.spec import parse_toml

CLAIMS_FILE = "claims.toml"


class Origin(enum.Enum):
    """The origin of a statement."""

    CATALOGUE = "catalogue"
    TEXT = "text"
    OWN = "own"


@dataclass(frozen=True)
class Statement:
    """A statement of a paper, or a part of one.

    Attributes:
        id: "C0-27"; for a part "C0-27c".
        paper: key of the paper.
        figures: its place: a figure ("7a"), a section ("§3.4"), a table ("Table 3").
        text: the statement, in short words of our own.
        number: the paper's own number or numbers, as text; "" if it gives none.
        up_to: whether the number is the largest over all cells.
        depends_on: a model of ours that the paper does not describe ("our QDAPS"); "" if there is none.
        needs_length: why a short run cannot test it; "" if it can.
        origin: whether the first reading of the paper found it, a second one, or it is our own question.
        parts: statements that it consists of, by letter.
    """

    id: str
    paper: str
    figures: tuple[str, ...]
    text: str
    number: str = ""
    up_to: bool = False
    depends_on: str = ""
    needs_length: str = ""
    origin: Origin = Origin.CATALOGUE
    parts: tuple[Statement, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that a check may name: that of each part, or its own if it has none."""
        return tuple(part.id for part in self.parts) or (self.id,)


@dataclass(frozen=True)
class Catalogue:
    """All statements of a folder of papers, by id, in the order of its file."""

    statements: Mapping[str, Statement]
    file: Path

    def __iter__(self) -> Iterator[Statement]:
        """The statements in order."""
        return iter(self.statements.values())

    def whole(self, claim: str) -> Statement:
        """The statement that "C0-27" or "C0-27c" belongs to.

        Raises:
            SpecError: there is no such statement.
        """
        for statement in self:
            if claim in (statement.id, *statement.ids):
                return statement
        known = [name for statement in self for name in statement.ids]
        allowed = f"an id of {CLAIMS_FILE}, with the letter of a part where it has parts"
        raise SpecError("claim", claim, allowed, nearest(claim, known), file=printable(self.file))

    def part(self, claim: str) -> Statement:
        """The part that an id names, or the statement itself if it names no part."""
        whole = self.whole(claim)
        return next((part for part in whole.parts if part.id == claim), whole)


@cache
def load(folder: Path) -> Catalogue | None:
    """The catalogue of a folder of papers; None if the folder has none.

    Raises:
        SpecError: a table is malformed.
    """
    file = folder / CLAIMS_FILE
    if not file.is_file():
        return None
    try:
        content = parse_toml(read_text(file, "--papers", most=SPEC_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise SpecError("(whole file)", error, "valid TOML", file=printable(file)) from None
    try:
        found = list(statements(content))
    except SpecError as error:
        raise error.with_file(printable(file)) from None
    return Catalogue({one.id: one for one in found}, file)


def statements(content: Mapping[str, object]) -> Iterator[Statement]:
    """Every statement, paper by paper."""
    seen: dict[str, str] = {}
    for paper, tables in content.items():
        for name, table in mapping(paper, tables).items():
            found = statement(paper, name, table)
            for one in (found.id, *found.ids):
                if seen.setdefault(one, f"{paper}.{name}") != f"{paper}.{name}":
                    raise SpecError(f"{paper}.{name}", one, "an id of its own", f"{seen[one]} has it")
            yield found


KEYS = ("figures", "statement", "number", "up_to", "depends_on", "needs_length", "origin", "parts")
OF_PARTS = ("statement", "number", "up_to", "depends_on", "needs_length")


def statement(paper: str, name: str, content: object) -> Statement:
    """One table of the file; a part inherits missing keys from its statement."""
    at = f"{paper}.{name}"
    table = checked(at, content, KEYS)
    made = Statement(
        id=name,
        paper=paper,
        figures=figures(f"{at}.figures", table.get("figures")),
        text=text(f"{at}.statement", table.get("statement"), least=1),
        number=text(f"{at}.number", table.get("number", "")),
        up_to=flag(f"{at}.up_to", table.get("up_to", False)),
        depends_on=text(f"{at}.depends_on", table.get("depends_on", "")),
        needs_length=text(f"{at}.needs_length", table.get("needs_length", "")),
        origin=origin(f"{at}.origin", table.get("origin", Origin.CATALOGUE.value)),
    )
    parts = mapping(f"{at}.parts", table.get("parts", {}))
    return replace(made, parts=tuple(part(f"{at}.parts.{letter}", made, letter, parts[letter]) for letter in parts))


def part(at: str, whole: Statement, letter: str, content: object) -> Statement:
    """One part of a statement."""
    if len(letter) != 1 or not "a" <= letter <= "z":
        raise SpecError(at, letter, "one letter from a to z")
    table = checked(at, content, OF_PARTS)
    return replace(
        whole,
        id=whole.id + letter,
        text=text(f"{at}.statement", table.get("statement"), least=1),
        number=text(f"{at}.number", table.get("number", "")),
        up_to=flag(f"{at}.up_to", table.get("up_to", whole.up_to)),
        depends_on=text(f"{at}.depends_on", table.get("depends_on", whole.depends_on)),
        needs_length=text(f"{at}.needs_length", table.get("needs_length", whole.needs_length)),
    )


def checked(at: str, content: object, keys: tuple[str, ...]) -> Mapping[str, object]:
    """A table with no other keys than these."""
    table = mapping(at, content)
    for key in table:
        if key not in keys:
            raise SpecError(
                f"{at}.{key}", table[key], f"no such key; the keys are {', '.join(keys)}", nearest(key, keys)
            )
    return table


def mapping(at: str, value: object) -> Mapping[str, object]:
    """A table."""
    if not isinstance(value, Mapping):
        raise SpecError(at, value, "a table")
    return value


def text(at: str, value: object, least: int = 0) -> str:
    """A text of at least this many characters."""
    if not isinstance(value, str) or len(value) < least:
        raise SpecError(at, "nothing" if value is None else repr(value), "a text" + " that is not empty" * (least > 0))
    return value


def flag(at: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SpecError(at, repr(value), "true or false")
    return value


def figures(at: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise SpecError(at, "nothing" if value is None else repr(value), 'a list of texts, such as ["7a", "7b"]')
    return tuple(value)


def origin(at: str, value: object) -> Origin:
    """One of the origins."""
    known = [one.value for one in Origin]
    if value not in known:
        raise SpecError(at, repr(value), " or ".join(f'"{one}"' for one in known), nearest(str(value), known))
    return Origin(value)
