"""Topologies of SimAI: those of HPCC with GPUs as hosts, and switches within servers.

Line 1 is ``nodes gpus_per_server nvswitches switches links gpu_type``, such as ``34 8 2 16 96 H20``; line 2 has the ids
of all switches, those within servers (NVSwitches) first; then a line per link, ``src dst 200Gbps 0.001ms 0``.

A GPU is a host with its single link to the network. Traffic over the NVSwitch of a server does not cross the
network: ranks of traffic of kind ``dag`` send it to each other at the rate of their links to it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from spinewise.interop import topology
from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, ns_text, read_lines
from spinewise.interop.topology import Link, Topology, gbps

FORM = 'the header "nodes gpus_per_server nvswitches switches links gpu_type", such as "34 8 2 16 96 H20"'


@dataclass(frozen=True)
class Servers:
    """The connections among the GPUs of a server.

    Attributes:
        gpus: GPUs of a server.
        rate_bps: the rate of each GPU's link to its NVSwitch.
        delay_ps: from one GPU over the NVSwitch to another.
    """

    gpus: int
    rate_bps: int
    delay_ps: int

    def lines(self, hosts: list[int] | None) -> str:
        """Keys of a ``[[traffic]]`` of kind ``dag``; `hosts` are those of ranks if these have other numbers."""
        first = [] if hosts is None else [f"hosts = {hosts}"]
        rest = [
            f"local_ranks = {self.gpus}",
            f"local_rate_gbps = {gbps(self.rate_bps)}",
            f"local_delay_ns = {ns_text(self.delay_ps)}",
        ]
        return "\n".join([*first, *rest]) + "\n"


@dataclass(frozen=True)
class Found:
    """A fabric and its servers.

    Attributes:
        network: GPUs and the switches of the network.
        servers: the connections within servers, None if each GPU is alone.
        gpu: the type of GPU.
        left_out: NVSwitches that are not part of the network.
    """

    network: Topology
    servers: Servers | None
    gpu: str
    left_out: int


def read(path: str | Path) -> Found:
    """Read a topology.

    Raises:
        SpecError: with file and line: counts that do not fit, a GPU with no or several links to the network, or what
            `topology.read` refuses.
    """
    lines = read_lines(path)
    head = lines[0]
    if len(head.tokens) != 6 or not all(token.isdecimal() for token in head.tokens[:5]):
        raise head.error("all", " ".join(head.tokens), FORM, looks_like(path, "simai-topology"))
    nodes, per_server, inner, outer, links = (head.whole(at, FORM.split()[2 + at].strip('"')) for at in range(5))
    gpus = nodes - inner - outer
    if gpus < 2 or per_server < 1 or gpus % per_server:
        raise head.error("gpus_per_server", per_server, f"a divisor of the number of GPUs, {gpus}")
    ids, body = topology.read_switches(lines, inner + outer, nodes)
    topology.check_count(head, body, links)
    if gpus > links:
        allowed = f"at most {inner + outer + links}: each GPU has a link of its own"
        raise head.error("nodes", nodes, allowed)
    inside = set(first_ids(lines, inner))
    order = [node for node in range(nodes) if node not in ids] + sorted(ids - inside)
    ours = {id_: node for node, id_ in enumerate(order)}
    every = {id_: node for node, id_ in enumerate([*order, *sorted(inside)])}
    network, nvlinks = [], []
    kept: list[Line] = []
    for line in body[:links]:
        link = topology.read_link(line, every, nodes)
        if max(link.a, link.b) < len(ours):
            network.append(link)
            kept.append(line)
        else:
            nvlinks.append((line, link))
    found = Topology(str(path), gpus, outer, network, order)
    check_ports(found, kept)
    topology.check_links(found, head, kept)
    return Found(found, servers_of(nvlinks, per_server, gpus), head.tokens[5], inner)


def first_ids(lines: list[Line], count: int) -> list[int]:
    """The first `count` ids of switches, which may fill several lines."""
    words = (word for line in lines[1:] for word in line.tokens)
    return [int(next(words)) for _ in range(count)]


def check_ports(network: Topology, lines: list[Line]) -> None:
    """Refuse GPUs with several links to the network, with an error of their own."""
    seen: defaultdict[int, list[Line]] = defaultdict(list)
    for link, line in zip(network.links, lines, strict=True):
        seen[min(link.a, link.b)].append(line)
    for host in range(network.hosts):
        if len(seen[host]) > 1:
            numbers = " and ".join(str(line.number) for line in seen[host][:2])
            allowed = f"one link from a GPU to the network; lines {numbers} have one each"
            raise seen[host][1].error(
                "GPU", network.nodes[host], allowed, "two NICs or two ports are not supported yet"
            )


def servers_of(nvlinks: list[tuple[Line, Link]], per_server: int, gpus: int) -> Servers | None:
    """The servers from the links to NVSwitches; all must be alike, and GPUs of one switch must be neighbours."""
    if not nvlinks or per_server == 1:
        return None
    _, first = nvlinks[0]
    of_switch: defaultdict[int, set[int]] = defaultdict(set)
    for _, link in nvlinks:
        of_switch[max(link.a, link.b)].add(min(link.a, link.b) // per_server)
    for line, link in nvlinks:
        gpu, switch = sorted((link.a, link.b))
        if gpu >= gpus:
            raise line.error("all", " ".join(line.tokens), "a link from an NVSwitch to a GPU")
        if (link.rate_bps, link.delay_ps) != (first.rate_bps, first.delay_ps):
            allowed = f"as the others: {gbps(first.rate_bps)} Gbps and {ns_text(first.delay_ps)} ns"
            raise line.error("all", " ".join(line.tokens), allowed)
        if len(of_switch[switch]) > 1:
            raise line.error("node", line.tokens[0], f"a switch for each {per_server} GPUs, in the order of their ids")
    return Servers(per_server, first.rate_bps, 2 * first.delay_ps)
