"""``spinewise import`` of topologies to the ``[topology]`` table of a spec."""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import replace

from spinewise import core
from spinewise.cli.imported import Imported
from spinewise.errors import SpecError
from spinewise.interop import clos, htsim_topo, named, simai_topology, topology
from spinewise.interop.clos import Clos
from spinewise.interop.named import Named
from spinewise.interop.topology import Topology
from spinewise.measures import units
from spinewise.reading import printable


def import_topology(args: argparse.Namespace) -> Imported:
    """``import topology``: a leaf-spine or fat-tree if it is one whose hosts keep their numbers, else its links."""
    told = named.Columns(args.columns or {}, args.hosts)
    if args.columns or args.hosts or named.looks_named(args.file):
        return of_named(named.read(args.file, told))
    found = topology.read(args.file)
    notes = [f"{found.file}: hosts get the first numbers; the file's are in [import] nodes"] if found.renumbered else []
    known = clos.recognise(found) if args.kind == "auto" else "--kind links"
    if isinstance(known, Clos) and known.keeps_hosts:
        arranged = clos.renumbered(found, known)
        return of_fabric(arranged, known, known.toml() + "\n" + arranged.origin(), notes)
    if isinstance(known, Clos):
        notes.append(
            f"{found.file}: it is {known.about()}, but the hosts of a leaf are not numbered consecutively: kept as"
            f" links"
        )
    elif args.kind == "auto":
        notes.append(f"{found.file}: kept as links, as it is neither a leaf-spine nor a fat-tree: {known}")
    return of_fabric(found, None, found.toml(), notes)


def of_named(found: Named) -> Imported:
    """A list of links between named nodes, with their names."""
    fabric = found.topology
    record = {"hosts": fabric.hosts, "switches": fabric.switches, "links": len(fabric.links)}
    content = accepted(found.toml(), fabric.file)
    return Imported(counts(fabric), record | {"names": found.names, "kind": "links"}, lambda _: content, found.notes)


def of_fabric(found: Topology, known: Clos | None, text: str, notes: list[str], further: str = "") -> Imported:
    """A ``[topology]`` table, and its description; `further` are lines for traffic on it."""
    about = counts(found)
    if known is not None:
        about += f": {known.about()}"
    record: dict[str, object] = {"hosts": found.hosts, "switches": found.switches, "links": len(found.links)}
    record |= {"nodes": found.nodes, "kind": known.kind if known else "links"}
    content = accepted(text, found.file)
    return Imported(about, record, lambda _: content, notes, (lambda _: further) if further else None)


def import_topo(args: argparse.Namespace) -> Imported:
    """``import htsim-topo``."""
    found = htsim_topo.read(args.file)
    fabric = found.fabric
    record: dict[str, object] = {"hosts": fabric.hosts, "kind": fabric.kind, **fabric.counts}
    content = accepted(fabric.toml(), printable(args.file))
    return Imported(f"{units.counted(fabric.hosts, 'host')}: {fabric.about()}", record, lambda _: content, found.notes)


def import_simai(args: argparse.Namespace) -> Imported:
    """``import simai-topology``."""
    found = simai_topology.read(args.file)
    network, hosts = found.network, None
    notes = []
    if found.left_out:
        notes.append(
            f"{network.file}: {found.left_out} switches within servers are left out: ranks of a server send to each"
            ' other without the network in traffic of kind "dag"'
        )
    known = clos.recognise(network) if args.kind == "auto" else "--kind links"
    text = network.toml()
    if isinstance(known, Clos):
        arranged = clos.renumbered(network, known)
        text = known.toml() + "\n" + arranged.origin()
        if not known.keeps_hosts:
            hosts = [arranged.nodes.index(gpu) for gpu in network.nodes[: network.hosts]]
            notes.append(f"{network.file}: hosts are numbered leaf by leaf: GPU i is host hosts[i] of the traffic")
        network = arranged
    elif args.kind == "auto":
        notes.append(f"{network.file}: kept as links, as it is neither a leaf-spine nor a fat-tree: {known}")
    keys = found.servers.lines(hosts) if found.servers else (f"hosts = {hosts}\n" if hosts else "")
    further = f'# For every [[traffic]] of kind "dag" on this fabric:\n{keys}' if keys else ""
    commented = "".join(f"# {line}\n" if line[0] != "#" else f"{line}\n" for line in further.splitlines())
    made = of_fabric(network, known if isinstance(known, Clos) else None, text + commented, notes, further)
    gpus = {"gpu": found.gpu, "gpus_per_server": found.servers.gpus if found.servers else 1}
    return replace(made, record={**made.record, **gpus})


def counts(found: Topology) -> str:
    """The size of a fabric in words."""
    parts = ((found.hosts, "host"), (found.switches, "switch"), (len(found.links), "link"))
    return ", ".join(units.counted(many, what) for many, what in parts)


def accepted(text: str, file: str) -> bytes:
    """The content of a file with this ``[topology]`` table, which a run takes.

    Raises:
        SpecError: no run takes it.
    """
    try:
        core.topology({"topology": tomllib.loads(text)["topology"]})
    except SpecError as error:
        hint = error.hint or "the key is of the [topology] table that this file becomes"
        raise SpecError(error.key, error.value, error.allowed, hint, file=file) from None
    return text.encode()
