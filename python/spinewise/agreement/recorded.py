"""Recorded cases, one row per flow.

RDMA: ``<traffic><load>-<lossless|irn>-<scheme>.csv.gz`` with the columns
``src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns``. The completion time is the sender's; a flow's slowdown is measured
against the file's own ideal.

TCP: ``dctcp-<scheme>-<sym|asym>.csv.gz`` without an ideal. The completion time runs to the last packet of the
connection.

After the scheme there may be parameters (``:key=value``, several in a row) and a label (``-label``): see `given`.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import numpy.typing as npt

from spinewise.errors import SpecError

ENDING = ".csv.gz"
SIDECAR_ENDING = ".toml"
FORM = f"<traffic><load>-<lossless|irn>-<scheme>{ENDING} or dctcp-<scheme>-<sym|asym>{ENDING}"
TCP_COLUMNS = ("src", "dst", "size_bytes", "start_ns", "fct_ns")
COLUMNS = (*TCP_COLUMNS, "ideal_fct_ns")
TCP = "tcp"
BASELINE = "ecmp"
# Labels of TCP cases that can be understood without a file; `given.LABELS` has their meanings.
KNOWN_LABELS = ("rb",)
# Largest numbers: of a host on 4096 leaves of 64, of a size, and of nanoseconds (2.5 hours).
MOST = {"src": 2**18 - 1, "dst": 2**18 - 1, "size_bytes": 10**12, "start_ns": 9 * 10**12, "fct_ns": 9 * 10**12}
MOST["ideal_fct_ns"] = MOST["fct_ns"]

_SCHEME = r"(?P<scheme>[A-Za-z0-9_]+)(?::(?P<parameters>[^-]+))?(?:-(?P<label>[A-Za-z0-9_-]+?))?"
_RDMA = re.compile(rf"(?P<traffic>.*\D)(?P<load>\d+)-(?P<mode>lossless|irn)-{_SCHEME}")
_TCP = re.compile(rf"(?P<traffic>dctcp)-{_SCHEME}-(?P<load>sym|asym)")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Flows:
    """The flows of a case, an array a column, one element a flow, in the order of the file.

    Attributes:
        src: sending host.
        dst: receiving host.
        size_bytes: payload.
        start_ns: start.
        fct_ns: completion time, of RDMA at the sender, of TCP to the last packet of the connection.
        ideal_fct_ns: completion time alone, as that simulator counts it; 0 where the file has none.
    """

    src: Ints
    dst: Ints
    size_bytes: Ints
    start_ns: Ints
    fct_ns: Ints
    ideal_fct_ns: Ints

    def __len__(self) -> int:
        return len(self.src)

    def same_traffic(self, other: Flows) -> bool:
        """Whether both have the same flows, in the same order."""
        columns = ("src", "dst", "size_bytes", "start_ns")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in columns)


@dataclass(frozen=True)
class Recorded:
    """A case by its name.

    Attributes:
        name: the name of the file without its ending.
        path: the file.
        traffic: a label.
        load: a label, in percent; of TCP the fabric, "sym" or "asym".
        mode: "lossless", "irn" or "tcp".
        scheme: the load-balancing scheme.
        parameters: what follows the scheme in the name, as ``key=value:key=value``; empty for none.
        label: a word for how it was run; empty for the usual way.
        sidecar: the file beside it with further settings, if there is one.
    """

    name: str
    path: Path
    traffic: str
    load: str
    mode: str
    scheme: str
    parameters: str = ""
    label: str = ""
    sidecar: Path | None = None

    @property
    def usual(self) -> bool:
        """Whether the name is in its plain form, with nothing further given."""
        return not self.parameters and not self.label and self.sidecar is None

    @property
    def baseline(self) -> str:
        """The name of the ECMP case on the same traffic."""
        if self.mode == TCP:
            return f"{self.traffic}-{BASELINE}-{self.load}"
        return f"{self.traffic}{self.load}-{self.mode}-{BASELINE}"


def find(
    folder: str | Path, patterns: Sequence[str] = (), sidecars: str | Path | None = None
) -> tuple[list[Recorded], list[Recorded], list[str]]:
    """Cases in `folder` that match any pattern (all, without one), all cases there, and what was skipped and why.

    Args:
        folder: the folder of the cases, or the file of one of them.
        patterns: patterns of names; none if `folder` is a file.
        sidecars: the folder of the files beside them, if not the same.

    Raises:
        SpecError: there is no such folder, or no case in it, or none that fits.
    """
    if Path(folder).is_file():
        folder, patterns = one_file(Path(folder), patterns)
    folder = existing(folder, "DIR", f"a folder with files {FORM}, or one of them")
    beside = folder if sidecars is None else existing(sidecars, "--sidecars", "a folder with files CASE.toml")
    cases, skipped = [], []
    for path in sorted(folder.glob(f"*{ENDING}")):
        name = path.name.removesuffix(ENDING)
        match = _TCP.fullmatch(name) or _RDMA.fullmatch(name)
        if match is None:
            skipped.append(f"{path.name}: skipped, the name is not {FORM}")
            continue
        parts = {key: value or "" for key, value in match.groupdict().items()}
        file = beside / f"{name}{SIDECAR_ENDING}"
        case = Recorded(name, path, sidecar=file if file.exists() else None, **{"mode": TCP, **parts})
        if case.label and case.sidecar is None and (case.mode != TCP or case.label not in KNOWN_LABELS):
            skipped.append(f'{path.name}: skipped, what "{case.label}" means would stand in {file.name}')
        else:
            cases.append(case)
    if not cases:
        raise SpecError("DIR", folder, f"a folder with files {FORM}", "; ".join(skipped) or "none there")
    wanted = [case for case in cases if not patterns or any(fnmatchcase(case.name, pattern) for pattern in patterns)]
    if not wanted:
        raise SpecError("--cases", ",".join(patterns), "a pattern that fits one of " + ", ".join(c.name for c in cases))
    return wanted, cases, skipped


def one_file(path: Path, patterns: Sequence[str]) -> tuple[Path, list[str]]:
    """The folder of a case given by its file, and the pattern of its name."""
    name = path.name.removesuffix(ENDING)
    if name == path.name or not (_TCP.fullmatch(name) or _RDMA.fullmatch(name)):
        raise SpecError("DIR", path, f"a folder with files {FORM}, or one of them", "this is a file of another name")
    if patterns:
        raise SpecError("--cases", ",".join(patterns), "no such option where DIR is the file of one case")
    return path.parent, [name]


def existing(folder: str | Path, key: str, allowed: str) -> Path:
    """A folder that must exist."""
    if not Path(folder).is_dir():
        raise SpecError(key, folder, allowed, "there is no such folder")
    return Path(folder)


def read(case: Recorded) -> Flows:
    """The flows of a case.

    Raises:
        SpecError: with file and line: no such columns, a field that is not a whole number, no flow at all.
    """
    file = str(case.path)
    columns = TCP_COLUMNS if case.mode == TCP else COLUMNS
    try:
        with gzip.open(case.path, "rt", encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream)
            header = [name.strip() for name in next(rows, [])]
            missing = [name for name in columns if name not in header]
            if missing:
                raise SpecError("line 1", ",".join(header), f"the columns {', '.join(columns)}", file=file)
            places = [header.index(name) for name in columns]
            values = [read_row(row, places, rows.line_num, file) for row in rows if row]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SpecError("(whole file)", file, "a gzip file of CSV text", str(error), file=file) from None
    if not values:
        raise SpecError("(whole file)", "no flow", "one flow or more", file=file)
    table = np.zeros((len(values), len(COLUMNS)), dtype=np.int64)
    table[:, : len(columns)] = values
    return Flows(*table.T)


def read_row(row: list[str], places: list[int], line: int, file: str) -> list[int]:
    """The numbers of one flow."""
    numbers = []
    for place, name in zip(places, COLUMNS[: len(places)], strict=True):
        field = row[place].strip() if place < len(row) else ""
        least = 1 if name in ("size_bytes", "fct_ns", "ideal_fct_ns") else 0
        if not (field.isascii() and field.isdecimal()) or not least <= int(field) <= MOST[name]:
            raise SpecError(f"line {line}, {name}", field, f"a whole number from {least} to {MOST[name]}", file=file)
        numbers.append(int(field))
    if numbers[0] == numbers[1]:
        raise SpecError(f"line {line}, dst", numbers[1], "another host than src", file=file)
    return numbers
