"""The result of a reader of ``spinewise import``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spinewise.interop.flows import FlowList
from spinewise.interop.text import ns_text
from spinewise.measures import units


@dataclass(frozen=True)
class Imported:
    """The content of an imported file.

    Attributes:
        about: what it holds, in a few words.
        record: the same for programs.
        content: the file in our format, by the end of the name it is to have.
        notes: what was changed.
        toml: the lines of a spec that use the file, by its name; None if there are none.
        hosts: the host of each name, to be written beside the file; empty if hosts are numbers.
    """

    about: str
    record: Mapping[str, object]
    content: Callable[[str], bytes]
    notes: list[str]
    toml: Callable[[str], str] | None = None
    hosts: Mapping[str, int] = field(default_factory=dict)


def entry(kind: str, out: str, further: str = "") -> str:
    """The entry of a spec that reads a file; `further` are more lines of it."""
    return f'[[traffic]]\nkind = "{kind}"\nfile = {json.dumps(out)}\n{further}'


def of_flows(found: FlowList) -> Imported:
    """A list of flows, as the CSV file of traffic of kind ``flows``."""
    total = sum(flow.size_bytes for flow in found.flows)
    starts = [flow.start_ps for flow in found.flows]
    first, last = min(starts), max(starts)
    about = (
        f"{units.counted(len(found.flows), 'flow')}, {units.size(total)}, starts from {ns_text(first)} to"
        f" {ns_text(last)} ns"
    )
    notes = list(found.notes)
    if len(found.groups) > 1:
        groups = ", ".join(map(str, found.groups))
        notes.append(
            f'{found.file}: several priority groups ({groups}); kind = "flows" with a CSV puts them all in one'
        )
    record: dict[str, object] = {"flows": len(found.flows), "bytes": total}
    record |= {"first_start_ps": first, "last_start_ps": last, "priority_groups": found.groups}
    record |= {"hosts": dict(found.hosts)} if found.hosts else {}
    return Imported(about, record, lambda _: found.csv().encode(), notes, lambda out: entry("flows", out), found.hosts)
