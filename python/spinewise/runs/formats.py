"""The formats of results: each record names its own, and only known ones are read or replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.reading import TABLE_BYTES, printable, read_text


@dataclass(frozen=True)
class Format:
    """One kind of results.

    Attributes:
        kind: the kind of results.
        newest: the version that is written.
        record: the file that identifies a folder of these results.
        command: the command that writes them, if it has another name.
    """

    kind: str
    newest: int
    record: str
    command: str = ""

    @property
    def by(self) -> str:
        """The command that writes these results."""
        return f"spinewise {self.command or self.kind}"

    @property
    def name(self) -> str:
        """The format name in a record."""
        return f"spinewise-{self.kind}-{self.newest}"

    @property
    def allowed(self) -> str:
        """The names that can be read, as a phrase."""
        return " or ".join(f'"spinewise-{self.kind}-{version}"' for version in range(1, self.newest + 1))

    def knows(self, name: object) -> bool:
        """Whether `name` is a version of this format that can be read."""
        found = re.fullmatch(rf"spinewise-{self.kind}-([1-9][0-9]{{0,8}})", name) if isinstance(name, str) else None
        return found is not None and int(found[1]) <= self.newest


RUN = Format("run", 1, "run.json")
COMPARE = Format("compare", 1, "compare.json")
REPRODUCE = Format("reproduce", 2, "reproduce.json")
REPRODUCTIONS = Format("reproductions", 1, "reproductions.json", "reproduce")
EVIDENCE = Format("evidence", 1, "evidence.json", "reproduce --keep")
RESILIENCE = Format("resilience", 1, "resilience.json")
PLOT = Format("plot", 1, "plot.json")
ADVISE = Format("advise", 1, "advice.json")
COST = Format("cost", 1, "cost.json", "lab cost")
SIGHT = Format("sight", 1, "agreement.json", "lab sight")
EDGE = Format("edge", 1, "study.json")
LEDGER = "ledger.sqlite"
"""The file that identifies a store, which is in a format of SQLite: see `spinewise.sweeps.store`."""
ALL = (RUN, COMPARE, REPRODUCE, REPRODUCTIONS, EVIDENCE, RESILIENCE, PLOT, ADVISE, COST, SIGHT)


def read(file: Path, wanted: Format, key: str, allowed: str) -> dict[str, object]:
    """The record in a file, of the format `wanted`; `key` named its folder, `allowed` is what it should be.

    Raises:
        SpecError: it cannot be read, is not JSON, or has another format.
    """
    text = read_text(file, key, most=TABLE_BYTES, allowed=allowed)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError("(whole file)", str(error), "a record, as JSON", file=printable(file)) from None
    if not isinstance(record, dict):
        raise SpecError("(whole file)", type(record).__name__, "a record with a format", file=printable(file))
    check(record, wanted, printable(file))
    return record


def check(record: Mapping[str, object], wanted: Format, file: object) -> None:
    """Refuse a record that is not of the format `wanted`; `file` is the file it was read from.

    Raises:
        SpecError: it is another kind of results, a newer version, or not ours.
    """
    given = record.get("format", "(nothing)")
    if wanted.knows(given):
        return
    kind = re.fullmatch(r"spinewise-([a-z]+)-([0-9]+)", given) if isinstance(given, str) else None
    hint = None
    if kind is not None and kind[1] == wanted.kind:
        hint = "written by a newer Spinewise"
        if int(kind[2]) <= wanted.newest:
            hint = "no Spinewise has written that version; the record may be damaged"
    elif kind is not None and (other := next((one for one in ALL if one.kind == kind[1]), None)):
        hint = f"these are results of `{other.by}`"
    raise SpecError("format", given, wanted.allowed, hint, file=str(file))
