"""The ids that hosts have in the file of a topology, for files of completion times, whose hosts are numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.interop import named, topology
from spinewise.interop.looks import looks_like
from spinewise.reading import SPEC_BYTES, printable, read_text

OPTION = "--topology"
ALLOWED = "a topology of HPCC or ConWeave, or a spec (.toml) whose table [import] has the ids of an imported one"
ALIKE = "without other ids, hosts are numbered from 0 as in the spec: leave the option out"


def host_ids(path: str | Path) -> list[int]:
    """The id of each host by its number: of a topology of HPCC or ConWeave, or of a spec with the table [import].

    A spec lists its switches after its hosts; they are in the list too.

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
    found = topology.read(path)
    return found.nodes[: found.hosts]


def of_spec(path: str | Path) -> list[int]:
    """The ids in the table [import] of a spec."""
    file = printable(path)
    try:
        spec = tomllib.loads(read_text(path, OPTION, most=SPEC_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(OPTION, str(error), "a spec", file=file) from None
    origin = spec.get("import")
    nodes = origin.get("nodes") if isinstance(origin, dict) else None
    if not isinstance(nodes, list) or not nodes:
        raise SpecError("import.nodes", "(nothing)", ALLOWED, ALIKE, file=file)
    for place, one in enumerate(nodes):
        if not isinstance(one, int) or isinstance(one, bool) or one < 0 or one in nodes[:place]:
            raise SpecError(f"import.nodes[{place}]", one, "a number of its own, 0 or more", file=file)
    return nodes
