"""Collective operations of a group of ranks as sends and receives, step by step.

| operation | ring | direct |
|---|---|---|
| all_reduce | 2(n - 1) steps of one n-th to the next rank | an n-th to every other rank, then its sum to all |
| all_gather, reduce_scatter | n - 1 steps of one n-th to the next rank | an n-th to every other rank at once |
| all_to_all | n - 1 steps, in step s to the rank s places on | an n-th to every other rank at once |
| broadcast | n parts, each passed on from rank to rank | all to every other rank at once |
| barrier | an all_reduce of a byte a rank | a byte to every other rank at once |

Sizes count as in NCCL's tests: of an all_reduce the data of a rank, of an all_gather all that a rank has in the end, of
a reduce_scatter all that a rank begins with, of an all_to_all n blocks, the own one included, of a broadcast the data
of the root, which is the first rank. Rings: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from spinewise.interop.dag import Numbered, Operation

Algorithm = Literal["ring", "direct"]
Collective = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "barrier"]

# A unit that computes nothing: its operations take no time and represent several others.
JOIN_UNIT = 1_000_000

# Operations that a send or a receive in a collective waits for.
After = Mapping[int, Sequence[str]]


class Program:
    """Operations as they are created, with tags that no two messages share.

    Attributes:
        operations: so far.
        batches: collectives so far; each is a batch, with its steps.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.batches = 0
        self._tags = Numbered(1)

    def compute(self, name: str, rank: int, duration_ps: int, after: Sequence[str], unit: int = 0) -> str:
        """Add a computation, and return its id."""
        self.operations.append(Operation(name, rank, "calc", duration_ps=duration_ps, requires=list(after), unit=unit))
        return name

    def join(self, name: str, rank: int, after: Sequence[str]) -> str:
        """Return the id of an operation that ends when all of `after` have."""
        if len(after) == 1:
            return after[0]
        return self.compute(name, rank, 0, after, JOIN_UNIT)

    def join_as(self, name: str, rank: int, end: str) -> None:
        """Give an end a name of its own, taking no time."""
        if name != end:
            self.compute(name, rank, 0, [end], JOIN_UNIT)

    def message(
        self, name: str, ends: tuple[int, int], size: int, after: Sequence[str], *, batch: int = 0, step: int = 0
    ) -> str:
        """Add a send and its receive between two ranks; return the id of the send, that of the receive is ``….got``."""
        src, dst = ends
        tag = self._tags.tag(src, dst)
        self.operations += [
            Operation(name, src, "send", dst, max(size, 1), tag, requires=list(after), batch=batch, step=step),
            Operation(f"{name}.got", dst, "recv", src, max(size, 1), tag),
        ]
        return name

    def collective(
        self, kind: Collective, name: str, ranks: Sequence[int], size: int, *, after: After, algorithm: Algorithm
    ) -> dict[int, str]:
        """Add a collective of `ranks`, each of which takes part when its `after` have ended.

        Args:
            kind: the operation.
            name: the prefix of its operations' ids.
            ranks: the participants, in the order of the ring.
            size: bytes, counted as the head of this file says.
            after: ids that must have ended, by rank.
            algorithm: the algorithm.

        Returns:
            The operation at each rank that ends when its part is done: all sent and acknowledged, all received.
        """
        if len(ranks) == 1:
            return {ranks[0]: self.join(f"{name}.r{ranks[0]}", ranks[0], after[ranks[0]])}
        self.batches += 1
        group = Group(self, name, ranks, after, self.batches)
        WAYS[kind, algorithm](group, size)
        return {rank: self.join(f"{name}.r{rank}", rank, group.own[rank]) for rank in ranks}


class Group:
    """A collective as it is made.

    Attributes:
        n: number of ranks.
        own: ids of each rank's sends and receives so far.
    """

    def __init__(self, program: Program, name: str, ranks: Sequence[int], after: After, batch: int) -> None:
        self.program = program
        self.name = name
        self.ranks = ranks
        self.after = after
        self.batch = batch
        self.n = len(ranks)
        self.own: dict[int, list[str]] = {rank: [] for rank in ranks}

    def begin(self, i: int) -> Sequence[str]:
        """The operations that must have ended before the i-th rank takes part."""
        return self.after[self.ranks[i]]

    def send(self, step: int, i: int, j: int, size: int, after: Sequence[str]) -> str:
        """Send from the i-th rank to the j-th in a step from 0; return the id of the receive."""
        src, dst = self.ranks[i], self.ranks[j]
        name = f"{self.name}.s{step}.{src}-{dst}"
        self.program.message(name, (src, dst), size, after, batch=self.batch, step=step + 1)
        self.own[src].append(name)
        self.own[dst].append(f"{name}.got")
        return f"{name}.got"


def part(size: int, parts: int, which: int) -> int:
    """The bytes of one of `parts`, as even as whole bytes allow: the first ones have one more."""
    return size // parts + (which % parts < size % parts)


def ring(steps: Callable[[int], int]) -> Callable[[Group, int], None]:
    """Send around the ring: in each step every rank passes on what it received in the previous step."""

    def make(group: Group, size: int) -> None:
        n = group.n
        got: list[Sequence[str]] = [group.begin(i) for i in range(n)]
        for step in range(steps(n)):
            sent = [group.send(step, i, (i + 1) % n, part(size, n, i - step), got[i]) for i in range(n)]
            got = [[sent[i - 1]] for i in range(n)]

    return make


def spread(group: Group, size: int) -> None:
    """Send an n-th of the data from every rank to every other one, all at once."""
    n = group.n
    for i in range(n):
        for shift in range(1, n):
            j = (i + shift) % n
            group.send(0, i, j, part(size, n, j), group.begin(i))


def direct_all_reduce(group: Group, size: int) -> None:
    """Let every rank sum one n-th, which all others send to it, and then send the sum to all others."""
    n = group.n
    got: list[list[str]] = [[] for _ in range(n)]
    for i in range(n):
        for shift in range(1, n):
            j = (i + shift) % n
            got[j].append(group.send(0, i, j, part(size, n, j), group.begin(i)))
    for i in range(n):
        after = [*group.begin(i), *got[i]]
        summed = group.program.join(f"{group.name}.sum.{group.ranks[i]}", group.ranks[i], after)
        for shift in range(1, n):
            group.send(1, i, (i + shift) % n, part(size, n, i), [summed])


def shifted_all_to_all(group: Group, size: int) -> None:
    """Send, in each step s, from each rank to that s places on, after the sends and receives of its previous step."""
    n = group.n
    last: list[list[str]] = [list(group.begin(i)) for i in range(n)]
    for step in range(n - 1):
        now: list[list[str]] = [[] for _ in range(n)]
        for i in range(n):
            j = (i + step + 1) % n
            got = group.send(step, i, j, part(size, n, j), last[i])
            now[i].append(got.removesuffix(".got"))
            now[j].append(got)
        last = now


def piped_broadcast(group: Group, size: int) -> None:
    """Send n parts from the first rank one after the other to the next rank, and so on to the last."""
    n = group.n
    before: list[Sequence[str]] = [group.begin(i) for i in range(n - 1)]
    for which in range(n):
        got: list[str] = []
        for i in range(n - 1):
            received = group.send(which + i, i, i + 1, part(size, n, which), [*before[i], *got])
            # The next part goes when this one is acknowledged.
            before[i], got = [received.removesuffix(".got")], [received]


def direct_broadcast(group: Group, size: int) -> None:
    """Send all data from the first rank to every other rank, at once."""
    for j in range(1, group.n):
        group.send(0, 0, j, size, group.begin(0))


WAYS: dict[tuple[Collective, Algorithm], Callable[[Group, int], None]] = {
    ("all_reduce", "ring"): ring(lambda n: 2 * (n - 1)),
    ("all_reduce", "direct"): direct_all_reduce,
    ("all_gather", "ring"): ring(lambda n: n - 1),
    ("all_gather", "direct"): spread,
    ("reduce_scatter", "ring"): ring(lambda n: n - 1),
    ("reduce_scatter", "direct"): spread,
    ("all_to_all", "ring"): shifted_all_to_all,
    ("all_to_all", "direct"): spread,
    ("broadcast", "ring"): piped_broadcast,
    ("broadcast", "direct"): direct_broadcast,
    ("barrier", "ring"): lambda group, _: WAYS["all_reduce", "ring"](group, group.n),
    ("barrier", "direct"): lambda group, _: spread(group, group.n),
}


def messages(kind: Collective, n: int, algorithm: Algorithm) -> int:
    """The number of messages in a collective of `n` ranks."""
    if n == 1:
        return 0
    if kind == "broadcast":
        return n * (n - 1) if algorithm == "ring" else n - 1
    twice = kind == "all_reduce" or (kind == "barrier" and algorithm == "ring")
    return (2 if twice else 1) * n * (n - 1)
