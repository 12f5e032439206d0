"""Chakra execution traces as operations of all ranks.

A computation takes the duration of its node. One without a duration but with operations (``num_ops``) takes them
at a rate that must be given. Computations of a rank run one after the other, those of its processor (``is_cpu_op``)
beside them. Sends and receives pair by ranks and tags. The k-th collective of a group in one rank's file is one with
the k-th in the files of the others. Bytes (``comm_size``) are those of ASTRA-sim: of an all-gather what each rank
brings, of all others the whole.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.interop import chakra_nodes
from spinewise.interop.chakra_nodes import COLLECTIVE, COMPUTATION, METADATA, RECEIVE, SEND, Node
from spinewise.interop.collectives import Algorithm, Collective, Program
from spinewise.interop.dag import Dag, Operation, check_messages, refuse_empty
from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.reading import TABLE_BYTES, read_text

CPU_UNIT = 1
KINDS: dict[int, Collective] = {
    0: "all_reduce",
    2: "all_gather",
    5: "broadcast",
    6: "all_to_all",
    7: "reduce_scatter",
    9: "barrier",
}

_RANK = re.compile(r"(?P<prefix>.*)\.(?P<rank>\d+)\.et")


@dataclass(frozen=True)
class Reading:
    """The settings that the files do not contain.

    Attributes:
        algorithm: the algorithm of collectives.
        tflops: 10^12 operations per second of a rank, for computations without a duration.
        groups: a JSON file with the ranks of each group, by name, as ASTRA-sim reads it.
    """

    algorithm: Algorithm = "ring"
    tflops: Fraction | None = None
    groups: str | None = None


@dataclass(frozen=True)
class Place:
    """A node of a rank.

    Attributes:
        file: its file.
        rank: its rank.
        node: the node itself.
    """

    file: str
    rank: int
    node: Node

    @property
    def id(self) -> str:
        """The name of its operation."""
        return f"r{self.rank}.n{self.node.id}"

    def error(self, what: str, value: object, allowed: str, hint: str | None = None) -> SpecError:
        """An error about this node; `what` is wrong in it."""
        return SpecError(f"node {self.node.id} ({self.node.name}), {what}", value, allowed, hint, file=self.file)

    def whole(self, name: str) -> int:
        """An attribute that must be a whole number, 0 or more."""
        value = self.node.attributes.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(name, "(nothing)" if value is None else value, "a whole number, 0 or more")
        return value


def read(path: str | Path, reading: Reading) -> Dag:
    """Read the traces of all ranks, NAME.0.et, NAME.1.et and so on; `path` is NAME, or one of them.

    Raises:
        SpecError: with file and node: a rank's file is missing or not a trace, a node occurs twice or waits for one
            that does not exist, a group is unknown, a rank does something else in a collective, a
            computation has no known duration, or a message has no receive.
    """
    files = files_of(path)
    places: list[Place] = []
    for rank, file in enumerate(files):
        found = [Place(str(file), rank, node) for node in chakra_nodes.read(file)]
        check_nodes(found)
        places += found
    return Lowered(str(path), places, len(files), reading).dag()


def files_of(path: str | Path) -> list[Path]:
    """The file of each rank."""
    given = Path(path)
    match = _RANK.fullmatch(given.name)
    prefix = match["prefix"] if match else given.name
    found: dict[int, Path] = {}
    if given.parent.is_dir():
        for file in given.parent.iterdir():
            of = _RANK.fullmatch(file.name)
            if of and of["prefix"] == prefix:
                found[int(of["rank"])] = file
    if not found:
        raise SpecError("FILE", path, "a Chakra trace: NAME, with files NAME.0.et, NAME.1.et, …, or one of these")
    missing = next((rank for rank in range(max(found)) if rank not in found), None)
    if missing is not None:
        have = f"files of {len(found)} ranks, the last is rank {max(found)}"
        raise SpecError("FILE", have, f"{prefix}.{missing}.et beside the others")
    return [found[rank] for rank in range(len(found))]


def check_nodes(places: Sequence[Place]) -> None:
    """Refuse nodes that occur twice or wait for one that does not exist."""
    known: set[int] = set()
    for place in places:
        if place.node.id in known:
            raise place.error("id", place.node.id, "each node once")
        known.add(place.node.id)
    for place in places:
        for before in place.node.after:
            if before not in known:
                raise place.error("dependency", before, "a node of this file")


class Lowered:
    """Operations made of nodes.

    Attributes:
        program: the operations so far.
        end: the operation that ends when a node of a rank has.
        notes: omissions and assumptions.
    """

    def __init__(self, file: str, places: Sequence[Place], ranks: int, reading: Reading) -> None:
        self.file = file
        self.places = places
        self.ranks = ranks
        self.reading = reading
        self.program = Program()
        self.end: dict[tuple[int, int], str] = {(x.rank, x.node.id): x.id for x in places}
        self.groups = read_groups(reading.groups) | declared_groups(places)
        self.timeless = 0

    def dag(self) -> Dag:
        """All operations."""
        self.join_collectives()
        for place in self.places:
            if place.node.type != COLLECTIVE:
                self.program.operations.append(self.operation(place))
        refuse_empty(self.file, self.program.operations)
        notes = []
        if self.program.batches:
            notes.append(f"{self.file}: collectives use {self.reading.algorithm} (--collective), in the order of ranks")
        if self.timeless:
            notes.append(f"{self.file}: {self.timeless} nodes have no duration and take no time")
        found = Dag(self.file, self.ranks, self.program.operations, notes)
        check_messages(found)
        return found

    def after(self, place: Place) -> list[str]:
        """The operations that must have ended before a node."""
        return [self.end[place.rank, node] for node in place.node.after]

    def operation(self, place: Place) -> Operation:
        """The operation of a node that is not a collective."""
        node, after = place.node, self.after(place)
        if node.type in (SEND, RECEIVE):
            peer = place.whole("comm_dst" if node.type == SEND else "comm_src")
            if peer >= self.ranks or peer == place.rank:
                raise place.error("peer", peer, f"another rank, from 0 to {self.ranks - 1}")
            tag = place.whole("comm_tag") if "comm_tag" in node.attributes else 0
            # Tags of collectives begin at 1 between any two ranks.
            tag += TAGS_FROM
            if node.type == RECEIVE:
                return Operation(place.id, place.rank, "recv", peer, None, tag, requires=after)
            return Operation(place.id, place.rank, "send", peer, max(place.whole("comm_size"), 1), tag, requires=after)
        cpu = bool(node.attributes.get("is_cpu_op", False))
        return Operation(
            place.id, place.rank, "calc", duration_ps=self.duration(place), requires=after, unit=CPU_UNIT if cpu else 0
        )

    def duration(self, place: Place) -> int:
        """The duration of a node, in picoseconds."""
        node = place.node
        if node.duration_us:
            return node.duration_us * PS_PER_US
        if node.type == COMPUTATION and node.attributes.get("num_ops"):
            if self.reading.tflops is None:
                allowed = "a duration, or --tflops X: how many 10^12 operations a rank computes in a second"
                raise place.error("duration", f"none, with num_ops {place.whole('num_ops')}", allowed)
            return round(place.whole("num_ops") * PS_PER_SECOND / (self.reading.tflops * 10**12))
        self.timeless += node.type != METADATA
        return 0

    def join_collectives(self) -> None:
        """Convert each collective, from the nodes of its ranks."""
        order: defaultdict[tuple[int, ...], defaultdict[int, list[Place]]] = defaultdict(lambda: defaultdict(list))
        for place in self.places:
            if place.node.type == COLLECTIVE:
                order[tuple(self.group_of(place))][place.rank].append(place)
        joined: list[tuple[tuple[int, ...], list[Place]]] = []
        for ranks, by_rank in order.items():
            for at, first in enumerate(by_rank[min(by_rank)]):
                joined.append((ranks, [self.part(by_rank, rank, at, first) for rank in ranks]))
            longest = max(by_rank.values(), key=len)
            if len(longest) > len(by_rank[min(by_rank)]):
                raise longest[-1].error("collective", "alone", f"one in the file of rank {min(by_rank)} too")
        for number, (_, parts) in enumerate(joined):
            for place in parts:
                self.end[place.rank, place.node.id] = f"c{number}.r{place.rank}"
        for number, (ranks, parts) in enumerate(joined):
            self.collective(f"c{number}", ranks, parts)

    def part(self, by_rank: Mapping[int, Sequence[Place]], rank: int, at: int, first: Place) -> Place:
        """The part of a rank in a collective; it must equal that of the first rank."""
        mine = by_rank.get(rank, [])
        if at >= len(mine):
            raise first.error("collective", f"not in the file of rank {rank}", "one in the file of each of its ranks")
        for name in ("comm_type", "comm_size"):
            if mine[at].node.attributes.get(name, 0) != first.node.attributes.get(name, 0):
                allowed = f"{first.node.attributes.get(name)}, as in {first.file}, node {first.node.id}"
                raise mine[at].error(name, mine[at].node.attributes.get(name), allowed)
        return mine[at]

    def collective(self, name: str, ranks: Sequence[int], parts: Sequence[Place]) -> None:
        """The sends of one collective."""
        first = parts[0]
        number = first.whole("comm_type")
        if number not in KINDS:
            known = ", ".join(f"{n} ({kind.replace('_', '-')})" for n, kind in KINDS.items())
            raise first.error("comm_type", number, known)
        kind = KINDS[number]
        size = 0 if kind == "barrier" else first.whole("comm_size")
        if kind == "all_gather":
            size *= len(ranks)
        after = {place.rank: self.after(place) for place in parts}
        ends = self.program.collective(kind, f"{name}.", ranks, size, after=after, algorithm=self.reading.algorithm)
        for rank, end in ends.items():
            # Others know the end by the name given to it above.
            self.program.join_as(f"{name}.r{rank}", rank, end)

    def group_of(self, place: Place) -> Sequence[int]:
        """The ranks of a collective."""
        name = place.node.attributes.get("pg_name")
        if name is None or name == "":
            involved = place.node.attributes.get("involved_dim", [True])
            if isinstance(involved, list) and not all(involved):
                raise place.error("involved_dim", involved, "all dimensions, or a group (pg_name)",
                                  "which ranks a dimension joins is given in a file of ASTRA-sim")  # fmt: skip
            return range(self.ranks)
        ranks = self.groups.get(str(name))
        if ranks is None:
            known = ", ".join(list(self.groups)[:8]) or "none"
            raise place.error("pg_name", name, f"a group that is known: {known}", "--groups FILE.json names groups")
        if place.rank not in ranks or max(ranks) >= self.ranks:
            raise place.error("pg_name", f"{name}, of ranks {list(ranks)[:8]}", f"ranks below {self.ranks}, itself too")
        return ranks


# Tags of messages in a trace, above those of collectives.
TAGS_FROM = 10**9


def read_groups(path: str | None) -> dict[str, list[int]]:
    """Groups from a file of ASTRA-sim: a table of ranks by name."""
    if path is None:
        return {}
    text = read_text(path, "--groups", most=TABLE_BYTES)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SpecError("--groups", str(error), 'JSON, such as {"0": [0, 1]}', file=path) from None
    return checked_groups(found, "--groups", path)


def checked_groups(found: object, key: str, file: str) -> dict[str, list[int]]:
    """Check a table of ranks by name.

    Raises:
        SpecError: it is not such a table.
    """
    allowed = 'a table with the ranks of each group, such as {"0": [0, 1]}'
    if not isinstance(found, dict):
        raise SpecError(key, type(found).__name__, allowed, file=file)
    groups: dict[str, list[int]] = {}
    for name, ranks in found.items():
        whole = isinstance(ranks, list) and all(isinstance(x, int) and not isinstance(x, bool) for x in ranks)
        if not whole or not ranks or len(set(ranks)) < len(ranks) or min(ranks) < 0:
            raise SpecError(f"{key}, {name}", ranks, allowed, file=file)
        groups[str(name)] = ranks
    return groups


def declared_groups(places: Sequence[Place]) -> dict[str, list[int]]:
    """Groups that metadata nodes declare in their inputs: JSON with ``pg_name`` and ``ranks``."""
    groups: dict[str, list[int]] = {}
    for place in places:
        if place.node.type != METADATA or "pg_name" not in place.node.inputs:
            continue
        try:
            found = json.loads(place.node.inputs)
        except ValueError as error:
            raise place.error("inputs", str(error), "JSON with pg_name and ranks of each group") from None
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, dict) and "pg_name" in one and one.get("ranks"):
                groups |= checked_groups({str(one["pg_name"]): one["ranks"]}, "inputs", place.file)
    return groups
