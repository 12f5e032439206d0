"""Operations that wait for operations: the table that traffic of kind ``dag`` reads, and its construction.

An operation a line, as comma-separated values:

| column | of | meaning |
|---|---|---|
| id | all | its name, without blanks; each once |
| rank | all | the rank of the operation, from 0 |
| op | all | ``send``, ``recv`` or ``calc`` |
| peer | send, recv | the rank at the other end |
| size_bytes | send, recv | payload, 1 or more; of a recv checked against its send if given |
| tag | send, recv | which messages of the two ranks pair: the k-th send with the k-th recv of a tag; 0 if empty |
| duration_ns | calc | its duration, with up to three decimals |
| requires | all | ids of operations of this rank that must have ended, separated by blanks |
| irequires | all | ids of operations of this rank that must have started |
| needs | all | how many of the awaited operations suffice; all if empty |
| unit | calc | the unit of the rank that computes, one thing at a time; 0 if empty |
| start_ns | all | it starts no earlier |
| batch, step | send | flows of a batch are summed up, step by step |

Only id, rank and op are required, and columns may come in any order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from spinewise.errors import SpecError
from spinewise.interop.text import ns_text

Kind = Literal["send", "recv", "calc"]


@dataclass(slots=True)
class Operation:
    """One operation; see the table at the head of this file. None and empty lists are left empty.

    Attributes:
        id: its name, unique in the file.
        rank: its rank.
        op: its kind.
        peer: the rank at the other end.
        size_bytes: payload.
        tag: the tag by which messages pair.
        duration_ps: the duration of a computation, picoseconds.
        requires: operations that must have ended.
        irequires: operations that must have started.
        needs: how many of these suffice.
        unit: the unit that computes.
        start_ps: it starts no earlier, picoseconds.
        batch: number of its batch, from 1.
        step: step of the batch, from 1.
    """

    id: str
    rank: int
    op: Kind
    peer: int | None = None
    size_bytes: int | None = None
    tag: int = 0
    duration_ps: int | None = None
    requires: list[str] = field(default_factory=list)
    irequires: list[str] = field(default_factory=list)
    needs: int | None = None
    unit: int = 0
    start_ps: int = 0
    batch: int = 0
    step: int = 0


def _some(number: int | None) -> str:
    """A number as text; empty if there is none."""
    return "" if number is None else str(number)


def _set(number: int) -> str:
    """A number as text; empty if it is the meaning of an empty field."""
    return str(number) if number else ""


COLUMNS: dict[str, Callable[[Operation], str]] = {
    "id": lambda one: one.id,
    "rank": lambda one: str(one.rank),
    "op": lambda one: one.op,
    "peer": lambda one: _some(one.peer),
    "size_bytes": lambda one: _some(one.size_bytes),
    "tag": lambda one: _set(one.tag),
    "duration_ns": lambda one: "" if one.duration_ps is None else ns_text(one.duration_ps),
    "requires": lambda one: " ".join(one.requires),
    "irequires": lambda one: " ".join(one.irequires),
    "needs": lambda one: _some(one.needs),
    "unit": lambda one: _set(one.unit),
    "start_ns": lambda one: ns_text(one.start_ps) if one.start_ps else "",
    "batch": lambda one: _set(one.batch),
    "step": lambda one: _set(one.step),
}
"""The columns of the table, by name, with the value of an operation."""


def _row(operation: Operation) -> str:
    """Its line of the table."""
    return ",".join(column(operation) for column in COLUMNS.values())


@dataclass(frozen=True)
class Dag:
    """The operations of a file.

    Attributes:
        file: the file they were read from.
        ranks: number of ranks.
        operations: in the order of the table.
        notes: changes and assumptions.
    """

    file: str
    ranks: int
    operations: list[Operation]
    notes: list[str] = field(default_factory=list)

    def csv(self) -> str:
        """The table."""
        return "\n".join([",".join(COLUMNS), *map(_row, self.operations)]) + "\n"

    def count(self, kind: Kind) -> int:
        """Count the operations of a kind."""
        return sum(operation.op == kind for operation in self.operations)

    @property
    def size_bytes(self) -> int:
        """Payload of all sends."""
        return sum(operation.size_bytes or 0 for operation in self.operations if operation.op == "send")

    @property
    def batches(self) -> int:
        """The number of batches."""
        return max((operation.batch for operation in self.operations), default=0)


def refuse_empty(file: str, operations: Iterable[Operation]) -> None:
    """Refuse operations that send nothing.

    Raises:
        SpecError: no operation is a send.
    """
    if not any(operation.op == "send" for operation in operations):
        raise SpecError("(whole file)", "no message", "a file in which some rank sends to another", file=file)


def check_messages(dag: Dag) -> None:
    """Refuse messages without a receive, and receives without a message.

    Raises:
        SpecError: the first of them.
    """
    balance: defaultdict[tuple[int, int, int], list[Operation]] = defaultdict(list)
    for operation in dag.operations:
        if operation.peer is None:
            continue
        ends = (operation.rank, operation.peer) if operation.op == "send" else (operation.peer, operation.rank)
        left = balance[(*ends, operation.tag)]
        if left and left[-1].op != operation.op:
            left.pop()
        else:
            left.append(operation)
    for (src, dst, tag), left in balance.items():
        if left:
            other = "recv" if left[0].op == "send" else "send"
            allowed = f"as many sends as receives from rank {src} to rank {dst} with tag {tag}"
            raise SpecError(left[0].id, f"a {left[0].op} without its {other}", allowed, file=dag.file)


class Numbered:
    """Tags that no other messages of the two ranks have."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.used: defaultdict[tuple[int, int], int] = defaultdict(int)

    def tag(self, src: int, dst: int) -> int:
        """The next tag from `src` to `dst`."""
        self.used[src, dst] += 1
        return self.first + self.used[src, dst] - 1
