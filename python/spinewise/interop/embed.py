"""Files of other simulators named in a spec: their content replaces the name before the engine sees it.

```toml
[topology]
file = "leaf_spine_128.txt"      # becomes kind = "links"

[[traffic]]
kind = "flows"
file = "flow.txt"                # becomes list, unless the file is CSV; or set format = "hpcc" | "csv"
```

With a topology file the node ids of flow lists are those of that file; with an imported topology, those of the file it
came from, which its table ``[import]`` has. Flows of several priority groups become one entry for each group, the
lowest group with priority 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spinewise.errors import SpecError, nearest
from spinewise.interop import flows, ids, topology
from spinewise.interop.flows import FlowList
from spinewise.interop.text import InteropWarning, ns_number
from spinewise.interop.topology import Ids, Topology
from spinewise.reading import is_ordinary, ordinary
from spinewise.shapes import Value

FORMATS = ("hpcc", "csv")

# A file and the identity of its version: size and time of change.
Stamp = tuple[str, int, int]


class Imported(NamedTuple):
    """An imported topology: the ids of its nodes, hosts first, and the number of hosts."""

    nodes: tuple[int, ...]
    hosts: int


def expand(spec: dict[str, Value], origin: Mapping[str, Value] | None = None) -> None:
    """Replace the names of files by their content, in `spec` itself.

    Values of a wrong type are left for the engine to refuse.

    Args:
        spec: the spec.
        origin: its table [import], if it has one.

    Raises:
        SpecError: a file cannot be read, or its content is wrong; the error names the file and the line.
    """
    nodes: Stamp | Imported | None = expand_topology(spec)
    entries = spec.get("traffic")
    if not isinstance(entries, list):
        return
    expanded: list[Value] = []
    for index, entry in enumerate(entries):
        file = entry.get("file") if isinstance(entry, dict) and entry.get("kind") == "flows" else None
        if isinstance(entry, dict) and isinstance(file, str):
            path = f"traffic[{index}]"
            if not is_hpcc(entry, file, path):
                expanded.append({key: value for key, value in entry.items() if key != "format"})
                continue
            nodes = nodes or imported(spec, origin)
            expanded += expand_flows(entry, file, path, nodes)
        else:
            expanded.append(entry)
    spec["traffic"] = expanded


def expand_topology(spec: dict[str, Value]) -> Stamp | None:
    """Replace ``topology.file`` by links; return the file's stamp, for the flow lists."""
    table = spec.get("topology")
    file = table.get("file") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(file, str):
        return None
    for key in ("hosts", "switches", "links"):
        if table.get(key) is not None:
            raise SpecError(f"topology.{key}", table[key], f"either file or {key}, not both")
    if table.get("kind") not in (None, "links"):
        raise SpecError("topology.kind", table["kind"], '"links" with a file')
    if table.get("format") not in (None, "hpcc"):
        raise SpecError("topology.format", table["format"], '"hpcc"')
    stamp = stamped(file, "topology.file")
    rest = {key: value for key, value in table.items() if key not in ("file", "format")}
    found = read_topology(stamp)
    if found.renumbered:
        note = f"{found.file}: hosts get the first numbers; `spinewise import topology` lists them"
        warnings.warn(note, InteropWarning, stacklevel=2)
    spec["topology"] = rest | found.table()
    return stamp


def imported(spec: Mapping[str, Value], origin: Mapping[str, Value] | None) -> Imported | None:
    """The ids of an imported topology; None if the spec has none.

    Raises:
        SpecError: they do not fit the topology.
    """
    tables: dict[str, object] = {"topology": spec.get("topology", {}), "import": origin}
    nodes = ids.nodes_of(tables)
    return Imported(tuple(nodes), ids.hosts_of(tables)) if nodes else None


def is_hpcc(entry: Mapping[str, Value], file: str, path: str) -> bool:
    """Whether the file of a traffic entry is a flow list, not a CSV.

    Raises:
        SpecError: the entry names a format that there is not.
    """
    form = entry.get("format")
    if form is not None and form not in FORMATS:
        raise SpecError(
            f"{path}.format", form, " or ".join(f'"{word}"' for word in FORMATS), nearest(str(form), FORMATS)
        )
    return form == "hpcc" or (form is None and is_ordinary(file) and flows.is_hpcc(file))


def expand_flows(entry: dict[str, Value], file: str, path: str, nodes: Stamp | Imported | None) -> list[Value]:
    """The entries that replace one that names a flow list: one for each priority group, named as the entry is.

    Raises:
        SpecError: the entry has a priority, and the file has several groups.
    """
    rest = {key: value for key, value in entry.items() if key not in ("format", "file")}
    found = read_flows(stamped(file, f"{path}.file"), nodes)
    for note in found.notes:
        warnings.warn(note, InteropWarning, stacklevel=2)
    groups = found.groups
    if len(groups) > 1 and "priority" in rest:
        allowed = f"nothing: {found.file} has several priority groups ({', '.join(map(str, groups))}), which say it"
        raise SpecError(f"{path}.priority", rest["priority"], allowed)
    made: list[Value] = []
    for priority, group in enumerate(groups):
        if len(groups) > 1 and isinstance(entry.get("name"), str):
            rest["name"] = f"{entry['name']}-{priority}"
        listed: list[Value] = [
            {"src": x.src, "dst": x.dst, "size_bytes": x.size_bytes, "start_ns": ns_number(x.start_ps)}
            for x in found.flows
            if x.pg == group
        ]
        made.append(rest | ({"priority": priority} if len(groups) > 1 else {}) | {"list": listed})
    return made


def stamped(file: str, key: str) -> Stamp:
    """The file with its size and time of change.

    Raises:
        SpecError: it does not exist.
    """
    ordinary(file, key, "a file that can be read")
    found = Path(file).stat()
    return file, found.st_size, found.st_mtime_ns


# A comparison resolves its spec once per run: the files are read once.
@lru_cache(maxsize=8)
def read_topology(stamp: Stamp) -> Topology:
    """The topology in a file."""
    return topology.read(stamp[0])


@lru_cache(maxsize=8)
def read_flows(stamp: Stamp, nodes: Stamp | Imported | None) -> FlowList:
    """The flows in a file."""
    if isinstance(nodes, Imported):
        return flows.read(stamp[0], Ids.ordered("[import]", list(nodes.nodes), nodes.hosts))
    return flows.read(stamp[0], None if nodes is None else read_topology(nodes).ids())
