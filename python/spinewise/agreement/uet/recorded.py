"""Cases of uet-htsim: ``cases.jsonl`` with one line a case and seed, ``flows/<case>.s<seed>.csv.gz``, ``inputs/``.

A line names the program's options. Each must be known: ignoring one would make another run. A case that has
an unknown one is refused, and the others are compared.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from spinewise.errors import SpecError, nearest

CASES = "cases.jsonl"
T = TypeVar("T")
# Files of a recorded run, by content.
ENDINGS = {"flows": "csv.gz", "paths": "paths.csv.gz"}
# The prefix of the names of cases whose paths were recorded.
PINNED = "det."
COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ps", "fct_ps", "new", "rtx", "acks", "nacks", "pulls", "rts")
# Options that take a value (or several), and flags.
VALUED = (
    "topo", "tm", "load_balancing_algo", "paths", "sack_threshold", "sender_cc_algo", "q", "ecn", "failed", "strat",
    "ar_granularity", "ar_method", "linkspeed", "nodes", "tiers", "end", "seed", "o", "log", "logtime",
)  # fmt: skip
FLAGS = (
    "sender_cc_only",
    "receiver_cc_only",
    "sender_cc",
    "receiver_cc",
    "disable_trim",
    "force_disable_oversubscribed_cc",
    "disable_base_rtt_update_on_nack",
    "sleek",
    "debug",
)


@dataclass(frozen=True)
class Times:
    """The outcome of one recorded run.

    Attributes:
        flows: numbers of the flows, as they are listed; the rest is in that order.
        ends: the sending and the receiving host of each.
        start_ps: when each began.
        fct_ps: completion times at the senders.
        retransmits: packets sent again, over all flows.
        answers: answers, NACKs and grants of credit that reached senders, over all flows.
    """

    flows: list[int]
    ends: list[tuple[int, int]]
    start_ps: list[int]
    fct_ps: list[int]
    retransmits: int
    answers: int


@dataclass(frozen=True)
class Refused:
    """A case that cannot be run here.

    Attributes:
        case: its name.
        problems: the reasons.
    """

    case: str
    problems: list[str]

    def as_dict(self) -> dict[str, object]:
        """The record in the JSON list."""
        return {"case": self.case, "verdict": "fail", "problems": self.problems}


@dataclass(frozen=True)
class UetCase:
    """A case: one setting, recorded over seeds.

    Attributes:
        name: topology.traffic.lb.cc, and a variant perhaps.
        folder: the folder of the cases.
        options: the program's options, by name without the dash.
        topo: the topology file; None for the program's own fat-tree.
        matrix: the connection matrix.
        seeds: the recorded seeds.
    """

    name: str
    folder: Path
    options: Mapping[str, Sequence[str]]
    topo: str | None
    matrix: str
    seeds: list[int]

    def option(self, name: str, default: str) -> str:
        """The value of an option."""
        return self.options[name][0] if self.options.get(name) else default

    def number(self, name: str, default: int) -> int:
        """The value of an option that is a whole number."""
        return self.numbers(name, default)[0]

    def numbers(self, name: str, *defaults: int) -> tuple[int, ...]:
        """The values of an option that are whole numbers, as many as there are defaults.

        Raises:
            SpecError: their number or kind is another.
        """
        words = self.options.get(name)
        if words is None:
            return defaults
        if len(words) != len(defaults) or not all(word.isdecimal() for word in words):
            allowed = "a whole number" if len(defaults) == 1 else f"{len(defaults)} whole numbers"
            raise SpecError(f"-{name}", " ".join(words), allowed, file=self.name)
        return tuple(int(word) for word in words)

    @property
    def pins(self) -> bool:
        """Whether the paths of its flows were recorded."""
        return self.name.startswith(PINNED) and all(self.file(seed, "paths").is_file() for seed in self.seeds)

    @property
    def paces(self) -> tuple[bool, bool]:
        """Whether senders have a window, and whether receivers grant credit: the last option of each kind decides."""
        sender, receiver = True, False
        for option in self.options:
            sender = {"receiver_cc_only": False, "sender_cc_only": True, "sender_cc": True}.get(option, sender)
            # Naming an algorithm switches it on.
            sender |= option == "sender_cc_algo"
            receiver = {"receiver_cc_only": True, "sender_cc_only": False, "receiver_cc": True}.get(option, receiver)
        return sender, receiver

    @property
    def receiver_paces(self) -> bool:
        """Whether receivers grant credit."""
        return self.paces[1]

    def times(self, seed: int) -> Times:
        """The recorded outcome at a seed.

        Raises:
            SpecError: the file is missing, or is not such a file.
        """
        names = ("flow", "src", "dst", "start_ps", "fct_ps", "rtx", "acks", "nacks", "pulls")
        found = self.rows(seed, "flows", COLUMNS, lambda row: [int(row[name]) for name in names])
        flows, src, dst, starts, times, again, *answers = ([row[at] for row in found] for at in range(len(names)))
        ends = list(zip(src, dst, strict=True))
        return Times(flows, ends, starts, times, sum(again), sum(map(sum, answers)))

    def file(self, seed: int, what: str) -> Path:
        """A file of a recorded run."""
        return self.folder / "flows" / f"{self.name}.s{seed}.{ENDINGS[what]}"

    def rows(self, seed: int, what: str, columns: Sequence[str], read: Callable[[dict[str, str]], T]) -> list[T]:
        """Rows of a file of a recorded run, which has these columns, converted by `read`.

        Raises:
            SpecError: the file is missing, or is not such a file.
        """
        path = self.file(seed, what)
        try:
            with gzip.open(path, "rt", newline="") as text:
                rows = csv.DictReader(text)
                if tuple(rows.fieldnames or ()) != tuple(columns):
                    raise SpecError("line 1", ",".join(rows.fieldnames or ()), ",".join(columns), file=str(path))
                return [read(row) for row in rows]
        except (OSError, EOFError, UnicodeDecodeError, zlib.error, ValueError, TypeError) as error:
            allowed = f"the {what} of a recorded run, a gzip file of CSV text"
            raise SpecError("(whole file)", path, allowed, str(error), file=str(path)) from None


def find(folder: str | Path, patterns: Sequence[str] = ()) -> tuple[list[UetCase], list[Refused]]:
    """The cases of a folder that match any pattern (all, without one), and those with an unknown option.

    Raises:
        SpecError: a line is not a case, no case matches, or none has only known options.
    """
    path = Path(folder) / CASES
    by_name: dict[str, UetCase] = {}
    errors: dict[str, SpecError] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name, seed, case = read_line(line, number, path)
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        try:
            check(case, number, path)
        except SpecError as error:
            errors.setdefault(name, error)
        by_name.setdefault(name, case).seeds.append(seed)
    if not by_name:
        raise SpecError("--cases", ",".join(patterns) or "*", f"a pattern that fits a case of {path}")
    known = [case for name, case in by_name.items() if name not in errors]
    return known, refused(errors, known)


def refused(errors: Mapping[str, SpecError], others: Sequence[object]) -> list[Refused]:
    """The cases that cannot be run, by name, if there are others that can.

    Raises:
        SpecError: there are no others; the error is that of the first.
    """
    for error in errors.values():
        if not others:
            raise error
    return [Refused(name, [str(error)]) for name, error in errors.items()]


def read_line(line: str, number: int, path: Path) -> tuple[str, int, UetCase]:
    """A case from its line: its name, the seed, and the rest."""
    try:
        told = json.loads(line)
        name, options, seed = (told[key] for key in ("case", "options", "seed"))
        known = options_of(options)
        matrix = Path(told.get("cm") or known["tm"][0]).name
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        allowed = (
            'a JSON object with "case", "options", "seed" and "cm" (or the option -tm), as this Spinewise reads them'
        )
        raise SpecError(f"line {number}", line[:60], allowed, str(error), file=str(path)) from None
    # The program uses its own fabric without the option.
    topo = Path(known["topo"][0]).name if known.get("topo") else None
    return name, int(seed), UetCase(name, path.parent, known, topo, matrix, [])


def check(case: UetCase, number: int, path: Path) -> None:
    """Check that each option is known.

    Raises:
        SpecError: one is not.
    """
    for option in case.options:
        if option not in VALUED and option not in FLAGS:
            allowed = ", ".join((*VALUED, *FLAGS))
            hint = nearest(option, VALUED + FLAGS)
            raise SpecError(f"line {number}, options", f"-{option}", allowed, hint, file=str(path))


def options_of(text: str) -> dict[str, list[str]]:
    """The options of a command line in order, each with its values; one that is given twice counts the second time."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in text.split():
        if word.startswith("-"):
            values = []
            found.pop(word[1:], None)
            found[word[1:]] = values
        else:
            values.append(word)
    return found
