"""Cases of uet-htsim: ``cases.jsonl`` with one line a case and seed, ``flows/<case>.s<seed>.csv.gz``, ``inputs/``.

A line names the program's options. Each must be known: one that is passed over would be another run.
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
# Files of a recorded run, by what they tell.
ENDINGS = {"flows": "csv.gz", "paths": "paths.csv.gz"}
# What the names of cases begin with whose paths were recorded.
PINNED = "det."
COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ps", "fct_ps", "new", "rtx", "acks", "nacks", "pulls", "rts")
# Options that take a value (or several), and flags.
VALUED = (
    "topo", "tm", "load_balancing_algo", "paths", "sack_threshold", "sender_cc_algo", "q", "ecn", "failed", "strat",
    "ar_granularity", "ar_method", "linkspeed", "nodes", "tiers", "end", "seed",
)  # fmt: skip
FLAGS = (
    "sender_cc_only",
    "receiver_cc_only",
    "sender_cc",
    "receiver_cc",
    "disable_trim",
    "force_disable_oversubscribed_cc",
    "sleek",
)


@dataclass(frozen=True)
class Times:
    """What one recorded run came to.

    Attributes:
        flows: numbers of the flows, as they are listed; the rest is in that order.
        start_ps: when each began.
        fct_ps: completion times at the senders.
        retransmits: packets sent again, over all flows.
        answers: answers, NACKs and grants of credit that reached senders, over all flows.
    """

    flows: list[int]
    start_ps: list[int]
    fct_ps: list[int]
    retransmits: int
    answers: int


@dataclass(frozen=True)
class UetCase:
    """A case: one setting, recorded over seeds.

    Attributes:
        name: topology.traffic.lb.cc, and a variant perhaps.
        folder: where the cases lie.
        options: of the program, by name without the dash.
        topo: the topology file; None for the program's own fat-tree of 1,024 hosts.
        matrix: the connection matrix.
        seeds: recorded.
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

    @property
    def pins(self) -> bool:
        """Were the paths of its flows recorded?"""
        return self.name.startswith(PINNED)

    @property
    def receiver_paces(self) -> bool:
        """Do receivers grant credit?"""
        return not {"receiver_cc_only", "receiver_cc"}.isdisjoint(self.options)

    def times(self, seed: int) -> Times:
        """What was recorded at a seed.

        Raises:
            SpecError: the file is not there, or is another.
        """
        names = ("flow", "start_ps", "fct_ps", "rtx", "acks", "nacks", "pulls")
        found = self.rows(seed, "flows", COLUMNS, lambda row: [int(row[name]) for name in names])
        flows, starts, times, again, *answers = ([row[at] for row in found] for at in range(len(names)))
        return Times(flows, starts, times, sum(again), sum(map(sum, answers)))

    def rows(self, seed: int, what: str, columns: Sequence[str], read: Callable[[dict[str, str]], T]) -> list[T]:
        """The rows of a file of a recorded run, which has these columns, as `read` takes them.

        Raises:
            SpecError: the file is not there, or is another.
        """
        path = self.folder / "flows" / f"{self.name}.s{seed}.{ENDINGS[what]}"
        try:
            with gzip.open(path, "rt", newline="") as text:
                rows = csv.DictReader(text)
                if tuple(rows.fieldnames or ()) != tuple(columns):
                    raise SpecError("line 1", ",".join(rows.fieldnames or ()), ",".join(columns), file=str(path))
                return [read(row) for row in rows]
        except (OSError, EOFError, UnicodeDecodeError, zlib.error, ValueError, TypeError) as error:
            allowed = f"the {what} of a recorded run, a gzip file of CSV text"
            raise SpecError("(whole file)", path, allowed, str(error), file=str(path)) from None


def find(folder: str | Path, patterns: Sequence[str] = ()) -> list[UetCase]:
    """The cases of a folder that fit any pattern (all, without one).

    Raises:
        SpecError: a line that is no case, an option that is not known, or no case that fits.
    """
    path = Path(folder) / CASES
    by_name: dict[str, UetCase] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name, seed, case = read_line(line, number, path)
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        check(case, number, path)
        by_name.setdefault(name, case).seeds.append(seed)
    if not by_name:
        raise SpecError("--cases", ",".join(patterns) or "*", f"a pattern that fits a case of {path}")
    return list(by_name.values())


def read_line(line: str, number: int, path: Path) -> tuple[str, int, UetCase]:
    """A case from its line: its name, the seed, and the rest."""
    try:
        told = json.loads(line)
        name, options, seed, matrix = (told[key] for key in ("case", "options", "seed", "cm"))
        known = options_of(options)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        allowed = 'a JSON object with "case", "options", "seed" and "cm", as this Spinewise reads them'
        raise SpecError(f"line {number}", line[:60], allowed, str(error), file=str(path)) from None
    # The program's own fabric is what it takes without the option.
    topo = Path(known["topo"][0]).name if known.get("topo") else None
    return name, int(seed), UetCase(name, path.parent, known, topo, matrix, [])


def check(case: UetCase, number: int, path: Path) -> None:
    """See that each option is known.

    Raises:
        SpecError: one is not.
    """
    for option in case.options:
        if option not in VALUED and option not in FLAGS:
            allowed = ", ".join((*VALUED, *FLAGS))
            hint = nearest(option, VALUED + FLAGS)
            raise SpecError(f"line {number}, options", f"-{option}", allowed, hint, file=str(path))


def options_of(text: str) -> dict[str, list[str]]:
    """The options of a command line, each with its values."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in text.split():
        if word.startswith("-"):
            values = found.setdefault(word[1:], [])
        else:
            values.append(word)
    return found
