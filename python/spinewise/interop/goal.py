"""GOAL schedules, the text that LogGOPSim, Schedgen and ATLAHS read and write.

``num_ranks N``, then a block a rank::

    rank 0 {
    l1: calc 1000 cpu 0
    l2: send 1048576b to 1 tag 7 cpu 0 nic 0
    l2 requires l1
    }

A label comes before an operation or is left out; ``a requires b`` starts a when b has ended, ``a irequires b`` when
b has started (Hoefler, Siebert and Lumsdaine, ICPP 2009). Computations take nanoseconds, as LogGOPSim counts them, and
those of one ``cpu`` of a rank run one after the other. The k-th receive of a source and tag takes the k-th message of
these, as in MPI; -1 means any source or any tag.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.interop.dag import Dag, Operation, check_messages, refuse_empty
from spinewise.interop.looks import looks_like
from spinewise.interop.text import LARGEST_BYTES, LARGEST_U64, Line, read_lines
from spinewise.magnitudes import PS_PER_NS

FORM = (
    '"num_ranks N", "rank R {", "}", "label: send BYTESb to RANK tag T", "label: recv BYTESb from RANK tag T", '
    '"label: calc NS" or "label requires label"'
)
ANY = -1

_OPERATION = re.compile(
    r"(?:(?P<label>[A-Za-z]\w*)\s*:)?\s*"
    r"(?:(?P<message>send|recv)\s+(?P<size>\d+)b?\s+(?:to|from)\s+(?P<peer>-?\d+)(?P<rest>.*)|calc\s+(?P<time>\d+)(?P<more>.*))"
)
_WAIT = re.compile(r"(?P<after>[A-Za-z]\w*)\s+(?P<how>i?requires)\s+(?P<before>[A-Za-z]\w*)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{")
_OPTION = re.compile(r"\s+(tag|cpu|nic)\s+(-?\d+)")
_OPTIONS = re.compile(r"(?:\s+(?:tag|cpu|nic)\s+-?\d+)*\s*")
_REMARK = re.compile(r"//.*")


@dataclass
class Reading:
    """The state of reading a schedule.

    Attributes:
        ranks: number of ranks, from the first line.
        rank: the current block, None between blocks.
        operations: all so far.
        lines: the line of each.
        known: those of this block by label.
        waits: the waits in this block, by label: line, the one that waits, how, the one awaited.
        seen: ranks whose block has been read.
        empty: lines of messages without a byte.
        nics: whether some message names a NIC other than 0.
    """

    file: str
    ranks: int
    rank: int | None = None
    operations: list[Operation] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    known: dict[str, Operation] = field(default_factory=dict)
    waits: list[tuple[Line, str, str, str]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    empty: list[int] = field(default_factory=list)
    nics: bool = False


def read(path: str | Path) -> Dag:
    """Read a GOAL schedule.

    Raises:
        SpecError: with file and line: an unknown statement, a rank that does not exist or has two blocks, a label
            that is unknown or occurs twice, a message to its own rank, a receive without its message or the other
            way round.
    """
    lines = list(without_remarks(read_lines(path)))
    if not lines or lines[0].tokens[0] != "num_ranks" or len(lines[0].tokens) != 2:
        first = lines[0] if lines else read_lines(path)[0]
        raise first.error("all", " ".join(first.tokens), 'the first line "num_ranks N"', looks_like(path, "goal"))
    reading = Reading(str(path), lines[0].hosts(1, "number of ranks"))
    for line in lines[1:]:
        read_statement(reading, line)
    if reading.rank is not None:
        last = lines[-1]
        raise last.error("all", f"the end of the file in rank {reading.rank}", 'a "}" at the end of each rank')
    refuse_empty(str(path), reading.operations)
    notes = notes_of(reading, match_any(reading))
    dag = Dag(str(path), reading.ranks, reading.operations, notes)
    try:
        check_messages(dag)
    except SpecError as error:
        pairs = zip(reading.operations, reading.lines, strict=True)
        line = next(line for operation, line in pairs if operation.id == error.key)
        raise line.error(error.key, error.value, error.allowed) from None
    return dag


def without_remarks(lines: list[Line]) -> Iterator[Line]:
    """The lines without comments, which are ``/* … */``, also over several lines, and ``// …``."""
    inside = False
    for line in lines:
        text = " ".join(line.tokens)
        if not inside and "/" not in text:
            yield line
            continue
        kept = ""
        while text:
            mark = "*/" if inside else "/*"
            part, found, text = text.partition(mark)
            kept += "" if inside else part + " "
            inside = inside != bool(found)
        tokens = _REMARK.sub("", kept).split()
        if tokens:
            yield Line(line.file, line.number, tokens)


def read_statement(reading: Reading, line: Line) -> None:
    """Read one line after the first."""
    text = " ".join(line.tokens)
    if reading.rank is None:
        block = _RANK.fullmatch(text)
        if block is None:
            raise line.error("all", text, '"rank R {", since no rank is open')
        rank = int(block[1])
        if rank >= reading.ranks:
            raise line.error("rank", rank, f"a rank from 0 to {reading.ranks - 1}, as num_ranks says")
        if rank in reading.seen:
            raise line.error("rank", rank, "each rank once")
        reading.seen.add(rank)
        reading.rank, reading.known, reading.waits = rank, {}, []
    elif text == "}":
        close(reading)
    elif operation := _OPERATION.fullmatch(text):
        add(reading, line, read_operation(reading, line, operation), operation["label"])
    elif wait := _WAIT.fullmatch(text):
        reading.waits.append((line, wait["after"], wait["how"], wait["before"]))
    else:
        raise line.error("all", text, FORM)


def add(reading: Reading, line: Line, operation: Operation, label: str | None) -> None:
    """Add an operation, under its label if it has one."""
    if label is not None:
        if label in reading.known:
            raise line.error("label", label, f"each label once in rank {operation.rank}")
        reading.known[label] = operation
    reading.operations.append(operation)
    reading.lines.append(line)


def close(reading: Reading) -> None:
    """End the block of a rank: all its labels are known."""
    for line, after, how, before in reading.waits:
        for label in (after, before):
            if label not in reading.known:
                raise line.error("label", label, f"the label of an operation of rank {reading.rank}")
        waits = reading.known[after]
        (waits.requires if how == "requires" else waits.irequires).append(reading.known[before].id)
    reading.rank = None


def read_operation(reading: Reading, line: Line, match: re.Match[str]) -> Operation:
    """A message or a computation."""
    assert reading.rank is not None
    id_ = f"r{reading.rank}.{match['label'] or f'line{line.number}'}"
    further = match["rest"] if match["message"] else match["more"]
    options = read_options(line, further) if further else {}
    if match["time"]:
        unit = options.get("cpu", 0)
        return Operation(id_, reading.rank, "calc", duration_ps=int(match["time"]) * PS_PER_NS, unit=unit)
    peer, size, tag = int(match["peer"]), int(match["size"]), options.get("tag", 0)
    sends = match["message"] == "send"
    if not (0 <= peer < reading.ranks or (peer == ANY and not sends)):
        raise line.error("peer", peer, f"a rank from 0 to {reading.ranks - 1}" + ("" if sends else ", or -1 for any"))
    if peer == reading.rank:
        raise line.error("peer", peer, "another rank than its own")
    if not (0 if sends else ANY) <= tag <= LARGEST_U64:
        raise line.error("tag", tag, "0 to 2^64 - 1" + ("" if sends else ", or -1 for any"))
    if size > LARGEST_BYTES:
        raise line.error("size", size, f"at most {LARGEST_BYTES} bytes")
    if size == 0:
        reading.empty.append(line.number)
    reading.nics = reading.nics or options.get("nic", 0) != 0
    return Operation(id_, reading.rank, "send" if sends else "recv", peer=peer, size_bytes=max(size, 1), tag=tag)


def read_options(line: Line, text: str) -> dict[str, int]:
    """Read the options of an operation: tag, cpu and nic with their numbers."""
    options = {name: int(value) for name, value in _OPTION.findall(text)}
    if not _OPTIONS.fullmatch(text):
        odd = _OPTION.sub("", text).strip()
        raise line.error("all", odd or text.strip(), '"tag N", "cpu N" or "nic N"')
    return options


def match_any(reading: Reading) -> int:
    """Give receives from any source or with any tag the first matching message that no other receive names.

    Returns the number of such receives. The engine pairs all others.
    """
    waiting: defaultdict[int, deque[Operation]] = defaultdict(deque)
    exact: defaultdict[tuple[int | None, int, int], int] = defaultdict(int)
    anys: list[tuple[Operation, Line]] = []
    for operation, line in zip(reading.operations, reading.lines, strict=True):
        if operation.op != "recv":
            continue
        if ANY in (operation.peer, operation.tag):
            anys.append((operation, line))
        else:
            exact[operation.peer, operation.rank, operation.tag] += 1
    if not anys:
        return 0
    for operation in reading.operations:
        if operation.op == "send" and operation.peer is not None:
            key = (operation.rank, operation.peer, operation.tag)
            if exact[key]:
                exact[key] -= 1
            else:
                waiting[operation.peer].append(operation)
    for receive, line in anys:
        fits = (
            send
            for send in waiting[receive.rank]
            if receive.peer in (ANY, send.rank) and receive.tag in (ANY, send.tag)
        )
        found = next(fits, None)
        if found is None:
            raise line.error("all", " ".join(line.tokens), "a receive for which a message is left")
        waiting[receive.rank].remove(found)
        receive.peer, receive.tag, receive.size_bytes = found.rank, found.tag, found.size_bytes
    return len(anys)


def notes_of(reading: Reading, anys: int) -> list[str]:
    """Notes about changes made while reading the file."""
    found = []
    if reading.empty:
        more = f" and {len(reading.empty) - 1} more" if len(reading.empty) > 1 else ""
        found.append(f"{reading.file}: line {reading.empty[0]}{more}: size 0 taken as 1")
    if anys:
        found.append(
            f"{reading.file}: {anys} receives from any source or with any tag take the first message left in the file"
        )
    if reading.nics:
        found.append(f"{reading.file}: a host has one NIC here; the numbers after nic are ignored")
    missing = reading.ranks - len(reading.seen)
    if missing:
        found.append(f"{reading.file}: {missing} of {reading.ranks} ranks have no operations")
    return found
