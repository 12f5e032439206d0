"""The ids that nodes have in the file of a topology, for other files whose hosts are such ids."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from spinewise import core
from spinewise.errors import SpecError
from spinewise.interop import named, topology
from spinewise.interop.looks import looks_like
from spinewise.interop.topology import Ids
from spinewise.reading import SPEC_BYTES, printable, read_text

OPTION = "--topology"
ALLOWED = "a topology of HPCC or ConWeave, or a spec (.toml) whose table [import] has the ids of an imported one"
ALIKE = "without other ids, hosts are numbered from 0 as in the spec: leave the option out"


def read(path: str | Path) -> Ids:
    """The ids of a topology of HPCC or ConWeave, or of a spec with the table [import].

    Raises:
        SpecError: it is neither; or it has no ids, as a list of links between named nodes.
    """
    if str(path).endswith(".toml"):
        return of_spec(path)
    if named.looks_named(path):
        raise SpecError(OPTION, "a list of links between named nodes", ALLOWED, ALIKE, file=printable(path))
    hint = looks_like(path, "topology")
    if hint is not None:
        raise SpecError(OPTION, hint, ALLOWED, "import it, and give the spec with its [import]", file=printable(path))
    return topology.read(path).ids()


def of_spec(path: str | Path) -> Ids:
    """The ids in the table [import] of a spec."""
    file = printable(path)
    try:
        spec = tomllib.loads(read_text(path, OPTION, most=SPEC_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(OPTION, str(error), "a spec", file=file) from None
    nodes = nodes_of(spec)
    if not nodes:
        raise SpecError("import.nodes", "(nothing)", ALLOWED, ALIKE, file=file)
    try:
        return Ids.ordered(file, nodes, hosts_of(spec))
    except SpecError as error:
        raise SpecError(error.key, error.value, error.allowed, error.hint, file=file) from None


def hosts_of(spec: Mapping[str, object]) -> int:
    """The number of hosts of a spec whose table [import] has the id of every node.

    Raises:
        SpecError: the ids are not different numbers, or not as many as there are nodes.
    """
    nodes = nodes_of(spec)
    known: set[int] = set()
    for place, one in enumerate(nodes):
        if not isinstance(one, int) or isinstance(one, bool) or one < 0 or one in known:
            raise SpecError(f"import.nodes[{place}]", one, "a number of its own, 0 or more")
        known.add(one)
    fabric = core.topology({"topology": spec.get("topology", {})})
    if len(nodes) != len(fabric["nodes"]):
        allowed = f"as many as [topology] has nodes, {len(fabric['nodes'])}"
        raise SpecError("import.nodes", f"{len(nodes)} ids", allowed)
    return sum(node["tier"] == "host" for node in fabric["nodes"])


def has_ids(path: str | Path) -> bool:
    """Whether a file is a spec whose table [import] has ids."""
    if not str(path).endswith(".toml"):
        return False
    try:
        return bool(nodes_of(tomllib.loads(read_text(path, OPTION, most=SPEC_BYTES))))
    except tomllib.TOMLDecodeError:
        return False


def nodes_of(spec: Mapping[str, object]) -> list[int]:
    """The ids of nodes in a spec; empty if it has none."""
    origin = spec.get("import")
    nodes = origin.get("nodes") if isinstance(origin, dict) else None
    return nodes if isinstance(nodes, list) else []
