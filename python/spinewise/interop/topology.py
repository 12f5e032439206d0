"""Topology files of HPCC and ConWeave.

Line 1 is ``nodes switches links``; then the switches' node ids; then a line per link, ``a b rate delay
error_rate``, such as ``0 128 100Gbps 1000ns 0``. Every node that is not a switch is a host. Links go both
ways; their order fixes the order of ports, and so of equal-cost next hops.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from spinewise.errors import nearest
from spinewise.interop.looks import looks_like
from spinewise.interop.text import TIME_UNITS, Line, exact, ns_number, ns_text, read_lines, whole_ps
from spinewise.magnitudes import BITS_PER_GIGABIT
from spinewise.shapes import Value

LINK_FORM = 'a link, "a b rate delay error_rate", such as "0 128 100Gbps 1000ns 0"'
HEADER_FORM = 'the header "nodes switches links", three whole numbers'

# Units as ns-3 writes them: decimal prefixes in small or capital k, binary ones with i, B for bytes.
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
RATE_UNITS = {
    f"{prefix}{unit}": size * bits
    for prefix, size in _PREFIXES.items()
    for unit, bits in (("bps", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8))
}

_QUANTITY = re.compile(r"([0-9.eE+-]*[0-9.])([A-Za-z/]*)")


@dataclass(frozen=True)
class Link:
    """A link between two nodes, both ways.

    Attributes:
        a: one end, numbered as in `Topology`.
        b: the other end.
        rate_bps: bits per second.
        delay_ps: propagation one way, in picoseconds.
    """

    a: int
    b: int
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Topology:
    """A fabric as nodes and links, with hosts numbered before switches.

    Attributes:
        file: the file it was read from.
        hosts: number of hosts; they are the nodes 0 to hosts - 1.
        switches: number of switches; they follow.
        links: in the order of the file.
        nodes: the id in the file of each of our nodes; ascending among hosts and among switches.
    """

    file: str
    hosts: int
    switches: int
    links: list[Link]
    nodes: list[int]

    @property
    def renumbered(self) -> bool:
        """Whether any node has another number here than in the file."""
        return self.nodes != list(range(len(self.nodes)))

    def ours(self) -> dict[int, int]:
        """Our number of each id of the file."""
        return {id_: node for node, id_ in enumerate(self.nodes)}

    def table(self) -> dict[str, Value]:
        """The ``[topology]`` table of a spec."""
        return {
            "kind": "links",
            "hosts": self.hosts,
            "switches": self.switches,
            "links": [[link.a, link.b, gbps(link.rate_bps), ns_number(link.delay_ps)] for link in self.links],
        }

    def toml(self) -> str:
        """The table as TOML, and the ids of the file in another table."""
        rows = [f"  [{x.a}, {x.b}, {gbps(x.rate_bps)}, {ns_text(x.delay_ps)}]," for x in self.links]
        lines = ["[topology]", 'kind = "links"', f"hosts = {self.hosts}", f"switches = {self.switches}"]
        lines += ["# node, node, rate in Gbps, delay in ns", "links = [", *rows, "]", ""]
        return "\n".join(lines) + "\n" + self.origin()

    def ids(self) -> Ids:
        """The ids of its nodes in the file."""
        return Ids.ordered(self.file, self.nodes, self.hosts)

    def origin(self) -> str:
        """The table that records the file and its ids."""
        name = self.file.replace("\\", "\\\\").replace('"', '\\"')
        about = "# Origin of the fabric, no part of the run. Item i of nodes is the file's id of node i."
        return "\n".join([about, "[import]", f'topology = "{name}"', f"nodes = {self.nodes}", ""])


@dataclass(frozen=True)
class Ids:
    """The ids of a topology.

    Attributes:
        file: the file of the topology.
        hosts: the number of each host by its id.
        switches: the ids of the switches.
    """

    file: str
    hosts: Mapping[int, int]
    switches: frozenset[int]

    @classmethod
    def ordered(cls, file: str, nodes: list[int], hosts: int) -> Ids:
        """The ids of nodes in the order of their numbers, hosts first."""
        return cls(file, {id_: host for host, id_ in enumerate(nodes[:hosts])}, frozenset(nodes[hosts:]))

    def host(self, line: Line, what: str, id_: int) -> int:
        """The number of a host by its id.

        Raises:
            SpecError: the id is that of a switch, or of no node.
        """
        if id_ not in self.hosts:
            hint = "it is a switch" if id_ in self.switches else None
            raise line.error(what, id_, f"the id of a host of {self.file}", hint)
        return self.hosts[id_]


def gbps(rate_bps: int) -> int | float:
    """A rate in Gbps, as a whole number if it is one."""
    whole, rest = divmod(rate_bps, BITS_PER_GIGABIT)
    return whole if not rest else rate_bps / BITS_PER_GIGABIT


def read(path: str | Path) -> Topology:
    """Read a topology file.

    Raises:
        SpecError: with file and line: counts that do not fit, an unknown node or unit, a link to itself,
            a host with no or several links, packet errors on a link.
    """
    lines = read_lines(path)
    header = lines[0]
    if len(header.tokens) != 3:
        raise header.error("all", " ".join(header.tokens), HEADER_FORM, looks_like(path, but=""))
    nodes = header.whole(0, "number of nodes", least=1)
    switches = header.whole(1, "number of switches")
    links = header.whole(2, "number of links")
    if switches > nodes:
        raise header.error("number of switches", switches, f"at most the number of nodes, {nodes}")
    ids, body = read_switches(lines, switches, nodes)
    check_count(header, body, links)
    if nodes > switches + links:
        raise header.error("number of nodes", nodes, f"at most {switches + links}: each host has a link of its own")
    order = [id_ for id_ in range(nodes) if id_ not in ids] + sorted(ids)
    ours = {id_: node for node, id_ in enumerate(order)}
    found = [read_link(line, ours, nodes) for line in body[:links]]
    topology = Topology(str(path), nodes - switches, switches, found, order)
    check_links(topology, header, body)
    return topology


def read_switches(lines: list[Line], count: int, nodes: int) -> tuple[set[int], list[Line]]:
    """The switches' ids, which may fill several lines, and the lines after them."""
    ids: set[int] = set()
    place = 1
    while len(ids) < count:
        if place == len(lines):
            last = lines[-1]
            raise last.error("switches", f"{len(ids)} ids, then the end", f"{count} ids, as the header says")
        line = lines[place]
        for index in range(len(line.tokens)):
            id_ = line.whole(index, "switch")
            if id_ >= nodes:
                raise line.error("switch", id_, f"a node from 0 to {nodes - 1}")
            if id_ in ids:
                raise line.error("switch", id_, "every switch once")
            ids.add(id_)
        place += 1
    if len(ids) > count:
        raise lines[place - 1].error("switches", f"{len(ids)} ids", f"{count} ids, as the header says")
    return ids, lines[place:]


def check_count(header: Line, body: list[Line], count: int) -> None:
    """Refuse a header that promises more or fewer links than there are; comments may follow the last one."""
    links = next((at for at, line in enumerate(body) if not line.tokens[0].isdecimal()), len(body))
    if links < count:
        last = body[links - 1] if links else header
        raise header.error(
            "number of links", count, f"{links}, as many links as there are", f"the last is line {last.number}"
        )
    if links > count:
        surplus = body[count]
        raise surplus.error(
            "all",
            " ".join(surplus.tokens),
            f"no further link: the header (line {header.number}) promises {count}",
            f"there are {links}",
        )


def read_link(line: Line, ours: dict[int, int], nodes: int) -> Link:
    """One link."""
    line.expect([5], LINK_FORM)
    ends = []
    for index in (0, 1):
        id_ = line.whole(index, "node")
        if id_ not in ours:
            raise line.error("node", id_, f"a node from 0 to {nodes - 1}: the header says {nodes} nodes")
        ends.append(ours[id_])
    if ends[0] == ends[1]:
        raise line.error("node", line.tokens[1], "another node than the link's other end")
    rate = quantity(line, 2, "rate", {unit: Fraction(size) for unit, size in RATE_UNITS.items()})
    if rate.denominator != 1 or rate <= 0:
        raise line.error("rate", line.tokens[2], "a whole number of bits per second, above 0")
    delay = whole_ps(quantity(line, 3, "delay", TIME_UNITS))
    if delay is None or delay < 0:
        raise line.error("delay", line.tokens[3], "a whole number of picoseconds, 0 or more")
    errors = exact(line.tokens[4])
    if errors != 0:
        raise line.error("error rate", line.tokens[4], '0: a link that loses packets is a [[fault]] of kind "loss"')
    return Link(ends[0], ends[1], int(rate), delay)


def quantity(line: Line, index: int, what: str, units: dict[str, Fraction]) -> Fraction:
    """A number with its unit, exactly."""
    token = line.tokens[index]
    match = _QUANTITY.fullmatch(token)
    number = exact(match[1]) if match else None
    if match is None or number is None:
        raise line.error(what, token, f"a number with one of the units {', '.join(units)}")
    if match[2] not in units:
        hint = nearest(match[2], units) if match[2] else "a unit is needed"
        raise line.error(f"unit of the {what}", token, f"one of the units {', '.join(units)}", hint)
    return number * units[match[2]]


def check_links(topology: Topology, header: Line, body: list[Line]) -> None:
    """Refuse a host without a link or with several, since a host has one network card here."""
    of_host: dict[int, int] = {}
    for link, line in zip(topology.links, body, strict=False):
        pair = (min(link.a, link.b), max(link.a, link.b))
        if pair[1] < topology.hosts:
            raise line.error("all", " ".join(line.tokens), "a switch at one end or both")
        if pair[0] < topology.hosts:
            id_ = topology.nodes[pair[0]]
            if pair[0] in of_host:
                raise line.error("node", id_, f"a host with one link; line {of_host[pair[0]]} already has its link")
            of_host[pair[0]] = line.number
    for host in range(topology.hosts):
        if host not in of_host:
            raise header.error("links", f"none of host {topology.nodes[host]}", "one link of every host")
