"""Reasons why statements may not be reproduced here, and their tests: ``reasons.toml`` beside ``claims.toml``."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.reading import SPEC_BYTES, printable, read_text
from spinewise.reproduction.catalogue import checked, text
from spinewise.reproduction.experiment import Experiment
from spinewise.reproduction.rows import Row
from spinewise.specs.spec import parse_toml

REASONS_FILE = "reasons.toml"


class Reason(enum.Enum):
    """A possible reason why a statement is not reproduced."""

    PARAMETER = "open parameter"
    SETUP = "set-up"
    TRANSPORT = "transport"
    LOAD = "definition of load"
    SURVIVORS = "survivor bias"
    LENGTH = "run length"
    MODEL = "model of ours"


@dataclass(frozen=True)
class Tried:
    """A check that changes one thing, of a claim that may not hold.

    Attributes:
        claim: id of the catalogue, with the letter of a part.
        reason: the subject of the change.
        experiment: id of the experiment.
        reading: the reading of the check, which names the change.
    """

    claim: str
    reason: Reason
    experiment: str
    reading: str


KEYS = ("claims", "reason", "experiment", "readings")


@cache
def load(folder: Path) -> tuple[Tried, ...]:
    """Load what is tested, entry by entry of the folder's file; empty if it has none.

    Raises:
        SpecError: an entry is malformed, or occurs twice.
    """
    file = folder / REASONS_FILE
    if not file.is_file():
        return ()
    try:
        content = parse_toml(read_text(file, "--papers", most=SPEC_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise SpecError("(whole file)", error, "valid TOML", file=printable(file)) from None
    try:
        found = tuple(entries(checked("(whole file)", content, ("tested",)).get("tested", [])))
    except SpecError as error:
        raise error.with_file(printable(file)) from None
    seen: set[tuple[str, str, str]] = set()
    for one in found:
        place = (one.claim, one.experiment, one.reading)
        if place in seen:
            raise SpecError("tested", ", ".join(place), "each reading of a claim once", file=printable(file))
        seen.add(place)
    return found


def entries(content: object) -> Iterator[Tried]:
    """Every entry, claim by claim and reading by reading."""
    if not isinstance(content, list):
        raise SpecError("tested", repr(content), "a list of tables, [[tested]]")
    for number, one in enumerate(content):
        at = f"tested[{number}]"
        table = checked(at, one, KEYS)
        reason, name = reason_of(f"{at}.reason", table.get("reason")), table.get("experiment")
        for claim in texts(f"{at}.claims", table.get("claims")):
            for reading in texts(f"{at}.readings", table.get("readings")):
                yield Tried(claim, reason, text(f"{at}.experiment", name, least=1), reading)


def texts(at: str, value: object) -> list[str]:
    """A list of at least one text, none of them empty."""
    if not isinstance(value, list) or not value:
        raise SpecError(at, "nothing" if value is None else repr(value), "a list of texts, at least one")
    return [text(f"{at}[{number}]", one, least=1) for number, one in enumerate(value)]


def reason_of(at: str, value: object) -> Reason:
    """One of the reasons."""
    known = [one.value for one in Reason]
    if value not in known:
        allowed = " or ".join(f'"{one}"' for one in known)
        raise SpecError(at, "nothing" if value is None else repr(value), allowed, nearest(str(value), known))
    return Reason(value)


def refuse_wrong(folder: Path, experiments: Sequence[Experiment], known: Sequence[str]) -> None:
    """Check that each entry of a folder's file names a check of its experiment, if this is one of `experiments`.

    Args:
        folder: the folder of the papers.
        experiments: the experiments whose checks are known.
        known: ids of all experiments of the folder.

    Raises:
        SpecError: an entry names no experiment, no claim that it checks, or no reading of that claim.
    """
    try:
        refuse_unknown(load(folder), experiments, known)
    except SpecError as error:
        raise error.with_file(printable(folder / REASONS_FILE)) from None


def refuse_unknown(tested: Iterable[Tried], experiments: Sequence[Experiment], known: Sequence[str]) -> None:
    """Check these entries; see `refuse_wrong`."""
    checks = {one.id: one.claims for one in experiments}
    for one in tested:
        if one.experiment not in known:
            raise SpecError("experiment", one.experiment, "an experiment", nearest(one.experiment, list(known)))
        if one.experiment not in checks:
            continue
        of = [claim for claim in checks[one.experiment] if claim.id == one.claim]
        if not of:
            ids = sorted({claim.id for claim in checks[one.experiment]})
            allowed = f"a claim that {one.experiment} checks"
            raise SpecError("claims", one.claim, allowed, nearest(one.claim, ids))
        readings = [claim.reading for claim in of if not claim.headline]
        if one.reading not in readings:
            allowed = f"a reading of {one.claim} in {one.experiment} that heads no verdict"
            raise SpecError("readings", one.reading, allowed, nearest(one.reading, readings))


def lines(tested: Iterable[Tried], row: Row) -> list[str]:
    """The tests of a statement and their outcomes, one line for each reason and experiment.

    'transport (pdlb-8): in part: "RACK-TLP"; not reproduced: "reordering tolerated"'
    """
    words: dict[tuple[Reason, str], dict[str, list[str]]] = {}
    checks = {(check.claim, check.experiment, check.reading): check for check in row.checks}
    for one in tested:
        check = checks.get((one.claim, one.experiment, one.reading))
        if check is not None:
            letter = one.claim[len(row.statement.id) :]
            name = f'{letter} "{one.reading}"' if letter else f'"{one.reading}"'
            words.setdefault((one.reason, one.experiment), {}).setdefault(row.word_of(check), []).append(name)
    return [
        f"{reason.value} ({experiment}): " + "; ".join(f"{word}: {', '.join(names)}" for word, names in found.items())
        for (reason, experiment), found in words.items()
    ]
